package injector

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// A mesh is a possible configuration of Istio.
type mesh struct {
	name     string
	settings []string // of istioctl
	// annotations are those of the pod, in the flow style of YAML.
	annotations string
	// byPod and byContainer are what the declared securityContext does to the
	// injected pod where the pod's own says runAsNonRoot and seccompProfile, and
	// where every container says them for itself.
	byPod, byContainer effect
}

// An effect is what a declared securityContext makes different.
type effect string

// The effects. The last two are why `istioProxy.restricted` can be switched off.
const (
	none       effect = "none"
	seccomp    effect = "seccompProfile RuntimeDefault, of which the mesh says nothing"
	untouched  effect = "none: the pod is left as it is, for no connections are captured"
	undeclared effect = "none: it is not declared, for the pod wants the proxy privileged"
	refused    effect = "refused by the API server"
	neverRuns  effect = "never run by the kubelet: uid 0 and runAsNonRoot"
)

var meshes = []mesh{
	{name: "as the charts are", byPod: none, byContainer: seccomp},
	{name: "REDIRECT", annotations: `{sidecar.istio.io/interceptionMode: REDIRECT}`, byPod: none, byContainer: seccomp},
	{name: "NONE", annotations: `{sidecar.istio.io/interceptionMode: NONE}`, byPod: untouched, byContainer: untouched},
	{name: "CNI", settings: []string{"values.pilot.cni.enabled=true"}, byPod: none, byContainer: seccomp},
	{name: "CNI, seccompProfile RuntimeDefault", settings: []string{"values.pilot.cni.enabled=true", "values.global.proxy.seccompProfile.type=RuntimeDefault"}, byPod: none, byContainer: none},
	{name: "OpenShift", settings: []string{"values.global.platform=openshift"}, byPod: none, byContainer: seccomp},
	{name: "template gateway", annotations: `{inject.istio.io/templates: gateway}`, byPod: untouched, byContainer: untouched},
	{name: "template grpc-agent", annotations: `{inject.istio.io/templates: grpc-agent}`, byPod: untouched, byContainer: untouched},
	{name: "TPROXY for the pod", annotations: `{sidecar.istio.io/interceptionMode: TPROXY}`, byPod: undeclared, byContainer: undeclared},
	{name: "TPROXY for the pod, by its ProxyConfig", annotations: `{proxy.istio.io/config: "interceptionMode: TPROXY"}`, byPod: undeclared, byContainer: undeclared},
	{name: "low ports for the pod", annotations: `{sidecar.istio.io/capNetBindService: "true"}`, byPod: undeclared, byContainer: undeclared},
	{name: "tracing of packets for the pod", annotations: `{proxy.istio.io/config: "{proxyMetadata: {IPTABLES_TRACE_LOGGING: 'true'}}"}`, byPod: undeclared, byContainer: undeclared},
	{name: "TPROXY for all", settings: []string{"meshConfig.defaultConfig.interceptionMode=TPROXY"}, byPod: none, byContainer: neverRuns},
	{name: "low ports for all", settings: []string{"unvalidatedValues.global.proxy.capNetBindService=true"}, byPod: none, byContainer: neverRuns},
	{name: "privileged for all", settings: []string{"values.global.proxy.privileged=true"}, byPod: refused, byContainer: refused},
	{name: "seccompProfile Localhost for all", settings: []string{"values.global.proxy.seccompProfile.type=Localhost", "values.global.proxy.seccompProfile.localhostProfile=x"}, byPod: none, byContainer: refused},
}

// restrictedPod is one that satisfies Pod Security restricted; %s are its
// annotations, its securityContext and the rest of that of its containers.
const restrictedPod = `apiVersion: v1
kind: Pod
metadata:
  name: restricted
  annotations: %s
spec:
  securityContext: {%s}
  containers:
  - name: app
    image: app
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, %s}
    livenessProbe: {httpGet: {path: /live, port: 8080}}
    readinessProbe: {grpc: {port: 9090}}
    lifecycle: {preStop: {httpGet: {path: /stop, port: 8080}}}
`

func TestADeclaredSecurityContextTakesNothingFromIstioProxyThatItNeeds(t *testing.T) {
	const rest = "runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}"
	for _, m := range meshes {
		t.Run(m.name, func(t *testing.T) {
			i := istio.New(t, m.settings...)
			annotations := m.annotations
			if annotations == "" {
				annotations = "{}"
			}
			for _, mode := range istio.Modes {
				for _, c := range []struct {
					name, pod, container string
					want                 effect
				}{{"pod", rest, "", m.byPod}, {"container", "", rest, m.byContainer}} {
					got, err := declaredEffect(i, mode, fmt.Sprintf(restrictedPod, annotations, c.pod, c.container))
					if err != nil {
						t.Fatalf("%s mode, context of the %s: %v", mode, c.name, err)
					}
					if got != c.want {
						t.Errorf("%s mode, context of the %s: the effect is %q, want %q", mode, c.name, got, c.want)
					}
				}
			}
			if !t.Failed() {
				declared = append(declared, m)
			}
		})
	}
}

// declaredEffect injects a rewritten pod with and without the securityContext
// of the declared istio-proxy, and returns the difference.
func declaredEffect(i *istio.Injector, mode istio.Mode, manifest string) (effect, error) {
	output, _, err := rewrite([]byte(manifest), rewriting.Settings{"answeredBy": "istio-proxy"})
	if err != nil {
		return "", err
	}
	if string(output) == manifest {
		return untouched, nil
	}
	on, with, err := declareAndInject(i, mode, manifest, true)
	if err != nil {
		return "", err
	}
	off, without, err := declareAndInject(i, mode, manifest, false)
	if err != nil {
		return "", err
	}
	if container(off, istio.ProxyName).SecurityContext != nil {
		return "", fmt.Errorf("it is switched off, and yet declared")
	}
	if err := kubernetes.Validate(without); err != nil {
		return "", fmt.Errorf("without the context: %w", err)
	}
	if err := kubernetes.Validate(with); err != nil {
		if !strings.Contains(err.Error(), "ecurityContext") {
			return "", err
		}
		return refused, nil
	}
	is, was := container(with, istio.ProxyName).SecurityContext, container(without, istio.ProxyName).SecurityContext
	if err := sameButContext(with, without); err != nil {
		return "", err
	}
	switch {
	case container(on, istio.ProxyName).SecurityContext == nil:
		return undeclared, nil
	case reflect.DeepEqual(is, was):
		return none, nil
	case isTrue(is.RunAsNonRoot) && is.RunAsUser != nil && *is.RunAsUser == 0:
		return neverRuns, nil
	}
	return difference(is, was)
}

// declareAndInject returns a pod as rewrite-probes makes it, and as the injector
// makes that. Its probes and their originals must come out as they
// went in.
func declareAndInject(i *istio.Injector, mode istio.Mode, manifest string, restricted bool) (ours, injected *corev1.Pod, err error) {
	output, _, err := rewrite([]byte(manifest), rewriting.Settings{"answeredBy": "istio-proxy", "istioProxy": map[string]any{"restricted": restricted}})
	if err != nil {
		return nil, nil, err
	}
	found, err := kubernetes.Objects(output)
	if err != nil {
		return nil, nil, err
	}
	ours = kubernetes.Default(kubernetes.Pod(found[0].Template, found[0].Namespace))
	if injected, err = i.Inject(ours, mode); err != nil {
		return nil, nil, err
	}
	injected = kubernetes.Default(injected)
	if err := unchanged(ours, injected); err != nil {
		return nil, nil, err
	}
	if _, values := originalsEnv(injected); len(values) != 1 {
		return nil, nil, fmt.Errorf("%d env vars have originals, want 1:\n%s", len(values), output)
	}
	return ours, injected, nil
}

// sameButContext says how two injected pods differ in more than the
// securityContext of istio-proxy, and the note that the injector makes of
// what was declared.
func sameButContext(a, b *corev1.Pod) error {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, pod := range []*corev1.Pod{a, b} {
		delete(pod.Annotations, "proxy.istio.io/overrides")
		for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for n := range list {
				if list[n].Name == istio.ProxyName {
					list[n].SecurityContext = nil
				}
			}
		}
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("the pods differ elsewhere:\n%v\n%v", a, b)
	}
	return nil
}

// difference returns what is new in a securityContext; all that was there must
// be as it was.
func difference(is, was *corev1.SecurityContext) (effect, error) {
	if was == nil {
		was = new(corev1.SecurityContext)
	}
	rest := is.DeepCopy()
	found := effect("")
	if was.SeccompProfile == nil && is.SeccompProfile != nil && is.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault {
		rest.SeccompProfile, found = nil, seccomp
	}
	if !reflect.DeepEqual(rest, was) {
		return "", fmt.Errorf("the securityContext was\n%v\nand is\n%v", was, is)
	}
	return found, nil
}

func isTrue(b *bool) bool { return b != nil && *b }
