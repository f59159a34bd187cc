package transformer_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A meshFact has what a mesh's own sources say, as the comments of the profiles cite them.
type meshFact struct {
	mark       string   // metadata that puts a pod into the mesh
	uncaptured []int    // the ports that are never captured
	opaque     []int    // the ports on which Linkerd's policy sees no path
	uninjected []string // the namespaces without injection
	reserved   []int    // the ports that probe-proxy must not have
	uid        int
}

var meshFacts = map[string]meshFact{
	"istio": {
		mark: "labels: {sidecar.istio.io/inject: \"true\"}", uncaptured: []int{15020, 15021, 15090}, uid: 1337,
		uninjected: []string{"kube-system", "kube-public", "kube-node-lease", "local-path-storage"}, reserved: []int{15000, 15001, 15004, 15006, 15008, 15021, 15053, 15090},
	},
	"linkerd": {
		mark: "annotations: {linkerd.io/inject: enabled}", uncaptured: []int{4190, 4191}, uid: 2102, opaque: []int{25, 587, 3306, 4444, 5432, 6379, 9300, 11211},
		uninjected: []string{"kube-system", "cert-manager"}, reserved: []int{4140, 4143, 4190, 4191},
	},
	"kuma": {
		mark: "labels: {kuma.io/sidecar-injection: enabled}", uid: 5678,
		uninjected: []string{"kube-system"}, reserved: []int{9000, 9001, 9901, 9902, 15001, 15006, 15053},
	},
	"consul": {
		mark: "annotations: {consul.hashicorp.com/connect-inject: \"true\"}", uncaptured: []int{20200}, uid: 5995,
		uninjected: []string{"kube-system", "kube-public", "local-path-storage", "openebs", "gmp-system", "gke-managed-cim", "openshift-monitoring"},
		reserved:   []int{8600, 15001, 19000, 20000, 20200, 20600, 21000},
	},
	"osm": {
		uncaptured: []int{15000, 15001, 15003, 15010, 15901, 15902, 15903, 15904}, uid: 1500,
		uninjected: []string{"kube-system", "kube-public"},
	},
	"fsm": {
		uncaptured: []int{15000, 15001, 15003, 15010, 15901, 15902, 15903, 15904}, uid: 1500,
		uninjected: []string{"kube-system", "kube-public"},
	},
}

// A probe of a port that the mesh never captures works as it is, and one of the port beside it does not.
func TestThePortsThatNoMeshCapturesAreKnown(t *testing.T) {
	for mesh, f := range meshFacts {
		for n := range 4 {
			ports := f.uncaptured
			if n > 0 { // those around
				ports = nil
				for _, p := range f.uncaptured {
					if around := p + n*2 - 3; !slices.Contains(f.uncaptured, around) {
						ports = append(ports, around)
					}
				}
			}
			for _, p := range ports {
				r := plan(t, podOf(f.mark, app("livenessProbe: {httpGet: {path: /x, port: "+strconv.Itoa(p)+"}}")), inMesh(mesh))
				left := r.Probes[0].Reason.String() == "port-not-captured" || r.Probes[0].Reason.String() == "aims-at-probe-port"
				if left != (n == 0) {
					t.Errorf("%s, port %d: %+v", mesh, p, r.Probes[0])
				}
			}
		}
	}
}

func TestTheNamespacesWithoutInjectionAreKnown(t *testing.T) {
	var all []string
	for _, f := range meshFacts {
		all = append(all, f.uninjected...)
	}
	for mesh, f := range meshFacts {
		for _, namespace := range append(all, "shop", "openebs-2", "istio-system", "kube") {
			r := plan(t, goesTo(namespace, podOf(f.mark, app(httpProbe))), inMesh(mesh))
			if _, never := r.has("namespace-not-injected"); never != slices.Contains(f.uninjected, namespace) {
				t.Errorf("%s in %s: %v", mesh, namespace, r.Findings)
			}
		}
	}
}

// Neither a port nor a uid of a mesh's own is one for probe-proxy, and what is beside it may be.
func TestWhatIsAMeshsOwnIsNoneOfOurs(t *testing.T) {
	refused := func(opts ...option) bool {
		_, err := transformer.New(options(append(opts, answeredBy("probe-proxy"))...))
		return err != nil
	}
	for mesh, f := range meshFacts {
		for _, p := range f.reserved {
			for _, around := range []int{p - 1, p, p + 1} {
				if got := refused(inMesh(mesh), port(around)); got != slices.Contains(f.reserved, around) {
					t.Errorf("%s, port %d: refused %t", mesh, around, got)
				}
			}
		}
		for _, key := range []string{"runAsUser", "runAsGroup"} {
			for _, id := range []int{f.uid - 1, f.uid, f.uid + 1} {
				with := func(o *transformer.Options) { o.ProbeProxy.SecurityContext = field.Map{{Key: key, Value: id}} }
				if got := refused(inMesh(mesh), with); got != (id == f.uid) {
					t.Errorf("%s, %s %d: refused %t", mesh, key, id, got)
				}
			}
			// Nor may the pod give it one.
			for _, id := range []int{f.uid - 1, f.uid, f.uid + 1} {
				none := func(o *transformer.Options) { o.ProbeProxy.SecurityContext = field.Map{{Key: key, Value: nil}} }
				r := plan(t, podOf(f.mark, fmt.Sprintf("securityContext: {%s: %d}\n", key, id)+app(httpProbe)), inMesh(mesh), answeredBy("probe-proxy"), none)
				if _, got := r.has("proxy-uid"); got != (id == f.uid) && f.mark != "" {
					t.Errorf("%s, %s %d of the pod: %v", mesh, key, id, r.Findings)
				}
			}
		}
	}
}

func TestThePortsThatAreOpaqueToLinkerdAreKnown(t *testing.T) {
	f := meshFacts["linkerd"]
	for _, p := range f.opaque {
		for _, around := range []int{p - 1, p, p + 1} {
			for _, declared := range []int{around, around + 5} {
				spec := fmt.Sprintf("ports: [{containerPort: %d}]\nlivenessProbe: {httpGet: {path: /x, port: %d}}", declared, around)
				v := plan(t, podOf("annotations: {linkerd.io/inject: enabled, config.linkerd.io/default-inbound-policy: deny}", app(spec))).Probes[0]
				if fails := v.StrictTLS == world.Fails; fails != (slices.Contains(f.opaque, around) && declared == around) {
					t.Errorf("port %d, and %d is declared: %+v", around, declared, v)
				}
			}
		}
	}
}

// The requests of the injectors of Open Service Mesh and Flomesh are told from those of apps, whose paths and headers
// may be similar.
func TestTheRequestsOfOtherInjectorsAreKnown(t *testing.T) {
	headers := []string{"Original-Http-Port", "original-http-path", "ORIGINAL-TCP-PORT", "Original-Port", "X-Original-Http-Port"}
	for _, domain := range []string{"osm", "fsm", "xsm"} {
		known := domain != "xsm"
		for _, name := range []string{"liveness", "readiness", "startup", "other"} {
			path := "/" + domain + "-" + name + "-probe"
			for more, is := range map[string]bool{"": true, "/app": true, "/a/b": false, "s": false, "/": true} {
				wantInjected(t, "path: "+path+more, known && name != "other" && is)
			}
			wantInjected(t, "path: /x"+path, false)
		}
		for i, header := range headers {
			get := "path: /" + domain + "-healthcheck, httpHeaders: [{name: A, value: b}, {name: " + header + ", value: \"80\"}]"
			wantInjected(t, get, known && i < 3)
		}
		wantInjected(t, "path: /"+domain+"-healthcheck", false)
		wantInjected(t, "path: /healthcheck, httpHeaders: [{name: Original-Http-Port, value: \"80\"}]", false)
	}
}

func wantInjected(t *testing.T, get string, want bool) {
	t.Helper()
	if _, dangling := plan(t, podOf("", app("livenessProbe: {httpGet: {port: 8080, "+get+"}}"))).has("dangling"); dangling != want {
		t.Errorf("%s: looks injected %t, want %t", get, dangling, want)
	}
}

// Templates of Istio's that capture nothing are known by their names, however the list is written; with any other among
// them it is not known, and with the sidecar's it is as without the annotation.
func TestTheInjectionTemplatesThatCaptureNothing(t *testing.T) {
	none := []string{"gateway", "grpc-agent", "grpc-simple", "kube-gateway", "waypoint"}
	for _, name := range append(none, "own", "sidecar", "grpc") {
		for _, list := range []string{name, "gateway," + name, name + " , waypoint", " " + name + ",own"} {
			r := plan(t, podOf("labels: {sidecar.istio.io/inject: \"true\"}\nannotations: {inject.istio.io/templates: \""+list+"\"}", app(httpProbe)), answeredBy("probe-proxy"))
			want := !strings.Contains(list, "own") && slices.Contains(none, name)
			if _, got := r.has("not-sidecar-template"); got != want {
				t.Errorf("%q: %v", list, r.Findings)
			}
		}
	}
}

// What kubectl or the API server puts into the probe-proxy of a manifest goes, if the options decide the field, and any
// other field stays.
func TestWhatTheOptionsDecideOfProbeProxyIsTheirs(t *testing.T) {
	text := plan(t, podOf("", app(httpProbe)), answeredBy("probe-proxy")).text
	for added, stays := range map[string]bool{
		"args: [--port=15099]": false, "command: [x]": false, "imagePullPolicy: Always": false, "startupProbe: {exec: {command: [x]}}": false,
		"livenessProbe: {exec: {command: [x]}}": false, "readinessProbe: {exec: {command: [x]}}": false,
		"volumeMounts: [{name: a, mountPath: /a}]": true, "workingDir: /x": true, "stdin: true": true, "ports: [{containerPort: 15099}]": true, "terminationMessagePath: /x": true,
	} {
		changed := strings.Replace(text, "      - name: probe-proxy\n", "      - name: probe-proxy\n        "+added+"\n", 1)
		r := plan(t, changed, answeredBy("probe-proxy"))
		if got := strings.Contains(r.text, added); got != stays {
			t.Errorf("%s stays: %t in\n%s", added, got, r.text)
		}
		wantNoEdits(t, plan(t, r.text, answeredBy("probe-proxy")))
	}
}

// A mode of the mesh's counts for Envoy's listeners too: without a redirection Envoy listens on every port that a Sidecar lists,
// unless the listener says otherwise.
func TestASidecarsListenerWithAndWithoutRedirection(t *testing.T) {
	spec := &pod.Spec{}
	for _, c := range []struct {
		listener  surroundings.InboundListener
		redirects bool
		binds     bool
	}{
		{surroundings.InboundListener{Port: surroundings.ListenerPort{Number: 80}}, true, false}, {surroundings.InboundListener{Port: surroundings.ListenerPort{Number: 80}}, false, true},
		{surroundings.InboundListener{Port: surroundings.ListenerPort{Number: 80}, CaptureMode: "IPTABLES"}, false, false}, {surroundings.InboundListener{Port: surroundings.ListenerPort{Number: 80}, CaptureMode: "NONE"}, true, true},
		{surroundings.InboundListener{Port: surroundings.ListenerPort{Number: 80}, CaptureMode: "NONE", Bind: "127.0.0.1"}, true, false}, {surroundings.InboundListener{Port: surroundings.ListenerPort{Number: 81}, CaptureMode: "NONE"}, true, false},
	} {
		s := beside.Of(&surroundings.Sidecar{
			Neighbour: surroundings.Neighbour{Name: "s", Namespace: "shop"}, Ingress: []surroundings.InboundListener{{Port: surroundings.ListenerPort{Number: 7}}, c.listener},
		})
		in := s.Inbound("istio-system", &surroundings.Pods{Namespace: "shop", Labels: field.KeyValues{}, Spec: spec}, 80, c.redirects)
		if got := in.Binds > 0; got != c.binds {
			t.Errorf("%+v, redirected %t: %+v", c.listener, c.redirects, in)
		}
	}
}
