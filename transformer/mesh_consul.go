package transformer

import "strconv"

// consul is the profile of Consul's service mesh on Kubernetes (consul-k8s,
// v2.0.3 and commit a507b1d1e306 of August 2026; paths are below
// control-plane/connect-inject).
//
//   - Injection: an annotation of the pod, parsed as a boolean; without it only
//     the mesh's own configuration says so (constants/annotations_and_labels.go:24,
//     webhook/mesh_webhook.go:612-641).
//   - Transparent proxy, without which nothing is captured: an annotation of the
//     pod, else a label of its Namespace, else on (common/common.go:75-86).
//   - Its own rewriter sends httpGet probes of containers to 20300, 20400 and
//     20500 plus the container's index, if transparent proxy is on and an
//     annotation does not turn it off (webhook/mesh_webhook.go:41-51, 551-592).
//   - Excluded ports: constants/annotations_and_labels.go:178.
//   - uid 5995 (webhook/container_init.go:23). Ports: 15001, 20000, 21000 and
//     20600 (constants/constants.go:27-30, 48), 19000 and 8600
//     (webhook/consul_dataplane_sidecar.go:26, 390), 20200 for metrics.
//   - The service's ports are those of the first container
//     (webhook/mesh_webhook.go:665-685), which therefore must be the app's.
var consul = consulProfile{besideProxy{
	proxy:    "consul-dataplane",
	uid:      5995,
	reserved: []int{8600, 15001, 19000, 20000, 20200, 20600, 21000},
	free:     []int{20200},
	excluded: portList{key: "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports"},
	off:      rewriterOff{key: consulOverwrite, value: "false", means: isFalse},
	switched: func(b *planBuilder) mark {
		return b.switchIn("annotations", "consul.hashicorp.com/connect-inject", "true or false", func(v string) (on, ok bool) {
			on, err := strconv.ParseBool(v)
			return on, err == nil
		})
	},
}}

const (
	consulOverwrite   = "consul.hashicorp.com/transparent-proxy-overwrite-probes"
	consulTransparent = "consul.hashicorp.com/transparent-proxy"
)

type consulProfile struct{ besideProxy }

func (d consulProfile) inspect(b *planBuilder) mesh {
	m := d.besideProxy.inspect(b)
	m.firstIsApp = true
	if v, set := b.annotations().Lookup(consulTransparent); set && isFalse(v) {
		f := b.annotationFinding("port-not-captured", consulTransparent, "turns the transparent proxy off, so Consul captures nothing of this pod")
		m.optOut, m.passesProbes = &f, true
	} else if ns := b.in.Namespace; !set && ns != nil && isFalse(ns.Labels.Get(consulTransparent)) {
		f := b.finding("port-not-captured", nil, "", "Namespace %q has the label `%s: %s`, so Consul captures nothing of this pod", ns.Name, consulTransparent, ns.Labels.Get(consulTransparent))
		m.optOut, m.passesProbes = &f, true
	}
	rewrites := !isFalse(d.undo(b.annotations(), b.past(b.p.dialect), b.forms.annotations).Get(consulOverwrite))
	m.outcome = func(s *handlerSite) (Outcome, string) {
		kind, _ := s.current.kind()
		switch {
		case s.name.IsHook():
			return Fails, "Consul rewrites no hooks, and the kubelet has no client certificate"
		case kind == kindTCPSocket:
			return FalselyPasses, whyAccepted
		case kind == kindGRPC:
			return Fails, "Consul rewrites no grpc probes, and the kubelet has no client certificate"
		case rewrites && !s.at.init && text(s.current.HTTPGet.Scheme) == "HTTPS":
			return Fails, "Consul rewrites the probe to a port where its proxy speaks no TLS"
		case rewrites && !s.at.init:
			return Unaffected, "" // Consul's own rewriter sees to it
		}
		return Fails, whyNoCertificate
	}
	return m
}
