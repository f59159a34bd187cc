package transformer

import (
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// toy is the profile of a mesh that uses Istio's convention with its own
// annotations: what a new dialect has to say, and all that it has to say.
type toy struct{}

const (
	toySkip  = "toy.io/skip-ports"
	toyProxy = "toy-proxy"
)

var _ meshProfile = toy{}

func (toy) answerers() []string                    { return []string{AnsweredByAuto, AnsweredByProbeProxy} }
func (toy) proxyAnswerer() string                  { return "" }
func (toy) proxyAnswers(*handlerSite) bool         { return false }
func (toy) sidecarName(_, byDefault string) string { return byDefault }
func (toy) reservedPorts() []int                   { return []int{4143} }
func (toy) proxyID() int64                         { return 2102 }
func (toy) sidecarUser() int                       { return nobody }
func (toy) isProxy(c *Container) bool              { return c.Name == toyProxy }
func (toy) proxyPorts(*planBuilder) []int          { return nil }
func (toy) proxyPlaceholder() field.Map            { return nil }
func (toy) privileged(field.KeyValues) bool        { return false }

func (toy) mark(*planBuilder) mark { return mark{} }

func (toy) inspect(b *planBuilder) mesh {
	return mesh{
		answerer: answerer{AnsweredByProbeProxy, b.p.opts.Port},
		captures: func(port int) bool { return port != 4143 },
	}
}

func (toy) undo(annotations field.KeyValues, past []answerer, _ field.KeyValues) field.KeyValues {
	if len(past) > 0 {
		return annotations.Without(toySkip)
	}
	return annotations
}

func (toy) annotate(user, _ field.KeyValues, _ answerer) field.KeyValues {
	return user.With(toySkip, "15020")
}

// lonely is a mesh that has an answerer of its own.
type lonely struct{ toy }

func (lonely) answerers() []string { return []string{AnsweredByAuto, toyProxy} }

func TestAnswerersAreThoseOfAllDialects(t *testing.T) {
	before := dialects
	t.Cleanup(func() { dialects = before })
	dialects = append(dialects[:len(dialects):len(dialects)], &dialect{name: "lonely", convention: appHealth{}, meshProfile: lonely{}})
	want := []string{AnsweredByAuto, AnsweredByProbeProxy, AnsweredByIstioProxy, AnsweredByEnvoy, toyProxy}
	if got := Answerers(); !slices.Equal(got, want) {
		t.Errorf("answerers %q, want %q", got, want)
	}
}

// TestADialectIsOneProfileAndOneEntry: nothing else has to know of it.
func TestADialectIsOneProfileAndOneEntry(t *testing.T) {
	before := dialects
	t.Cleanup(func() { dialects = before })
	dialects = append(dialects[:len(dialects):len(dialects)], &dialect{name: "toy", title: "Toy", convention: appHealth{}, meshProfile: toy{}})
	if all := Meshes(); all[len(all)-1] != "toy" {
		t.Errorf("the functionConfig may name the dialects %q", all)
	}
	o := Defaults()
	o.Mesh, o.ProbeProxy.Image = "toy", "x"
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	probe := func(port int64) *Probe {
		return &Probe{Handler: Handler{TCPSocket: &TCPSocket{Port: field.IntOrString{Int: port}}}}
	}
	in := Input{
		Kind: "Deployment", Path: field.NewPath("spec", "template"),
		Template: PodTemplate{Spec: PodSpec{Containers: []Container{
			{Name: "app", LivenessProbe: probe(80), ReadinessProbe: probe(4143)},
			{Name: toyProxy, LivenessProbe: probe(80)},
		}}},
	}
	plan := p.Plan(in)
	var got []string
	for _, v := range plan.Probes {
		got = append(got, v.After+v.Reason)
	}
	if want := "port-not-captured :15020/app-health/app/livez proxy-container"; strings.Join(got, " ") != want {
		t.Errorf("probes %q, want %q", got, want)
	}
	edits := make(map[string]field.Value)
	for _, e := range plan.Edits {
		edits[e.Path.String()] = e.Value
	}
	if v := edits["spec.template.metadata.annotations[toy.io/skip-ports]"]; v != "15020" {
		t.Errorf("the annotation is %v in %v", v, plan.Edits)
	}
	for _, bad := range []func(*Options){
		func(o *Options) { o.Port = 4143 },
		func(o *Options) { o.ProbeProxy.Name = toyProxy },
		func(o *Options) { o.AnsweredBy = AnsweredByIstioProxy },
		func(o *Options) { o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: 2102}} },
	} {
		wrong := o
		bad(&wrong)
		if _, err := New(wrong); err == nil {
			t.Errorf("the planner takes %+v", wrong)
		}
	}
}
