package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/policy"
)

func (t *tool) policyCommand() *cobra.Command {
	var o policy.Options
	cmd := &cobra.Command{
		Use: "policy", Short: "Print policies for the cluster that agree with check", Args: noArgs,
		Long: `policy prints two ValidatingAdmissionPolicies and their bindings (Kubernetes 1.30 or later).

  - One finds pods with Istio's sidecar whose probes or hooks fail or pass falsely under
    strict mTLS. It also catches manifests that bypass your pipeline, and containers that a
    webhook adds.
  - The other finds WorkloadGroups whose probe Istio's agent gets wrong.

They agree with check, opt-outs included. --config adds facts that the objects do not show:
istio.injectedNamespaces, namespaces of select and exclude, rewrite and probeProxy.name.`,
		Example: `  rewrite-probes policy | kubectl apply -f -
  rewrite-probes policy --config rewrite-probes.yaml --action deny
  rewrite-probes policy --engine kyverno --action audit`,
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return &usageError{err}
			}
			c, err := t.load(&pkg{}, nil)
			if err != nil {
				return err
			}
			text, notes, err := policy.Make(c, o)
			if err != nil {
				return fmt.Errorf("functionConfig: %w", err)
			}
			for _, n := range notes {
				fmt.Fprintln(t.err, "note: functionConfig: "+n)
			}
			_, err = t.out.Write(text)
			return err
		},
	}
	f := cmd.Flags()
	actions := strings.Join(policy.Actions(), ", ")
	engines := strings.Join(policy.Engines(), ", ")
	f.StringSliceVar(&o.Actions, "action", []string{policy.Warn, policy.Audit},
		"`ACTION` on an object with a finding: "+actions+" (repeatable)")
	f.StringVar(&o.Engine, "engine", policy.Kubernetes, "`ENGINE` that runs the policy: "+engines)
	f.StringVar(&o.Name, "name", "rewrite-probes", "`NAME` of the policy for pods; the other's is NAME-workloadgroups")
	completeFlag(cmd, "action", policy.Actions())
	completeFlag(cmd, "engine", policy.Engines())
	return cmd
}
