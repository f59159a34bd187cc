package fn_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn"
	"github.com/rewrite-probes/rewrite-probes/fn/kyaml"
)

// TestManyCallersAtOnceGetWhatOneGets: callers may share a config and an owner, and the
// packages keep what they learn of types. With -race it finds what is shared and written.
func TestManyCallersAtOnceGetWhatOneGets(t *testing.T) {
	config := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{AnsweredBy: fn.AnsweredByProbeProxy}}
	owner := fn.Owner{Metadata: metav1.ObjectMeta{Name: "web", Namespace: "n"}, Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	answer := func() (string, error) {
		pod := template()
		r, err := fn.Mutate(&pod, owner, config)
		if err != nil {
			return "", err
		}
		nodes, err := kyaml.Filter{Config: config}.Filter([]*yaml.RNode{yaml.MustParse(web)})
		if err != nil {
			return "", err
		}
		text, err := json.Marshal([]any{pod, r})
		return string(text) + nodes[0].MustString(), err
	}
	type answered struct {
		text string
		err  error
	}
	answers := make(chan answered)
	const callers = 8
	for range callers {
		go func() {
			text, err := answer()
			answers <- answered{text, err}
		}()
	}
	var got []answered
	for range callers {
		got = append(got, <-answers)
	}
	want, err := answer()
	for _, a := range got {
		if d := cmp.Diff(want, a.text); err != nil || a.err != nil || d != "" {
			t.Errorf("%v, %v: -alone +at once\n%s", err, a.err, d)
		}
	}
}
