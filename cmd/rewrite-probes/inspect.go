package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func (t *tool) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [PATH... | -]",
		Short: "Find probes that fail, or pass falsely, under strict mTLS",
		Long: `check reads rendered manifests and changes nothing. It exits with 1 if a probe or hook fails
under strict mTLS, or a tcpSocket probe passes even if the app is down. The probe is not
rewritten, or cannot be. If a fact is unknown, such as whether Istio injects, check warns
and names it. One unknown fact is an error, once for all probes that depend on it alone:
whether Istio's injector rewrites them (injector-unknown). check accepts pods that the mesh
does not capture, and pods that opted out. It warns if their probes are certain to fail. It
skips Pods, ReplicaSets and Jobs whose controller is in the input.

--cluster asks a cluster through your kubectl. Without a PATH, check reads all that the
cluster runs. With a PATH or -, it reads these manifests, and from the cluster only facts
about the mesh. It runs "kubectl get --raw" to list types, and reads no Secret. A type of
workloads that it may not list is an error, another type a note. Without a
PeerAuthentication in the whole cluster, mTLS is PERMISSIVE. A note then shows the effect of
STRICT.

It also exits with 1 if it did not see every pod. The input has no pod template, an
unrendered chart or template, a link to another folder, or a kustomization that needs other
files. --allow-empty accepts all of them.

Exit codes:
  0  no finding
  1  a finding
  2  the command line is wrong
  3  the manifests or the functionConfig cannot be read, or the output cannot be written`,
		Example: `  rewrite-probes check --cluster
  kustomize build . | rewrite-probes check --cluster --context staging -
  kustomize build . --enable-alpha-plugins --enable-exec | rewrite-probes check -
  rewrite-probes check -o sarif deploy/ >findings.sarif`,
	}
	t.inspects(cmd, inspection{
		wants:   pipeline.Gate,
		fold:    (*report.Report).FoldInjector,
		usage:   "`FORMAT` of the findings: text on stderr; or " + report.InWords(report.CheckFormats[1:]) + " on stdout",
		formats: report.CheckFormats,
	})
	return cmd
}

func (t *tool) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [PATH... | -]",
		Short: "Show what happens to every probe, and why",
		Long: `explain changes nothing. It says first how many probes and hooks fail today, why, and how
many fail after the change. Then it shows each pod template, the worst first. For each
probe it shows:

  - the probe, and whether it works today
  - the rewritten probe and who answers it, or why rewrite-probes does not rewrite it

If something fails, probes that work or are not affected are folded. -v shows everything:
also the known facts of the mesh, and notes.

"rewrite-probes reasons KEY" shows the cause and the fix. -o html makes a page for a browser,
with the change as a diff, to attach to a review. It shows 5,000 pod templates and counts the
others. -o markdown makes tables for a pull request's comment.

--cluster asks a cluster through your kubectl, as check does. Its facts change what happens
to probes today, not what rewrite-probes would write.

Like check, it exits with 1 for input without pod templates, unrendered charts, and
kustomizations that are not built. --allow-empty accepts them.`,
		Example: `  rewrite-probes explain deploy/
  kustomize build . | rewrite-probes explain -
  rewrite-probes explain -o html deploy/ >probes.html`,
	}
	t.inspects(cmd, inspection{
		wants:   pipeline.Inspect,
		fold:    (*report.Report).WarnOfInjector,
		usage:   "`FORMAT`: " + report.InWords(report.ExplainFormats),
		formats: report.ExplainFormats,
	})
	return cmd
}

// An inspection is what a command does with what a run has found.
type inspection struct {
	wants   pipeline.Wants         // the format decides on Templates
	fold    func(r *report.Report) // what many messages or templates have in common into one message
	usage   string                 // of the flag for the format
	formats []report.Format        // the first is the default
}

// inspects makes a command look at all that it is given, change nothing, and show what it
// found in one of the formats.
func (t *tool) inspects(cmd *cobra.Command, its inspection) {
	var names []string
	for _, f := range its.formats {
		names = append(names, f.Name)
	}
	var chosen choice
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		index := slices.Index(names, chosen.value)
		format := &its.formats[index]
		wants := its.wants
		wants.Templates = format.Templates
		p, r, err := t.runCluster(cmd, wants, args)
		if err != nil {
			return err
		}
		if !t.allowEmpty {
			addUnseen(p, r)
		}
		its.fold(r)
		report.Sort(r.Messages)
		if err := t.show(r, format, args); err != nil {
			return err
		}
		err = verdict(r)
		if err != nil && index > 0 { // a job's log must say why it fails
			fmt.Fprintln(t.err, cmd.CommandPath()+": "+r.CheckSummary())
		}
		return err
	}
	cmd.Flags().BoolVar(&t.allowEmpty, "allow-empty", false,
		"accept input without pod templates, unrendered charts and unbuilt kustomizations")
	chosen.add(cmd, "output", "o", its.usage, names...)
	t.cluster.add(cmd, "read the cluster with kubectl: with a PATH or - only facts about the mesh, else all that it runs")
}

// show writes a report in a format.
func (t *tool) show(r *report.Report, format *report.Format, args []string) error {
	out := t.out
	if format.IsLog {
		out = t.err
	}
	return format.Write(out, r, report.Invocation{
		Screen:  report.Screen{Verbose: t.verbose, Color: t.colorOf(out), Width: widthOf(out)},
		Input:   strings.Join(args, " "),
		Version: release.Version(),
	})
}

// addUnseen reports as errors what the run could not see: a gate must not be green
// because it did not look.
func addUnseen(p *pkg, r *report.Report) {
	for i := range r.Messages {
		m := &r.Messages[i]
		if gate := m.Reason.Doc().Gate; gate != reason.None {
			if m.Reason == reason.Link || m.Reason == reason.NoText { // to render does not help
				m.Text = m.Reason.Complete(m.Text)
			}
			m.Reason, m.Severity = gate, gate.Severity()
		}
	}
	built := p.fence.foldBuilt(p.files, r.Messages)
	r.Messages = slices.Concat(built, p.fence.findUnbuilt(p.files), p.fence.findGenerators(p.files))
	if r.Subjects()+r.Patched == 0 && !r.Failed() {
		r.Messages = append(r.Messages, report.NewMessage(reason.NothingSeen, nothingSeen(p, r)))
	}
}

// nothingSeen says why a run saw no pod template.
func nothingSeen(p *pkg, r *report.Report) reason.Text {
	text := reason.NewText("The input has no pod template")
	if r.Unselected > 0 {
		text = reason.NewText("The functionConfig leaves out every object with pods (%d)", r.Unselected)
		text.Fix = "Correct its `select` and `exclude`, or pass `--allow-empty`"
		return text
	}
	looksLikeOne := func(m report.Message) bool {
		return m.Reason == reason.UnknownKind || m.Reason == reason.KindMisspelt || m.Reason == reason.UnseenProbe
	}
	if slices.ContainsFunc(r.Messages, looksLikeOne) {
		text.Fix = "Follow the fixes of the warnings, or pass `--allow-empty`"
		return text
	}
	isEmpty := func(s *manifest.Stream) bool { return len(s.Objects()) == 0 }
	if len(p.streams) == 1 && isEmpty(p.streams[0]) {
		text = reason.NewText("The List has no items")
		text.Fix = "Ask kubectl for another namespace, or for all (`-A`). If that is right, pass `--allow-empty`"
	}
	return text
}
