package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/kubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/fakekubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

func TestMain(m *testing.M) {
	if fakekubectl.IsCalled() {
		fakekubectl.Main()
		return
	}
	os.Exit(m.Run())
}

// serve serves manifests, and returns what a run reads of them.
func serve(t *testing.T, text string, w Wish) *Reading {
	t.Helper()
	fakekubectl.Install(t)
	name := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECTL_OBJECTS", name)
	k, err := kubectl.New(kubectl.Options{Namespace: w.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(context.Background(), k, w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// each returns an object of each kind that a run may read, and one that it must not.
func each(t *testing.T) (text string, types []string) {
	t.Helper()
	var b strings.Builder
	for _, n := range (&reader{}).wanted() {
		apiVersion := strings.TrimPrefix(n.Group+"/v1", "/")
		fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata: {name: one, namespace: shop}\n---\n", apiVersion, n.Kind)
		types = append(types, fakekubectl.Plural(n.Kind))
	}
	b.WriteString("apiVersion: v1\nkind: Secret\nmetadata: {name: one, namespace: shop}\n")
	return b.String(), types
}

// Each type may be refused, alone or with all others: the rest is read, and the refusal says what stays
// unknown.
func TestEveryTypeMayBeRefused(t *testing.T) {
	text, types := each(t)
	t.Setenv("KUBECTL_FORBIDDEN", strings.Join(types, " "))
	r := serve(t, text, Wish{RootNamespace: "istio-system"})
	var b strings.Builder
	for _, x := range r.Refused {
		fmt.Fprintf(&b, "%s: makes pods: %t; unknown: %s\n", x.Type, x.Pods, x.Unknown)
		if !x.Pods && x.Unknown == "" {
			t.Errorf("nobody says what is unknown without %s", x.Type)
		}
	}
	golden.Compare(t, "testdata/refused.txt", []byte(b.String()))
	if len(r.Streams) > 0 || r.AllPeers {
		t.Errorf("something was read: %d streams, %t", len(r.Streams), r.AllPeers)
	}
	for i, only := range types {
		if i%5 > 0 { // each takes fifty programs
			continue
		}
		t.Setenv("KUBECTL_FORBIDDEN", only)
		r := serve(t, text, Wish{RootNamespace: "istio-system"})
		for _, x := range r.Refused {
			if begin, _, _ := strings.Cut(x.Type, "."); begin != only {
				t.Errorf("%s is refused with %s", x.Type, only)
			}
		}
		if len(r.Refused) == 0 && only != "configmaps" {
			t.Errorf("%s is not refused", only)
		}
	}
}

// What a run reads is a list of calls, none of which is for a Secret, or for all ConfigMaps: the program fails then.
func TestCalls(t *testing.T) {
	text, _ := each(t)
	text += "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod-canary, namespace: mesh, labels: {app: istiod}}\n"
	var b strings.Builder
	for _, w := range []Wish{
		{RootNamespace: "istio-system"},
		{RootNamespace: "istio-system", Namespace: "shop"},
		{RootNamespace: "istio-system", FactsOnly: true, Custom: []surroundings.GroupKind{{Group: "x", Kind: "Y"}}},
	} {
		log := filepath.Join(t.TempDir(), "log")
		t.Setenv("KUBECTL_LOG", log)
		r := serve(t, text, w)
		calls, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Sorted(strings.Lines(string(calls)))
		fmt.Fprintf(&b, "# %+v: %d lists, %d beside, refused %v\n%s", w, len(r.Streams), len(r.Beside), r.Refused, strings.Join(lines, ""))
	}
	golden.Compare(t, "testdata/calls.txt", []byte(b.String()))
}

// An istiod of another cluster has its ConfigMaps in the root namespace, whichever other mesh is there.
func TestConfigMapsOfAnIstiodElsewhere(t *testing.T) {
	const (
		istio = "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: a, namespace: shop}\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-sidecar-injector, namespace: istio-system}\n"
		linkerd = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: linkerd-destination, namespace: linkerd}\n"
		istiod  = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod-old, namespace: istio-system}\n"
	)
	for also, want := range map[string]bool{"": true, linkerd: true, istiod: false, istiod + linkerd: false} {
		r := serve(t, istio+also, Wish{RootNamespace: "istio-system"})
		isConfig := func(o *manifest.Object) bool { return o.Kind() == "ConfigMap" }
		inStream := func(s *manifest.Stream) bool { return slices.ContainsFunc(s.Objects(), isConfig) }
		if got := slices.ContainsFunc(slices.Concat(r.Streams, r.Beside), inStream); got != want {
			t.Errorf("also %q: the ConfigMap is read: %t, want %t", also, got, want)
		}
	}
}

// Of 10,000 pods only those are kept that no other object of the cluster makes, and that have not ended.
func TestOfManyPodsTheOwnedAreSkipped(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n")
	owners := []string{
		"{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, controller: true}",
		"{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}",
		"{apiVersion: example.com/v1, kind: Farm, name: f, controller: true}",
		"{apiVersion: apps/v1, kind: ReplicaSet, name: web-1}",
	}
	kept := 0
	for i := range 10_000 {
		owner := owners[i%2]
		if i%1000 == 0 {
			owner = owners[i/1000%4]
			if i/1000%4 > 1 {
				kept++
			}
		}
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p-%d, namespace: shop, ownerReferences: [%s]}\n", i, owner)
	}
	b.WriteString("---\napiVersion: v1\nkind: Pod\nmetadata: {name: over, namespace: shop}\nstatus: {phase: Failed}\n")
	b.WriteString("---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: over, namespace: shop}\nstatus: {conditions: [{type: Complete, status: \"True\"}]}\n")
	b.WriteString("---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: on, namespace: shop}\nstatus: {conditions: [{type: Suspended, status: \"True\"}]}\n")
	r := serve(t, b.String(), Wish{})
	got := make(map[string]int)
	for _, s := range r.Streams {
		for _, o := range s.Objects() {
			got[o.Kind()]++
		}
	}
	if got["Pod"] != kept || got["Deployment"] != 1 || got["Job"] != 1 {
		t.Errorf("%v, want %d pods", got, kept)
	}
}

func TestMeshes(t *testing.T) {
	deploy := func(name, labels, image string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: mesh, labels: {" + labels + "}}\nspec: {template: {spec: {containers: [{name: a, image: " + image + "}]}}}\n---\n"
	}
	r := serve(t, deploy("istiod", "istio.io/rev: default, app.kubernetes.io/version: 1.31.0", "a")+deploy("istiod-old", "istio.io/rev: old", "b/pilot:1.30.1@sha256:00")+
		deploy("istiod-canary", "istio.io/rev: canary", "x:5000/pilot:1.31.0")+deploy("linkerd-destination", "", "x:5000/proxy")+deploy("mesh-consul-connect-injector", "", "c:2")+
		deploy("istiodx", "", "a:1"), Wish{})
	planes := map[string]string{"istiod*": "Istio", "linkerd-destination": "Linkerd", "*connect-injector": "Consul", "kuma-control-plane": "Kuma"}
	want := []string{"Istio 1.31.0, revisions canary, default", "Istio 1.30.1, revision old", "Linkerd", "Consul 2"}
	if got := r.Meshes(planes); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Two kinds of one name, in groups of two meshes, leave different things unknown.
func TestUnknownIsByGroupAndKind(t *testing.T) {
	for _, c := range []struct {
		wish                 Wish
		group, kind, unknown string
	}{
		{Wish{}, "security.istio.io", "AuthorizationPolicy", "whether a policy denies probes"},
		{Wish{}, "policy.linkerd.io", "AuthorizationPolicy", "whether Linkerd admits a probe"},
		{Wish{}, "", "ConfigMap", "how the meshes are configured, such as whether Istio's injector rewrites probes"},
		{Wish{FactsOnly: true}, "", "Pod", "what running pods show of Istio"},
		{Wish{}, "", "Pod", ""}, // they are what is checked
	} {
		of := surroundings.GroupKind{Group: c.group, Kind: c.kind}
		all := (&reader{Wish: c.wish}).wanted()
		i := slices.IndexFunc(all, func(n need) bool { return n.GroupKind == of })
		if i < 0 || all[i].unknown != c.unknown {
			t.Errorf("%+v: without %v, %q", c.wish, of, all[max(i, 0)].unknown)
		}
	}
}

// A cluster of OpenShift's is one, whatever else it has.
func TestOpenShift(t *testing.T) {
	for group, want := range map[string]bool{"route.openshift.io": true, "example.com": false} {
		r := serve(t, "apiVersion: "+group+"/v1\nkind: Route\nmetadata: {name: a, namespace: b}\n", Wish{})
		if r.OpenShift != want {
			t.Errorf("with %s: %t", group, r.OpenShift)
		}
	}
}

// What a reading lacks does not exist, if all of the kind was read: all namespaces, and not by name.
func TestHasAll(t *testing.T) {
	text, _ := each(t)
	for _, c := range []struct {
		wish                              Wish
		forbidden                         string
		hooks, nodes, peers, maps, absent bool
	}{
		{Wish{}, "", true, true, true, false, true},
		{Wish{FactsOnly: true}, "", true, true, true, false, true},
		{Wish{Namespace: "shop"}, "", true, true, false, false, true},
		{Wish{}, "nodes peerauthentications", true, false, false, false, true},
		{Wish{}, "mutatingwebhookconfigurations", false, true, true, false, true},
	} {
		t.Setenv("KUBECTL_FORBIDDEN", c.forbidden)
		r := serve(t, text, c.wish)
		for _, s := range slices.Concat(r.Streams, r.Beside) {
			hooks, nodes := s.All("admissionregistration.k8s.io", "MutatingWebhookConfiguration"), s.All("", "Node")
			peers, maps, absent := s.All("security.istio.io", "PeerAuthentication"), s.All("", "ConfigMap"), s.All("example.com", "Absent")
			if hooks != c.hooks || nodes != c.nodes || peers != c.peers || maps != c.maps || absent != c.absent {
				t.Fatalf("%+v: %t %t %t %t %t", c, hooks, nodes, peers, maps, absent)
			}
		}
	}
}

// The injectors of a cluster are named by revision, with the object that says what they do.
func TestInjectors(t *testing.T) {
	config := func(revision, rewrites string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-sidecar-injector" + revision + ", namespace: mesh}\ndata: {values: '{\"sidecarInjectorWebhook\": {\"rewriteAppHTTPProbe\": " + rewrites + "}}'}\n---\n"
	}
	istiod := func(revision string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod" + revision + ", namespace: mesh}\nspec: {template: {spec: {containers: [{name: discovery, image: x/pilot:1.31.0}]}}}\n---\n"
	}
	const hooks = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a, labels: {istio.io/rev: default}}\n---\n"
	text := istiod("") + istiod("-canary") + istiod("-old") + config("", "true") + config("-canary", "false")
	rows := []string{
		"revision default: its injector rewrites probes (ConfigMap mesh/istio-sidecar-injector)",
		"revision canary: its injector rewrites no probes (ConfigMap mesh/istio-sidecar-injector-canary)",
		"revision old: unknown if its injector rewrites probes",
	}
	if got := serve(t, text+hooks, Wish{}).Injectors("mesh"); !slices.Equal(got, rows) {
		t.Errorf("%q", got)
	}
	if got := serve(t, text, Wish{}).Injectors("mesh"); !slices.Equal(got, append(rows, "no webhook injects Istio's sidecar")) {
		t.Errorf("without a webhook: %q", got)
	}
	if got := serve(t, hooks, Wish{}).Injectors("mesh"); len(got) > 0 {
		t.Errorf("without a control plane: %q", got)
	}
}
