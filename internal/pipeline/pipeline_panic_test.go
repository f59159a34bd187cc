package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestRun_panic: a defect that one object meets is an error of that object, and the others are rewritten.
func TestRun_panic(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec:\n  containers:\n  - name: a\n    livenessProbe: {httpGet: {port: 80}}\n"
	named := func(name string) string { return strings.Replace(pod, "NAME", name, 1) }
	s, err := manifest.Read("pods.yaml", []byte(named("a")+"---\n"+named("bad")+"---\n"+named("c")))
	if err != nil {
		t.Fatal(err)
	}
	r := newRun([]*manifest.Stream{s}, config.Default(), Rewrite)
	r.selects = func(_ string, m *field.Metadata) bool {
		if m.Name == "bad" {
			panic("index out of range")
		}
		return true
	}
	out := r.all()
	var errors []string
	for _, m := range out.Messages {
		if m.Reason == reason.InternalError {
			errors = append(errors, m.String())
		}
	}
	const want = "error: pods.yaml:9: Pod bad: Internal error: index out of range. The object was not changed. Report it, with the object. Until it is fixed, leave the object out with `exclude` of the functionConfig. [internal-error]"
	if len(errors) != 1 || errors[0] != want {
		t.Errorf("%q, want %q", errors, want)
	}
	text, err := s.Text()
	if err != nil || !strings.Contains(string(text), "---\n"+named("bad")+"---\n") || out.Changed != 2 || strings.Count(string(text), "app-health/a/livez, port") != 2 {
		t.Errorf("%v, %d objects changed:\n%s", err, out.Changed, text)
	}
}

// What was found of an object before a defect stopped it says nothing: it is not changed, nor judged.
func TestAPanicTakesBackWhatWasFoundOfTheObject(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec:\n  containers:\n  - name: a\n    livenessProbe: {httpGet: {port: 80}}\n"
	named := func(name string) string { return strings.Replace(pod, "NAME", name, 1) }
	for _, mode := range []Wants{Rewrite, Gate, Inspect} {
		s, err := manifest.Read("pods.yaml", []byte(named("a")+"---\n"+named("bad")+"---\n"+named("c")))
		if err != nil {
			t.Fatal(err)
		}
		r := newRun([]*manifest.Stream{s}, config.Default(), mode)
		r.selects = func(_ string, m *field.Metadata) bool {
			f := transformer.NewFinding(reason.PortTaken, nil, "Found of %s", m.Name)
			r.addFinding(&subject{Object: s.Objects()[0]}, f)
			r.judged = append(r.judged, report.NewMessage(reason.WouldFail, reason.NewText("Judged of %s", m.Name)))
			if m.Name == "bad" {
				panic("index out of range")
			}
			return true
		}
		var found []string
		for _, m := range r.all().Messages {
			if m.Reason == reason.PortTaken || m.Reason == reason.WouldFail && strings.HasPrefix(m.Text.What, "Judged") {
				found = append(found, m.Text.What)
			}
		}
		slices.Sort(found)
		if want := []string{"Found of a", "Found of c", "Judged of a", "Judged of c"}; !slices.Equal(found, want) {
			t.Errorf("mode %v: %q, want %q", mode, found, want)
		}
	}
}
