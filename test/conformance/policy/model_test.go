package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/policy/verdict"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
)

// strict is the world that the policy's messages name.
var strict = model.World{
	MTLS:     func(int) string { return "STRICT" },
	Protocol: func(int) string { return "" },
	Denied:   func(int, corev1.ProbeHandler, bool) bool { return false },
}

// tellsNot are reasons of the model about which the policy does not speak. It does not
// ask which container runs first, no mesh makes the next three, and it leaves probes alone
// that are sent to a host, which Istio's injector breaks if the host is the node.
var tellsNot = []string{"does not run yet", "no such port", "no such hook", "nobody listens on", "sent to another host"}

// TestThePolicySaysWhatBecomesOfAPod judges by a model of Istio that shares no fact with
// the policy: of injected pods, with and without our rewriting, the policy names the
// probes that get no answer of the app's, and no others.
func TestThePolicySaysWhatBecomesOfAPod(t *testing.T) {
	rewriter, idle := istio.New(t), istio.New(t, "values.sidecarInjectorWebhook.rewriteAppHTTPProbe=false")
	p, _ := policies(t, decode(t, nil))
	g := compile(t, &p.policy, 30)
	n := make(map[string]int)
	for seed := range uint64(250) {
		original := random(seed + 1)
		_, off := original.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"]
		if (seed+1)%20 <= 10 || (seed+1)%20 == 14 || off || kubernetes.Validate(original) != nil { // the first ones opt out, are of no use to Istio, or run on Windows; 14 runs on virtual nodes
			continue
		}
		pods := []*corev1.Pod{original}
		for _, settings := range configs[:2] {
			if after := rewritten(t, original, decode(t, settings)); after != nil {
				pods = append(pods, after)
			}
		}
		for _, pod := range pods {
			for _, i := range []*istio.Injector{rewriter, idle} {
				for _, mode := range istio.Modes {
					injected, err := i.Inject(pod, mode)
					if err != nil {
						continue
					}
					if injected = kubernetes.Default(injected); kubernetes.Validate(injected) == nil {
						injected.Name = "pod"
						judge(t, g, original, injected, n)
					}
				}
			}
		}
	}
	t.Logf("probes and hooks of injected pods: %v", n)
	if n["answered"] < 1000 || n["fails"] < 200 || n["falsely passes"] < 50 || n["untold"] > n["fails"]/2 {
		t.Errorf("too little came up: %v", n)
	}
}

// judge compares what the policy says of an injected pod with what the model says, and
// counts the fates.
func judge(t *testing.T, g *guard, original, pod *corev1.Pod, n map[string]int) {
	t.Helper()
	asked := model.Sites(pod)
	maps.Copy(asked, model.Sites(original))
	life := model.Judge(pod, asked, strict)
	message := g.refusal(t, pod, namespaces(pod.Namespace)[1])
	policed := verdict.FindingsIn(message)
	for at, fate := range life.Fates {
		if h := asked[at].HTTPGet; h != nil && strings.Contains(h.Path, "$") {
			continue // the model does not expand variables as the kubelet does
		}
		of := at.Container + ": " + prober.ProbeType(at.Type).Field() + " "
		found := ""
		if k := slices.IndexFunc(policed, func(f string) bool { return strings.HasPrefix(f, of) }); k >= 0 {
			found = policed[k]
		}
		want := map[model.Fate]string{model.Fails: of + "[would-fail]", model.FalselyPasses: of + "[would-falsely-pass]"}[fate]
		n[fate.String()]++
		switch why := life.Why[at]; {
		case found == want:
		case found == "" && slices.ContainsFunc(tellsNot, func(s string) bool { return strings.Contains(why, s) }):
			n["untold"]++
		case found != "" && gatesInit(pod, at): // it may be over before istio-init redirects anything
			n["before istio-init"]++
		default:
			text, _ := yaml.Marshal(pod)
			t.Errorf("%s%s (%s), and the policy says %q of\n%s", of, fate, why, message, text)
		}
	}
}

// gatesInit reports whether the kubelet starts the next init container only when the probe
// or hook has passed.
func gatesInit(pod *corev1.Pod, at model.Site) bool {
	return (at.Type == "startupz" || at.Type == "poststartz") &&
		slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == at.Container })
}
