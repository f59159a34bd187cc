package authz

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Request is one that the kubelet makes of a pod, in plain text or in TLS that the mesh passes
// through.
type Request struct {
	// TCP is set if Envoy takes the connection for TCP, and knows its addresses and its port
	// alone.
	TCP    bool
	Method string
	Path   PartialText              // as it is sent, with its query
	Host   PartialText              // the header Host, or :authority
	Header map[string][]PartialText // the values of the other headers by name in lower case
	Port   int                      // of the pod
	// HasToken is set if the request has a token, of which nothing else is known.
	HasToken bool
	// The addresses of the kubelet and of the pod; the zero value is not known.
	Source, Destination netip.Addr
}

// addedByEnvoy are the headers that Envoy itself may add to a request before it evaluates
// policies.
var addedByEnvoy = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(:|x-forwarded-|x-request-id$|x-envoy-|x-b3-|traceparent$|tracestate$|b3$|x-client-trace-id$)`)
})

// header returns whether a header of the request matches a pattern. Envoy compares each value as
// it is sent, and does not find a header that is absent. "*" asks for the header alone, which may be empty.
func (q *Request) header(name, pattern string) certain.Certainty {
	name = strings.ToLower(name)
	values, sent := q.Header[name]
	switch {
	case name == "host" || name == ":authority":
		return q.Host.matches(pattern)
	case name == ":method":
		return Known(q.Method).matches(pattern)
	case sent && pattern == "*":
		return certain.Always
	case sent:
		c := certain.Never
		for _, v := range values {
			c = max(c, v.matches(pattern))
		}
		return c
	}
	return atMost(addedByEnvoy().MatchString(name) && name != "x-forwarded-for" && name != "x-forwarded-client-cert")
}

// path returns whether the path matches a pattern or template.
func (q *Request) path(pattern string) certain.Certainty {
	isTemplate := strings.Contains(pattern, "{*}") || strings.Contains(pattern, "{**}")
	switch {
	case q.Path.fits != nil && isTemplate:
		return certain.Maybe
	case q.Path.fits != nil:
		return q.Path.matches(pattern)
	}
	path := normalize(q.Path.start)
	if !isTemplate {
		return Known(path).matches(pattern)
	}
	literal := regexp.QuoteMeta(pattern)
	literal = strings.ReplaceAll(literal, `\{\*\*\}`, ".*")
	literal = strings.ReplaceAll(literal, `\{\*\}`, "[^/]+")
	template, err := regexp.Compile("^" + literal + "$")
	if err != nil {
		return certain.Maybe
	}
	if template.MatchString(path) && !isSupported(pattern) {
		return certain.Maybe
	}
	return certain.Of(template.MatchString(path))
}

// isSupported reports whether Istio's webhook lets a template of a path in: {*} and {**} are whole segments, and
// {**} is the last of them (CheckValidPathTemplate in pkg/config/security). Without that webhook an Envoy 1.40
// matches nothing.
func isSupported(template string) bool {
	isLast := false
	for segment := range strings.SplitSeq(template, "/") {
		isOperator := segment == "{*}" || segment == "{**}"
		if isOperator && isLast || !isOperator && strings.ContainsAny(segment, "{}") {
			return false
		}
		isLast = isLast || segment == "{**}"
	}
	return true
}

// normalize returns a path as Envoy compares it, which Istio has it normalise by RFC 3986: without
// the query, with "." and ".." resolved, and with what need not be escaped unescaped.
func normalize(path string) string {
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	path = strings.ReplaceAll(unescape(path), `\`, "/")
	var kept []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, s)
			continue
		}
		if last {
			kept = append(kept, "") // "/a/." is "/a/"
		}
	}
	return "/" + strings.Join(kept, "/")
}

// unescape returns a path with letters, digits and -._~ as they are.
func unescape(path string) string {
	return regexp.MustCompile(`%[0-9A-Fa-f]{2}`).ReplaceAllStringFunc(path, func(escape string) string {
		n, _ := strconv.ParseUint(escape[1:], 16, 8)
		c := string(rune(n))
		if n < 0x80 && regexp.MustCompile(`[A-Za-z0-9._~-]`).MatchString(c) {
			return c
		}
		return escape
	})
}

// isIn returns whether an address is in a range, or is the address that is written.
func isIn(a netip.Addr, cidr string) certain.Certainty {
	r, err := netip.ParsePrefix(cidr)
	if err != nil {
		one, err := netip.ParseAddr(cidr)
		if err != nil {
			return certain.Maybe
		}
		r = netip.PrefixFrom(one, one.BitLen())
	}
	if !a.IsValid() {
		return certain.Maybe
	}
	return certain.Of(r.Contains(a.Unmap()))
}

// isAnywhere reports whether addresses of both families are in the ranges. Which of them the cluster has is not
// known.
func isAnywhere(ranges field.List) bool {
	has4, has6 := false, false
	for _, v := range ranges {
		text, _ := v.(string)
		if r, err := netip.ParsePrefix(text); err == nil && r.Bits() == 0 {
			has4 = has4 || r.Addr().Is4()
			has6 = has6 || r.Addr().Is6()
		}
	}
	return has4 && has6
}
