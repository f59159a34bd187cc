package delivery

import (
	"net/netip"
	"os"
	"testing"

	v1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// TestTheNetworkPolicyKeepsStrangersFromThePort: what the example says that it does.
func TestTheNetworkPolicyKeepsStrangersFromThePort(t *testing.T) {
	text, err := os.ReadFile("../../examples/networkpolicy/networkpolicy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policy v1.NetworkPolicy
	if err := yaml.UnmarshalStrict(text, &policy); err != nil {
		t.Fatal(err)
	}
	if len(policy.Spec.PolicyTypes) != 1 || policy.Spec.PolicyTypes[0] != v1.PolicyTypeIngress {
		t.Errorf("the policy is about %v", policy.Spec.PolicyTypes)
	}
	node, pod := caller{ip: "10.0.0.7"}, caller{ip: "10.244.1.2", namespace: "shop"}
	prometheus := caller{ip: "10.244.1.3", namespace: "monitoring"}
	for _, test := range []struct {
		who    string
		from   caller
		port   int32
		admits bool
	}{
		{"the kubelet", node, prober.DefaultPort, true},
		{"another pod", pod, prober.DefaultPort, false},
		{"Prometheus", prometheus, prober.DefaultPort, true},
		{"another pod", pod, 8080, true},
		{"another pod", pod, 9090, false},
	} {
		if got := admits(t, &policy, test.from, test.port); got != test.admits {
			t.Errorf("%s to port %d: admitted %t, want %t", test.who, test.port, got, test.admits)
		}
	}
}

// A caller is a pod of a namespace, or a node if it has none.
type caller struct{ ip, namespace string }

// admits does what a network plugin does with an ingress rule.
func admits(t *testing.T, policy *v1.NetworkPolicy, from caller, port int32) bool {
	t.Helper()
	for _, rule := range policy.Spec.Ingress {
		hasPort, hasPeer := len(rule.Ports) == 0, len(rule.From) == 0
		for _, p := range rule.Ports {
			hasPort = hasPort || p.Port.IntVal == port
		}
		for _, p := range rule.From {
			hasPeer = hasPeer || isPeer(t, &p, from)
		}
		if hasPort && hasPeer {
			return true
		}
	}
	return false
}

func isPeer(t *testing.T, p *v1.NetworkPolicyPeer, from caller) bool {
	t.Helper()
	if p.IPBlock != nil {
		return netip.MustParsePrefix(p.IPBlock.CIDR).Contains(netip.MustParseAddr(from.ip))
	}
	namespaces, err := metav1.LabelSelectorAsSelector(p.NamespaceSelector)
	if err != nil {
		t.Fatal(err)
	}
	return from.namespace != "" && namespaces.Matches(labels.Set{"kubernetes.io/metadata.name": from.namespace})
}
