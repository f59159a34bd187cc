package surroundings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A made is where an object is that was made at a time.
type made string

func (made) String() string    { return "dump.yaml" }
func (m made) Created() string { return string(m) }

// Istio takes the oldest object that is about the pods. In every cluster that may be, it is among those that are left, and each of
// those is it in one.
func TestOfSeveralObjectsIstioTakesTheOldest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(29, 11))
	fewer := 0
	for range 5000 {
		unknown := rnd.IntN(3) == 0
		values := make([]Service, rnd.IntN(5))
		var all []AboutPods[Service]
		for i := range values {
			values[i].Neighbour = named("shop", fmt.Sprint("s", i))
			values[i].At = made(fmt.Sprintf("2026-11-2%dT10:00:00Z", rnd.IntN(4)))
			if unknown && rnd.IntN(2) == 0 {
				values[i].At = made([]string{"", "null", "yesterday"}[rnd.IntN(3)])
			}
			all = append(all, AboutPods[Service]{&values[i], []certain.Certainty{certain.Maybe, certain.Always}[rnd.IntN(2)]})
		}
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		left := oldest(slices.Clone(all))
		isKnown := func(a AboutPods[Service]) bool { return len(a.Object.At.(made).Created()) > len("yesterday") }
		if len(all) > 1 && slices.ContainsFunc(all, func(a AboutPods[Service]) bool { return !isKnown(a) }) {
			if !slices.Equal(left, all) {
				t.Fatalf("%v: the age of one is not known, and %v are left", all, left)
			}
			continue
		}
		for i, a := range all {
			mayBeTaken := !slices.ContainsFunc(all, func(b AboutPods[Service]) bool {
				x, y := b.Object, a.Object
				isOlder := x.At.(made) < y.At.(made) || x.At == y.At && x.Name < y.Name
				return isOlder && b.Is == certain.Always
			})
			if slices.Contains(left, all[i]) != mayBeTaken {
				t.Fatalf("%v: %v is left: %t", all, a, !mayBeTaken)
			}
		}
		if len(left) < len(all) {
			fewer++
		}
	}
	if fewer < 1000 {
		t.Errorf("fewer are left in %d cases", fewer)
	}
}

// The kinds of which one counts, with two objects that disagree.
func TestTheOldestCountsOfEachKind(t *testing.T) {
	pods := &Pods{Namespace: "shop", Kind: "Deployment", Labels: field.KeyValues{{Key: "app", Value: "web"}}}
	of := func(name string, older bool) Neighbour {
		o := named("shop", name)
		o.At = made(map[bool]string{true: "2026-11-28T10:00:00Z", false: "2026-11-29T10:00:00Z"}[older])
		return o
	}
	for _, isFirst := range []bool{true, false} {
		strict := PeerAuthentication{Neighbour: of("strict", isFirst), MTLS: PeerMTLS{MTLSStrict}}
		open := PeerAuthentication{Neighbour: of("open", !isFirst), MTLS: PeerMTLS{MTLSDisable}}
		want := map[bool]string{true: MTLSStrict, false: MTLSDisable}[isFirst]
		if modes := around(open, strict).MTLS("istio-system", pods, 8080, MTLSPermissive); len(modes) != 1 || modes[0].Mode != want {
			t.Errorf("%v, want %s", modes, want)
		}
		http := Service{Neighbour: of("http", isFirst), Selector: pods.Labels, Ports: []ServicePort{{Name: "http", Port: 8080}}}
		tcp := Service{Neighbour: of("tcp", !isFirst), Selector: pods.Labels, Ports: []ServicePort{{Name: "tcp", Port: 8080}}}
		protocol := map[bool]Protocol{true: HTTP1, false: TCP}[isFirst]
		if chains := around(tcp, http).Chains("istio-system", pods, 8080); len(chains) != 1 || chains[0].Protocol != protocol {
			t.Errorf("%v, want %v", chains, protocol)
		}
		ingress := func(name string, older bool, protocol string) Sidecar {
			return Sidecar{Neighbour: of(name, older), Ingress: []InboundListener{{Port: ListenerPort{Number: 8080, Protocol: protocol}}}}
		}
		if chains := around(ingress("tcp", !isFirst, "TCP"), ingress("http", isFirst, "HTTP")).Chains("istio-system", pods, 8080); len(chains) != 1 || chains[0].Protocol != protocol {
			t.Errorf("%v, want %v", chains, protocol)
		}
	}
}

// An object with a revision is read by its control plane alone. Without webhooks, what pods ask for may be a tag.
func TestAnObjectOfAnotherRevisionDoesNotCount(t *testing.T) {
	const always, maybe, never = certain.Always, certain.Maybe, certain.Never
	hook := func(revision, tag string) *istioWebhooks {
		w := &istioWebhooks{Neighbour: named("", "hook-"+tag)}
		w.Labels = field.KeyValues{{Key: istioRev, Value: revision}}
		w.Webhooks = append(w.Webhooks, struct {
			Name              string        `json:"name"`
			NamespaceSelector LabelSelector `json:"namespaceSelector"`
			ObjectSelector    LabelSelector `json:"objectSelector"`
			MatchConditions   []field.Map   `json:"matchConditions"`
			Rules             []struct {
				Operations []string `json:"operations"`
				Resources  []string `json:"resources"`
			} `json:"rules"`
		}{Name: "rev.namespace.sidecar-injector.istio.io", NamespaceSelector: LabelSelector{MatchLabels: field.KeyValues{{Key: istioRev, Value: tag}}}})
		return w
	}
	namespace := func(rev string) *Namespace {
		return &Namespace{Neighbour{Name: "shop", Labels: field.KeyValues{{Key: istioRev, Value: rev}}}}
	}
	for _, c := range []struct {
		name    string
		label   string
		objects []any
		want    certain.Certainty
	}{
		{"it has none", "", []any{namespace("canary")}, always},
		{"it is that of the pods", "canary", []any{namespace("canary")}, always},
		{"it may be what the tag of the pods means", "canary", []any{namespace("prod")}, maybe},
		{"nothing says which is the pods'", "canary", nil, maybe},
		{"it is what the tag means", "1-31", []any{namespace("prod"), hook("1-31", "prod"), hook("1-30", "old")}, always},
		{"it is not what the tag means", "1-30", []any{namespace("prod"), hook("1-31", "prod"), hook("1-30", "old")}, never},
		{"it is the tag, which is no revision", "prod", []any{namespace("prod"), hook("1-31", "prod")}, never},
	} {
		var o Neighbour
		if c.label != "" {
			o.Labels = field.KeyValues{{Key: istioRev, Value: c.label}}
		}
		s := New(given{objects: c.objects})
		pods := &Pods{Namespace: "shop", Kind: "Deployment", Labels: field.KeyValues{{Key: "app", Value: "web"}}}
		var asked Asked
		s = s.Note(&asked)
		if got := readBy(&s, pods, &o); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		isNoted := slices.Contains(asked.Namespace.Labels, istioRev) && asked.Kinds&istioHooks.Set() != 0
		if isNoted != (c.label != "") {
			t.Errorf("%s: it asked for %q", c.name, asked.Namespace.Labels)
		}
		policy := PeerAuthentication{Neighbour: o, MTLS: PeerMTLS{MTLSStrict}}
		policy.Namespace = "shop"
		s = New(given{objects: append(c.objects, &policy)})
		modes := s.MTLS("istio-system", pods, 8080, MTLSPermissive)
		if want := map[certain.Certainty]int{always: 1, maybe: 2, never: 1}[c.want]; len(modes) != want || (modes[0].Mode == MTLSStrict) != (c.want == always) {
			t.Errorf("%s: %v", c.name, modes)
		}
	}
}

// A place that is not known leaves no gap in the words.
func TestAnObjectIsNamedWithItsPlaceIfThatIsKnown(t *testing.T) {
	o := named("shop", "web")
	for _, c := range []struct {
		at   fmt.Stringer
		want string
	}{{nil, "Service shop/web"}, {place(""), "Service shop/web"}, {place("a.yaml:3"), "Service shop/web at a.yaml:3"}} {
		o.At = c.at
		if got := o.words("Service"); got != c.want {
			t.Errorf("%v: %q, want %q", c.at, got, c.want)
		}
	}
}

type place string

func (p place) String() string { return string(p) }
