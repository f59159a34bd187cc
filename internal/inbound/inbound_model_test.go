package inbound_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/inbound"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
)

// A world has what no manifest says. Each number chooses one.
type world struct {
	kubelet, pod string // addresses
	version      string // of the kubelet
	isValid      bool   // a token that has the form of one
	isSomebodys  bool   // a valid token says whose it is
	isAbout      bool   // a policy whose selector has a label that pods may get
	appHasHTTP2  bool
	odd          bool // a template that Istio's webhook refuses matches
}

func worlds() (all []world) {
	for n := range 128 {
		w := world{"10.0.0.1", "10.0.7.8", "1.37", n&1 > 0, n&64 > 0, n&2 > 0, n&4 > 0, n&8 > 0}
		if n&16 > 0 {
			w.kubelet, w.pod = "fd00::9", "fd00::7"
		}
		if n&32 > 0 {
			w.kubelet = map[string]string{"10.0.0.1": "192.168.1.1", "fd00::9": "2001:db8::1"}[w.kubelet]
			w.pod, w.version = w.pod+"1", "1.31"
		}
		all = append(all, w)
	}
	return all
}

// variable stands for a text that another tool fills in.
const variable = "${V}"

// A sentRequest is one as Envoy gets it.
type sentRequest struct {
	method, path, query, host string
	header                    map[string][]string
}

// sent returns the request that a kubelet makes in a world: net/http writes and reads it, as newProbeRequest in Kubernetes'
// pkg/probe/http/request.go has it made.
func sent(t *testing.T, h *pod.HTTPGet, w world) sentRequest {
	t.Helper()
	u, err := url.Parse(h.Path)
	if err != nil {
		u = &url.URL{Path: h.Path}
	}
	u.Scheme, u.Host = "http", net.JoinHostPort(w.pod, "8080")
	req, err := http.NewRequest("GET", u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{}
	for _, x := range h.HTTPHeaders {
		req.Header.Add(x.Name, strings.ReplaceAll(x.Value, variable, map[string]string{"1.37": "web.shop", "1.31": "zz"}[w.version]))
	}
	if req.Header["User-Agent"] == nil {
		req.Header.Set("User-Agent", "kube-probe/"+w.version)
	}
	if req.Header["Accept"] == nil {
		req.Header.Set("Accept", "*/*")
	} else if req.Header.Get("Accept") == "" {
		req.Header.Del("Accept")
	}
	req.Host = req.Header.Get("Host")
	var wire bytes.Buffer
	if err := req.Write(&wire); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		t.Fatal(err)
	}
	s := sentRequest{got.Method, got.URL.EscapedPath(), got.URL.RawQuery, got.Host, map[string][]string{}}
	for name, values := range got.Header {
		s.header[strings.ToLower(name)] = values
	}
	return s
}

// A drawn is what a round draws: a probe, and the objects around it, in the words of the model.
type drawn struct {
	probe    *pod.HTTPGet
	protocol string // the name of a Service's port: "" if there is no Service
	tokens   *drawnTokens
	policy   *drawnPolicy
	sent     map[string]sentRequest // by the pod's address
}

type drawnTokens struct {
	place string // header, param, cookie, default
	maybe bool   // whether it is about the pods depends
}

type drawnPolicy struct {
	action authz.Action
	terms  []term // all must hold
}

// A term is one attribute of a rule: "hosts", "notPaths", "request.headers[a]".
type term struct {
	key     string
	values  []string
	negated bool
}

// answer returns what happens in a world.
func (d *drawn) answer(t *testing.T, w world) string {
	r, again := d.sent[w.pod]
	if !again {
		r = sent(t, d.probe, w)
		d.sent[w.pod] = r
	}
	isTCP := d.probe.Scheme == "HTTPS" || d.protocol == "tcp"
	switch {
	case d.probe.Scheme == "HTTPS" && (d.protocol == "http" || d.protocol == "grpc"):
		return "TLS"
	}
	hasPrincipal := false
	if d.tokens != nil && !isTCP && (w.isAbout || !d.tokens.maybe) {
		all := r.tokens(d.tokens.place)
		hasForm := slices.ContainsFunc(all, isWebToken)
		if len(all) > 0 && (!hasForm || !w.isValid) {
			return "token"
		}
		hasPrincipal = hasForm && w.isSomebodys
	}
	if p := d.policy; p != nil {
		matches := true
		for _, x := range p.terms {
			isHTTP := !slices.Contains([]string{"ports", "ipBlocks", "source.ip", "destination.port", "principals"}, x.key)
			switch {
			case len(x.values) == 0: // no condition
			case isTCP && isHTTP && p.action == authz.Allow:
				matches = false
			case isTCP && isHTTP:
			default:
				matches = matches && x.holds(&r, w, hasPrincipal)
			}
		}
		if matches == (p.action == authz.Deny) {
			return "policy"
		}
	}
	if !isTCP && d.protocol == "grpc" && !w.appHasHTTP2 {
		return "app"
	}
	return "passes"
}

func (x *term) holds(r *sentRequest, w world, hasPrincipal bool) bool {
	name, isHeader := strings.CutPrefix(x.key, "request.headers[")
	name = strings.ToLower(strings.TrimSuffix(name, "]"))
	matches := slices.ContainsFunc(x.values, func(v string) bool {
		switch {
		case x.key == "methods":
			return like(r.method, v)
		case x.key == "hosts", isHeader && name == ":authority":
			if x.key == "hosts" {
				return like(strings.ToLower(r.host), strings.ToLower(v))
			}
			return like(r.host, v)
		case x.key == "paths":
			return r.pathIs(v, w)
		case x.key == "ports", x.key == "destination.port":
			return v == "8080"
		case x.key == "ipBlocks", x.key == "source.ip":
			return netip.MustParsePrefix(v).Contains(netip.MustParseAddr(w.kubelet))
		case x.key == "requestPrincipals", x.key == "request.auth.principal":
			return hasPrincipal
		case isHeader:
			return slices.ContainsFunc(r.header[name], func(s string) bool { return v == "*" || like(s, v) })
		}
		return false // principals: the kubelet has none
	})
	return matches != x.negated
}

// like reports whether a text is as a policy writes it.
func like(s, pattern string) bool {
	begin, isPrefix := strings.CutSuffix(pattern, "*")
	end, isSuffix := strings.CutPrefix(pattern, "*")
	switch {
	case pattern == "*":
		return s != ""
	case isSuffix:
		return strings.HasSuffix(s, end)
	case isPrefix:
		return strings.HasPrefix(s, begin)
	}
	return s == pattern
}

// pathIs compares the path, resolved by the URL package.
func (r *sentRequest) pathIs(pattern string, w world) bool {
	u := (&url.URL{Scheme: "http", Host: "a"}).ResolveReference(&url.URL{Path: r.path})
	path := u.Path
	for escaped, plain := range map[string]string{"%62": "b", "%7E": "~"} {
		path = strings.ReplaceAll(path, escaped, plain)
	}
	if !strings.Contains(pattern, "{") {
		return like(path, pattern)
	}
	isOdd := strings.Contains(pattern, "{**}/{")
	return segmentsAre(strings.Split(path, "/"), strings.Split(pattern, "/")) && (!isOdd || w.odd)
}

func segmentsAre(path, template []string) bool {
	switch {
	case len(template) == 0:
		return len(path) == 0
	case template[0] == "{**}":
		for n := range len(path) {
			if segmentsAre(path[n+1:], template[1:]) {
				return true
			}
		}
		return false
	case len(path) == 0:
		return false
	}
	is := path[0] == template[0] || template[0] == "{*}" && path[0] != ""
	return is && segmentsAre(path[1:], template[1:])
}

// webTokens are by whether they have the form of a token.
var webTokens = func() map[string]bool {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	object, list := part(`{"a":1}`), part(`[1]`)
	return map[string]bool{
		object + "." + object + ".c2ln": true, object + "." + object + ".": true, "garbage": false, object + "." + object: false,
		object + "." + list + ".c2ln": false, list + "." + object + ".c2ln": false, "a.b.c": false, object + ".." + "c2ln": false,
	}
}()

func isWebToken(s string) bool { return webTokens[s] }

func (r *sentRequest) tokens(place string) (all []string) {
	query, _ := url.ParseQuery(r.query)
	switch place {
	case "default":
		for _, v := range r.header["authorization"] {
			if v, is := strings.CutPrefix(v, "Bearer "); is {
				all = append(all, v)
			}
		}
		return append(all, query["access_token"]...)
	case "header":
		for _, v := range r.header["x-token"] {
			if v, is := strings.CutPrefix(v, "t "); is {
				all = append(all, v)
			}
		}
	case "param":
		return query["token"]
	case "cookie":
		req := http.Request{Header: http.Header{"Cookie": r.header["cookie"]}}
		for _, c := range req.CookiesNamed("id") {
			all = append(all, c.Value)
		}
	}
	return all
}

// What a probe gets is what it gets in some world: no answer is missing, and where one attribute decides none is too many.
func TestTheAnswersAreThoseOfEveryWorld(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 31))
	seen := map[string]int{}
	for range 12_000 {
		d, objects := draw(rnd)
		want := map[string]bool{}
		for _, w := range worlds() {
			want[d.answer(t, w)] = true
		}
		around := beside.Of(objects...)
		l := inbound.Listener{Around: &around, RootNamespace: "istio-system", Pods: &surroundings.Pods{
			Namespace: "shop", Kind: "StatefulSet", Name: "web", Labels: web, Spec: new(pod.Spec),
		}}
		got := map[string]bool{}
		for _, a := range l.Answers(inbound.Of(&pod.Handler{HTTPGet: d.probe}, false, 8080)) {
			got[className(a.Why)] = true
		}
		isVariable := func(x pod.HTTPHeader) bool { return x.Value == variable }
		isOne := d.policy == nil || !slices.ContainsFunc(d.probe.HTTPHeaders, isVariable) && len(d.policy.terms) <= 1
		for answer := range want {
			if !got[answer] {
				t.Fatalf("%s: answers %v, want %v", d, words(got), words(want))
			}
			seen[answer]++
		}
		if isOne && len(got) != len(want) {
			t.Fatalf("%s: too many answers: %v, want %v", d, words(got), words(want))
		}
		if len(want) > 1 {
			seen["several"]++
		}
	}
	for _, answer := range []string{"passes", "policy", "token", "TLS", "app", "several"} {
		if seen[answer] < 300 {
			t.Errorf("%s: only %d", answer, seen[answer])
		}
	}
}

func words(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

func className(why string) string {
	for part, class := range map[string]string{"instead of TLS": "TLS", "token": "token", "AuthorizationPolicy": "policy", "asks the app in": "app"} {
		if strings.Contains(why, part) {
			return class
		}
	}
	return "passes"
}

func (d *drawn) String() string {
	s := fmt.Sprintf("%+v beside a port named %q", *d.probe, d.protocol)
	if d.tokens != nil {
		s += fmt.Sprintf(", tokens in %s (maybe: %t)", d.tokens.place, d.tokens.maybe)
	}
	if d.policy != nil {
		s += fmt.Sprintf(", %+v", *d.policy)
	}
	return s
}

func draw(rnd *rand.Rand) (d *drawn, objects []any) {
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	token := func() string { return slices.Sorted(maps.Keys(webTokens))[rnd.IntN(len(webTokens))] }
	d = &drawn{sent: map[string]sentRequest{}, probe: &pod.HTTPGet{Path: one("/healthz", "/healthz", "/", "", "healthz", "/a/../b", "/%62", "/b/", "/b/.", "/a/./b", "/a/b", "/a//b", "/..", "/a%7E", "/a%2Fb", "/B")}}
	if d.probe.Path != "" {
		d.probe.Path += one("", "", "?x=1", "?access_token="+token(), "?token="+token())
	}
	d.probe.Scheme = one("", "", "", "", "HTTPS")
	for range rnd.IntN(4) {
		name := one("Host", "host", "User-Agent", "Accept", "X-A", "x-a", "Authorization", "X-Token", "Cookie", "Content-Length", "Trailer")
		value := one("", "a", "b", "web.shop", "A", variable)
		switch name {
		case "Authorization":
			value = one("Bearer ", "Bearer ", "Basic ", "") + token()
		case "X-Token":
			value = one("t ", "t ", "") + token()
		case "Cookie":
			value = one("id=", "a=b; id=", "x=") + token()
		case "Host", "host":
			value = one("", "web.shop", "Web.Shop", "web.shop:8080", variable)
		}
		d.probe.HTTPHeaders = append(d.probe.HTTPHeaders, pod.HTTPHeader{Name: name, Value: value})
	}
	if d.protocol = one("", "", "", "http", "tcp", "grpc", "web"); d.protocol != "" {
		objects = append(objects, service("s", d.protocol))
	}
	if rnd.IntN(2) == 0 {
		d.tokens = &drawnTokens{place: one("default", "header", "param", "cookie"), maybe: rnd.IntN(3) == 0}
		var rule surroundings.JWTRule
		switch d.tokens.place {
		case "header":
			rule.FromHeaders = append(rule.FromHeaders, struct {
				Name   string `json:"name"`
				Prefix string `json:"prefix"`
			}{"X-Token", "t "})
		case "param":
			rule.FromParams = []string{"token"}
		case "cookie":
			rule.FromCookies = []string{"id"}
		}
		r := &surroundings.RequestAuthentication{Neighbour: object("r"), JWTRules: []surroundings.JWTRule{rule}}
		if d.tokens.maybe {
			r.Selector.MatchLabels = field.KeyValues{{Key: "kubernetes.io/hostname", Value: "a"}}
		}
		objects = append(objects, r)
	}
	if rnd.IntN(4) > 0 {
		d.policy = drawPolicy(rnd)
		objects = append(objects, d.policy.object())
	}
	return d, objects
}

func drawPolicy(rnd *rand.Rand) *drawnPolicy {
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	values := map[string][]string{
		"hosts":                           {"*", "web.shop", "WEB.shop", "web.shop:*", "*:8080", "*.shop", "10.*", "10.0.7.8:8080", "[fd00::7]:8080", "other"},
		"methods":                         {"GET", "POST", "*", "G*"},
		"paths":                           {"/healthz", "/b", "/b/", "/b*", "*b", "*", "/", "/{*}", "/{**}", "/a/{*}", "/{*}/b", "/a/{**}", "/{**}/b", "/{**}/{*}", "/a~", "/a%2Fb", "/a//b", "/B"},
		"ports":                           {"8080", "80"},
		"destination.port":                {"8080", "80"},
		"ipBlocks":                        {"0.0.0.0/0", "::/0", "10.0.0.0/8", "fd00::/8", "192.168.1.1/32"},
		"source.ip":                       {"0.0.0.0/0", "::/0", "10.0.0.0/8"},
		"requestPrincipals":               {"*"},
		"request.auth.principal":          {"*"},
		"principals":                      {"*", "a"},
		"request.headers[User-Agent]":     {"*", "kube-probe/*", "kube-probe/1.37", "a", "b", "curl"},
		"request.headers[Accept]":         {"*", "*/*", "a", "b"},
		"request.headers[x-a]":            {"*", "a", "b", "A", "a*"},
		"request.headers[:authority]":     {"*", "web.shop", "Web.Shop", "*:8080"},
		"request.headers[content-length]": {"*", "a", "b"},
		"request.headers[x-forwarded-client-cert]": {"*", "a"},
		"request.headers[trailer]":                 {"*", "a"},
	}
	keys := slices.Sorted(maps.Keys(values))
	p := &drawnPolicy{action: []authz.Action{authz.Allow, authz.Deny}[rnd.IntN(2)]}
	for range 1 + rnd.IntN(2) {
		x := term{key: keys[rnd.IntN(len(keys))], negated: rnd.IntN(3) == 0}
		if slices.ContainsFunc(p.terms, func(o term) bool { return o.key == x.key }) {
			continue
		}
		for range (1 + rnd.IntN(5)) / 2 {
			x.values = append(x.values, one(values[x.key]...))
		}
		p.terms = append(p.terms, x)
	}
	return p
}

// object returns the policy, with all terms in one rule.
func (p *drawnPolicy) object() *surroundings.AuthorizationPolicy {
	r := new(authz.Rule)
	var source, operation field.Map
	for _, x := range p.terms {
		var values field.List
		for _, v := range x.values {
			values = append(values, v)
		}
		key := x.key
		if x.negated {
			key = "not" + strings.ToUpper(key[:1]) + key[1:]
		}
		e := field.Entry{Key: key, Value: values}
		switch {
		case strings.Contains(x.key, "."):
			w := struct {
				Key       string     `json:"key"`
				Values    field.List `json:"values"`
				NotValues field.List `json:"notValues"`
			}{Key: x.key, Values: values}
			if x.negated {
				w.Values, w.NotValues = nil, values
			}
			r.When = append(r.When, w)
		case slices.Contains([]string{"hosts", "methods", "paths", "ports"}, x.key):
			operation = append(operation, e)
		default:
			source = append(source, e)
		}
	}
	if operation != nil {
		r.To = append(r.To, struct {
			Operation field.Map `json:"operation"`
		}{operation})
	}
	if source != nil {
		r.From = append(r.From, struct {
			Source field.Map `json:"source"`
		}{source})
	}
	return &surroundings.AuthorizationPolicy{Neighbour: object("p"), Action: p.action, Rules: []*authz.Rule{r}}
}
