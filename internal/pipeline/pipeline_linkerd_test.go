package pipeline_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A Server of Linkerd that selects a probe's port replaces the default policy, with its accessPolicy and authorizations: they
// alone decide about a grpc probe. What does not select it, or lets in somebody else, changes nothing.
func TestAServerReplacesLinkerdsDefaultPolicy(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(1200) {
		d := drawer{rand.New(rand.NewPCG(seed, 60))}
		byDefault := d.pick("deny", "all-unauthenticated", "cluster-unauthenticated", "all-authenticated")
		text := "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {linkerd.io/inject: enabled, config.linkerd.io/default-inbound-policy: " + byDefault + "}}\n"
		object := func(kind, name, namespace, spec string) {
			text += fmt.Sprintf("---\napiVersion: policy.linkerd.io/v1beta1\nkind: %s\nmetadata: {name: %s, namespace: %s, labels: {of: %s}}\nspec: %s\n", kind, name, namespace, name, spec)
		}
		const none, some, all = 0, 1, 2 // what lets in the kubelet: nothing, perhaps something, certainly something
		networks := func() (string, int) {
			switch d.IntN(3) {
			case 0:
				return "[{cidr: 0.0.0.0/0}, {cidr: '::/0'}]", all
			case 1:
				return "[{cidr: 10.0.0.0/8}]", some
			}
			return "[{cidr: 0.0.0.0/0, except: [10.0.0.0/8]}, {cidr: '::/0'}]", some
		}

		lets := none
		if strings.HasSuffix(byDefault, "-unauthenticated") {
			lets = all
		}
		if d.IntN(4) > 0 {
			selector := d.pick("{matchLabels: {app: web}}", "{}", "{matchLabels: {app: other}}")
			port := d.pick("9000", "rpc", "8080", "other")
			access := d.pick("", "deny", "audit", "all-unauthenticated", "cluster-authenticated")
			namespace := d.pick("shop", "shop", "other")
			object("Server", "rpc", namespace, "{podSelector: "+selector+", port: "+port+", accessPolicy: "+cmp.Or(access, "deny")+"}")
			if selects := namespace == "shop" && !strings.Contains(selector, "other") && (port == "9000" || port == "rpc"); selects {
				lets = none
				if access == "audit" || access == "all-unauthenticated" {
					lets = all
				}
				if d.IntN(2) == 0 {
					server := d.pick("{name: rpc}", "{selector: {matchLabels: {of: rpc}}}", "{name: web}", "{selector: {matchLabels: {of: web}}}")
					client := d.pick("{unauthenticated: true}", "{meshTLS: {unauthenticatedTLS: true}}", "{meshTLS: {identities: ['*']}}")
					if client == "{unauthenticated: true}" && strings.Contains(server, "rpc") {
						lets = all
					}
					object("ServerAuthorization", "clients", "shop", "{server: "+server+", client: "+client+"}")
				}
				if d.IntN(2) == 0 {
					target := d.pick("{group: policy.linkerd.io, kind: Server, name: rpc}", "{kind: Namespace, name: shop}", "{group: policy.linkerd.io, kind: Server, name: web}")
					required := d.pick("{kind: NetworkAuthentication, name: nodes}", "{kind: MeshTLSAuthentication, name: m}", "{kind: NetworkAuthentication, name: elsewhere}")
					blocks, has := networks()
					object("NetworkAuthentication", "nodes", "shop", "{networks: "+blocks+"}")
					object("AuthorizationPolicy", "clients", "shop", "{targetRef: "+target+", requiredAuthenticationRefs: ["+required+"]}")
					switch isOther := strings.Contains(target, "name: web"); {
					case isOther, strings.Contains(required, "MeshTLS"):
					case strings.Contains(required, "elsewhere"):
						lets = max(lets, some)
					default:
						lets = max(lets, has)
					}
				}
			}
		}
		text += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\n" +
			"spec: {containers: [{name: web, image: web, ports: [{name: rpc, containerPort: 9000}], readinessProbe: {grpc: {port: 9000}}}]}\n"
		want := []string{"would-fail", "may-fail", ""}[lets]
		told := messagesOf(t, text, configOf(t, ""))
		got := ""
		for _, key := range []string{"would-fail", "may-fail"} {
			if strings.Contains(told, "["+key+"]") {
				got += key
			}
		}
		seen[want]++
		if got != want {
			t.Fatalf("got %q, want %q:\n%s\n%s", got, want, told, text)
		}
	}
	if len(seen) != 3 || seen["may-fail"] < 10 {
		t.Errorf("drawn: %v", seen)
	}
}
