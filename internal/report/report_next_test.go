package report_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// explain writes a report as explain does.
func explain(w io.Writer, r *report.Report) {
	report.ExplainFormats[0].Write(w, r, report.Invocation{})
}

// What fails in the mesh and was left alone is never "nothing to do".
func TestExplain_failingProbeLeftAlone(t *testing.T) {
	for outcome, want := range map[world.Outcome]string{
		world.Fails:         "next: unless it is on purpose, have the readinessProbe of Deployment shop/web rewritten; \"rewrite-probes reasons opt-out\" says how\n",
		world.FalselyPasses: "have the readinessProbe of Deployment shop/web rewritten; \"rewrite-probes reasons opt-out\" says how\n",
		world.Unaffected:    "next: nothing to do\n",
	} {
		var r report.Report
		r.Add("web.yaml", report.PlannedTemplate{
			Object: &report.ObjectRef{Kind: "Deployment", Namespace: "shop", Name: "web"},
			Plan: transformer.Plan{Probes: []transformer.Verdict{{
				Container: "app", ProbeType: prober.Readiness, Before: "httpGet :80/", State: transformer.LeftAlone, Reason: reason.OptOut, StrictTLS: outcome,
			}}},
		}, true)
		var out bytes.Buffer
		explain(&out, &r)
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s:\n%s", outcome, out.String())
		}
	}
}

func TestExplainDoesNotSayNothingToDoBelowAWarning(t *testing.T) {
	var r report.Report
	m := report.NewMessage(reason.PortUnresolved, reason.NewText("its port is not there"))
	r.Messages = append(r.Messages, m)
	var out bytes.Buffer
	explain(&out, &r)
	if want := "next: see the warning; \"rewrite-probes reasons port-unresolved\" explains it\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s", out.String())
	}
}

func TestExplain_fileAndLine(t *testing.T) {
	for want, o := range map[string]report.ObjectRef{
		"web.yaml:3": {File: "web.yaml", Line: 3}, "web.yaml": {File: "web.yaml"}, "": {Line: 3},
	} {
		o.Kind, o.Name = "Deployment", "web"
		var r report.Report
		r.Add("web.yaml", report.PlannedTemplate{Object: &o}, true)
		var out bytes.Buffer
		explain(&out, &r)
		if text := out.String(); want == "" && strings.Contains(text, ":3") || !strings.Contains(text, strings.TrimRight("Deployment web  "+want, " ")+"\n") {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
