package surroundings

import (
	"cmp"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An AuthorizationPolicy is Istio's policy about who may call a workload. Without
// MatchLabels it is about all of its namespace, or of the mesh if that is the root
// namespace.
type AuthorizationPolicy struct {
	Neighbour
	Selector   WorkloadSelector `json:"selector"`
	TargetRef  field.Map        `json:"targetRef"`
	TargetRefs field.List       `json:"targetRefs"`
	Action     authz.Action     `json:"action"`
	Rules      []*authz.Rule    `json:"rules"` // a request must match one
}

// complete reports whether the policy is enforced in a sidecar.
func (p *AuthorizationPolicy) complete() bool {
	p.Action = cmp.Or(p.Action, authz.Allow)
	isOfGateway := len(p.TargetRef)+len(p.TargetRefs) > 0
	dryRun, _ := strconv.ParseBool(p.Annotations.Get("istio.io/dry-run"))
	return !isOfGateway && !dryRun
}

// A WorkloadSelector selects the pods of a policy of Istio's; all if it is empty.
type WorkloadSelector struct {
	MatchLabels field.KeyValues `json:"matchLabels"`
}

// applies reports whether Istio's object with the selector is about pods: it is in their namespace or the root
// namespace, selects them, and the control plane of their revision reads it. An object that is there twice with other
// content, or has no namespace, may be another one.
func (w *WorkloadSelector) applies(
	s *Surroundings, o *Neighbour, rootNamespace string, pods *Pods,
) certain.Certainty {
	if o.Namespace != rootNamespace && o.Namespace != pods.Namespace {
		return certain.Never
	}
	applies := min(pods.selects(w.MatchLabels), readBy(s, pods, o))
	if o.Disputed || o.Namespace == "" {
		return min(applies, certain.Maybe)
	}
	return applies
}

// A Refusal says whether AuthorizationPolicies refuse a request.
type Refusal struct {
	Is certain.Certainty
	By string // the policy that does, or may; "" if none does
	// Unless names a policy that is far and would let the request in, if it is about the same
	// cluster; "" if there is none.
	Unless string
}

// Refuses returns what the policies make of a request to pods. CUSTOM and DENY come before ALLOW:
// once a policy of action ALLOW applies, what none allows is refused. A policy without a namespace may be
// of the namespace that is not known.
func (s *Surroundings) Refuses(rootNamespace string, pods *Pods, q *authz.Request) Refusal {
	near := verdict{denied: certain.Never, allowed: certain.Never}
	all := near
	policies := AuthorizationPolicies.all(s)
	for i := range policies {
		p := &policies[i]
		applies := p.Selector.applies(s, &p.Neighbour, rootNamespace, pods)
		if applies == certain.Never {
			continue
		}
		matches := authz.Matches(p.Rules, p.Action, q)
		all.add(p, applies, matches)
		if !p.Far {
			near.add(p, applies, matches)
		}
	}
	r := near.refusal()
	if r.Is == certain.Always && all.refusal().Is != certain.Always {
		r.Unless = all.allowing
	}
	return r
}

// A verdict is what policies make of a request, as far as they were added.
type verdict struct {
	denied, allowed certain.Certainty
	denying         string // the policy behind denied
	allowing        string // a far one behind allowed
	limiting        string // an ALLOW policy that certainly applies
	mayLimit        string // one that may apply, and may not match
}

func (v *verdict) add(p *AuthorizationPolicy, applies, matches certain.Certainty) {
	both := min(applies, matches)
	switch p.Action {
	case authz.Custom:
		both = min(both, certain.Maybe) // the other server says it
		fallthrough
	case authz.Deny:
		if both > v.denied {
			v.denied = both
			v.denying = p.words()
		}
	case authz.Allow:
		v.allowed = max(v.allowed, both)
		if both > certain.Never && p.Far {
			v.allowing = cmp.Or(v.allowing, p.words())
		}
		if applies == certain.Always {
			v.limiting = cmp.Or(v.limiting, p.words())
		}
		if applies > certain.Never && matches < certain.Always {
			v.mayLimit = cmp.Or(v.mayLimit, p.words())
		}
	}
}

func (v *verdict) refusal() Refusal {
	switch {
	case v.denied == certain.Always:
		return Refusal{Is: certain.Always, By: v.denying}
	case v.limiting != "" && v.allowed == certain.Never:
		return Refusal{Is: certain.Always, By: v.limiting}
	case v.denied == certain.Maybe:
		return Refusal{Is: certain.Maybe, By: v.denying}
	case v.mayLimit != "" && v.allowed != certain.Always:
		return Refusal{Is: certain.Maybe, By: v.mayLimit}
	}
	return Refusal{Is: certain.Never}
}

func (p *AuthorizationPolicy) words() string {
	return p.Neighbour.words("AuthorizationPolicy")
}
