package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// peer returns a PeerAuthentication "namespace/name" with the lines of its spec.
func peer(name string, spec ...string) string {
	namespace, name, _ := strings.Cut(name, "/")
	return "---\napiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata:\n  name: " + name +
		"\n  namespace: " + namespace + "\nspec:\n  " + strings.Join(spec, "\n  ") + "\n"
}

// names returns the modes, joined by blanks.
func names(modes []surroundings.MTLSMode) string {
	var all []string
	for _, m := range modes {
		all = append(all, m.Mode)
	}
	return strings.Join(all, " ")
}

// Istio's rules: ComposePeerAuthentication in pilot/pkg/security/authn/policy_applier.go.
func TestTheModesOfAPortAreThoseThatIstioComposes(t *testing.T) {
	const (
		ofWeb      = "selector: {matchLabels: {app: web}}"
		ofFront    = "selector: {matchLabels: {tier: front}}"
		strict     = "mtls: {mode: STRICT}"
		permissive = "mtls: {mode: PERMISSIVE}"
		disable    = "mtls: {mode: DISABLE}"
		unset      = "mtls: {mode: UNSET}"
	)
	for _, c := range []struct {
		name  string
		yaml  string
		modes string
		by    string // the policies that decide, of mesh.yaml
	}{
		{"no policy is known", "", "default", ""},
		{"the mesh has one", peer("istio-system/mesh", permissive), "PERMISSIVE", "istio-system/mesh:1"},
		{"the mesh's says nothing, which is Istio's own default", peer("istio-system/mesh", "{}"), "PERMISSIVE", "istio-system/mesh:1"},
		{"the mesh's is UNSET", peer("istio-system/mesh", unset), "PERMISSIVE", "istio-system/mesh:1"},
		{"an empty selector is none", peer("istio-system/mesh", "selector: {}", disable), "DISABLE", "istio-system/mesh:1"},
		{"a selector in the root namespace counts for nothing", peer("istio-system/mesh", ofWeb, permissive), "default", ""},
		{"another namespace has one", peer("other/wide", permissive), "default", ""},
		{"the namespace's wins over the mesh's", peer("istio-system/mesh", strict) + peer("shop/wide", permissive), "PERMISSIVE", "shop/wide:9"},
		{"the namespace's inherits the mesh's", peer("istio-system/mesh", disable) + peer("shop/wide", unset), "DISABLE", "istio-system/mesh:1"},
		{"the namespace's inherits what holds by default", peer("shop/wide", unset), "default", ""},
		{"the workload's wins over the namespace's", peer("shop/wide", strict) + peer("shop/web", ofWeb, permissive), "PERMISSIVE", "shop/web:9"},
		{"the workload's inherits", peer("shop/wide", permissive) + peer("shop/web", ofWeb), "PERMISSIVE", "shop/wide:1"},
		{"another workload has one", peer("shop/other", "selector: {matchLabels: {app: web, tier: back}}", permissive), "default", ""},
		{"a port of the workload has its own", peer("shop/web", ofWeb, strict, "portLevelMtls: {8080: {mode: DISABLE}}"), "DISABLE", "shop/web:1"},
		{"the port's key is in quotes", peer("shop/web", ofWeb, strict, "portLevelMtls: {\"8080\": {mode: DISABLE}}"), "DISABLE", "shop/web:1"},
		{"another port has its own", peer("shop/web", ofWeb, strict, "portLevelMtls: {8081: {mode: DISABLE}}"), "STRICT", "shop/web:1"},
		{"the port's is UNSET", peer("shop/web", ofWeb, permissive, "portLevelMtls: {8080: {mode: UNSET}}"), "PERMISSIVE", "shop/web:1"},
		{"port and workload are UNSET", peer("shop/wide", disable) + peer("shop/web", ofWeb, unset, "portLevelMtls: {8080: {}}"), "DISABLE", "shop/wide:1"},
		{"a port without a selector counts for nothing", peer("shop/wide", strict, "portLevelMtls: {8080: {mode: DISABLE}}"), "STRICT", "shop/wide:1"},
		{"two of one namespace agree", peer("shop/a", permissive) + peer("shop/b", permissive), "PERMISSIVE", "shop/a:1 shop/b:9"},
		{"two of one namespace differ, and Istio takes the older one", peer("shop/a", permissive) + peer("shop/b", strict), "PERMISSIVE STRICT", "shop/a:1 shop/b:9"},
		{"one of two inherits", peer("istio-system/mesh", disable) + peer("shop/a", unset) + peer("shop/b", strict), "DISABLE STRICT", "istio-system/mesh:1 shop/b:17"},
		{"two of the mesh differ", peer("istio-system/a", unset) + peer("istio-system/b", strict), "PERMISSIVE STRICT", "istio-system/a:1 istio-system/b:9"},
		{"two select the workload, and only one has the port", peer("shop/a", ofWeb, strict, "portLevelMtls: {8080: {mode: DISABLE}}") + peer("shop/b", ofFront, permissive), "DISABLE PERMISSIVE", "shop/a:1 shop/b:11"},
		{"of very many the first two are named", peer("shop/a", strict) + peer("shop/b", strict) + peer("shop/c", strict) + peer("shop/d", strict), "STRICT", "shop/a:1, shop/b:9 2 more"},
		{"the mode is none of Istio's", peer("shop/wide", "mtls: {mode: strict}"), "default", ""},
		{"a port is none", peer("shop/web", ofWeb, permissive, "portLevelMtls: {http: {mode: STRICT}}"), "default", ""},
		{"a field has another type", peer("shop/wide", "mtls: PERMISSIVE"), "default", ""},
		{"the API is another", strings.ReplaceAll(peer("shop/wide", permissive), "security.istio.io", "example.org"), "default", ""},
		{"the version is older", strings.ReplaceAll(peer("shop/wide", permissive), "/v1", "/v1beta1"), "PERMISSIVE", "shop/wide:1"},
		{"it is local to the package", strings.ReplaceAll(peer("shop/wide", permissive), "metadata:", "metadata:\n  annotations: {config.kubernetes.io/local-config: 'true'}"), "default", ""},
	} {
		first := strings.TrimPrefix(c.yaml, "---\n")
		if first == "" {
			first = podOf("", app(httpProbe))
		}
		modes := near(t, "shop", first).MTLS(rootNamespace, pods("shop", webLabels), 8080, "default")
		if got := names(modes); got != c.modes {
			t.Errorf("%s: %s, want %s", c.name, got, c.modes)
		}
		var by []string
		for _, m := range modes {
			by = append(by, m.At)
		}
		words := strings.NewReplacer("PeerAuthentication ", "", " at mesh.yaml", "", " and ", " ").Replace(strings.Join(by, " "))
		if words != c.by {
			t.Errorf("%s: %q decides, want %q", c.name, by, c.by)
		}
	}
}

func TestWhatIsNotKnownOfAPodLeavesItsModesOpen(t *testing.T) {
	yaml := peer("shop/wide", "mtls: {mode: DISABLE}") + peer("shop/web", "selector: {matchLabels: {app: web}}", "mtls: {mode: PERMISSIVE}") + peer("istio-system/mesh", "mtls: {mode: STRICT}")
	yaml = strings.TrimPrefix(yaml, "---\n")
	for _, c := range []struct {
		name, namespace string
		labels          field.KeyValues
		modes           string
	}{
		{"all is known", "shop", webLabels, "PERMISSIVE"},
		{"its labels are not", "shop", nil, "DISABLE PERMISSIVE"},
		{"it has no labels", "shop", field.KeyValues{}, "DISABLE"},
		{"its namespace is not", "", webLabels, "STRICT"},
		{"it is in the root namespace", rootNamespace, webLabels, "STRICT"},
	} {
		modes := near(t, c.namespace, yaml).MTLS(rootNamespace, pods(c.namespace, c.labels), 8080, "default")
		if got := names(modes); got != c.modes {
			t.Errorf("%s: %s, want %s", c.name, got, c.modes)
		}
	}
}

func TestAPolicyWithoutANamespaceMayBeOfAPodWithoutOne(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		modes      string
	}{
		{"of the namespace", peer("/wide", "mtls: {mode: DISABLE}"), "DISABLE default"},
		{"of the pod", peer("/web", "selector: {matchLabels: {app: web}}", "mtls: {mode: DISABLE}"), "DISABLE default"},
		{"of another pod", peer("/web", "selector: {matchLabels: {app: front}}", "mtls: {mode: DISABLE}"), "default"},
	} {
		yaml := strings.TrimPrefix(c.yaml, "---\n")
		modes := near(t, "", yaml).MTLS(rootNamespace, pods("", webLabels), 8080, "default")
		if got := names(modes); got != c.modes {
			t.Errorf("%s: %s, want %s", c.name, got, c.modes)
		}
		if modes := near(t, "shop", yaml).MTLS(rootNamespace, pods("shop", webLabels), 8080, "default"); len(modes) != 1 {
			t.Errorf("%s: a pod of another namespace has %v", c.name, modes)
		}
	}
}
