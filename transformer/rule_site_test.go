package transformer

import (
	"reflect"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
)

// A siteCase is a rule of probes and hooks, and a template in which it leaves one alone.
type siteCase struct {
	rule   siteRule
	change func(o *Options, in *Input)
	want   string // the reason
}

// liveWith changes the livenessProbe of the only container.
func liveWith(change func(p *pod.Probe)) func(*Options, *Input) {
	return func(_ *Options, in *Input) { change(in.Template.Spec.Containers[0].LivenessProbe) }
}

// httpGetWith changes its httpGet.
func httpGetWith(change func(h *pod.HTTPGet)) func(*Options, *Input) {
	return liveWith(func(p *pod.Probe) { change(p.HTTPGet) })
}

// appWith changes the only container.
func appWith(change func(c *pod.Container)) func(*Options, *Input) {
	return func(_ *Options, in *Input) { change(&in.Template.Spec.Containers[0]) }
}

func annotated(key, value string) func(*Options, *Input) {
	return func(_ *Options, in *Input) {
		in.Template.Metadata.Annotations = field.KeyValues{{Key: key, Value: value}}
	}
}

func before(name string, restart string) func(*Options, *Input) {
	return func(_ *Options, in *Input) {
		first := pod.Container{Name: name, RestartPolicy: restart, LivenessProbe: &pod.Probe{Handler: getOf("/", 8081)}}
		in.Template.Spec.InitContainers = []pod.Container{first}
	}
}

// siteCases has the rules without an example, and what their examples do not show.
var siteCases = map[string]siteCase{
	"a controller that makes the probes": {probesMadeElsewhere, func(_ *Options, in *Input) { in.Shape.ProbesMadeBy = "Knative Serving" }, "probes-made-elsewhere"},
	"a command":                          {noNetwork, liveWith(func(p *pod.Probe) { p.Handler = pod.Handler{Exec: &pod.Exec{}} }), "no-network"},
	"a field of a newer Kubernetes": {unknownFieldIn, func(_ *Options, in *Input) {
		in.Source = sourceOf(field.Map{{Key: "udpSocket", Value: field.Map{}}}, "spec.template.spec.containers[0].livenessProbe")
	}, "handler-unknown"},
	"a protocol of a newer Kubernetes": {unsupportedValue, httpGetWith(func(h *pod.HTTPGet) { h.Protocol = "HTTP3" }), "handler-unknown"},
	"no handler":                       {notOneHandler, liveWith(func(p *pod.Probe) { p.Handler = pod.Handler{} }), "not-one-handler"},
	"the mesh's proxy":                 {ofProxy, appWith(func(c *pod.Container) { c.Name = "istio-proxy" }), "proxy-container"},
	"an opt-out of the pod":            {optedOut, annotated("rewrite-probes.io/rewrite", "false"), "opt-out"},
	"an opt-out of the container":      {inSkippedContainer, annotated(ownSkipContainers, "app"), "skipped-container"},
	"a handler that is not selected":   {notSelected, func(o *Options, _ *Input) { o.Rewrite = []string{"grpc"} }, "not-selected"},
	"a hook that the kubelet lacks": {hookNeverWorks, appWith(func(c *pod.Container) {
		c.Lifecycle = &pod.Lifecycle{PostStart: &pod.Handler{TCPSocket: &pod.TCPSocket{Port: field.Number(80)}}}
	}), "hook-never-works"},
	"a probe that every kubelet makes": {madeByKubelet, func(o *Options, _ *Input) { o.Mesh = "none" }, "made-by-kubelet"},
	"two containers of one name":       {nameNotUnique, before("app", "Always"), "container-name"},
	"a name with a variable":           {nameIsVariable, appWith(func(c *pod.Container) { c.Name = "${NAME}" }), "variable"},
	"another host":                     {goesToHost, httpGetWith(func(h *pod.HTTPGet) { h.Host = "10.0.0.1" }), "host-set"},
	"a path with a variable":           {textIsVariable, httpGetWith(func(h *pod.HTTPGet) { h.Path = "/${X}" }), "variable"},
	"a scheme that there is not":       {schemeInvalid, httpGetWith(func(h *pod.HTTPGet) { h.Scheme = "ftp" }), "scheme-invalid"},
	"a port that nobody declares":      {portUnresolved, httpGetWith(func(h *pod.HTTPGet) { h.Port = field.IntOrString{Str: "web", IsString: true} }), "port-unresolved"},
	"a port that there is not":         {portUnresolved, httpGetWith(func(h *pod.HTTPGet) { h.Port = field.Number(70000) }), "port-invalid"},
	"the port of Istio's agent":        {atAgentsPort, httpGetWith(func(h *pod.HTTPGet) { h.Port = field.Number(15020) }), "aims-at-probe-port"},
	"a port that is not captured":      {notCaptured, annotated("traffic.sidecar.istio.io/excludeInboundPorts", "8080"), "port-not-captured"},
	"a container before probe-proxy": {startsTooEarly, func(o *Options, in *Input) {
		o.ProbeProxy.Placement = PlacementContainer
		before("first", "Always")(o, in)
		in.Template.Spec.InitContainers[0].StartupProbe = in.Template.Spec.InitContainers[0].LivenessProbe
	}, "starts-before-answerer"},
	"an app that istio-proxy cannot ask": {localOnly, func(o *Options, in *Input) {
		o.AnsweredBy = AnsweredByIstioProxy
		listening("127.0.0.1:8080")(o, in)
	}, "proxy-cannot-answer"},
	"an app at two addresses": {twoAddresses, func(o *Options, in *Input) {
		sidecar := &surroundings.Sidecar{Ingress: []surroundings.InboundListener{
			{Port: surroundings.ListenerPort{Number: 8080}, Endpoint: "127.0.0.1:8080"}, {Port: surroundings.ListenerPort{Number: 9090}, Endpoint: "[::1]:9090"},
		}}
		in.Around = beside.Of(sidecar)
		in.Template.Spec.Containers[0].ReadinessProbe = &pod.Probe{Handler: pod.Handler{TCPSocket: &pod.TCPSocket{Port: field.Number(9090)}}}
	}, "app-elsewhere"},
	"a probe that istio-proxy cannot make": {newerThanProxy, func(o *Options, in *Input) {
		o.AnsweredBy = AnsweredByIstioProxy
		in.Template.Spec.Containers[0].LivenessProbe.HTTPGet.Protocol = "HTTP2"
	}, "proxy-cannot-answer"},
}

// listening has a Sidecar that says where the app listens for what comes to its port.
func listening(endpoint string) func(*Options, *Input) {
	sidecar := &surroundings.Sidecar{Neighbour: surroundings.Neighbour{Name: "default"}, Ingress: []surroundings.InboundListener{{Port: surroundings.ListenerPort{Number: 8080}, Endpoint: endpoint}}}
	return func(_ *Options, in *Input) {
		in.Around = beside.Of(sidecar)
	}
}

// leftAlone returns the reasons for which a rule, asked alone, leaves probes and hooks alone.
func leftAlone(rule siteRule, a *answering) (reasons []string) {
	for _, s := range a.sites {
		if why := rule(a, s).reason.String(); why != "" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	return reasons
}

func TestSiteRules(t *testing.T) {
	for name, c := range siteCases {
		if got := leftAlone(c.rule, answeringAbout(t, c.change)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		key, _ := reason.Parse(c.want)
		ofPod := isRule(c.rule, optedOut) || isRule(c.rule, probesMadeElsewhere)
		if key.Severity() == reason.Info && ofPod != (key.Doc().Leaves == reason.WholePod) {
			t.Errorf("%s: the row of %s has the extent %d, and its rule is about the whole pod: %t", name, key, key.Doc().Leaves, ofPod)
		}
	}
	for _, rule := range slices.Concat(siteRules, answererRules) {
		if got := leftAlone(rule, answeringAbout(t, nil)); len(got) > 0 {
			t.Errorf("%s: a pod like any other is left alone: %q", nameOf(rule), got)
		}
	}
}

func isRule(one, other siteRule) bool {
	return reflect.ValueOf(one).Pointer() == reflect.ValueOf(other).Pointer()
}

func TestSiteRules_ofRestore(t *testing.T) {
	if got := leftAlone(notRewritten, answeringAbout(t, nil)); !slices.Equal(got, []string{"not-rewritten"}) {
		t.Errorf("got %q", got)
	}
}
