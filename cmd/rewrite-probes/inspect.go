package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func (t *tool) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [PATH... | -]",
		Short: "Find probes that would fail, or falsely pass, under strict mTLS",
		Long: `check looks at rendered manifests and changes nothing. It exits with 1 if a probe or
hook would fail under strict mTLS, or a tcpSocket probe would pass although nothing
listens: because nobody rewrote it, or because it cannot be rewritten. Pod templates that
have opted out, or that the mesh does not capture, are in order. If it depends on what
neither the manifests nor the functionConfig say, such as whether Istio injects its
sidecar, that is a warning, which names what decides. Pods, ReplicaSets and Jobs whose
controller is in the input too are passed over.

It also exits with 1 if it did not see every pod: there is no pod template, a chart or a
template is not rendered, a link leads to another folder, or a kustomization takes in
files that are not given. --allow-empty accepts all of them.

Exit codes: 0 nothing was found, 1 something was found, 2 the command line is wrong,
3 the manifests or the functionConfig cannot be read, or the output cannot be written.`,
		Example: `  kubectl get deploy,sts,ds,cronjob,job,pod,ns,svc,peerauthentication,authorizationpolicy,workloadgroup -A -o yaml | rewrite-probes check -
  kustomize build . --enable-alpha-plugins --enable-exec | rewrite-probes check -
  rewrite-probes check -o sarif deploy/ >findings.sarif`,
	}
	judge := func(r *report.Report) {
		isUnreleased := func(m report.Message) bool { return m.Reason.Doc().OfOutput } // nothing is written
		r.Messages = append(slices.DeleteFunc(r.Messages, isUnreleased), pipeline.Check(r)...)
	}
	show := func(r *report.Report, format string) error {
		switch format {
		case "json":
			return r.JSON(t.out, r.CheckSummary())
		case "sarif":
			return r.SARIF(t.out, release.Version(), reason.All())
		case "junit":
			return r.JUnit(t.out)
		}
		report.PrintParts(t.err, r.Messages, t.verbose, t.colorOf(t.err))
		fmt.Fprintln(t.err, "rewrite-probes check: "+r.CheckSummary())
		return nil
	}
	t.inspects(cmd, inspection{
		judge:   judge,
		show:    show,
		usage:   "`FORMAT` of what was found: text (on stderr); json, sarif or junit (a test case for each probe; all on stdout)",
		formats: []string{"text", "json", "sarif", "junit"},
	})
	return cmd
}

func (t *tool) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [PATH... | -]",
		Short: "Show what would become of every probe, and why",
		Long: `explain changes nothing. It lists every pod template with its probes and hooks: what each
is, what it does today, what it would become or why it is left alone, and why it fails
today. It says who answers them, and which container and annotations are added for it.
"rewrite-probes reasons KEY" has the cause and the fix of a reason. -o html makes one page
for a browser, to attach to a review; -o markdown makes tables for a pull request's comment.

Like check it exits with 1 where it could not look: if there is no pod template, a chart
that is not rendered, or a kustomization that is not built. With --allow-empty it does not.`,
		Example: `  rewrite-probes explain deploy/
  kustomize build . | rewrite-probes explain -
  rewrite-probes explain -o html deploy/ >probes.html`,
	}
	show := func(r *report.Report, format string) error {
		switch format {
		case "json":
			return r.JSON(t.out, r.Summary(false))
		case "html":
			return r.HTML(t.out, strings.Join(cmd.Flags().Args(), " "), release.Version())
		case "markdown":
			return r.Markdown(t.out)
		}
		return r.Explain(t.out, t.verbose, t.colorOf(t.out))
	}
	t.inspects(cmd, inspection{
		judge:   func(*report.Report) {}, // it explains all that was found
		show:    show,
		usage:   "`FORMAT`: text, json, html (a page for a browser) or markdown (for a pull request's comment)",
		formats: []string{"text", "json", "html", "markdown"},
	})
	return cmd
}

// An inspection is what a command does with what a run has found.
type inspection struct {
	judge   func(r *report.Report)
	show    func(r *report.Report, format string) error
	usage   string   // of the flag for the format
	formats []string // the first is the default
}

// inspects makes a command look at all that it is given, change nothing, judge it, and show
// what it found in one of the formats.
func (t *tool) inspects(cmd *cobra.Command, its inspection) {
	var format choice
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, r, err := t.runPipeline(cmd, pipeline.Inspect, args)
		if err != nil {
			return err
		}
		its.judge(r)
		if !t.allowEmpty {
			addUnseen(p, r)
		}
		report.Sort(r.Messages)
		if err := its.show(r, format.value); err != nil {
			return err
		}
		return verdict(r)
	}
	cmd.Flags().BoolVar(&t.allowEmpty, "allow-empty", false,
		"accept input without pod templates, charts that are not rendered, and kustomizations that are not built")
	format.add(cmd, "output", "o", its.usage, its.formats...)
}

// addUnseen reports as errors what the run could not see: a gate must not be green
// because it did not look.
func addUnseen(p *pkg, r *report.Report) {
	for i := range r.Messages {
		m := &r.Messages[i]
		if gate := m.Reason.Doc().Gate; gate != reason.None {
			m.Reason, m.Severity = gate, gate.Severity()
		}
	}
	r.Messages = append(foldBuilt(p.files, r.Messages), findUnbuilt(p.files)...)
	if r.Subjects() == 0 && !r.Failed() {
		r.Messages = append(r.Messages, report.NewMessage(reason.NothingSeen, reason.NewText("no pod template was seen, so nothing is known about any probe")))
	}
}
