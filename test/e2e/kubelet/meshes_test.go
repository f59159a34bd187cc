package kubelet

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/verdict"
)

// otherMeshes are those whose redirection is tried besides Istio's.
var otherMeshes = []string{"linkerd", "kuma", "consul"}

// A meshCase is a pod that must fare the same in all of them.
type meshCase struct {
	pod       string
	rewritten bool
	want      verdict.Verdict
	lies      bool     // the verdict is wrong
	events    []string // what the app must see instead of a verdict
}

var meshCases = []meshCase{
	{pod: "http", want: neverReadyAndRestarted},
	{pod: "grpc", want: neverReadyAndRestarted},
	{pod: "tcp-dead", want: ready, lies: true},
	{pod: "pre-stop", events: []string{started, terminated}},
	{pod: "http", rewritten: true, want: ready},
	{pod: "grpc", rewritten: true, want: ready},
	{pod: "tcp", rewritten: true, want: ready},
	{pod: "tcp-dead", rewritten: true, want: neverReady},
	{pod: "pre-stop", rewritten: true, events: []string{started, preStop, terminated}},
}

func (c meshCase) variant() string {
	if c.rewritten {
		return c.pod + "-rewritten"
	}
	return c.pod + "-native"
}

func (c meshCase) title() string {
	if c.rewritten {
		return c.pod + ", rewritten"
	}
	return c.pod + ", as it is"
}

func TestPodsFareAsExpectedInOtherMeshes(t *testing.T) {
	t.Parallel()
	for _, name := range otherMeshes {
		mesh := meshNamed(name)
		t.Run(name+"/certificate", func(t *testing.T) {
			t.Parallel()
			demandsCertificate(t, mesh, "certificate-"+name)
		})
		for _, c := range meshCases {
			t.Run(name+"/"+c.variant(), func(t *testing.T) {
				t.Parallel()
				config := ""
				if c.rewritten {
					config = name
				}
				p, podName := pod(t, c.pod, config), c.variant()+"-"+name
				if c.events != nil {
					compareHooks(t, mesh, podName, c.events, p)
					return
				}
				runAndCompareIn(t, mesh, podName, c.want, p)
			})
		}
	}
}
