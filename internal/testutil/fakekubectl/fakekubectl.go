// Package fakekubectl is a kubectl for tests: `kubectl get --raw` over manifests of a file.
package fakekubectl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// Main is the program. It serves the manifests of the file in KUBECTL_OBJECTS, and knows their types and
// the usual ones. Other variables make it fail:
//
//	KUBECTL_RAW        a folder whose files it serves instead: that of a path has underscores for its slashes
//	KUBECTL_FORBIDDEN  the types that may not be listed
//	KUBECTL_SAYS       what it says instead of any answer
//	KUBECTL_ASKS       what it asks on stdout, before it fails because stdin is empty
//	KUBECTL_SILENT     it fails without a word
//	KUBECTL_CONTEXT    what it says instead of the name of the context
//	KUBECTL_CUT        a file; while it has a byte, which goes, a list is cut off
//	KUBECTL_EXPIRED    a file; while it has a byte, which goes, a second page has expired
//	KUBECTL_WAIT       how long it takes
//	KUBECTL_PAGE       how many objects a page has at most
//	KUBECTL_LOG        a file to which it appends its arguments
func Main() {
	text, err := answer(os.Args[1:])
	if err != nil {
		if os.Getenv("KUBECTL_SILENT") == "" {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(text)
}

// Install makes the test binary, whose TestMain must call [IsCalled], the kubectl of a test.
func Install(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // a program that looks for races sleeps for a second at its end
}

// IsCalled reports whether the program runs as kubectl.
func IsCalled() bool { return filepath.Base(os.Args[0]) == "kubectl" }

type served struct {
	group, version, kind, resource string
	namespaced                     bool
}

// clusterWide are the kinds without a namespace.
var clusterWide = []string{
	"Namespace", "MutatingWebhookConfiguration", "SidecarSet", "Node", "Mesh",
	"CiliumClusterwideNetworkPolicy", "GlobalNetworkPolicy", "GlobalNetworkSet",
}

func typesOf(objects []*manifest.Object) (types []served) {
	add := func(apiVersion, kind string) {
		group, version, grouped := strings.Cut(apiVersion, "/")
		if !grouped {
			group, version = "", apiVersion
		}
		t := served{group, version, kind, Plural(kind), !slices.Contains(clusterWide, kind)}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for kind, apiVersion := range map[string]string{
		"Pod": "v1", "Namespace": "v1", "Service": "v1", "ConfigMap": "v1", "Secret": "v1", "LimitRange": "v1", "Node": "v1", "Deployment": "apps/v1",
		"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1",
		"NetworkPolicy": "networking.k8s.io/v1", "Ingress": "networking.k8s.io/v1",
		"MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
	} {
		add(apiVersion, kind)
	}
	for _, o := range objects {
		add(o.APIVersion(), o.Kind())
	}
	return types
}

// Plural returns the name that the API has for the objects of a kind.
func Plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "defaults"):
		return name
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "sh"):
		return name + "es"
	}
	return name + "s"
}

func answer(args []string) ([]byte, error) {
	if log := os.Getenv("KUBECTL_LOG"); log != "" {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(f, strings.Join(args, " "))
		_ = f.Close()
	}
	if stdin, err := io.ReadAll(os.Stdin); err != nil || len(stdin) > 0 {
		return nil, fmt.Errorf("error: kubectl was given a stdin: %q %v", stdin, err)
	}
	if wait, err := time.ParseDuration(os.Getenv("KUBECTL_WAIT")); err == nil {
		time.Sleep(wait)
	}
	if asks := os.Getenv("KUBECTL_ASKS"); asks != "" && args[0] != "config" {
		fmt.Print(asks)
		return nil, fmt.Errorf("error: EOF")
	}
	if says := os.Getenv("KUBECTL_SAYS"); says != "" {
		return nil, fmt.Errorf("%s", says)
	}
	if args[0] == "config" {
		if says := os.Getenv("KUBECTL_CONTEXT"); says != "" {
			return nil, fmt.Errorf("%s", says)
		}
		if args[1] == "view" {
			return []byte("shop"), nil
		}
		return []byte("kind-test\n"), nil
	}
	if args[0] != "get" || args[1] != "--raw" {
		return nil, fmt.Errorf("error: kubectl %q changes or shows more than lists", args)
	}
	if dir := os.Getenv("KUBECTL_RAW"); dir != "" {
		return raw(dir, args[2])
	}
	text, err := os.ReadFile(os.Getenv("KUBECTL_OBJECTS"))
	if err != nil {
		return nil, err
	}
	s, err := manifest.Read("cluster.yaml", text)
	if err != nil {
		return nil, err
	}
	path, query, _ := strings.Cut(args[2], "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	return get(s.Objects(), strings.Split(strings.Trim(path, "/"), "/"), values)
}

func raw(dir, path string) ([]byte, error) {
	path, _, _ = strings.Cut(path, "?")
	text, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "_")))
	if err != nil {
		return nil, fromServer("Forbidden", "%s is forbidden", path)
	}
	return text, nil
}

func get(objects []*manifest.Object, path []string, query url.Values) ([]byte, error) {
	types := typesOf(objects)
	group, version := "", ""
	switch {
	case len(path) == 1 && path[0] == "apis":
		return groupsOf(types)
	case path[0] == "apis":
		group, version, path = path[1], path[2], path[3:]
	default:
		version, path = path[1], path[2:]
	}
	if len(path) == 0 {
		var resources []any
		for _, t := range types {
			if t.group == group && t.version == version {
				resources = append(resources, map[string]any{"name": t.resource, "kind": t.kind, "namespaced": t.namespaced, "verbs": []string{"get", "list"}})
			}
		}
		return json.Marshal(map[string]any{"kind": "APIResourceList", "resources": resources})
	}
	namespace := ""
	if len(path) == 3 {
		namespace = path[1]
	}
	for _, t := range types {
		if t.group == group && t.version == version && t.resource == path[len(path)-1] {
			return list(objects, t, namespace, query)
		}
	}
	return nil, fromServer("NotFound", "the server could not find the requested resource")
}

// groupsOf answers with the groups and their versions, of which the first that an object has is the preferred one.
func groupsOf(types []served) ([]byte, error) {
	type version struct {
		Version string `json:"version"`
	}
	type group struct {
		Name      string    `json:"name"`
		Versions  []version `json:"versions"`
		Preferred version   `json:"preferredVersion"`
	}
	var groups []*group
	for _, t := range types {
		if t.group == "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.Name == t.group })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{Name: t.group, Preferred: version{t.version}})
		}
		if g := groups[i]; !slices.Contains(g.Versions, version{t.version}) {
			g.Versions = append(g.Versions, version{t.version})
		}
	}
	return json.Marshal(map[string]any{"kind": "APIGroupList", "groups": groups})
}

func list(objects []*manifest.Object, t served, namespace string, query url.Values) ([]byte, error) {
	if slices.Contains(strings.Fields(os.Getenv("KUBECTL_FORBIDDEN")), t.resource) || t.kind == "Secret" {
		return nil, fromServer("Forbidden", "%s is forbidden: User \"x\" cannot list resource %q in API group %q at the cluster scope",
			t.resource, t.resource, t.group)
	}
	name, _ := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name=")
	if name == "status.phase=Running" {
		name = ""
		objects = slices.DeleteFunc(slices.Clone(objects), func(o *manifest.Object) bool {
			phase, _ := o.Value(field.NewPath("status", "phase"))
			return phase != "Running"
		})
	}
	if t.kind == "ConfigMap" && name == "" {
		return nil, fmt.Errorf("error: all ConfigMaps were listed")
	}
	var found []*manifest.Object
	for _, o := range objects {
		is := o.Kind() == t.kind && o.APIVersion() == strings.TrimPrefix(t.group+"/"+t.version, "/")
		if is && (namespace == "" || o.Namespace() == namespace) && (name == "" || o.Name() == name) &&
			selects(query.Get("labelSelector"), o) {
			found = append(found, o)
		}
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	first, _ := strconv.Atoi(query.Get("continue"))
	rest := ""
	if end := first + min(limit, pageSize()); end < len(found) {
		found, rest = found[:end], strconv.Itoa(end)
	}
	var items [][]byte
	for _, o := range found[first:] {
		v, _ := o.Value(nil)
		items = append(items, field.AppendJSON(nil, v))
	}
	text := fmt.Sprintf(`{"kind":"%sList","metadata":{"continue":%q},"items":[%s]}`, t.kind, rest, bytes.Join(items, []byte(",")))
	switch {
	case first > 0 && takes("KUBECTL_EXPIRED"):
		return nil, fromServer("Expired", "The provided continue parameter is too old")
	case t.kind == "Deployment" && takes("KUBECTL_CUT"):
		return []byte(text[:len(text)/2]), nil
	}
	return []byte(text), nil
}

// takes takes a byte from the file that a variable names, and reports whether there was one.
func takes(variable string) bool {
	name := os.Getenv(variable)
	text, err := os.ReadFile(name)
	if err != nil || len(text) == 0 {
		return false
	}
	return os.WriteFile(name, text[1:], 0o644) == nil
}

// pageSize is how many objects a page has at most.
func pageSize() int {
	if n, err := strconv.Atoi(os.Getenv("KUBECTL_PAGE")); err == nil {
		return n
	}
	return 500
}

// selects evaluates the selectors that rewrite-probes sends: KEY, KEY=VALUE and KEY in (A,B).
func selects(selector string, o *manifest.Object) bool {
	key, list, in := strings.Cut(selector, " in ")
	if in {
		return slices.Contains(strings.Split(strings.Trim(list, "()"), ","), o.Labels().Get(key))
	}
	key, value, hasValue := strings.Cut(selector, "=")
	if _, isSet := o.Labels().Lookup(key); !hasValue && isSet {
		return true
	}
	return selector == "" || o.Labels().Get(key) == value
}

// fromServer is an error in kubectl's words of an API server.
func fromServer(reason, format string, args ...any) error {
	return fmt.Errorf("%s from server (%s): %s", "Error", reason, fmt.Sprintf(format, args...))
}
