// Package mesh ties the mesh stand-in of the end-to-end tests to Istio.
package mesh

import (
	"os"
	"slices"
	"strings"
	"testing"

	"istio.io/istio/tools/common/config"
	"istio.io/istio/tools/istio-iptables/pkg/capture"
	"istio.io/istio/tools/istio-iptables/pkg/dependencies"
)

// TestTheRulesOfTheStandInAreIstios has Istio's own code say which rules its
// init container makes with the arguments that its charts give it.
func TestTheRulesOfTheStandInAreIstios(t *testing.T) {
	stub := &dependencies.DependenciesStub{}
	c, err := capture.NewIptablesConfigurator(&config.Config{
		ProxyPort: "15001", InboundCapturePort: "15006", InboundTunnelPort: "15008",
		ProxyUID: "1337", ProxyGID: "1337", InboundInterceptionMode: "REDIRECT",
		InboundPortsInclude: "*", InboundPortsExclude: "15090,15021,15020",
		OutboundIPRangesInclude: "*", OwnerGroupsInclude: "*", HostIPv4LoopbackCidr: "127.0.0.1/32",
	}, stub)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	want := rules(strings.Join(stub.ExecutedAll, "\n"))
	text, err := os.ReadFile("../../e2e/mesh/istio.rules")
	if err != nil {
		t.Fatal(err)
	}
	got := rules(string(text))
	if len(want) < 18 {
		t.Errorf("Istio makes only %d rules: %q", len(want), want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the rules of the stand-in are\n%s\nand Istio's\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// rules returns the appended rules of a text in the form of iptables-restore,
// chain by chain: the order counts within a chain, and the order of the options
// in a rule does not.
func rules(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-A ") {
			all = append(all, canonical(strings.Fields(line)))
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return all
}

// canonical sorts the options of a rule, each with its negation and its value.
// `-m tcp` is left out: `-p tcp` says it.
func canonical(fields []string) string {
	var options []string
	for _, f := range fields[2:] {
		last := len(options) - 1
		switch {
		case f == "!" || strings.HasPrefix(f, "-") && (last < 0 || options[last] != "!"):
			options = append(options, f)
		default:
			options[last] += " " + f
		}
	}
	options = slices.DeleteFunc(options, func(o string) bool { return o == "-m tcp" })
	slices.Sort(options)
	return strings.Join(append(fields[:2:2], options...), " ")
}
