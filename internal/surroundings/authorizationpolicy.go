package surroundings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An AuthorizationPolicy is Istio's policy about who may call a workload. Without
// MatchLabels it is about all of its namespace, or of the mesh if that is the root
// namespace.
type AuthorizationPolicy struct {
	Name, Namespace string
	MatchLabels     field.KeyValues
	Action          string               // "" is ALLOW
	Rules           []*AuthorizationRule // a request must match one; a nil rule is ignored
	// Disputed is set if another policy of this name is as near, so that only one of
	// them can be in the cluster.
	Disputed bool
	At       fmt.Stringer // "file:line"
}

// An AuthorizationRule matches a request if one of From, one of To and all of When do;
// an empty list matches. All entries of a source, such as {principals: ["*"]}, or of an
// operation, such as {ports: ["8080"]}, must match, and of a condition an attribute that has
// one of Values and none of NotValues.
type AuthorizationRule struct {
	From []struct {
		Source field.Map `json:"source"`
	} `json:"from"`
	To []struct {
		Operation field.Map `json:"operation"`
	} `json:"to"`
	When []struct {
		Key       string     `json:"key"`
		Values    field.List `json:"values"`
		NotValues field.List `json:"notValues"`
	} `json:"when"`
}

// Denied returns the AuthorizationPolicy that certainly refuses the kubelet's probe of
// a port, which comes without any identity; "" if none does. Nil labels are unknown, and
// so is the namespace "": a policy that has none either may be of the same.
func (s *Surroundings) Denied(rootNamespace, namespace string, labels field.KeyValues, port int) (at string) {
	allows := "" // an ALLOW policy that certainly selects the pod
	allowed := certain.Never
	for i := range s.AuthorizationPolicies {
		p := &s.AuthorizationPolicies[i]
		if p.Namespace != rootNamespace && p.Namespace != namespace {
			continue
		}
		applies := selects(p.MatchLabels, labels)
		if p.Disputed || p.Namespace == "" {
			applies = min(applies, certain.Maybe)
		}
		matches := min(applies, p.matches(port))
		switch p.Action {
		case "DENY":
			if matches == certain.Always {
				return p.words()
			}
		case "ALLOW", "":
			allowed = max(allowed, matches)
			if applies == certain.Always && allows == "" {
				allows = p.words()
			}
		}
	}
	if allowed == certain.Never {
		return allows
	}
	return ""
}

func (p *AuthorizationPolicy) words() string {
	return objectAt("AuthorizationPolicy", p.Namespace, p.Name, p.At)
}

func (p *AuthorizationPolicy) matches(port int) certain.Certainty {
	matches := certain.Never
	for _, r := range p.Rules {
		if r != nil {
			matches = max(matches, r.matches(port))
		}
	}
	return matches
}

func (r *AuthorizationRule) matches(port int) certain.Certainty {
	from, to, when := certain.Of(len(r.From) == 0), certain.Of(len(r.To) == 0), certain.Always
	for _, f := range r.From {
		from = max(from, allMatch(f.Source, port))
	}
	for _, t := range r.To {
		to = max(to, allMatch(t.Operation, port))
	}
	for _, w := range r.When {
		when = min(when, condition(w.Key, w.Values, port, false), condition(w.Key, w.NotValues, port, true))
	}
	return min(from, to, when)
}

// allMatch returns whether all conditions of a source or operation hold. The key of a
// negated one begins with "not": notPrincipals.
func allMatch(conditions field.Map, port int) certain.Certainty {
	c := certain.Always
	for _, e := range conditions {
		key, negated := strings.CutPrefix(e.Key, "not")
		if negated && key != "" {
			key = strings.ToLower(key[:1]) + key[1:]
		}
		values, isList := e.Value.(field.List)
		if !isList && e.Value != nil {
			return min(c, certain.Maybe)
		}
		c = min(c, condition(key, values, port, negated))
	}
	return c
}

// identities are the conditions about who calls. No value matches the kubelet, which has
// neither a certificate of the mesh nor a token, "*" included.
var identities = []string{
	"principals", "requestPrincipals", "namespaces", "serviceAccounts", "trustDomains",
	"source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain",
	"request.auth.principal", "request.auth.audiences", "request.auth.presenter",
}

// condition returns whether a condition of a rule holds for the kubelet's probe of a port.
// Without values there is none.
func condition(key string, values field.List, port int, negated bool) certain.Certainty {
	c := certain.Maybe
	switch {
	case len(values) == 0:
		return certain.Always
	case slices.Contains(identities, key) || strings.HasPrefix(key, "request.auth.claims["):
		c = certain.Never
	case key == "ports" || key == "destination.port":
		c = certain.Of(slices.Contains(values, field.Value(strconv.Itoa(port))))
	}
	if negated {
		return -c
	}
	return c
}
