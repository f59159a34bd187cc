package nearby_test

import (
	"fmt"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"slices"
	"strings"
	"testing"
)

// object returns an object of the kind "namespace/name" with lines of its spec.
func object(apiVersion, kind, name string, spec ...string) string {
	namespace, name, _ := strings.Cut(name, "/")
	if namespace != "" {
		namespace = "  namespace: " + namespace + "\n"
	}
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n" + namespace + "spec:\n  " + strings.Join(spec, "\n  ") + "\n"
}

func peer(name string, spec ...string) string {
	return object("security.istio.io/v1", "PeerAuthentication", name, spec...)
}

func authorization(name string) string {
	return object("security.istio.io/v1beta1", "AuthorizationPolicy", name, "action: DENY")
}

func service(name string) string {
	return object("v1", "Service", name, "selector: {app: web}", "ports: [{port: 80}]")
}

const (
	ofWeb   = "selector: {matchLabels: {app: web, tier: front}}"
	alike   = "selector: {matchLabels: {tier: front, app: web}}"
	ofOther = "selector: {matchLabels: {app: other}}"
)

func TestOfEachPolicyAndServiceTheNearestCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		found string // where they are
	}{
		{"a PeerAuthentication of the same name is nearer", []string{"p.yaml", peer("shop/a", "{}"), "a/p.yaml", peer("shop/a", "{}")}, "a/p.yaml:1"},
		{"one of the same scope is nearer", []string{"p.yaml", peer("shop/a", ofWeb), "a/p.yaml", peer("shop/b", alike)}, "a/p.yaml:1"},
		{"one of another scope is nearer", []string{"p.yaml", peer("shop/a", "{}"), "a/p.yaml", peer("shop/b", ofWeb), "q.yaml", peer("shop/c", ofOther)}, "p.yaml:1 a/p.yaml:1 q.yaml:1"},
		{"one of another namespace is nearer", []string{"p.yaml", peer("istio-system/a", "{}"), "a/p.yaml", peer("shop/a", "{}")}, "p.yaml:1 a/p.yaml:1"},
		{"the nearer one of a name has another scope", []string{"p.yaml", peer("shop/a", "{}"), "q.yaml", peer("shop/b", "{}"), "a/p.yaml", peer("shop/a", ofWeb)}, "q.yaml:1 a/p.yaml:1"},
		{"two are equally near", []string{"a/p.yaml", peer("shop/a", "{}"), "a/q.yaml", peer("shop/b", "{}")}, "a/p.yaml:1 a/q.yaml:1"},
		{"one is nobody's", []string{"a/p.yaml", peer("other/a", "{}"), "a/q.yaml", peer("/a", "{}")}, ""},
		{"an AuthorizationPolicy of the same name is nearer", []string{"p.yaml", authorization("shop/a"), "a/p.yaml", authorization("shop/a")}, "a/p.yaml:1"},
		{"one of another name is nearer", []string{"p.yaml", authorization("shop/a"), "a/p.yaml", authorization("shop/b")}, "p.yaml:1 a/p.yaml:1"},
		{"one of the root namespace is nearer", []string{"p.yaml", authorization("shop/a"), "a/p.yaml", authorization("istio-system/a")}, "a/p.yaml:1 p.yaml:1"},
		{"a Service of the same name is nearer", []string{"s.yaml", service("shop/a"), "a/s.yaml", service("shop/a")}, "a/s.yaml:1"},
		{"one of another name is nearer", []string{"s.yaml", service("shop/a"), "a/s.yaml", service("shop/b")}, "s.yaml:1 a/s.yaml:1"},
		{"one has another namespace", []string{"a/s.yaml", service("other/a")}, ""},
		{"one of no namespace is unplaced", []string{"s.yaml", service("shop/a"), "a/s.yaml", service("/a")}, "s.yaml:1 a/s.yaml:1"},
		{"one far away has none", []string{"b/s.yaml", service("/a"), "a/s.yaml", service("/b")}, "a/s.yaml:1"},
	} {
		s := of(t, "shop", append(c.files, "a/web.yaml", web)...)
		var found []string
		for _, p := range append(near(s, surroundings.PeerAuthentications), find(s, surroundings.PeerAuthentications, true)...) {
			found = append(found, p.At.String())
		}
		for _, f := range s.Find(surroundings.AuthorizationPolicies.Kind, false) {
			p := f.Value.(*surroundings.AuthorizationPolicy)
			found = append(found, p.At.String())
			if f.Disputed {
				t.Errorf("%s: %s is disputed", c.name, p.At.String())
			}
		}
		for _, v := range append(near(s, surroundings.Services), s.unplaced()...) {
			found = append(found, v.At.String())
		}
		if got := strings.Join(found, " "); got != c.found {
			t.Errorf("%s: %q, want %q", c.name, got, c.found)
		}
	}
}

func TestTwoPoliciesOfOneNameThatAreEquallyNearAreDisputed(t *testing.T) {
	s := of(t, "shop", "a/web.yaml", web, "a/p.yaml", documents(authorization("shop/a"), authorization("shop/b"), authorization("istio-system/b")), "a/q.yaml", authorization("shop/a"))
	var disputed []string
	for _, f := range s.Find(surroundings.AuthorizationPolicies.Kind, false) {
		if f.Disputed {
			disputed = append(disputed, f.Value.(*surroundings.AuthorizationPolicy).At.String())
		}
	}
	if !slices.Equal(disputed, []string{"a/p.yaml:1", "a/q.yaml:1"}) {
		t.Errorf("disputed are %q", disputed)
	}
}

// Objects without a namespace go to the same one if they are near each other.
func TestServices_withoutNamespace(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		found string
	}{
		{"there is none", nil, ""},
		{"one is in the file, one in the folder, one below", []string{"a/s.yaml", service("/a"), "a/web.yaml", documents(web, service("/b")), "a/b/s.yaml", service("/c"), "s.yaml", service("/d")}, "a/s.yaml:1 a/web.yaml:6"},
		{"one is beside the folder, one above", []string{"s.yaml", service("/a"), "y/a/s.yaml", service("/b"), "y/b/web.yaml", web}, "s.yaml:1"},
		{"one is beside the folder", []string{"y/a/s.yaml", service("/b"), "y/b/web.yaml", web}, ""},
		{"one has a namespace", []string{"a/s.yaml", service("shop/a"), "a/web.yaml", web}, ""},
	} {
		if len(c.files) == 0 {
			c.files = []string{"a/web.yaml", web}
		}
		var found []string
		s := of(t, "", c.files...)
		if len(s.unplaced()) > 0 {
			t.Errorf("%s: a Service is unplaced", c.name)
		}
		for _, v := range near(s, surroundings.Services) {
			found = append(found, v.At.String())
		}
		if got := strings.Join(found, " "); got != c.found {
			t.Errorf("%s: %q, want %q", c.name, got, c.found)
		}
	}
}

// The limits of one cluster say nothing about another that is beside it in the repository.
func TestOfLimitsOfANameTheNearestCounts(t *testing.T) {
	limits := func(name, memory string) string {
		return object("v1", "LimitRange", name, "limits: [{type: Pod, max: {memory: "+memory+"}}]")
	}
	quota := func(name, pods string) string {
		return object("v1", "ResourceQuota", name, "hard: {pods: "+pods+"}")
	}
	local := "apiVersion: v1\nkind: LimitRange\nmetadata: {name: local, namespace: shop, annotations: {config.kubernetes.io/local-config: \"true\"}}\n"
	for _, c := range []struct {
		name, namespace string
		files           []string
		ranges, quotas  string
	}{
		{"one of the same name is nearer", "shop", []string{"a/l.yaml", documents(limits("shop/x", "1Gi"), quota("shop/x", "1")), "b/l.yaml", documents(limits("shop/x", "2Gi"), quota("shop/x", "2"))}, "x", "x 1"},
		{"one of another name is nearer", "shop", []string{"a/l.yaml", documents(limits("shop/x", "1Gi"), quota("shop/x", "1")), "l.yaml", documents(limits("shop/y", "2Gi"), quota("shop/y", "2"))}, "x y", "x 1 y 2"},
		{"one is of another namespace, or none", "shop", []string{"a/l.yaml", documents(limits("other/x", "1Gi"), quota("/x", "1"))}, "", ""},
		{"one never reaches a cluster", "shop", []string{"a/l.yaml", local}, "", ""},
		{"no namespace is known, and one is near", "", []string{"a/l.yaml", documents(limits("/x", "1Gi"), quota("/x", "1")), "b/l.yaml", documents(limits("/y", "2Gi"), quota("/y", "2"))}, "x", "x 1"},
	} {
		found := of(t, c.namespace, append(c.files, "a/web.yaml", web)...)
		var ranges, quotas []string
		for _, l := range found.Ranges() {
			ranges = append(ranges, l.Name)
		}
		for _, q := range found.Limits().Quotas {
			pods, _ := q.Hard.Get("pods")
			quotas = append(quotas, fmt.Sprint(q.Name, " ", pods))
		}
		if r, q := strings.Join(ranges, " "), strings.Join(quotas, " "); r != c.ranges || q != c.quotas {
			t.Errorf("%s: LimitRanges %q and ResourceQuotas %q, want %q and %q", c.name, r, q, c.ranges, c.quotas)
		}
	}
}

// Of another branch nothing is certain: what it says of the object is kept, and marked.
func TestWhatAnotherBranchSaysIsMarked(t *testing.T) {
	s := of(t, "shop", "a/web.yaml", web, "b/all.yaml", documents(
		ns("shop", "istio-injection: disabled"), peer("shop/a", "{}"), authorization("shop/a"), service("shop/a"),
		object("v1", "LimitRange", "shop/a", "limits: []"), object("v1", "ResourceQuota", "shop/a", "hard: {}"),
		object("networking.k8s.io/v1", "Ingress", "shop/a", "rules: []"), object("route.openshift.io/v1", "Route", "shop/a", "to: {}")))
	further := of(t, "shop", "a/web.yaml", web, "b/all.yaml", documents(
		object("networking.istio.io/v1", "Sidecar", "shop/a", "ingress: []"), object("networking.istio.io/v1", "Sidecar", root+"/a", "ingress: []"),
		object("apps.kruise.io/v1beta1", "SidecarSet", "/a", "containers: [{name: istio-proxy}]"), object("networking.k8s.io/v1", "NetworkPolicy", "shop/a", "podSelector: {}"),
		object("policy.linkerd.io/v1beta3", "Server", "shop/a", "podSelector: {}"), object("policy.linkerd.io/v1beta3", "HTTPRoute", "shop/a", "parentRefs: [{kind: Server, name: a}]")))
	if n := len(near(further, surroundings.Sidecars)) + len(near(further, surroundings.SidecarSets)) + len(near(further, surroundings.NetworkPolicies)) +
		len(near(further, surroundings.LinkerdServers)) + len(near(further, surroundings.HTTPRoutes)); n > 0 {
		t.Errorf("%d objects of another branch are heard", n)
	}
	if limits := s.Limits(); s.Namespace() != nil || s.IsOpenShift() || len(limits.Ranges)+len(limits.Quotas)+len(near(s, surroundings.Services))+len(near(s, surroundings.Ingresses)) != 0 {
		t.Errorf("another branch is heard: %+v", s)
	}
	elsewhere := s.NamespaceElsewhere(func(field.KeyValues) bool { return true })
	if elsewhere == nil || elsewhere.Words() != "Namespace shop at b/all.yaml:1" || len(find(s, surroundings.Services, true)) != 1 {
		t.Errorf("the Namespace %v and the Services of another branch are not kept", elsewhere)
	}
	if len(find(s, surroundings.PeerAuthentications, true)) != 1 || len(find(s, surroundings.AuthorizationPolicies, true)) != 1 {
		t.Error("the policies of another branch are not marked")
	}
	s = of(t, "shop", "a/web.yaml", documents(web, ns("shop", ""), peer("shop/b", "{}")), "b/all.yaml", documents(ns("shop", ""), peer("shop/a", "{}")))
	if s.Namespace() == nil || len(find(s, surroundings.Namespaces, true)) != 0 || len(near(s, surroundings.PeerAuthentications)) != 1 || len(find(s, surroundings.PeerAuthentications, true)) != 0 {
		t.Errorf("another branch counts although the object's own folder speaks: %+v", s)
	}
}

// A Service and a ServiceEntry of one name are two, wherever they are, and so are routes of two groups.
func TestTheNameOfAnObjectIsThatOfItsKind(t *testing.T) {
	service := "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"
	entry := "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata:\n  name: web\n  namespace: shop\nspec: {workloadSelector: {labels: {app: web}}, ports: [{number: 80}]}\n"
	for _, files := range [][]string{{"all.yaml", documents(web, service, entry)}, {"a/web.yaml", documents(web, service), "entry.yaml", entry}, {"a/web.yaml", documents(web, entry), "service.yaml", service}} {
		s := of(t, "shop", files...)
		if got := near(s, surroundings.Services); len(got) != 2 {
			t.Errorf("%q: %+v", files, got)
		}
	}
	twice := of(t, "shop", "a/web.yaml", documents(web, service), "service.yaml", service)
	if got := near(twice, surroundings.Services); len(got) != 1 {
		t.Errorf("one Service in two folders: %+v", got)
	}
}

// The file that a tool has noted on an object counts in a ResourceList. In a file of its own the note is of an earlier run.
func TestOnlyAResourceListHasNotedFiles(t *testing.T) {
	noted := strings.Replace(ns("shop", "a: b"), "metadata:\n", "metadata:\n  annotations: {internal.config.kubernetes.io/path: a/ns.yaml}\n", 1)
	if s := of(t, "shop", "a/web.yaml", web, "b/ns.yaml", noted); s.Namespace() != nil || len(find(s, surroundings.Namespaces, true)) != 1 {
		t.Errorf("a Namespace of another folder is near: %v", s.NamespaceAt())
	}
	if s := of(t, "shop", "a/web.yaml", web, "ns.yaml", noted); s.Namespace() == nil || s.NamespaceAt().String() != "ns.yaml:1" {
		t.Errorf("the Namespace is at %v", s.NamespaceAt())
	}
	list := resourceList(item("a/web.yaml", web), item("a/ns.yaml", ns("shop", "a: b")))
	if s := of(t, "shop", "<stdin>", list); s.Namespace() == nil || s.NamespaceAt().String() != "a/ns.yaml" {
		t.Errorf("in a list, the Namespace is at %v", s.NamespaceAt())
	}
	other := resourceList(item("a/web.yaml", web), item("b/ns.yaml", ns("shop", "a: b")))
	if s := of(t, "shop", "<stdin>", other); s.Namespace() != nil {
		t.Errorf("in a list, a Namespace of another folder is near: %v", s.NamespaceAt())
	}
}

// A folder whose name another begins with is not above it.
func TestAFolderIsNoOtherThatItBegins(t *testing.T) {
	for file, isNear := range map[string]bool{"a/ns.yaml": false, "ab/ns.yaml": true, "ab/c/ns.yaml": false, "abc/ns.yaml": false, "ns.yaml": true} {
		if s := of(t, "shop", "ab/web.yaml", web, file, ns("shop", "a: b")); (s.Namespace() != nil) != isNear {
			t.Errorf("%s is near ab/: %t", file, s.Namespace() != nil)
		}
	}
}
