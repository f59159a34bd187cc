package worlds

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// judgeBranch: an object in another branch of the folders changes no byte of what is written. It
// makes a warning of an error of check if the probe is good in a world in which the object is in
// the cluster, and changes no other verdict.
func (t *trial) judgeBranch() error {
	b := t.k.branch
	if b.file == "" {
		return nil
	}
	pod, namespace := t.input.pod, t.input.object.Namespace
	if t.k.config["answeredBy"] == "istio-proxy" && len(t.k.injection(pod, namespace)) > 1 {
		return nil // it says what the manifests do not
	}
	t.count("another branch")
	files := maps.Clone(t.k.files)
	files[b.file] += b.text
	c, err := rewriting.Config(t.k.config)
	if err != nil {
		return err
	}
	output, _, err := rewriting.RunIn(rewriting.Folder{Name: here, Others: files}, t.input.text, c, pipeline.Rewrite)
	if err != nil {
		return err
	}
	if !bytes.Equal(output, t.output.text) {
		t.problem("another branch changes no byte", "%s", output)
	}
	checked, _, err := check(t.input.text, files, t.k.checked())
	if err != nil {
		return err
	}
	beside := *t.input
	beside.hear(checked)
	for _, at := range t.input.order() {
		t.judgeBeside(&beside, at)
	}
	return nil
}

func (t *trial) judgeBeside(beside *side, at model.Site) {
	field := fieldOf(t.input.pod, at, t.input.object.Kind)
	alone, now := severest(t.input.checks[field]), severest(beside.checks[field])
	expected := alone
	if alone == transformer.Error && t.isGoodWithBranch(at) {
		expected = transformer.Warning
		t.count("another branch leaves open what was certain")
	}
	if now != expected {
		t.problem("another branch makes a warning of an error that it may revoke, and nothing else", "%v: %q, and %q without it; must be %q", at, now, alone, expected)
	}
	if now != alone && !strings.Contains(beside.unless[field], t.k.branch.file) {
		t.problem("the warning names the file of the other branch", "%v: %q", at, beside.unless[field])
	}
}

// isGoodWithBranch reports whether a probe is good in a world in which the branch counts.
func (t *trial) isGoodWithBranch(at model.Site) bool {
	k := t.k.with(t.k.branch)
	return slices.ContainsFunc(k.worlds(t.input.pod, t.input.object.Namespace, true), func(w world) bool {
		l, _ := t.input.life(t.cluster, &k, w)
		return l.Down == "" && l.Fates[at] == model.Answered
	})
}
