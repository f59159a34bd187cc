package pipeline_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// TestMessagesAboutGroupsProposeWhatIsRight, and say what is there.
func TestMessagesAboutGroupsProposeWhatIsRight(t *testing.T) {
	const head = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: vms}\nspec:\n  template: {}\n  probe:\n    failureThreshold: 3\n"
	for _, c := range []struct {
		probe, reason     string
		current, proposed field.Value
	}{
		{"    httpGet: {port: 80, httpHeaders: [{name: host, value: a}]}\n", "vm-header-case", "host", "Host"},
		{"    httpGet: {port: 80, host: example.com}\n", "vm-host-remote", "example.com", nil},
	} {
		_, r := runWith(t, config.Default(), "vms.yaml", []byte(head+c.probe), pipeline.Inspect)
		found := false
		for _, m := range r.Messages {
			if m.Reason.String() == c.reason {
				found = true
				if m.Current != c.current || m.Proposed != c.proposed {
					t.Errorf("%s: %v is there, %v is proposed; want %v and %v", c.reason, m.Current, m.Proposed, c.current, c.proposed)
				}
			}
		}
		if !found {
			t.Errorf("no message %s: %v", c.reason, r.Messages)
		}
	}
}
