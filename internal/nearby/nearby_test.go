package nearby_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

const root = "istio-system"

// of returns the surroundings of the Deployment, which goes to the namespace. The files
// are names and texts by turns.
func of(t *testing.T, namespace string, files ...string) *seen {
	t.Helper()
	var streams []*manifest.Stream
	for i := 0; i < len(files); i += 2 {
		s, err := manifest.Read(files[i], []byte(files[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	x := nearby.Collect(streams, root)
	for _, s := range streams {
		for _, o := range s.Objects() {
			if o.Kind() == "Deployment" {
				found := x.Of(o, namespace)
				if x.Of(o, namespace) != found {
					t.Error("a second call finds others")
				}
				return &seen{found, x.Source(o, namespace)}
			}
		}
	}
	t.Fatal("no Deployment")
	return nil
}

// A seen is what is around an object.
type seen struct {
	surroundings.Surroundings
	surroundings.Source
}

// Namespace returns the metadata of the Namespace; nil if it is not known.
func (s *seen) Namespace() *field.NotedMetadata {
	if m, known := s.Namespaced(); known {
		return &m
	}
	return nil
}

func (s *seen) others() bool {
	return s.OthersInjected("shop", func(labels field.KeyValues) bool { return labels.Get("istio-injection") == "enabled" })
}

// find returns the objects of a kind that are near, or those that are not.
func find[T any](s *seen, k surroundings.Of[T], far bool) (all []*T) {
	for _, f := range s.Find(k.Kind, false) {
		if f.Far == far {
			all = append(all, f.Value.(*T))
		}
	}
	return all
}

func near[T any](s *seen, k surroundings.Of[T]) []*T { return find(s, k, false) }

func (s *seen) unplaced() (all []*surroundings.Service) {
	for _, f := range s.Find(surroundings.Services.Kind, true) {
		if !f.Far {
			all = append(all, f.Value.(*surroundings.Service))
		}
	}
	return all
}

const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"

// ns returns a Namespace with labels and whatever follows them in its metadata.
func ns(name, labels string, more ...string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + name + "\n  labels: {" + labels + "}\n" + strings.Join(more, "")
}

func documents(all ...string) string { return strings.Join(all, "---\n") }

// item returns an object of a ResourceList that a tool has read from the file.
func item(file, object string) string {
	object = strings.Replace(object, "metadata:\n", "metadata:\n  annotations: {internal.config.kubernetes.io/path: "+file+"}\n", 1)
	return "- " + strings.ReplaceAll(strings.TrimSpace(object), "\n", "\n  ") + "\n"
}

func resourceList(items ...string) string {
	return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + strings.Join(items, "")
}

// What stands there later may be the name of any Namespace.
func TestANamespaceThatIsStillToBeNamedIsNotKnown(t *testing.T) {
	for _, name := range []string{"${NS}", "$(NS)", "$NS", "{{ .ns }}", "<namespace>", "REPLACE_ME", "%NS%", "a.b"} {
		quoted := "'" + name + "'"
		if s := of(t, name, "a.yaml", documents(web, ns(quoted, "team: a"))); s.Namespace() != nil {
			t.Errorf("%s is known", name)
		}
	}
	if s := of(t, "my-ns-2", "a.yaml", documents(web, ns("my-ns-2", "team: a"))); s.Namespace() == nil {
		t.Error("a name is not known")
	}
}

func TestTheNearestNamespaceCounts(t *testing.T) {
	on, off := ns("shop", "istio-injection: enabled"), ns("shop", "istio-injection: disabled")
	for _, c := range []struct {
		name  string
		files []string
		at    string // "" if none counts
	}{
		{"there is none", nil, ""},
		{"it is in the same file", []string{"a/b/web.yaml", documents(web, on), "a/b/ns.yaml", off}, "a/b/web.yaml:6"},
		{"it is in the same folder", []string{"a/b/ns.yaml", on, "a/ns.yaml", off, "a/b/web.yaml", web}, "a/b/ns.yaml:1"},
		{"a folder below is another branch", []string{"a/b/c/d/ns.yaml", off, "a/ns.yaml", on, "a/b/web.yaml", web}, "a/ns.yaml:1"},
		{"it is in the folder above", []string{"x/ns.yaml", off, "a/ns.yaml", on, "a/b/web.yaml", web}, "a/ns.yaml:1"},
		{"it is beside the folder", []string{"a/c/ns.yaml", on, "a/b/web.yaml", web}, ""},
		{"a folder whose name begins alike is another", []string{"a/bc/ns.yaml", on, "a/b/web.yaml", web}, ""},
		{"only another branch knows", []string{"x/y/ns.yaml", on, "a/b/web.yaml", web}, ""},
		{"another branch contradicts it", []string{"x/y/ns.yaml", off, "ns.yaml", on, "a/b/web.yaml", web}, "ns.yaml:1"},
		{"paths are written in other ways", []string{"./a/x/../b/ns.yaml", on, "a/ns.yaml", off, "a/b/web.yaml", web}, "./a/x/../b/ns.yaml:1"},
		{"paths are absolute", []string{"/ns.yaml", off, "/a/ns.yaml", on, "/a/b/web.yaml", web}, "/a/ns.yaml:1"},
		{"it is in the root of the file system", []string{"/ns.yaml", on, "a/b/web.yaml", web}, "/ns.yaml:1"},
		{"only its path is absolute", []string{"/x/ns.yaml", on, "a/b/web.yaml", web}, ""},
		{"only the object's path is absolute", []string{"ns.yaml", on, "/a/b/web.yaml", web}, ""},
		{"it is above the folder where paths begin", []string{"../ns.yaml", on, "a/b/web.yaml", web}, "../ns.yaml:1"},
		{"it is above the folder above", []string{"../../ns.yaml", on, "../a/web.yaml", web}, "../../ns.yaml:1"},
		{"the object is above it", []string{"../ns.yaml", on, "../../a/web.yaml", web}, ""},
		{"it is beside the folder where paths begin", []string{"../x/ns.yaml", on, "a/b/web.yaml", web}, ""},
		{"its name is a variable", []string{"a/b/ns.yaml", ns("${SHOP}", "istio-injection: enabled"), "a/b/web.yaml", web}, ""},
		{"two that are equally near contradict each other", []string{"a/x.yaml", on, "a/y.yaml", off, "ns.yaml", on, "a/b/web.yaml", web}, ""},
		{"two in one file contradict each other", []string{"a/b/web.yaml", documents(on, off, web)}, ""},
		{"two that are equally near differ in annotations", []string{"a/x.yaml", on, "a/y.yaml", ns("shop", "istio-injection: enabled", "  annotations: {linkerd.io/inject: enabled}\n"), "a/b/web.yaml", web}, ""},
		{"two that are equally near agree", []string{"a/x.yaml", ns("shop", "istio-injection: enabled, a: b"), "a/y.yaml", ns("shop", "a: b, istio-injection: enabled"), "a/b/web.yaml", web}, "a/x.yaml:1"},
		{"it is local to the package", []string{"a/b/web.yaml", web, "ns.yaml", on, "a/b/ns.yaml", ns("shop", "a: b", "  annotations: {config.kubernetes.io/local-config: \"true\"}\n")}, "ns.yaml:1"},
		{"it is invalid", []string{"a/b/web.yaml", web, "ns.yaml", on, "a/b/ns.yaml", ns("shop", "a: [b]")}, "ns.yaml:1"},
		{"it has another apiVersion", []string{"a/b/web.yaml", web, "a/b/ns.yaml", strings.Replace(on, "v1", "v2", 1)}, ""},
		{"it is another's", []string{"a/b/web.yaml", web, "a/b/ns.yaml", ns("other", "istio-injection: enabled")}, ""},
		{"it is in a ResourceList", []string{"<stdin>", resourceList(item("a/ns.yaml", off), item("a/b/ns.yaml", on), item("a/b/web.yaml", web))}, "a/b/ns.yaml"},
	} {
		if len(c.files) == 0 {
			c.files = []string{"a/b/web.yaml", web}
		}
		s := of(t, "shop", c.files...)
		at := ""
		if x := s.NamespaceAt(); x != nil {
			at = x.String()
		}
		if (s.Namespace() == nil) != (c.at == "") || at != c.at {
			t.Errorf("%s: %v at %q, want one at %q", c.name, s.Namespace(), at, c.at)
		}
		if s.Namespace() != nil && s.Namespace().Labels.Get("istio-injection") != "enabled" {
			t.Errorf("%s: it is %v", c.name, s.Namespace())
		}
	}
}

func TestANamespaceCountsWhereItsPlaceIsNotKnown(t *testing.T) {
	on := ns("shop", "istio-injection: enabled")
	item := "- " + strings.ReplaceAll(strings.TrimSpace(on), "\n", "\n  ") + "\n"
	for place, files := range map[string][]string{
		"a ResourceList": {"<stdin>", resourceList("- "+strings.ReplaceAll(strings.TrimSpace(web), "\n", "\n  ")+"\n", item)},
		"a Go value":     {"", documents(web, on)},
	} {
		if s := of(t, "shop", files...); s.Namespace() == nil || s.NamespaceAt().String() != "" {
			t.Errorf("%s: %v at %q", place, s.Namespace(), s.NamespaceAt())
		}
	}
}

func TestOtherNamespacesThatAreInjectedAreKnown(t *testing.T) {
	const on = "istio-injection: enabled"
	if s := of(t, "shop", "a/web.yaml", web, "ns.yaml", ns("other", on)); !s.others() {
		t.Error("another Namespace does not count")
	}
	if s := of(t, "shop", "a/web.yaml", web, "ns.yaml", ns("other", "a: b")); s.others() {
		t.Error("another Namespace without the label counts")
	}
	if s := of(t, "shop", "a/web.yaml", web, "b/ns.yaml", ns("other", on)); s.others() {
		t.Error("another Namespace counts in another branch")
	}
	if s := of(t, "shop", "a/web.yaml", web, "ns.yaml", ns("shop", on)); s.others() {
		t.Error("its own Namespace counts as another")
	}
	nameless := "apiVersion: v1\nkind: Namespace\nmetadata:\n  labels: {istio-injection: enabled}\n"
	if s := of(t, "", "a.yaml", documents(web, nameless)); s.Namespace() != nil || s.others() {
		t.Errorf("a Namespace without a name counts: %+v", s)
	}
}

// What is in the file of an object is nearer than what is in its folder, whatever kind it is of.
func TestASurroundingInTheSameFileIsTheNearest(t *testing.T) {
	const meta = "metadata: {name: x, namespace: shop}\n"
	for kind, found := range map[string]func(*seen) string{
		"apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\n" + meta + "spec: {action: %s}\n": func(s *seen) string {
			return string(near(s, surroundings.AuthorizationPolicies)[0].Action)
		},
		"apiVersion: security.istio.io/v1\nkind: PeerAuthentication\n" + meta + "spec: {mtls: {mode: %s}}\n": func(s *seen) string {
			return near(s, surroundings.PeerAuthentications)[0].MTLS.Mode
		},
		"apiVersion: v1\nkind: ResourceQuota\n" + meta + "spec: {hard: {cpu: %s}}\n": func(s *seen) string {
			v, _ := s.Limits().Quotas[0].Hard.Get("cpu")
			text, _ := v.(string)
			return text
		},
		"apiVersion: v1\nkind: Service\n" + meta + "spec: {selector: {a: %s}}\n": func(s *seen) string {
			return near(s, surroundings.Services)[0].Selector.Get("a")
		},
	} {
		here, there := strings.Replace(kind, "%s", "STRICT", 1), strings.Replace(kind, "%s", "DISABLE", 1)
		if got := found(of(t, "shop", "a/other.yaml", there, "a/web.yaml", documents(web, here))); got != "STRICT" {
			t.Errorf("%s: %q", kind, got)
		}
	}
}
