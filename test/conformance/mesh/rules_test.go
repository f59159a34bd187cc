package mesh

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/consul/sdk/iptables"
	"istio.io/istio/tools/common/config"
	"istio.io/istio/tools/istio-iptables/pkg/capture"
	"istio.io/istio/tools/istio-iptables/pkg/dependencies"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
)

// exclusions are the ports that pods exclude: none, probe-proxy's, one more.
var exclusions = [][]string{nil, {"15020"}, {"15020", "9090"}}

// TestTheRulesOfTheStandInAreIstios has Istio's own code say which rules its
// init container makes with the arguments that its charts give it.
func TestTheRulesOfTheStandInAreIstios(t *testing.T) {
	for _, excluded := range exclusions {
		stub := &dependencies.DependenciesStub{}
		c, err := capture.NewIptablesConfigurator(&config.Config{
			ProxyPort: "15001", InboundCapturePort: "15006", InboundTunnelPort: "15008",
			ProxyUID: "1337", ProxyGID: "1337", InboundInterceptionMode: "REDIRECT",
			InboundPortsInclude: "*", InboundPortsExclude: strings.Join(append([]string{"15090,15021,15020"}, excluded...), ","),
			OutboundIPRangesInclude: "*", OwnerGroupsInclude: "*", HostIPv4LoopbackCidr: "127.0.0.1/32",
			EnableIPv6: true,
		}, stub)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		ipv4, ipv6, _ := strings.Cut(strings.Join(stub.ExecutedAll, "\n"), "COMMIT") // each table ends with it
		Compare(t, "istio", 18, excluded, ipv4)
		CompareIPv6(t, "istio", 18, excluded, ipv6)
	}
}

// TestTheRulesOfTheStandInAreConsuls has Consul's own code say which rules it
// makes with the configuration that its injector writes into pods, without DNS.
func TestTheRulesOfTheStandInAreConsuls(t *testing.T) {
	m, err := redirection.Named("consul")
	if err != nil {
		t.Fatal(err)
	}
	for _, excluded := range exclusions {
		var rules consulRules
		err := iptables.Setup(iptables.Config{
			ProxyUserID: strconv.Itoa(m.UID), ProxyInboundPort: m.Inbound, ProxyOutboundPort: m.Outbound,
			ExcludeInboundPorts: excluded, ExcludeUIDs: []string{"5996"}, IptablesProvider: &rules,
		}, false)
		if err != nil {
			t.Fatal(err)
		}
		Compare(t, "consul", 9, excluded, strings.Join(rules, "\n"))
	}
}

// consulRules collects rules instead of applying them.
type consulRules []string

func (r *consulRules) AddRule(_ string, args ...string) {
	*r = append(*r, strings.TrimPrefix(strings.Join(args, " "), "-t nat "))
}
func (r *consulRules) ApplyRules(string) error { return nil }
func (r *consulRules) Rules() []string         { return *r }
func (r *consulRules) ClearAllRules()          { *r = nil }
