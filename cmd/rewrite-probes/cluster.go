package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rewrite-probes/rewrite-probes/internal/cluster"
	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/kubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A clusterFlags has the flags of a command that can ask a cluster.
type clusterFlags struct {
	kubectl.Options
	cluster bool
	timeout time.Duration
}

// kubectlFlags are the flags that are kubectl's own.
var kubectlFlags = []string{"context", "kubeconfig", "namespace", "as", "request-timeout"}

func (c *clusterFlags) add(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&c.cluster, "cluster", false, usage)
	c.addKubectl(cmd, "with --cluster: ", "the only `NAMESPACE` to read (default: all)")
}

// addKubectl adds the flags that are kubectl's own. Their words begin with when they count.
func (c *clusterFlags) addKubectl(cmd *cobra.Command, when, namespace string) {
	f := cmd.Flags()
	f.StringVar(&c.Context, "context", "", when+"`NAME` of the context in the kubeconfig")
	f.StringVar(&c.Kubeconfig, "kubeconfig", "", when+"`FILE` with the kubeconfig for kubectl")
	f.StringVarP(&c.Namespace, "namespace", "n", "", when+namespace)
	f.StringVar(&c.As, "as", "", when+"`USER` to impersonate")
	f.DurationVar(&c.timeout, "request-timeout", time.Minute, when+"the longest `TIME` for one request to the API server")
}

// check refuses flags that do nothing, and values that kubectl would misread.
func (c *clusterFlags) check(cmd *cobra.Command) error {
	for _, name := range kubectlFlags {
		if !c.cluster && cmd.Flags().Changed(name) {
			return &usageError{fmt.Errorf("--%s needs --cluster", name)}
		}
	}
	switch {
	case c.Namespace != "" && !kubectl.IsNamespace(c.Namespace):
		return &usageError{fmt.Errorf("--namespace %q must be the name of one namespace", c.Namespace)}
	case c.timeout <= 0:
		return &usageError{errors.New("--request-timeout must be more than 0")}
	}
	return nil
}

// kubectl returns the user's kubectl with the flags. What it tells of a wait goes to stderr.
func (c *clusterFlags) kubectl(cmd *cobra.Command, stderr io.Writer) (*kubectl.Kubectl, error) {
	o := c.Options
	o.Timeout = c.timeout.String()
	o.Notify = func(words string) { fmt.Fprintln(stderr, cmd.CommandPath()+": "+words) }
	return kubectl.New(o)
}

// readCluster reads the cluster, as far as a run wishes. The namespaces of the wish come from the flags and the config.
func (t *tool) readCluster(
	cmd *cobra.Command, c *config.RewriteProbes, wish cluster.Wish,
) (*cluster.Reading, error) {
	k, err := t.cluster.kubectl(cmd, t.err)
	if err != nil {
		return nil, err
	}
	ctx, stop := untilSignal()
	defer stop()
	wish.Namespace, wish.RootNamespace = k.Namespace, c.Spec.Istio.RootNamespace
	for _, p := range c.Spec.PodTemplates {
		wish.Custom = append(wish.Custom, surroundings.GroupKind{Group: p.Group, Kind: p.Kind})
	}
	done := t.progress("reading the cluster")
	defer done()
	r, err := cluster.Read(ctx, k, wish)
	if err != nil {
		return nil, fmt.Errorf("the cluster cannot be read: %w", err)
	}
	size := 0
	for _, s := range slices.Concat(r.Streams, r.Beside) {
		size += len(s.Input())
	}
	tuneMemory(size)
	return r, nil
}

// runCluster does what runPipeline does with what a cluster runs, or, if the arguments name manifests, with
// those: then the cluster only tells facts.
func (t *tool) runCluster(
	cmd *cobra.Command, wants pipeline.Wants, args []string,
) (*pkg, *report.Report, error) {
	if err := t.cluster.check(cmd); err != nil {
		return nil, nil, err
	}
	if !t.cluster.cluster {
		return t.runPipeline(cmd, wants, args)
	}
	p := &pkg{allowEmpty: t.allowEmpty, fence: newFence(nil)}
	var c *config.RewriteProbes
	var err error
	if len(args) > 0 {
		p, c, err = t.readInput(cmd, args)
	} else {
		c, err = t.loadAnnounced(cmd, p, []string{"-"}) // of the current folder
	}
	if err != nil {
		return nil, nil, err
	}
	read, err := t.readCluster(cmd, c, cluster.Wish{FactsOnly: len(args) > 0})
	if err != nil {
		return nil, nil, err
	}
	if c.Spec.Platform == "auto" && read.OpenShift {
		c.Spec.Platform = "openshift"
	}
	streams, beside := read.Streams, read.Beside
	if len(args) > 0 {
		streams, beside = p.streams, slices.Concat(read.Streams, read.Beside)
	}
	if wants == pipeline.Inspect {
		spendMemory()
	}
	done := t.progress("planning")
	defer done()
	run := pipeline.RunBeside
	if read.AllPeers && !p.setsMTLS {
		run = runPermissive
	}
	r := run(streams, beside, c, wants)
	r.AskedCluster = true
	facts, _ := pipeline.Learn(slices.Concat(read.Streams, read.Beside), c.Spec.Istio.RootNamespace)
	r.Messages = append(r.Messages, differing(p.config, p.declared, facts)...)
	for _, refused := range read.Refused {
		r.Messages = append(r.Messages, unread(refused))
	}
	r.Messages = slices.Insert(r.Messages, 0, p.messages...)
	r.Config = p.config
	if len(args) == 0 {
		r.SortByNamespace()
	}
	report.Sort(r.Messages)
	fmt.Fprintln(t.err, cmd.CommandPath()+": context "+field.Printable(cmp.Or(read.Context, "of the pod")))
	for _, m := range slices.Concat(read.Meshes(config.ControlPlanes()), read.Injectors(c.Spec.Istio.RootNamespace)) {
		fmt.Fprintln(t.err, cmd.CommandPath()+": "+field.Printable(m))
	}
	return p, r, nil
}

// runPermissive runs with the mode of mutual TLS that Istio has without a PeerAuthentication, and says what
// STRICT would change.
func runPermissive(
	streams, beside []*manifest.Stream, c *config.RewriteProbes, wants pipeline.Wants,
) *report.Report {
	c.Spec.Istio.MTLS = "STRICT"
	strict := pipeline.RunBeside(streams, beside, c, pipeline.Gate)
	c.Spec.Istio.MTLS = "PERMISSIVE"
	r := pipeline.RunBeside(streams, beside, c, wants)
	judged := r
	if wants == pipeline.Inspect {
		judged = pipeline.RunBeside(streams, beside, c, pipeline.Gate)
	}
	note := report.Stricter(strict, judged)
	if note != nil {
		r.Messages = append(r.Messages, *note)
	}
	return r
}

// unread says that a type of the cluster could not be read.
func unread(refused cluster.Refused) report.Message {
	why := "The API server says: " + strings.TrimSuffix(refused.Why, ".")
	if refused.Pods {
		return report.NewMessage(reason.ClusterUnread, reason.Text{What: "Not checked: " + refused.Type + " of the cluster", Why: why})
	}
	text := reason.Text{What: refused.Type + " of the cluster were not read", Why: why}
	if refused.Unknown != "" {
		text.What += ", so it is unknown " + refused.Unknown
	}
	return report.NewMessage(reason.ClusterFactUnread, text)
}
