package inbound

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A token is what RequestAuthentications make of the tokens of a call.
type token struct {
	is  certain.Certainty // that it is refused; Never if there is none
	by  string            // the policy
	not bool              // what the call has is no token
}

func (t *token) answer() Reply {
	if t.not {
		a := Reply{Why: t.by + " refuses its token, which is not a JSON Web Token"}
		if t.is != certain.Always {
			a.If, a.Fix = isAbout, inTheCluster
		}
		return a
	}
	return Reply{Why: t.by + " demands a valid token of a probe that has one", If: "its token is not valid", Fix: "ask who issued it"}
}

// token returns what becomes of the tokens of a call. What is not a JSON Web Token is refused. Whether
// another one is valid depends on its keys and on the day. No key is fetched.
//
// The rules are those of convertToEnvoyJwtConfig in Istio's pilot/pkg/security/authn/policy_applier.go: a call may
// have no token, but each that it has must be valid, unless another is.
func (l *Listener) token(c *Call) token {
	t := token{is: certain.Never}
	others := false
	for _, about := range l.Around.RequestAuthentications(l.RootNamespace, l.Pods) {
		p := about.Object
		for i := range p.JWTRules {
			for _, sent := range c.tokens(&p.JWTRules[i]) {
				malformed := isMalformed(sent)
				others = others || malformed != certain.Always
				if is := min(about.Is, malformed); t.by == "" || is > t.is {
					t = token{max(is, certain.Maybe), p.Words(), malformed == certain.Always}
				}
			}
		}
	}
	if others { // that one may be valid
		t.is = min(t.is, certain.Maybe)
		t.not = false
	}
	return t
}

// tokens returns what a call has where a rule looks for tokens.
func (c *Call) tokens(r *surroundings.JWTRule) (all []authz.PartialText) {
	from := r.FromHeaders
	params := r.FromParams
	if len(from)+len(params)+len(r.FromCookies) == 0 {
		all = append(all, c.prefixed("authorization", "Bearer ")...)
		params = []string{"access_token"}
	}
	for _, h := range from {
		all = append(all, c.prefixed(h.Name, h.Prefix)...)
	}
	query, _ := url.ParseQuery(c.query)
	for _, name := range params {
		for _, v := range query[name] {
			all = append(all, sentText(v))
		}
	}
	for _, name := range r.FromCookies {
		for _, cookies := range c.Header["cookie"] {
			for cookie := range strings.SplitSeq(cookies.String(), ";") {
				if key, v, _ := strings.Cut(strings.TrimSpace(cookie), "="); key == name {
					all = append(all, sentText(v))
				}
			}
		}
	}
	return all
}

// prefixed returns what follows a prefix in the values of a header.
func (c *Call) prefixed(name, prefix string) (all []authz.PartialText) {
	for _, v := range c.Header[strings.ToLower(name)] {
		if !v.IsKnown() {
			all = append(all, v)
		} else if _, after, has := strings.Cut(v.String(), prefix); has {
			all = append(all, authz.Known(after))
		}
	}
	return all
}

// isMalformed returns whether a text is no JSON Web Token: three parts, of which the first two are objects.
func isMalformed(t authz.PartialText) certain.Certainty {
	if !t.IsKnown() {
		return certain.Maybe
	}
	parts := strings.Split(t.String(), ".")
	if len(parts) != 3 {
		return certain.Always
	}
	for _, part := range parts[:2] {
		text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
		if err != nil || json.Unmarshal(text, new(map[string]any)) != nil {
			return certain.Always
		}
	}
	return certain.Never
}
