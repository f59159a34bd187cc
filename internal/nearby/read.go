package nearby

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

var specPath = field.NewPath("spec")

// localConfig marks objects that never reach a cluster, by any value but ""
// and "false" (functions-spec, kpt and kustomize).
const localConfig = "config.kubernetes.io/local-config"

// IsLocal reports whether the metadata is that of an object that never reaches a cluster.
func IsLocal(m *field.Metadata) bool {
	v := m.Annotations.Get(localConfig)
	return v != "" && v != "false"
}

// metadataOf returns the object's metadata; nil if they are invalid or the object never
// reaches a cluster.
func metadataOf(o *manifest.Object) *field.Metadata {
	if m, err := o.Metadata(); err == nil && !IsLocal(m) {
		return m
	}
	return nil
}

// A reader reads what plans depend on of an object; m is nil if the object does not count.
type reader[T any] = func(*manifest.Object) (v T, m *field.Metadata)

// withSpec returns a reader of objects whose spec must be valid; of makes the value of one,
// and returns false if it does not count.
func withSpec[S, T any](
	of func(m *field.Metadata, spec *S, at *origin) (T, bool),
) reader[T] {
	return func(o *manifest.Object) (v T, m *field.Metadata) {
		spec, m, ok := new(S), metadataOf(o), false
		if _, err := o.Decode(specPath, spec); err == nil && m != nil {
			v, ok = of(m, spec, &origin{Object: o})
		}
		if !ok {
			return v, nil
		}
		return v, m
	}
}

// readNamespace reads a Namespace, which is in itself and has no name there. One whose name is still to
// be filled in may be any.
func readNamespace(o *manifest.Object) (n namespace, in *field.Metadata) {
	m := metadataOf(o)
	if m == nil ||
		m.Name == "" ||
		pod.IsPlaceholder(m.Name) {
		return n, nil
	}
	return namespace{m, &origin{Object: o}}, &field.Metadata{Namespace: m.Name}
}

// isInjected reports whether Istio injects into the Namespace.
func (n namespace) isInjected() bool {
	v, set := n.Labels.Lookup("istio-injection")
	return v == "enabled" || !set && n.Labels.Get("istio.io/rev") != ""
}

func limitRange(m *field.Metadata, spec *field.Map, _ *origin) (resources.LimitRange, bool) {
	return resources.NewLimitRange(m.Name, *spec), true
}

func quota(m *field.Metadata, spec *field.Map, _ *origin) (resources.ResourceQuota, bool) {
	return resources.ResourceQuota{Name: m.Name, Hard: field.As[field.Map](*spec, "hard")}, true
}

type serviceSpec struct {
	Type     string                     `json:"type"`
	Selector field.KeyValues            `json:"selector"`
	Ports    []surroundings.ServicePort `json:"ports"`
}

func service(m *field.Metadata, spec *serviceSpec, at *origin) (surroundings.Service, bool) {
	return surroundings.Service{
		Name: m.Name, Namespace: m.Namespace, Selector: spec.Selector, Ports: spec.Ports, Annotations: m.Annotations, At: at,
	}, spec.Type != "ExternalName"
}

// A serviceEntrySpec is that of Istio's ServiceEntry.
type serviceEntrySpec struct {
	WorkloadSelector struct {
		Labels field.KeyValues `json:"labels"`
	} `json:"workloadSelector"`
	Ports []struct {
		Number     int    `json:"number"`
		Protocol   string `json:"protocol"`
		TargetPort int    `json:"targetPort"`
	} `json:"ports"`
}

// serviceEntry makes a Service of a ServiceEntry that selects pods: Istio takes the protocols of
// their ports from it in the same way.
func serviceEntry(m *field.Metadata, spec *serviceEntrySpec, at *origin) (surroundings.Service, bool) {
	v := surroundings.Service{
		IsEntry: true, Name: m.Name, Namespace: m.Namespace, Selector: spec.WorkloadSelector.Labels, At: at,
	}
	for _, p := range spec.Ports {
		target := field.IntOrString{Int: int64(cmp.Or(p.TargetPort, p.Number))}
		v.Ports = append(
			v.Ports,
			surroundings.ServicePort{AppProtocol: p.Protocol, Port: p.Number, TargetPort: target},
		)
	}
	return v, len(v.Selector) > 0
}

// readService reads a Service or a ServiceEntry.
func readService(o *manifest.Object) (surroundings.Service, *field.Metadata) {
	if o.Kind() == "ServiceEntry" {
		return withSpec(serviceEntry)(o)
	}
	return withSpec(service)(o)
}

type ingressSpec struct {
	IngressClassName string                      `json:"ingressClassName"`
	DefaultBackend   surroundings.IngressBackend `json:"defaultBackend"`
	Rules            []struct {
		HTTP struct {
			Paths []struct {
				Backend surroundings.IngressBackend `json:"backend"`
			} `json:"paths"`
		} `json:"http"`
	} `json:"rules"`
}

func ingress(m *field.Metadata, spec *ingressSpec, at *origin) (surroundings.Ingress, bool) {
	v := surroundings.Ingress{
		Name: m.Name, Namespace: m.Namespace, Annotations: m.Annotations, At: at,
		Class:    cmp.Or(m.Annotations.Get("kubernetes.io/ingress.class"), spec.IngressClassName),
		Backends: []surroundings.IngressBackend{spec.DefaultBackend},
	}
	for _, r := range spec.Rules {
		for _, p := range r.HTTP.Paths {
			v.Backends = append(v.Backends, p.Backend)
		}
	}
	return v, true
}

type sidecarSpec struct {
	WorkloadSelector *struct {
		Labels field.KeyValues `json:"labels"`
	} `json:"workloadSelector"`
	Ingress []struct {
		Port struct {
			Number int `json:"number"`
		} `json:"port"`
		Bind            string `json:"bind"`
		CaptureMode     string `json:"captureMode"`
		DefaultEndpoint string `json:"defaultEndpoint"`
	} `json:"ingress"`
}

// sidecar makes the configuration of proxies. One without an ingress counts too: it stands in the way of
// that of the root namespace.
func sidecar(m *field.Metadata, spec *sidecarSpec, at *origin) (surroundings.Sidecar, bool) {
	s := surroundings.Sidecar{Name: m.Name, Namespace: m.Namespace, At: at}
	if spec.WorkloadSelector != nil {
		s.HasSelector = true
		s.MatchLabels = spec.WorkloadSelector.Labels
	}
	for _, l := range spec.Ingress {
		s.Listeners = append(s.Listeners, surroundings.InboundListener{
			Port: l.Port.Number, Endpoint: l.DefaultEndpoint, Bind: l.Bind,
			Binds: l.CaptureMode == "NONE", IsCaptured: l.CaptureMode == "IPTABLES",
		})
	}
	return s, true
}

type sidecarSetSpec struct {
	Namespace         string                     `json:"namespace"`
	NamespaceSelector field.Map                  `json:"namespaceSelector"`
	Selector          surroundings.LabelSelector `json:"selector"`
	InitContainers    []namedContainer           `json:"initContainers"`
	Containers        []namedContainer           `json:"containers"`
}

type namedContainer struct {
	Name string   `json:"name"`
	Args []string `json:"args"`
}

// sidecarSet makes a SidecarSet that adds Istio's sidecar.
func sidecarSet(m *field.Metadata, spec *sidecarSetSpec, at *origin) (surroundings.SidecarSet, bool) {
	s := surroundings.SidecarSet{
		Name: m.Name, Namespace: spec.Namespace, Selector: spec.Selector, At: at,
		SelectsNamespaces: len(spec.NamespaceSelector) > 0,
	}
	hasProxy := false
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		hasProxy = hasProxy || c.Name == "istio-proxy"
		if c.Name == "istio-init" {
			s.InitArgs = c.Args
		}
	}
	return s, hasProxy
}

type linkerdServerSpec struct {
	PodSelector *surroundings.LabelSelector `json:"podSelector"` // or an externalWorkloadSelector
	Port        field.IntOrString           `json:"port"`
}

func linkerdServer(m *field.Metadata, spec *linkerdServerSpec, at *origin) (v surroundings.LinkerdServer, ok bool) {
	if spec.PodSelector == nil {
		return v, false
	}
	return surroundings.LinkerdServer{
		Name: m.Name, Namespace: m.Namespace, PodSelector: *spec.PodSelector, Port: spec.Port, At: at,
	}, true
}

type httpRouteSpec struct {
	ParentRefs []struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"parentRefs"`
	Rules []struct {
		Matches []struct {
			Path surroundings.PathMatch `json:"path"`
		} `json:"matches"`
	} `json:"rules"`
}

// httpRoute makes a route that is attached to Servers of Linkerd's.
func httpRoute(m *field.Metadata, spec *httpRouteSpec, at *origin) (surroundings.HTTPRoute, bool) {
	v := surroundings.HTTPRoute{Name: m.Name, Namespace: m.Namespace, At: at}
	for _, p := range spec.ParentRefs {
		if p.Kind == "Server" {
			v.Servers = append(v.Servers, p.Name)
		}
	}
	for _, r := range spec.Rules {
		for _, match := range r.Matches {
			v.Matches = append(v.Matches, match.Path)
		}
		if len(r.Matches) == 0 {
			v.Matches = append(v.Matches, surroundings.PathMatch{})
		}
	}
	return v, len(v.Servers) > 0
}

type networkPolicySpec struct {
	PodSelector surroundings.LabelSelector `json:"podSelector"`
	PolicyTypes []string                   `json:"policyTypes"`
	Ingress     []surroundings.NetworkRule `json:"ingress"`
}

// networkPolicy makes a policy about what comes in.
func networkPolicy(m *field.Metadata, spec *networkPolicySpec, at *origin) (surroundings.NetworkPolicy, bool) {
	return surroundings.NetworkPolicy{
		Name: m.Name, Namespace: m.Namespace, PodSelector: spec.PodSelector, Ingress: spec.Ingress, At: at,
	}, len(spec.PolicyTypes) == 0 || slices.Contains(spec.PolicyTypes, "Ingress")
}

// A selector selects the pods of a policy of Istio's.
type selector struct {
	MatchLabels field.KeyValues `json:"matchLabels"`
}

// An mtls is the mode of a PeerAuthentication.
type mtls struct {
	Mode string `json:"mode"`
}

// isValid reports whether Istio's API takes the mode.
func (m mtls) isValid() bool {
	switch m.Mode {
	case "", "UNSET", surroundings.MTLSStrict, surroundings.MTLSPermissive, surroundings.MTLSDisable:
		return true
	}
	return false
}

type peerAuthenticationSpec struct {
	Selector      selector        `json:"selector"`
	MTLS          mtls            `json:"mtls"`
	PortLevelMTLS map[string]mtls `json:"portLevelMtls"`
}

func peerAuthentication(
	m *field.Metadata, spec *peerAuthenticationSpec, at *origin,
) (surroundings.PeerAuthentication, bool) {
	p := surroundings.PeerAuthentication{
		Name: m.Name, Namespace: m.Namespace, MatchLabels: spec.Selector.MatchLabels, Mode: spec.MTLS.Mode, At: at,
	}
	for key, v := range spec.PortLevelMTLS {
		port, err := strconv.Atoi(key)
		if err != nil || !v.isValid() {
			return p, false
		}
		if p.Ports == nil {
			p.Ports = make(map[int]string)
		}
		p.Ports[port] = v.Mode
	}
	return p, spec.MTLS.isValid()
}

type authorizationPolicySpec struct {
	Selector   selector      `json:"selector"`
	TargetRef  field.Map     `json:"targetRef"`
	TargetRefs field.List    `json:"targetRefs"`
	Action     authz.Action  `json:"action"`
	Rules      []*authz.Rule `json:"rules"`
}

// authorizationPolicy makes a policy that is enforced in a sidecar.
func authorizationPolicy(
	m *field.Metadata, spec *authorizationPolicySpec, at *origin,
) (surroundings.AuthorizationPolicy, bool) {
	isOfGateway := len(spec.TargetRef)+len(spec.TargetRefs) > 0
	dryRun, _ := strconv.ParseBool(m.Annotations.Get("istio.io/dry-run"))
	p := surroundings.AuthorizationPolicy{
		Name: m.Name, Namespace: m.Namespace, MatchLabels: spec.Selector.MatchLabels,
		Action: cmp.Or(spec.Action, authz.Allow), Rules: spec.Rules, At: at,
	}
	return p, !isOfGateway && !dryRun
}
