package vm

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The annotations were empty before the first run, and the group has since taken a probe that works.
func TestWhatTheFirstRunHasNotedStaysNoted(t *testing.T) {
	const metadata = "  annotations:\n    rewrite-probes.io/probe-from: Pod/a\n    rewrite-probes.io/originals: '{\"derived\":{\"tcpSocket\":{\"port\":1},\"initialDelaySeconds\":0,\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3},\"empty\":{\"annotations\":{}}}'\n"
	const probe = "{tcpSocket: {port: 1}, initialDelaySeconds: 0, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}"
	text := group(metadata, probe)
	s := read(t, text, workload{"Pod a", []transformer.OriginalProbe{original(t, "app", "{tcpSocket: {port: 1}}")}})
	plan := s.plan(everything)
	if got := s.apply(t, plan); got != text || len(plan.Edits) > 0 || plan.Answer.By != "" || len(plan.Answer.AddsAnnotations) > 0 {
		t.Errorf("%v, edited to\n%s", plan, got)
	}
	if v := plan.Probes[0]; v.State != transformer.LeftAlone || v.Reason.String() != "vm-probe-works" {
		t.Errorf("the verdict is %+v", v)
	}
}
