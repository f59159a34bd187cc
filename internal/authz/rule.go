package authz

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Rule is one rule of an AuthorizationPolicy.
type Rule struct {
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

// An Action is what a policy makes of the requests that one of its rules matches.
type Action string

const (
	Allow  Action = "ALLOW" // once one such policy applies, the others are refused
	Deny   Action = "DENY"
	Custom Action = "CUSTOM" // another server decides
	Audit  Action = "AUDIT"
)

// Matches returns whether one of the rules of a policy matches a request. Istio ignores a rule
// that is nil.
func Matches(rules []*Rule, action Action, q *Request) certain.Certainty {
	matches := certain.Never
	for _, r := range rules {
		if r != nil {
			matches = max(matches, r.matches(action, q))
		}
	}
	return matches
}

func (r *Rule) matches(action Action, q *Request) certain.Certainty {
	if q.TCP && action == Allow && r.isHTTP() {
		return certain.Never
	}
	from := certain.Of(len(r.From) == 0)
	for _, f := range r.From {
		from = max(from, q.all(f.Source))
	}
	to := certain.Of(len(r.To) == 0)
	for _, t := range r.To {
		to = max(to, q.all(t.Operation))
	}
	when := certain.Always
	for _, w := range r.When {
		isIn := q.condition(w.Key, w.Values, false)
		isNotIn := q.condition(w.Key, w.NotValues, true)
		when = min(when, isIn, isNotIn)
	}
	return min(from, to, when)
}

// isHTTP reports whether the rule has an attribute that only HTTP has.
func (r *Rule) isHTTP() bool {
	anyIn := func(attributes field.Map) bool {
		return slices.ContainsFunc(attributes, func(e field.Entry) bool {
			key, _ := attribute(e.Key)
			values, _ := e.Value.(field.List)
			return isHTTP(key) && len(values) > 0
		})
	}
	for _, f := range r.From {
		if anyIn(f.Source) {
			return true
		}
	}
	for _, t := range r.To {
		if anyIn(t.Operation) {
			return true
		}
	}
	for _, w := range r.When {
		if isHTTP(w.Key) && len(w.Values)+len(w.NotValues) > 0 {
			return true
		}
	}
	return false
}

// isHTTP reports whether only an HTTP request has an attribute.
func isHTTP(key string) bool {
	return slices.Contains([]string{"hosts", "methods", "paths", "requestPrincipals"}, key) ||
		strings.HasPrefix(key, "request.")
}

// attribute returns the attribute of a key, which begins with "not" if it is negated:
// notPrincipals.
func attribute(key string) (name string, negated bool) {
	name, negated = strings.CutPrefix(key, "not")
	if negated && name != "" {
		name = strings.ToLower(name[:1]) + name[1:]
	}
	return name, negated
}

// all returns whether all attributes of a source or operation match.
func (q *Request) all(attributes field.Map) certain.Certainty {
	c := certain.Always
	for _, e := range attributes {
		key, negated := attribute(e.Key)
		values, isList := e.Value.(field.List)
		if !isList && e.Value != nil {
			return min(c, certain.Maybe)
		}
		c = min(c, q.condition(key, values, negated))
	}
	return c
}

// condition returns whether an attribute has one of the values, or none of them if it is
// negated. Without values there is no condition. One about HTTP is none in TCP: such a rule
// denies, or it would not have come so far.
func (q *Request) condition(key string, values field.List, negated bool) certain.Certainty {
	if len(values) == 0 || q.TCP && isHTTP(key) {
		return certain.Always
	}
	c := certain.Of(isOfSource(key) && isAnywhere(values))
	for _, v := range values {
		text, isText := v.(string)
		if !isText {
			c = max(c, certain.Maybe)
			continue
		}
		c = max(c, q.has(key, text))
	}
	if negated {
		return -c
	}
	return c
}

// untold are the attributes that only a certificate of the mesh or the TLS of a client that names a
// server can tell. No value matches the kubelet's, "*" included.
var untold = []string{
	"principals", "namespaces", "serviceAccounts", "trustDomains", "connection.sni",
	"source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain",
}

// isOfToken reports whether only a token can tell an attribute.
func isOfToken(key string) bool {
	return key == "requestPrincipals" || strings.HasPrefix(key, "request.auth.")
}

// has returns whether an attribute of the request matches a value; Maybe for an attribute that
// is not known here.
func (q *Request) has(key, value string) certain.Certainty {
	if slices.Contains(untold, key) {
		return certain.Never
	}
	if isOfToken(key) {
		return atMost(q.HasToken)
	}
	if name, is := strings.CutPrefix(key, "request.headers["); is {
		return q.header(strings.TrimSuffix(name, "]"), value)
	}
	switch key {
	case "ports", "destination.port":
		return certain.Of(value == strconv.Itoa(q.Port))
	case "methods":
		return Known(q.Method).matches(value)
	case "paths":
		return q.path(value)
	case "hosts":
		return q.Host.lower().matches(strings.ToLower(value))
	}
	if isOfSource(key) {
		return isIn(q.Source, value)
	}
	if key == "destination.ip" {
		return isIn(q.Destination, value)
	}
	return certain.Maybe
}

// isOfSource reports whether an attribute is the address of the client.
func isOfSource(key string) bool {
	return slices.Contains([]string{"ipBlocks", "remoteIpBlocks", "source.ip", "remote.ip"}, key)
}
