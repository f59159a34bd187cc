package surroundings

import (
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A RequestAuthentication is Istio's policy about tokens: a request that has one must have a valid one. The keys
// are not read.
type RequestAuthentication struct {
	Neighbour
	Selector   WorkloadSelector `json:"selector"`
	TargetRef  field.Map        `json:"targetRef"`
	TargetRefs field.List       `json:"targetRefs"`
	JWTRules   []JWTRule        `json:"jwtRules"`
}

// A JWTRule says where tokens of an issuer are.
type JWTRule struct {
	FromHeaders []struct {
		Name   string `json:"name"`
		Prefix string `json:"prefix"`
	} `json:"fromHeaders"`
	FromParams  []string `json:"fromParams"`
	FromCookies []string `json:"fromCookies"`
}

// complete reports whether the policy is enforced in a sidecar.
func (p *RequestAuthentication) complete() bool { return len(p.TargetRef)+len(p.TargetRefs) == 0 }

// RequestAuthentications returns those that are near and may be about pods.
func (s *Surroundings) RequestAuthentications(root string, pods *Pods) (all []AboutPods[RequestAuthentication]) {
	near := RequestAuthentications.near(s)
	for i := range near {
		p := &near[i]
		applies := p.Selector.applies(s, &p.Neighbour, root, pods)
		if applies > certain.Never {
			all = append(all, about(p, applies))
		}
	}
	return all
}

// Words names the policy, and where it is.
func (p *RequestAuthentication) Words() string { return p.words("RequestAuthentication") }
