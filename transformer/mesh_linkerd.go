package transformer

// linkerd is the profile of Linkerd (linkerd2, edge-26.8.3, commit b24cd4059841).
//
//   - Injection: the annotation of the pod, else of its Namespace; an unknown
//     value injects nothing (pkg/k8s/labels.go:102, pkg/inject/report.go:172-233).
//   - Ports of the proxy: outbound, inbound, control and admin
//     (charts/linkerd-control-plane/values.yaml:165-173); proxy-init never captures
//     the last two (charts/partials/templates/_proxy-init.tpl:24).
//   - The annotation of excluded ports takes ports and ranges
//     (pkg/k8s/labels.go:154) and replaces the mesh's default, 4567,4568
//     (pkg/inject/inject.go:552, charts/linkerd-control-plane/values.yaml:335);
//     that of a pod replaces that of its Namespace (inject.go:147-160, 843-856).
//   - uid 2102 (charts/linkerd-control-plane/values.yaml:220).
//
// Linkerd rewrites no probes. If its policy demands mTLS, it still lets in requests
// that look like an httpGet probe of the pod: GET, the exact path, without TLS
// (policy-controller/k8s/index/src/inbound/workload.rs:66-113).
var linkerd = linkerdProfile{passiveProxy{
	proxy:    "linkerd-proxy",
	uid:      2102,
	reserved: []int{4140, 4143, 4190, 4191},
	free:     []int{4190, 4191},
	excluded: portList{key: "config.linkerd.io/skip-inbound-ports", ranges: true},
	inherits: true,
	switched: func(b *planBuilder) mark {
		return b.switchIn("annotations", "linkerd.io/inject", "enabled, ingress or disabled", func(v string) (on, ok bool) {
			return v == "enabled" || v == "ingress", v == "enabled" || v == "ingress" || v == "disabled"
		})
	},
}}

type linkerdProfile struct{ passiveProxy }

func (d linkerdProfile) inspect(b *planBuilder) mesh {
	m := d.passiveProxy.inspect(b)
	m.outcome = d.outcome
	return m
}

// outcome: the proxy answers 403 to a hook that it does not let in, and to the
// kubelet any answer to a hook is a success.
func (linkerdProfile) outcome(s *handlerSite) (Outcome, string) {
	kind, _ := s.current.kind()
	switch {
	case s.name.IsHook() && s.current.HTTPGet != nil && text(s.current.HTTPGet.Scheme) != "HTTPS":
		return FalselyPasses, "Linkerd's proxy answers the hook with 403, which the kubelet takes for success, and the app never gets it"
	case kind == kindTCPSocket:
		return FalselyPasses, "Linkerd's proxy accepts the connection before it knows whether the app does"
	case kind == kindGRPC:
		return Fails, "Linkerd's policy lets in no gRPC from the kubelet"
	case kind == kindHTTPGet && text(s.current.HTTPGet.Scheme) == "HTTPS":
		return Fails, "Linkerd's policy lets in no TLS from the kubelet, since it cannot see the path"
	}
	return Unaffected, ""
}
