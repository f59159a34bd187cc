package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// addAllowEmpty adds the flag of the commands that judge all that they are given.
func addAllowEmpty(cmd *cobra.Command, allow *bool) {
	cmd.Flags().BoolVar(allow, "allow-empty", false,
		"do not fail if there is no pod template, or a chart that is not rendered or a kustomization that is not built")
}

// addUnseen reports as errors what the run could not see: a gate must not be green
// because it did not look.
func addUnseen(p *pkg, r *report.Report) {
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Reason == pipeline.ReasonHelmTemplate {
			m.Reason, m.Severity = pipeline.ReasonNotRendered, reason.SeverityOf(pipeline.ReasonNotRendered)
		}
	}
	for _, chart := range slices.Sorted(maps.Keys(p.charts)) {
		if p.charts[chart] == 0 {
			r.Messages = append(r.Messages, aboutFile(chart, pipeline.ReasonNotRendered, "the chart is passed over; render it and pipe the result through rewrite-probes"))
		}
	}
	r.Messages = append(r.Messages, findUnbuilt(p.files)...)
	if r.Subjects() == 0 && !r.Failed() {
		r.Messages = append(r.Messages, report.NewMessage(pipeline.ReasonNothingSeen, "no pod template was seen, so nothing is known about any probe"))
	}
	report.Sort(r.Messages)
}
