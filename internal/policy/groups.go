package policy

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/vm"
)

// A mistake is a reason of internal/reason for which the probe of a WorkloadGroup
// fails. groups.cel has the list of the fields that are at fault.
type mistake struct {
	key     reason.Key
	message string // says what is wrong with such a field
	// handler is the one that rewriting replaces; "" if only the author can correct the
	// probe.
	handler string
}

// mistakes has every reason that only WorkloadGroups have and whose severity is
// error, as far as the policy can find it, which a test demands.
var mistakes = []mistake{
	{key: reason.VMNoHandler, message: "must be exactly one handler, and exec must name a program"},
	{key: reason.VMProbeInvalid, message: "istiod refuses the value"},
	{key: reason.VMHostRemote, message: "must be the machine itself: Istio's agent reaches no other host"},
	{key: reason.VMHeaderCase, message: "must be written Host: Istio's agent sends two Host headers otherwise"},
	{key: reason.VMHTTPSVerified, handler: "httpGet",
		message: "Istio's agent verifies the certificate of an HTTPS probe, which the kubelet does not"},
	{key: reason.VMGRPCRefused, handler: "grpc",
		message: "istiod refuses a grpc probe, and Istio's agent crashes if the service is not serving"},
	{key: reason.Dangling, message: "looks like a rewritten probe, but its original is not in the annotation " + vm.ConfigAnnotation},
}

// groupExpressions returns the expressions of the policy for WorkloadGroups.
func groupExpressions(c *config.RewriteProbes) field.Map {
	var findings []string
	var own []text // those that are no mistakes
	for _, t := range readTexts("groups.cel") {
		i := slices.IndexFunc(
			mistakes,
			func(m mistake) bool {
				return m.key.String() == t.name
			},
		)
		if i < 0 {
			own = append(own, t)
		} else if m := mistakes[i]; m.handler == "" || slices.Contains(c.Spec.Rewrite, m.handler) {
			text := quoted(": " + m.message + " [" + m.key.String() + "]")
			findings = append(findings, "("+t.expression+").map(f, f + "+text+")")
		}
	}
	rewritten := "^" + prober.Key("[^/]+", prober.Readiness) + "$"
	fill := strings.NewReplacer(
		"$InNamespaces && ",
		inNamespaces(&c.Spec),
		"$Findings",
		strings.Join(findings, " +\n"),
	)
	facts := strings.NewReplacer(append(
		facts(c),
		"$ConfigAnnotation",
		quoted(vm.ConfigAnnotation),
		"$RewrittenPath",
		quoted(rewritten),
	)...)
	return expressions(own, "variables.leftAlone", "the probe of the WorkloadGroup is one that Istio's agent gets wrong", fill, facts)
}
