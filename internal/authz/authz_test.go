package authz

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func probe() *Request {
	return &Request{
		Method: "GET", Path: Known("/healthz?full=1"), Host: HostOf("8080"), Port: 8080,
		Header: map[string][]PartialText{"user-agent": {Begins("kube-probe/1.")}, "x-a": {Known("b"), Known("c")}, "x-empty": {Known("")}},
	}
}

// The keys are those of Istio's AuthorizationPolicy, of sources, operations and conditions.
func TestTheKubeletHasNoIdentity(t *testing.T) {
	any := field.List{"*"}
	for _, key := range []string{"principals", "requestPrincipals", "namespaces", "serviceAccounts", "trustDomains"} {
		negated := "not" + string(key[0]-'a'+'A') + key[1:]
		if got := probe().all(field.Map{{Key: key, Value: any}}); got != certain.Never {
			t.Errorf("%s: %v", key, got)
		}
		if got := probe().all(field.Map{{Key: negated, Value: any}}); got != certain.Always {
			t.Errorf("%s: %v", negated, got)
		}
	}
	for _, key := range []string{
		"source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain", "connection.sni",
		"request.auth.principal", "request.auth.audiences", "request.auth.presenter", "request.auth.claims[iss]",
	} {
		if got := probe().condition(key, any, false); got != certain.Never {
			t.Errorf("%s: %v", key, got)
		}
		if got := probe().condition(key, any, true); got != certain.Always {
			t.Errorf("no %s: %v", key, got)
		}
	}
}

func TestWhatIsKnownOfARequestMatches(t *testing.T) {
	const always, maybe, never = certain.Always, certain.Maybe, certain.Never
	for _, c := range []struct {
		key, value string
		want       certain.Certainty
	}{
		{"ports", "8080", always},
		{"ports", "80", never},
		{"destination.port", "8080", always},
		{"methods", "GET", always},
		{"methods", "*", always},
		{"methods", "POST", never},
		{"paths", "/healthz", always},
		{"paths", "/health*", always},
		{"paths", "*z", always},
		{"paths", "/healthz?full=1", never},
		{"paths", "/{*}", always},
		{"paths", "/{*}/x", never},
		{"hosts", "*", always},
		{"hosts", "web.shop", never},
		{"hosts", "web.shop:*", never},
		{"hosts", "*:8080", always},
		{"hosts", "*:80", never},
		{"hosts", "*80", always},
		{"hosts", "10.0.0.1:8080", maybe},
		{"hosts", "[FD00::1]:8080", maybe},
		{"hosts", "10.0.0.1", never},
		{"hosts", "10.0.0.256:8080", never},
		{"hosts", "10.*", maybe},
		{"hosts", "10.0.0.1:*", maybe},
		{"hosts", "*.1:8080", maybe},
		{"request.headers[Host]", "*:8080", always},
		{"request.headers[:authority]", "*:8080", always},
		{"request.headers[:authority]", "*:80", never},
		{"request.headers[X-A]", "b", always},
		{"request.headers[X-A]", "B", never},
		{"request.headers[x-b]", "*", never},
		{"request.headers[x-empty]", "*", always},
		{"request.headers[x-empty]", "", always},
		{"request.headers[x-request-id]", "*", maybe},
		{"request.headers[x-forwarded-for]", "1.2.3.4", never},
		{"request.headers[X-Forwarded-Client-Cert]", "*", never},
		{"request.headers[x-forwarded-proto]", "http", maybe},
		{"request.headers[traceparent]", "*", maybe},
		{"request.headers[traceparents]", "*", never},
		{"request.headers[User-Agent]", "kube-probe/*", always},
		{"request.headers[User-Agent]", "kube-probe/1.3*", maybe},
		{"request.headers[User-Agent]", "kube-probe/1.37", maybe},
		{"request.headers[User-Agent]", "curl/*", never},
		{"request.headers[User-Agent]", "*", always},
		{"ipBlocks", "10.0.0.0/8", maybe},
		{"remoteIpBlocks", "10.0.0.1", maybe},
		{"source.ip", "0.0.0.0/0", maybe},
		{"remote.ip", "nonsense", maybe},
		{"destination.ip", "10.0.0.1", maybe},
		{"experimental.envoy.filters.a.b[c]", "x", maybe},
		{"colours", "red", maybe},
	} {
		if got := probe().condition(c.key, field.List{c.value}, false); got != c.want {
			t.Errorf("%s: [%q]: %v, want %v", c.key, c.value, got, c.want)
		}
		if got := probe().condition(c.key, field.List{c.value}, true); got != -c.want {
			t.Errorf("not %s: [%q]: %v", c.key, c.value, got)
		}
	}
}

func TestAllOfASourceAndOneOfAListMatches(t *testing.T) {
	ports, others := field.List{"80", "8080"}, field.List{"80", "8081"}
	for _, c := range []struct {
		name       string
		attributes field.Map
		want       certain.Certainty
	}{
		{"nothing", nil, certain.Always},
		{"one of the ports", field.Map{{Key: "ports", Value: ports}}, certain.Always},
		{"none of the ports", field.Map{{Key: "ports", Value: others}}, certain.Never},
		{"not one of the ports", field.Map{{Key: "notPorts", Value: ports}}, certain.Never},
		{"not the other ports", field.Map{{Key: "notPorts", Value: others}}, certain.Always},
		{"a key in upper case is none that is known", field.Map{{Key: "Ports", Value: others}}, certain.Maybe},
		{"the word not alone is none either", field.Map{{Key: "not", Value: others}}, certain.Maybe},
		{"no values", field.Map{{Key: "ports", Value: field.List{}}}, certain.Always},
		{"null", field.Map{{Key: "notPorts"}}, certain.Always},
		{"no list", field.Map{{Key: "ports", Value: "80"}}, certain.Maybe},
		{"no text", field.Map{{Key: "ports", Value: field.List{8080}}}, certain.Maybe},
		{"a port and an address", field.Map{{Key: "ports", Value: ports}, {Key: "ipBlocks", Value: field.List{"10.0.0.0/8"}}}, certain.Maybe},
		{"an address and another port", field.Map{{Key: "ipBlocks", Value: field.List{"10.0.0.0/8"}}, {Key: "ports", Value: others}}, certain.Never},
	} {
		if got := probe().all(c.attributes); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Envoy does not see the request in a connection: an ALLOW policy then has no rule about one, and
// a DENY policy has the rule without what is about the request.
func TestInAConnectionOnlyAddressesAndPortsCount(t *testing.T) {
	ports, others := field.Entry{Key: "ports", Value: field.List{"8080"}}, field.Entry{Key: "ports", Value: field.List{"80"}}
	to := func(attributes ...field.Entry) *Rule {
		r := new(Rule)
		r.To = append(r.To, struct {
			Operation field.Map `json:"operation"`
		}{attributes})
		return r
	}
	from := func(key string, values ...field.Value) *Rule {
		r := new(Rule)
		r.From = append(r.From, struct {
			Source field.Map `json:"source"`
		}{field.Map{{Key: key, Value: field.List(values)}}})
		return r
	}
	when := func(key string, values, notValues field.List) *Rule {
		r := new(Rule)
		r.When = append(r.When, struct {
			Key       string     `json:"key"`
			Values    field.List `json:"values"`
			NotValues field.List `json:"notValues"`
		}{key, values, notValues})
		return r
	}
	list := func(key string, values ...field.Value) field.Entry {
		return field.Entry{Key: key, Value: field.List(values)}
	}
	const always, never = certain.Always, certain.Never
	for name, c := range map[string]struct {
		rule              *Rule
		allow, deny, http certain.Certainty
	}{
		"everything":                             {new(Rule), always, always, always},
		"the port":                               {to(ports), always, always, always},
		"another port":                           {to(others), never, never, never},
		"the port and a method":                  {to(ports, list("methods", "POST")), never, always, never},
		"another port and a method":              {to(others, list("methods", "GET")), never, never, never},
		"the port and no path":                   {to(ports, list("notPaths", "/healthz")), never, always, never},
		"the port and a list without hosts":      {to(ports, list("hosts")), always, always, always},
		"no token":                               {from("notRequestPrincipals", "*"), never, always, always},
		"a token":                                {from("requestPrincipals", "*"), never, always, never},
		"a list without tokens":                  {from("requestPrincipals"), always, always, always},
		"no certificate":                         {from("notPrincipals", "*"), always, always, always},
		"a header":                               {when("request.headers[x-a]", field.List{"d"}, nil), never, always, never},
		"no header":                              {when("request.headers[x-a]", nil, field.List{"b"}), never, always, never},
		"a condition on a header without values": {when("request.headers[x-a]", nil, nil), always, always, always},
	} {
		for _, tcp := range []bool{true, false} {
			for action, want := range map[Action]certain.Certainty{Allow: c.allow, Deny: c.deny, Custom: c.deny} {
				if !tcp {
					want = c.http
				}
				q := probe()
				q.TCP = tcp
				if got := Matches([]*Rule{nil, c.rule}, action, q); got != want {
					t.Errorf("%s %s (TCP: %t): %v, want %v", action, name, tcp, got, want)
				}
			}
		}
	}
}

// Istio has Envoy ignore the case of hosts, not that of a header.
func TestAHostHasNoCase(t *testing.T) {
	q := probe()
	q.Host = Known("Web.Shop:80")
	for _, c := range []struct {
		key, value string
		want       certain.Certainty
	}{
		{"hosts", "web.shop:80", certain.Always}, {"hosts", "WEB.*", certain.Always}, {"hosts", "*.sHOP:80", certain.Always}, {"hosts", "web.shop", certain.Never},
		{"request.headers[host]", "Web.Shop:80", certain.Always}, {"request.headers[Host]", "web.shop:80", certain.Never},
	} {
		if got := q.condition(c.key, field.List{c.value}, false); got != c.want {
			t.Errorf("%s: [%q]: %v, want %v", c.key, c.value, got, c.want)
		}
	}
}

// RFC 3986, 5.2.4 and 6.2.2.2, as Envoy's normalize_path does it.
func TestPathsAreNormalised(t *testing.T) {
	for path, want := range map[string]string{
		"/a": "/a", "/a?b": "/a", "/a#b": "/a", "/": "/", "": "/",
		"/a/./b": "/a/b", "/a/../b": "/b", "/../a": "/a", "/a/..": "/", "/a/b/..": "/a/", "/a/.": "/a/",
		"//a": "//a", "/a//b": "/a//b", "/a/": "/a/", "/A": "/A",
		"/%61": "/a", "/%7E%2d%2F%41": "/~-%2FA", "/%": "/%", "/%zz": "/%zz", "/%C3%A9": "/%C3%A9", `/a\b`: "/a/b",
	} {
		if got := normalize(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestAPathThatIsNotKnownLeavesItOpen(t *testing.T) {
	q := probe()
	q.Path = Begins("/")
	for pattern, want := range map[string]certain.Certainty{"*": certain.Always, "/*": certain.Always, "/a": certain.Maybe, "/{*}": certain.Maybe, "x": certain.Never} {
		if got := q.path(pattern); got != want {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
}

// A template has {*} for one segment that is not empty, and {**} for any rest, as the last of them.
func TestATemplateMatchesSegments(t *testing.T) {
	for template, paths := range map[string]map[string]bool{
		"/{*}":        {"/a": true, "/a?b=/c": true, "/": false, "/a/b": false, "/a/": false},
		"/{**}":       {"/a": true, "/": true, "/a/b": true},
		"/a/{**}":     {"/a/": true, "/a/b": true, "/a/b/c": true, "/a": false, "/b/a/": false},
		"/a/{*}/c":    {"/a/b/c": true, "/a//c": false, "/a/b/d/c": false, "/a/b/cc": false, "/a/./b/c": true},
		"/{*}/{**}/z": {"/a/z": false, "/a//z": true, "/a/b/z": true, "/a/b/c/z": true, "/a/b/c": false},
		"/{**}/z":     {"/a/z": true, "//z": true, "/a/b/z": true, "/z": false, "/a/zz": false},
	} {
		for path, want := range paths {
			q := &Request{Path: Known(path)}
			if got := q.path(template); got != certain.Of(want) {
				t.Errorf("%s matches %s: %v", template, path, got)
			}
		}
		unknown := &Request{Path: Begins("/a")}
		if got := unknown.path(template); got != certain.Maybe {
			t.Errorf("%s matches a path that is not known: %v", template, got)
		}
	}
}

// Istio's webhook refuses other templates, and without it Envoy matches nothing.
func TestATemplateThatIstioRefusesLeavesItOpen(t *testing.T) {
	for _, template := range []string{"/{**}.html", "/{**}/{*}", "/{**}/a/{**}", "/a{**}", "/a{*}b", "/{*}{*}", "/{a}/{*}", "/{*}/{"} {
		found := certain.Never
		for _, path := range []string{"/a.html", "/a", "/", "/a/b", "/a/a/", "/acb", "/{a}/b", "/a/{"} {
			q := &Request{Path: Known(path)}
			found = max(found, q.path(template))
		}
		if found != certain.Maybe {
			t.Errorf("%s matches: %v", template, found)
		}
	}
}

// The addresses of the kubelet are compared with those of sources, and that of the pod with destinations; an IPv4 address is
// one in the form of IPv6 too.
func TestAnAddressIsInItsRanges(t *testing.T) {
	addr := netip.MustParseAddr
	for _, c := range []struct {
		source netip.Addr
		value  string
		want   certain.Certainty
	}{
		{addr("10.0.0.1"), "10.0.0.1", certain.Always},
		{addr("10.0.0.1"), "10.0.0.2", certain.Never},
		{addr("10.0.0.1"), "10.0.0.0/24", certain.Always},
		{addr("10.0.1.1"), "10.0.0.0/24", certain.Never},
		{addr("::ffff:10.0.0.1"), "10.0.0.0/24", certain.Always},
		{addr("fd00::1"), "fd00::1", certain.Always},
		{addr("fd00::2"), "fd00::1", certain.Never},
		{addr("fd00::2"), "fd00::/64", certain.Always},
		{addr("fd00::2"), "10.0.0.0/8", certain.Never},
		{addr("10.0.0.1"), "0.0.0.0/0", certain.Always},
		{netip.Addr{}, "::/0", certain.Maybe},
		{netip.Addr{}, "fd00::/64", certain.Maybe},
		{addr("10.0.0.1"), "x", certain.Maybe},
	} {
		source, destination := &Request{Source: c.source}, &Request{Destination: c.source}
		for _, key := range []string{"ipBlocks", "remoteIpBlocks", "source.ip", "remote.ip"} {
			if got := source.has(key, c.value); got != c.want {
				t.Errorf("%s %s of %s: %v, want %v", key, c.value, c.source, got, c.want)
			}
		}
		if got := destination.has("destination.ip", c.value); got != c.want {
			t.Errorf("destination.ip %s of %s: %v, want %v", c.value, c.source, got, c.want)
		}
		// The other address is not known.
		if r := source.has("destination.ip", c.value); c.want != certain.Maybe && !strings.HasSuffix(c.value, "/0") && r != certain.Maybe {
			t.Errorf("destination.ip %s, and only the source is known: %v", c.value, r)
		}
	}
}

// A text of which only the ends are known matches a pattern if every text does, and may match if one does.
func TestATextMatchesAsAllThatItMayBe(t *testing.T) {
	words := []string{""}
	for i := 0; len(words[i]) < 4; i++ {
		words = append(words, words[i]+"a", words[i]+"b")
	}
	matches := func(text, pattern string) bool {
		switch {
		case pattern == "*":
			return text != ""
		case strings.HasPrefix(pattern, "*"):
			return strings.HasSuffix(text, pattern[1:])
		case strings.HasSuffix(pattern, "*"):
			return strings.HasPrefix(text, pattern[:len(pattern)-1])
		}
		return text == pattern
	}
	onlyA := func(s string, _ bool) bool { return strings.Trim(s, "a") == "" }
	count := map[certain.Certainty]int{}
	for _, start := range []string{"", "a", "b", "ab"} {
		for _, end := range []string{"", "a", "b"} {
			for name, fits := range map[string]func(string, bool) bool{"nothing": nil, "anything": func(string, bool) bool { return true }, "some a": onlyA} {
				isUnknown := start+end == "" && fits != nil // as no text of a request is
				if isUnknown || name == "some a" && strings.Contains(start+end, "a") {
					continue
				}
				for _, core := range words[:15] {
					for _, pattern := range []string{core, "*" + core, core + "*"} {
						some, every := false, true
						for _, between := range words {
							if fits == nil && between != "" || fits != nil && !fits(between, true) {
								continue
							}
							is := matches(start+between+end, pattern)
							some, every = some || is, every && is
						}
						want := certain.Never
						switch {
						case every:
							want = certain.Always
						case some:
							want = certain.Maybe
						}
						if got := (PartialText{start, end, fits}).matches(pattern); got != want {
							t.Errorf("%q, %s and %q match %q: %v, want %v", start, name, end, pattern, got, want)
						}
						count[want]++
					}
				}
			}
		}
	}
	if len(count) != 3 {
		t.Errorf("%v", count)
	}
}
