package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func checkCommand(std streams, common *commonFlags) *cobra.Command {
	var out choice
	var allowEmpty bool
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

It also exits with 1 where it could not look: if there is no pod template at all, a chart
that is not rendered, or a kustomization that takes more into its build than the given
files. With --allow-empty it does not.

Exit codes: 0 nothing was found, 1 something was found, 2 the command line is wrong,
3 the manifests or the functionConfig cannot be read, or the output cannot be written.`,
		Example: `  kubectl get deploy,sts,ds,cronjob,job,pod,ns,svc,peerauthentication,authorizationpolicy,workloadgroup -A -o yaml | rewrite-probes check -
  kustomize build . --enable-alpha-plugins --enable-exec | rewrite-probes check -
  rewrite-probes check -o sarif deploy/ >findings.sarif`,
		PreRunE: out.check,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, r, err := runPipeline(cmd, std, common, pipeline.Inspect, args)
			if err != nil {
				return err
			}
			isUnreleased := func(m report.Message) bool { return m.Reason == pipeline.ReasonUnreleased } // nothing is written
			r.Messages = append(slices.DeleteFunc(r.Messages, isUnreleased), pipeline.Check(r)...)
			if !allowEmpty {
				addUnseen(p, r)
			}
			report.Sort(r.Messages)
			switch out.value {
			case "json":
				err = r.JSON(std.out, r.CheckSummary())
			case "sarif":
				err = r.SARIF(std.out, release.Version(), reason.All())
			case "junit":
				err = r.JUnit(std.out)
			default:
				report.Print(std.err, r.Messages, common.verbose, screenOf(std.err, common.color))
				report.PrintCures(std.err, r.Messages, common.verbose)
				fmt.Fprintln(std.err, "rewrite-probes check: "+r.CheckSummary())
			}
			if err != nil {
				return err
			}
			return verdict(r)
		},
	}
	addAllowEmpty(cmd, &allowEmpty)
	out.add(cmd, "output", "o", "`FORMAT` of what was found: text (on stderr); json, sarif or junit (a test case for each probe; all on stdout)", "text", "json", "sarif", "junit")
	return cmd
}
