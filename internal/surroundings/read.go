package surroundings

import (
	"slices"
	"strconv"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const istioSecurity = "security.istio.io"

var (
	specPath    = field.NewPath("spec")
	createdPath = field.NewPath("metadata", "creationTimestamp")
)

// localConfig marks objects that never reach a cluster, by any value but ""
// and "false" (functions-spec, kpt and kustomize).
const localConfig = "config.kubernetes.io/local-config"

// IsLocal reports whether the metadata is that of an object that never reaches a cluster.
func IsLocal(m *transformer.Metadata) bool {
	v := m.Annotations.Get(localConfig)
	return v != "" && v != "false"
}

// add adds an object, and reports whether it can be surroundings.
func (x *Index) add(o object) bool {
	switch kind := o.Kind(); {
	case kind == "Namespace" && o.APIVersion() == "v1":
		return x.addNamespace(o)
	case kind == "Service" && o.APIVersion() == "v1":
		x.services.unread = append(x.services.unread, o)
		return true
	case (kind == "LimitRange" || kind == "ResourceQuota") && o.APIVersion() == "v1":
		return x.addLimits(o)
	case kind == "NetworkPolicy" && o.Group() == "networking.k8s.io":
		x.networks.unread = append(x.networks.unread, o)
		return true
	case kind == "PeerAuthentication" && o.Group() == istioSecurity:
		return x.addPeerAuthentication(o)
	case kind == "AuthorizationPolicy" && o.Group() == istioSecurity:
		return x.addAuthorizationPolicy(o)
	}
	return false
}

// metadata returns the object's metadata, and reports whether it is valid and the object
// reaches a cluster.
func (o object) metadata() (*transformer.Metadata, bool) {
	m, err := o.Metadata()
	return m, err == nil && !IsLocal(m)
}

// read is metadata for an object whose spec is read too, and must be valid.
func (o object) read(spec any) (*transformer.Metadata, bool) {
	m, ok := o.metadata()
	if ok {
		_, err := o.Decode(specPath, spec)
		ok = err == nil
	}
	return m, ok
}

func (x *Index) addNamespace(o object) bool {
	m, ok := o.metadata()
	if !ok || m.Name == "" {
		return false
	}
	x.namespaces.in(m.Name).add(placeOf(o), namespace{m, &origin{object: o}})
	v, set := m.Labels.Lookup("istio-injection")
	if v == "enabled" || !set && m.Labels.Get("istio.io/rev") != "" {
		x.injected = append(x.injected, m.Name)
	}
	return true
}

// addLimits adds a LimitRange or a ResourceQuota.
func (x *Index) addLimits(o object) bool {
	var spec field.Map
	m, ok := o.read(&spec)
	if !ok {
		return false
	}
	if o.Kind() == "LimitRange" {
		x.limitRanges.in(m.Namespace).add(placeOf(o), transformer.NewLimitRange(m.Name, spec))
	} else {
		x.quotas.in(m.Namespace).add(placeOf(o), transformer.ResourceQuota{Name: m.Name, Hard: field.As[field.Map](spec, "hard")})
	}
	return true
}

func readService(o object) (v transformer.Service, namespace string, ok bool) {
	var spec struct {
		Type     string                    `json:"type"`
		Selector field.KeyValues           `json:"selector"`
		Ports    []transformer.ServicePort `json:"ports"`
	}
	m, ok := o.read(&spec)
	if !ok || spec.Type == "ExternalName" {
		return v, "", false
	}
	return transformer.Service{
		Name: m.Name, Namespace: m.Namespace, Selector: spec.Selector, Ports: spec.Ports, At: &origin{object: o},
	}, m.Namespace, true
}

// readNetworkPolicy reads a policy about what comes in.
func readNetworkPolicy(o object) (p transformer.NetworkPolicy, namespace string, ok bool) {
	var spec struct {
		PodSelector transformer.LabelSelector `json:"podSelector"`
		PolicyTypes []string                  `json:"policyTypes"`
		Ingress     []transformer.NetworkRule `json:"ingress"`
	}
	m, ok := o.read(&spec)
	if !ok || len(spec.PolicyTypes) > 0 && !slices.Contains(spec.PolicyTypes, "Ingress") {
		return p, "", false
	}
	return transformer.NetworkPolicy{
		Name: m.Name, Namespace: m.Namespace, PodSelector: spec.PodSelector, Ingress: spec.Ingress, At: &origin{object: o},
	}, m.Namespace, true
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
	return slices.Contains([]string{"", "UNSET", transformer.MTLSStrict, transformer.MTLSPermissive, transformer.MTLSDisable}, m.Mode)
}

func (x *Index) addPeerAuthentication(o object) bool {
	var spec struct {
		Selector      selector        `json:"selector"`
		MTLS          mtls            `json:"mtls"`
		PortLevelMTLS map[string]mtls `json:"portLevelMtls"`
	}
	m, ok := o.read(&spec)
	if !ok || !spec.MTLS.isValid() {
		return false
	}
	p := transformer.PeerAuthentication{
		Name: m.Name, Namespace: m.Namespace, MatchLabels: spec.Selector.MatchLabels, Mode: spec.MTLS.Mode, At: &origin{object: o},
	}
	for key, v := range spec.PortLevelMTLS {
		port, err := strconv.Atoi(key)
		if err != nil || !v.isValid() {
			return false
		}
		if p.Ports == nil {
			p.Ports = make(map[int]string)
		}
		p.Ports[port] = v.Mode
	}
	var created string
	if _, err := o.Decode(createdPath, &created); err == nil {
		p.Created, _ = time.Parse(time.RFC3339, created)
	}
	x.peers.in(m.Namespace).add(placeOf(o), p)
	return true
}

// addAuthorizationPolicy adds a policy that is enforced in a sidecar.
func (x *Index) addAuthorizationPolicy(o object) bool {
	var spec struct {
		Selector   selector                         `json:"selector"`
		TargetRef  field.Map                        `json:"targetRef"`
		TargetRefs field.List                       `json:"targetRefs"`
		Action     string                           `json:"action"`
		Rules      []*transformer.AuthorizationRule `json:"rules"`
	}
	m, ok := o.read(&spec)
	if !ok || len(spec.TargetRef) > 0 || len(spec.TargetRefs) > 0 {
		return false
	}
	if dryRun, _ := strconv.ParseBool(m.Annotations.Get("istio.io/dry-run")); dryRun {
		return false
	}
	x.policies.in(m.Namespace).add(placeOf(o), transformer.AuthorizationPolicy{
		Name: m.Name, Namespace: m.Namespace, MatchLabels: spec.Selector.MatchLabels, Action: spec.Action, Rules: spec.Rules, At: &origin{object: o},
	})
	return true
}
