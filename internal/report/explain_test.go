package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func TestExplainNamesTheFileAndTheLineAsFarAsTheyAreKnown(t *testing.T) {
	for want, o := range map[string]report.Object{
		"web.yaml:3": {File: "web.yaml", Line: 3}, "web.yaml": {File: "web.yaml"}, "": {Line: 3},
	} {
		o.Kind, o.Name = "Deployment", "web"
		var r report.Report
		r.Add("web.yaml", report.Template{Object: &o}, true)
		var out bytes.Buffer
		r.Explain(&out, false, false)
		if head, _, _ := strings.Cut(out.String(), "\n"); want == "" && strings.Contains(head, ":3") || !strings.Contains(head, want) {
			t.Errorf("%q is not in %q", want, head)
		}
	}
}
