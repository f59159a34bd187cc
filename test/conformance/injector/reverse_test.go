package injector

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A passage counts our rewritten pods that went through Istio's injector.
type passage struct {
	pods     map[istio.Mode]int
	kept     map[istio.Mode]int // probes and hooks
	notOurs  int                // pods that are not rewritten, refused, or not injected
	problems []string
}

func (p *passage) String() string {
	return fmt.Sprintf("rewritten pods through the injector: ordinary mode %d, native mode %d; probes and hooks as they were %d and %d; changed or lost %d (pods with nothing to rewrite: %d more)",
		p.pods[istio.Ordinary], p.pods[istio.Native], p.kept[istio.Ordinary], p.kept[istio.Native], len(p.problems), p.notOurs)
}

func (p *passage) check(t *testing.T) {
	t.Helper()
	t.Log(p)
	for i, problem := range p.problems {
		if i == maxReported {
			t.Errorf("and %d more", len(p.problems)-i)
			break
		}
		t.Error(problem)
	}
	for _, mode := range istio.Modes {
		// Nearly all of a quarter of the workloads have something to rewrite.
		if least := int(workloads()) / 4 * 3 / 5; p.pods[mode] < least || p.kept[mode] < 3*least {
			t.Errorf("%d pods with %d probes and hooks went through the injector in %s mode, must be at least %d with %d", p.pods[mode], p.kept[mode], mode, least, 3*least)
		}
	}
}

// through rewrites the manifest of a pod and sends the result through the
// injector, in both modes and each twice: a pod may be injected again.
func (p *passage) through(i *istio.Injector, o kubernetes.Object, manifest []byte, spec rewriting.Settings, check func(before, after *corev1.Pod) error) {
	pod := kubernetes.Default(kubernetes.Pod(o.Template, o.Namespace))
	after, err := i.Inject(pod, istio.Ordinary)
	if err != nil || kubernetes.Validate(pod) != nil {
		p.notOurs++
		return
	}
	if c := container(after, istio.ProxyName); c == nil || c.Image == "auto" {
		p.notOurs++
		return
	}
	output, r, err := rewrite(manifest, spec)
	if err != nil {
		p.problems = append(p.problems, fmt.Sprintf("%s: %v", o, err))
		return
	}
	if r.Changed == 0 || len(reasons(r.Messages, transformer.Error)) > 0 {
		p.notOurs++
		return
	}
	found, err := kubernetes.Objects(output)
	if err != nil {
		p.problems = append(p.problems, fmt.Sprintf("%s: %v", o, err))
		return
	}
	before := kubernetes.Default(kubernetes.Pod(found[0].Template, o.Namespace))
	for _, mode := range istio.Modes {
		after, err := i.Inject(before, mode)
		if err == nil {
			after, err = i.Inject(kubernetes.Default(after), mode)
		}
		if err == nil {
			err = kubernetes.Validate(after)
		}
		if err == nil {
			err = unchanged(before, kubernetes.Default(after))
		}
		if err == nil {
			err = check(before, kubernetes.Default(after))
		}
		if err != nil {
			p.problems = append(p.problems, fmt.Sprintf("%s, %s mode: %v\n%s", o, mode, err, output))
			continue
		}
		all, _ := outcomes(before, "")
		p.pods[mode]++
		p.kept[mode] += len(all)
	}
}

// unchanged says which of the probes, hooks and env vars with originals are
// not what they were before the injection.
func unchanged(before, after *corev1.Pod) error {
	was, err := outcomes(before, "")
	if err != nil {
		return err
	}
	is, err := outcomes(after, "")
	if err != nil {
		return err
	}
	for at, o := range was {
		if !reflect.DeepEqual(o, is[at]) {
			return fmt.Errorf("%s was\n%sand is\n%s", at.key(), o, is[at])
		}
	}
	if len(is) != len(was) {
		return fmt.Errorf("%d probes and hooks have become %d", len(was), len(is))
	}
	wasNames, wasValues := originalsEnv(before)
	isNames, isValues := originalsEnv(after)
	if !slices.Equal(wasNames, isNames) || !slices.Equal(wasValues, isValues) {
		return fmt.Errorf("the env var was %q on %q, and is %q on %q", wasValues, wasNames, isValues, isNames)
	}
	n := 0
	eachContainer(after, func(c corev1.Container, _ bool) {
		if c.Name == istio.ProxyName {
			n++
			if c.Image == "auto" {
				err = fmt.Errorf("%s was left without its image", c.Name)
			}
		}
	})
	if n != 1 {
		return fmt.Errorf("%d containers are named %s", n, istio.ProxyName)
	}
	return err
}

// passes sends the random workloads and those of the real world through the injector.
func passes(t *testing.T, spec rewriting.Settings, check func(before, after *corev1.Pod) error) *passage {
	i := istio.New(t)
	p := &passage{pods: make(map[istio.Mode]int), kept: make(map[istio.Mode]int)}
	for seed := range workloads() / 4 {
		w := generator.New(seed + 1)
		text, err := w.YAML()
		if err != nil {
			t.Fatal(err)
		}
		p.through(i, workload(w), text, spec, check)
	}
	for _, f := range corpus(t) {
		for _, o := range decoded(t, f.name, f.text) {
			if o.Template == nil {
				continue
			}
			w := generator.Workload{Kind: o.Kind, Name: o.Name, Namespace: o.Namespace, Template: *o.Template}
			text, err := w.YAML()
			if err != nil {
				t.Fatal(err)
			}
			p.through(i, o, text, spec, check)
		}
	}
	return p
}

func TestIstiosInjectorLeavesWhatIstioProxyAnswersAsItIs(t *testing.T) {
	p := passes(t, rewriting.Settings{"answeredBy": "istio-proxy", "istio": certain}, func(_, after *corev1.Pod) error {
		if names, _ := originalsEnv(after); !slices.Equal(names, []string{istio.ProxyName}) {
			return fmt.Errorf("the env var is on %q", names)
		}
		return nil
	})
	p.check(t)
	passed = append(passed, row{"`answeredBy: istio-proxy`", p})
}

// An injector that is called a second time puts in its own image: its webhook
// has `reinvocationPolicy: Never`, unless it is told otherwise.
func TestIstiosInjectorKeepsTheImageOfADeclaredIstioProxy(t *testing.T) {
	const image = "example.com/istio/proxyv2:1.31.1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	i, ours := istio.New(t), 0
	p := passes(t, rewriting.Settings{"answeredBy": "istio-proxy", "istio": certain, "istioProxy": rewriting.Settings{"image": image}}, func(before, _ *corev1.Pod) error {
		was := container(before, istio.ProxyName).Image
		if was == "auto" { // declared by the user
			return nil
		}
		for _, mode := range istio.Modes {
			after, err := i.Inject(before, mode)
			if err != nil {
				return err
			}
			if is := container(after, istio.ProxyName).Image; was != image || is != image {
				return fmt.Errorf("%s mode: the image was %s and is %s", mode, was, is)
			}
			ours++
		}
		return nil
	})
	p.check(t)
	if least := int(workloads()) / 4; ours < least {
		t.Errorf("%d pods declare an istio-proxy with the image, must be at least %d", ours, least)
	}
}

func TestIstiosInjectorLeavesWhatProbeProxyAnswersBesideItAsItIs(t *testing.T) {
	p := passes(t, rewriting.Settings{"answeredBy": "probe-proxy", "port": ownPort, "probeProxy": rewriting.Settings{"livenessProbe": true, "readinessProbe": true}}, func(before, after *corev1.Pod) error {
		if names, _ := originalsEnv(after); !slices.Equal(names, []string{proxyName}) {
			return fmt.Errorf("the env var is on %q", names)
		}
		if capturedPorts(after)(ownPort) {
			return fmt.Errorf("port %d is captured", ownPort)
		}
		was, is := container(before, proxyName), container(after, proxyName)

		if !reflect.DeepEqual(was, is) {
			return fmt.Errorf("%s was\n%vand is\n%v", proxyName, was, is)
		}
		return nil
	})
	p.check(t)
	passed = append(passed, row{"`answeredBy: probe-proxy`, `port: " + strconv.Itoa(ownPort) + "`", p})
}

// container returns a container by name; nil if there is none.
func container(pod *corev1.Pod, name string) (found *corev1.Container) {
	eachContainer(pod, func(c corev1.Container, _ bool) {
		if c.Name == name {
			found = &c
		}
	})
	return found
}

func TestProbeProxyOnThePortThatIstioHasLeftIsNotCaptured(t *testing.T) {
	const manifest = `apiVersion: v1
kind: Pod
metadata:
  name: moved
  annotations: {status.sidecar.istio.io/port: "15030"}
spec:
  containers:
  - {name: app, image: app, livenessProbe: {httpGet: {port: 8080}}}
`
	output, _, err := rewrite([]byte(manifest), rewriting.Settings{"answeredBy": "probe-proxy", "port": 15020})
	if err != nil {
		t.Fatal(err)
	}
	i, template := istio.New(t), decoded(t, "moved", output)[0].Template
	for _, mode := range istio.Modes {
		after, err := i.Inject(kubernetes.Default(kubernetes.Pod(template, "")), mode)
		if err != nil {
			t.Fatal(err)
		}
		if captured := capturedPorts(after); captured(15020) || captured(15030) || !captured(8080) {
			t.Errorf("%s mode: captured are 15020 %t, 15030 %t, 8080 %t\n%s", mode, captured(15020), captured(15030), captured(8080), output)
		}
		delete(template.Annotations, "traffic.sidecar.istio.io/excludeInboundPorts")
		if after, err = i.Inject(kubernetes.Default(kubernetes.Pod(template, "")), mode); err != nil || !capturedPorts(after)(15020) {
			t.Errorf("%s mode: without the annotation 15020 must be captured (%v)", mode, err)
		}
		template = decoded(t, "moved", output)[0].Template
	}
}
