package transformer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// consul is the profile of Consul's service mesh on Kubernetes (consul-k8s,
// v2.0.3 and commit a507b1d1e306 of August 2026; paths are below
// control-plane/connect-inject).
//
//   - Injection: an annotation of the pod, parsed as a boolean; without it only
//     the mesh's own configuration says so (constants/annotations_and_labels.go:24,
//     webhook/mesh_webhook.go:612-641).
//     By default nothing is injected into the namespaces of Kubernetes itself and of
//     some platforms (charts/consul/values.yaml, connectInject.namespaceSelector).
//   - Transparent proxy, without which nothing is captured: an annotation of the
//     pod, else a label of its Namespace, else on (common/common.go:75-86).
//   - Its own rewriter sends httpGet probes of containers to 20300, 20400 and
//     20500 plus the container's index, if transparent proxy is on and an
//     annotation does not turn it off (webhook/mesh_webhook.go:41-51, 551-592).
//   - Excluded ports: constants/annotations_and_labels.go:178.
//   - Everything that leaves a process of the pod for another address than
//     127.0.0.1 goes to the proxy, the pod's own IP too (consul/sdk v0.18.1,
//     iptables/iptables.go:209-231), except for what the uids of the proxy and of
//     Consul's init containers send (webhook/redirect_traffic.go:32-36). probe-proxy
//     runs under the latter: under another uid, the proxy would accept its
//     connections to ports that nobody listens on.
//   - uid 5995, and 5996 of init containers (webhook/container_init.go:23-24).
//   - Ports 15001, 20000, 21000 and 20600 (constants/constants.go:27-30, 48), 19000
//     and 8600 (webhook/consul_dataplane_sidecar.go:26, 390), 20200 for metrics.
//   - The service's ports are those of the first container
//     (webhook/mesh_webhook.go:665-685), which therefore must be the app's.
var consul = passiveProxy{
	meshData: meshData{
		name: "consul", title: "Consul", proxy: "consul-dataplane", uid: 5995, sidecarUser: consulInitUser, firstIsApp: true,
		word: "consul", inject: []mark{{consulInject, "annotations"}}, control: "*connect-injector",
		reserved: []int{8600, 15001, 19000, 20000, 20200, 20600, 21000},
		excluded: portList{key: "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports"},
		off: rewriterOff{
			key:   "consul.hashicorp.com/transparent-proxy-overwrite-probes",
			value: "false",
			means: isFalse,
		},
	},
	serves: func(s *site) bool {
		h := s.original.HTTPGet
		return h != nil &&
			h.Scheme != "HTTPS" &&
			!s.name.IsHook() &&
			!s.at.Init
	},
	uncapturedPorts:      []int{20200},
	uninjectedNamespaces: []string{"kube-system", "kube-public", "local-path-storage", "openebs", "gmp-system", "gke-managed-cim", "openshift-monitoring"},
	switched: func(v *view) membership {
		return v.switchIn("annotations", consulInject, "true or false", func(value string) (on, ok bool) {
			on, err := strconv.ParseBool(value)
			return on, err == nil
		})
	},
	refine: refineConsul,
}

const (
	consulInject      = "consul.hashicorp.com/connect-inject"
	consulInjected    = "consul.hashicorp.com/connect-inject-status" // of the injector, which has rewritten the template already
	consulTransparent = "consul.hashicorp.com/transparent-proxy"
	consulExcludeUIDs = "consul.hashicorp.com/transparent-proxy-exclude-uids"
)

// consulInitUser is the uid of Consul's own init containers.
const consulInitUser = 5996

// redirectedUser warns of a probe-proxy whose connections Consul redirects,
// because the options or the pod give it another uid.
func redirectedUser(v *view) []Finding {
	user := "its image's"
	if value, found := v.sidecarContext().Get("runAsUser"); found {
		user = fmt.Sprint(value)
	} else if s := inherited(v); s != nil && s.RunAsUser != nil {
		user = fmt.Sprint(*s.RunAsUser)
	}
	excluded := append(
		strings.Split(v.annotations().Get(consulExcludeUIDs), ","),
		strconv.Itoa(consulInitUser),
	)
	if slices.ContainsFunc(
		excluded,
		func(item string) bool { return strings.TrimSpace(item) == user },
	) {
		return nil
	}
	f := NewFinding(reason.ConsulUID, nil, "a tcpSocket probe through probe-proxy passes even if the app is down").
		Why("Consul redirects the connections of its uid (%s) to Consul's own proxy", user)
	return []Finding{f}
}

func refineConsul(p passiveProxy, v *view, m *inspection) {
	m.warnings = redirectedUser(v)
	if value, set := v.annotations().Lookup(consulTransparent); set && isFalse(value) {
		m.optOut = new(v.annotationFinding(reason.PortNotCaptured, consulTransparent, "turns off the transparent proxy, so Consul captures nothing of this pod"))
	} else if ns, _ := v.namespace(); !set && isFalse(ns.Labels.Get(consulTransparent)) {
		m.optOut = new(NewFinding(reason.PortNotCaptured, nil,
			"Namespace %q has the label `%s: %s`, so Consul captures nothing of this pod",
			ns.Name, consulTransparent, ns.Labels.Get(consulTransparent)))
	}
	fate := func(s *site) (world.Fate, string) { return consulFate(p, v, s), "" }
	m.outcome = m.capturedOutcome(v, fate)
	m.known = func() []string {
		c := surroundings.ConsulOf(&v.in.Around)
		return statedWords(
			stated{c.Transparent, "Consul captures pods", "Consul captures no pods"},
			stated{c.Overwrites, "Consul rewrites probes", "Consul rewrites no probes"},
			stated{c.Permissive, "mTLS is permissive", "mTLS is strict"},
		)
	}
}

// consulFate returns what becomes of a captured probe. What neither the pod nor its Namespace decides the installation
// does, or else Consul's defaults.
func consulFate(p passiveProxy, v *view, s *site) world.Fate {
	c := surroundings.ConsulOf(&v.in.Around)
	ns, _ := v.namespace()
	_, ownCapture := v.annotations().Lookup(consulTransparent)
	isOwn := ownCapture || ns.Labels.Get(consulTransparent) != ""
	if !isOwn && c.Transparent.Is == certain.Never {
		return world.Spared
	}
	f := consulRewritten(p, v, s, c.Overwrites.Is)
	if c.Permissive.Is == certain.Always && f.Outcome == world.Fails && f.Why != consulTLS {
		return world.Spared
	}
	return f
}

const consulTLS = "Consul rewrites the probe to a port where its proxy speaks no TLS"

// consulRewritten returns what becomes of a probe that Consul may rewrite: byDefault if the pod does not say.
func consulRewritten(p passiveProxy, v *view, s *site, byDefault certain.Certainty) world.Fate {
	_, isOwn := v.annotations().Lookup(p.off.key)
	rewrites := !p.off.isOff(v.annotations()) && (isOwn || byDefault != certain.Never)
	if s.name.IsHook() {
		return p.fate(v, s)
	}
	switch kind := s.current.Kind(); {
	case kind == pod.KindGRPC:
		return world.Failing("Consul rewrites no grpc probes, and " + whyNoCertificate)
	case !rewrites:
		return atStrictProxy(s)
	case kind == pod.KindHTTPGet && s.current.HTTPGet.Scheme == "HTTPS" && !s.at.Init:
		return world.Failing(consulTLS)
	}
	return p.fate(v, s)
}

// consulOriginalPod is the annotation in which Consul's injector keeps the pod as
// it was (constants/annotations_and_labels.go:202).
const consulOriginalPod = "consul.hashicorp.com/original-pod"

// consulMarks are the annotations of a pod that Consul's injector has seen.
var consulMarks = []string{consulOriginalPod, consulInjected}

// consulStarts are the first ports of Consul's ranges, a port for each container
// (webhook/mesh_webhook.go:41-51).
var consulStarts = map[prober.ProbeType]int64{
	prober.Liveness:  20300,
	prober.Readiness: 20400,
	prober.Startup:   20500,
}

// consulOriginal is the findOriginal of Consul, whose injector changes only the port.
func consulOriginal(t *template, s *site) (*pod.Handler, bool) {
	h := s.current.HTTPGet
	start, ok := consulStarts[s.name]
	if !ok ||
		h.Port.IsString ||
		h.Port.Int < start ||
		h.Port.Int >= start+100 ||
		s.at.Init {
		return nil, false
	}
	said, has := t.annotations().Lookup(consulOriginalPod)
	if _, injected := t.annotations().Lookup(consulInjected); !has && !injected {
		return nil, false
	}
	var kept struct {
		Spec struct{ Containers []pod.Container }
	}
	if json.Unmarshal([]byte(said), &kept) != nil {
		return nil, true
	}
	for i := range kept.Spec.Containers {
		for _, was := range sitesOf(nil, pod.Ref{Index: i}, &kept.Spec.Containers[i]) {
			if was.name == s.name &&
				was.container.Name == s.container.Name &&
				was.current.HTTPGet != nil {
				own := *h
				own.Port = was.current.HTTPGet.Port
				return &pod.Handler{HTTPGet: &own}, true
			}
		}
	}
	return nil, true
}
