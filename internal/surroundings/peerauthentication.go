package surroundings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The modes of Istio's mutual TLS. The mode of a PeerAuthentication may also be
// mtlsUnset or "", which inherit.
const (
	MTLSStrict     = "STRICT"
	MTLSPermissive = "PERMISSIVE"
	MTLSDisable    = "DISABLE"
	mtlsUnset      = "UNSET"
)

// A PeerAuthentication is Istio's policy about mutual TLS on inbound connections.
// Without MatchLabels it is about its namespace, or the mesh if that is the root
// namespace.
type PeerAuthentication struct {
	Neighbour
	Selector WorkloadSelector    `json:"selector"`
	MTLS     PeerMTLS            `json:"mtls"`
	ByPort   map[string]PeerMTLS `json:"portLevelMtls"` // only of a policy with matchLabels
	ports    map[int]string      // the modes of ByPort
}

// A maistraPeer is a ServiceMeshControlPlane of OpenShift Service Mesh 2 that makes a PeerAuthentication of its namespace.
type maistraPeer struct {
	Neighbour
	Security struct {
		DataPlane struct {
			MTLS bool `json:"mtls"`
		} `json:"dataPlane"`
	} `json:"security"`
}

func (p *maistraPeer) complete() bool { return p.Security.DataPlane.MTLS }

// A PeerMTLS has a mode; "" and "UNSET" inherit.
type PeerMTLS struct {
	Mode string `json:"mode"`
}

// isValid reports whether Istio's API takes the mode.
func (m PeerMTLS) isValid() bool {
	return slices.Contains([]string{"", mtlsUnset, MTLSStrict, MTLSPermissive, MTLSDisable}, m.Mode)
}

// complete reports whether Istio's API takes the policy.
func (p *PeerAuthentication) complete() bool {
	for key, v := range p.ByPort {
		port, err := strconv.Atoi(key)
		if err != nil || !v.isValid() {
			return false
		}
		if p.ports == nil {
			p.ports = make(map[int]string)
		}
		p.ports[port] = v.Mode
	}
	return p.MTLS.isValid()
}

// same returns the namespace and the matchLabels: of two policies of one scope the farther is about
// another cluster.
func (p *PeerAuthentication) same() string {
	var entries []string
	for _, m := range p.Selector.MatchLabels {
		entries = append(entries, m.Key+"="+m.Value+"\n")
	}
	slices.Sort(entries)
	return p.Namespace + "\n" + strings.Join(entries, "")
}

// An MTLSMode is a mode that may hold for a port.
type MTLSMode struct {
	Mode string
	At   string // the policies that say so; "" if none does
	Far  bool   // only together with policies that are far, see [Surroundings]
}

// MTLS returns the modes that may hold for a port of pods: those by what is near, sorted, then
// those that are added by what is far. The one that no policy says is byDefault, which stands
// for the mesh. A policy without a namespace may be of the namespace that is not known.
//
// The rules are those of ComposePeerAuthentication in Istio's
// pilot/pkg/security/authn/policy_applier.go.
func (s *Surroundings) MTLS(rootNamespace string, pods *Pods, port int, byDefault string) []MTLSMode {
	modes := s.modes(false, rootNamespace, pods, port, byDefault)
	if len(PeerAuthentications.far(s))+len(maistraPeers.far(s)) == 0 {
		return modes
	}
	for _, m := range s.modes(true, rootNamespace, pods, port, byDefault) {
		if !slices.ContainsFunc(modes, func(near MTLSMode) bool { return near.Mode == m.Mode }) {
			m.Far = true
			modes = append(modes, m)
		}
	}
	return modes
}

// modes returns the modes that may hold for a port by what is near, and also by what is far.
func (s *Surroundings) modes(far bool, rootNamespace string, pods *Pods, port int, byDefault string) []MTLSMode {
	var mesh, wide, workload []AboutPods[PeerAuthentication]
	where := near
	if far {
		where = anyhow
	}
	policies := PeerAuthentications.in(s, where)
	for _, p := range maistraPeers.in(s, where) {
		made := PeerAuthentication{Neighbour: p.Neighbour, MTLS: PeerMTLS{MTLSStrict}}
		policies = append(slices.Clip(policies), made)
	}
	for i := range policies {
		p := &policies[i]
		fits := min(pods.selects(p.Selector.MatchLabels), readBy(s, pods, &p.Neighbour))
		isWide := len(p.Selector.MatchLabels) == 0
		if pods.Namespace == "" && p.Namespace != rootNamespace {
			fits = min(fits, certain.Maybe)
		}
		switch a := about(p, fits); {
		case fits == certain.Never:
		case p.Namespace == rootNamespace:
			if isWide { // Istio ignores the others
				mesh = append(mesh, a)
			}
		case p.Namespace != pods.Namespace:
		case isWide:
			wide = append(wide, a)
		default:
			workload = append(workload, a)
		}
	}
	modes := narrow([]MTLSMode{{Mode: byDefault}}, mesh, rootNamespace, port)
	modes = narrow(modes, wide, rootNamespace, port)
	return mergeModes(narrow(modes, workload, rootNamespace, port))
}

// narrow returns the modes that the policies of a scope leave of those of the wider scope. Unless it is certain
// that one is about the pod, the wider scope's modes stay.
func narrow(wider []MTLSMode, scope []AboutPods[PeerAuthentication], root string, port int) (modes []MTLSMode) {
	scope = oldest(scope)
	isSure := slices.ContainsFunc(scope, func(a AboutPods[PeerAuthentication]) bool { return a.Is == certain.Always })
	if !isSure {
		modes = slices.Clone(wider)
	}
	for _, a := range scope {
		p := a.Object
		mode := p.MTLS.Mode
		if m := p.ports[port]; len(p.Selector.MatchLabels) > 0 && m != "" && m != mtlsUnset {
			mode = m
		}
		inherits := mode == "" || mode == mtlsUnset
		if inherits && p.Namespace == root { // there is nothing to inherit but Istio's own default
			mode, inherits = MTLSPermissive, false
		}
		if inherits {
			modes = append(modes, wider...)
		} else {
			modes = append(modes, MTLSMode{Mode: mode, At: p.words(p.Neighbour.Kind)})
		}
	}
	return modes
}

// mergeModes returns each mode once, with all policies that say it.
func mergeModes(modes []MTLSMode) []MTLSMode {
	said := make(map[string][]string) // by mode
	for _, w := range modes {
		by := said[w.Mode]
		if w.At != "" && !slices.Contains(by, w.At) {
			by = append(by, w.At)
		}
		said[w.Mode] = by
	}
	var merged []MTLSMode
	for _, mode := range slices.Sorted(maps.Keys(said)) {
		merged = append(merged, MTLSMode{Mode: mode, At: someOf(said[mode])})
	}
	return merged
}

// someOf lists what there may be very many of: all, or the first two and how many more.
func someOf(words []string) string {
	if len(words) > 3 {
		words = []string{words[0], words[1], fmt.Sprintf("%d more", len(words)-2)}
	}
	return field.Enumerate(words, "and")
}
