package kubectl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Type is a type of objects as the API server serves it.
type Type struct {
	Group, Version, Kind string
	Resource             string // its name in paths, such as deployments
	Namespaced           bool
}

// String returns the name that RBAC and kubectl have, such as deployments.apps.
func (t Type) String() string { return strings.TrimSuffix(t.Resource+"."+t.Group, ".") }

// base returns the path of a version of a group.
func base(group, version string) string {
	if group == "" {
		return "/api/" + version
	}
	return "/apis/" + group + "/" + version
}

// Groups returns the versions of each group that the API server serves, the preferred one first.
func (k *Kubectl) Groups(ctx context.Context) (map[string][]string, error) {
	var all struct {
		Groups []struct {
			Name      string
			Versions  []struct{ Version string }
			Preferred struct{ Version string } `json:"preferredVersion"`
		}
	}
	if err := k.decode(ctx, "/apis", &all); err != nil {
		return nil, err
	}
	groups := map[string][]string{"": {"v1"}}
	for _, g := range all.Groups {
		versions := []string{g.Preferred.Version}
		for _, v := range g.Versions {
			if v.Version != g.Preferred.Version {
				versions = append(versions, v.Version)
			}
		}
		groups[g.Name] = versions
	}
	return groups, nil
}

// Types returns the types of a version of a group that can be listed.
func (k *Kubectl) Types(ctx context.Context, group, version string) (types []Type, err error) {
	var all struct {
		Resources []struct {
			Name, Kind string
			Namespaced bool
			Verbs      []string
		}
	}
	if err := k.decode(ctx, base(group, version), &all); err != nil {
		return nil, err
	}
	for _, r := range all.Resources {
		if slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
			types = append(types, Type{group, version, r.Kind, r.Name, r.Namespaced})
		}
	}
	return types, nil
}

// decode decodes the answer to a GET.
func (k *Kubectl) decode(ctx context.Context, path string, into any) error {
	return k.retry(ctx, path, func(text []byte) error { return json.Unmarshal(text, into) })
}

// attempts is how often an answer is requested that is cut off.
const attempts = 3

// retry reads the answer to a GET. If the connection is cut, it asks again.
func (k *Kubectl) retry(ctx context.Context, path string, read func(text []byte) error) error {
	for n := 1; ; n++ {
		text, err := k.raw(ctx, path)
		if err == nil {
			if err = read(text); err == nil {
				return nil
			}
			err = &Error{Text: fmt.Sprintf("the answer to %s is not what an API server returns (%v)", path, err)}
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || n == attempts || !e.isTransient() {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(n) * 200 * time.Millisecond):
		}
	}
}

// isTransient reports whether another attempt may succeed.
func (e *Error) isTransient() bool {
	for _, cut := range []string{"EOF", "connection reset", "stream error", "http2:", "is not what an API server returns"} {
		if e.Reason == "" && strings.Contains(e.Text, cut) {
			return true
		}
	}
	return slices.Contains([]string{"InternalError", "ServiceUnavailable", "Timeout", "ServerTimeout"}, e.Reason)
}

// A Query chooses objects of a type. The zero Query takes all.
type Query struct {
	Namespace string // instead of that of the options
	Anywhere  bool   // in all namespaces, whatever the options say
	Name      string // of the only object
	Labels    string // a label selector
	Fields    string // a field selector
}

// pageSize is how many objects one call returns.
const pageSize = 500

// List reads all objects of a type in pages. Each page is a list in JSON, with the items that keep
// accepts; nil accepts all. A page without items is left out.
func (k *Kubectl) List(
	ctx context.Context, t Type, q Query, keep func(Item) bool,
) (pages [][]byte, err error) {
	rest := ""
	for expired := 0; ; {
		err = k.retry(ctx, k.pathOf(t, q, rest), func(text []byte) error {
			var m struct{ Continue string }
			if err := Item(text).Decode(&m, "metadata"); err != nil {
				return err
			}
			list := field(text, "items")
			all, ok := items(list)
			if !ok && string(list) != "null" {
				return errors.New("it has no items")
			}
			if kept := t.kept(all, keep); kept != nil {
				pages = append(pages, kept)
			}
			rest = m.Continue
			return nil
		})
		switch {
		case Is(err, "Expired", "Gone") && rest != "" && expired < attempts:
			expired++ // the list has become too old: once more
			pages, rest = nil, ""
			continue
		case err != nil:
			return nil, err
		case rest == "":
			return pages, nil
		}
	}
}

// pathOf returns the path of a page of a list.
func (k *Kubectl) pathOf(t Type, q Query, rest string) string {
	path := base(t.Group, t.Version)
	namespace := cmp.Or(q.Namespace, k.Namespace)
	if t.Namespaced && !q.Anywhere && namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	v := url.Values{"limit": {strconv.Itoa(pageSize)}}
	switch {
	case q.Name != "":
		v.Set("fieldSelector", "metadata.name="+q.Name)
	case q.Fields != "":
		v.Set("fieldSelector", q.Fields)
	}
	if q.Labels != "" {
		v.Set("labelSelector", q.Labels)
	}
	if rest != "" {
		v.Set("continue", rest)
	}
	return path + "/" + t.Resource + "?" + v.Encode()
}

// kept returns a list of the items that keep accepts, in memory of its own; nil if there is none.
func (t Type) kept(all [][]byte, keep func(Item) bool) []byte {
	apiVersion := strings.TrimPrefix(t.Group+"/"+t.Version, "/")
	head := fmt.Sprintf("{\"kind\":%q,\"apiVersion\":%q,\"items\":[\n", t.Kind+"List", apiVersion)
	var b bytes.Buffer
	for _, item := range all {
		if keep != nil && !keep(Item(item)) {
			continue
		}
		if b.Len() == 0 {
			b.WriteString(head)
		} else {
			b.WriteString(",\n")
		}
		b.Write(item)
	}
	if b.Len() == 0 {
		return nil
	}
	b.WriteString("]}\n")
	return bytes.Clone(b.Bytes())
}

// An Item is an object of a list in JSON.
type Item []byte

// Decode decodes the field of a path; it stays as it is if the field is absent.
func (i Item) Decode(into any, path ...string) error {
	text := []byte(i)
	for _, key := range path {
		if text = field(text, key); text == nil {
			return nil
		}
	}
	return json.Unmarshal(text, into)
}
