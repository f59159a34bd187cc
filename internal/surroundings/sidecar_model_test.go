package surroundings

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// What Sidecars say of a port is what holds in the clusters that may be: a Sidecar that may be about the pods is or is not, and in each
// cluster one of them counts, or none.
func TestSidecarsAreThoseOfEveryCluster(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 1))
	seen := map[string]int{}
	for range 30_000 {
		pods := &Pods{Namespace: []string{"shop", "shop", "shop", "istio-system"}[rnd.IntN(4)], Kind: "Deployment", Labels: field.KeyValues{{Key: "app", Value: "web"}}}
		all := drawnSidecars(rnd)
		redirects := rnd.IntN(2) == 0
		got := around(all...)
		in := got.Inbound("istio-system", pods, 8080, redirects)
		want := inboundOfEveryCluster(all, pods.Namespace, redirects)
		if why := want.contradicts(in); why != "" {
			t.Fatalf("%s: %+v, want %+v\nin %s, redirected %t: %+v", why, in, want, pods.Namespace, redirects, all)
		}
		for name, is := range map[string]bool{
			"always": in.Binds == certain.Always, "maybe": in.Binds == certain.Maybe, "never": in.Binds == certain.Never && len(all) > 0,
			"local": in.Local != "", "elsewhere": in.Elsewhere != "", "both": in.Local != "" && in.Elsewhere != "",
		} {
			if is {
				seen[name]++
			}
		}
	}
	for _, name := range []string{"always", "maybe", "never", "local", "elsewhere", "both"} {
		if seen[name] < 500 {
			t.Errorf("%s: only %d", name, seen[name])
		}
	}
}

// drawnSidecars returns Sidecars of which the age is known of all or of none.
func drawnSidecars(rnd *rand.Rand) (all []Sidecar) {
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	hasAges := rnd.IntN(2) == 0
	for i := range rnd.IntN(4) {
		c := Sidecar{Neighbour: named(one("shop", "shop", "istio-system", "other"), fmt.Sprint("s", i))}
		if hasAges {
			c.At = made(fmt.Sprintf("2026-11-2%dT10:00:00Z", rnd.IntN(3)))
		}
		switch rnd.IntN(6) {
		case 0, 1:
			c.WorkloadSelector = &PodLabels{field.KeyValues{{Key: "app", Value: "web"}}}
		case 2:
			c.WorkloadSelector = &PodLabels{field.KeyValues{{Key: "app", Value: "other"}}}
		case 3:
			c.WorkloadSelector = &PodLabels{field.KeyValues{{Key: "istio.io/rev", Value: "canary"}}} // which pods may get
		}
		for range rnd.IntN(4) {
			l := InboundListener{Port: ListenerPort{Number: []int{8080, 8080, 9080}[rnd.IntN(3)]}, CaptureMode: one("", "", "DEFAULT", "NONE", "IPTABLES"), Bind: one("", "", "0.0.0.0", "127.0.0.1", "::1")}
			l.Endpoint = one("", "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080", "127.0.0.1:9090", "unix:///run/app", "127.0.0.1:9080", "garbage")
			c.Ingress = append(c.Ingress, l)
		}
		all = append(all, c)
	}
	return all
}

// An inboundModel has what the Sidecars that count in some cluster say.
type inboundModel struct {
	clusters, bound   int
	locals, elsewhere []string
	speakers          []string // who says any of it
}

// inboundOfEveryCluster goes through all clusters. The rules are those of docs/rules.md and of Istio's reference: one with a selector comes before
// one of the namespace, and that before one of the root namespace; the oldest counts; one address of the loopback interface is where
// the app listens, and another port or a socket is where it does instead.
func inboundOfEveryCluster(all []Sidecar, namespace string, redirects bool) (m inboundModel) {
	for about := range 1 << len(all) { // which of those that may be about the pods are
		var counting []*Sidecar
		for rank := 0; rank < 3 && len(counting) == 0; rank++ {
			for i := range all {
				c := &all[i]
				label := "every pod"
				if c.WorkloadSelector != nil {
					label = c.WorkloadSelector.Labels[0].Value
				}
				isAbout := map[string]bool{"every pod": true, "web": true, "canary": about>>i&1 == 1}[label]
				inRank := []bool{c.Namespace == namespace && label != "every pod", c.Namespace == namespace && label == "every pod", c.Namespace == "istio-system" && label == "every pod"}[rank]
				if isAbout && inRank {
					counting = append(counting, c)
				}
			}
		}
		if len(counting) > 1 && counting[0].At != nil { // else any of them may be the oldest
			slices.SortFunc(counting, func(a, b *Sidecar) int {
				return cmp.Or(strings.Compare(string(a.At.(made)), string(b.At.(made))), strings.Compare(a.Name, b.Name))
			})
			counting = counting[:1]
		}
		if len(counting) == 0 {
			m.clusters++
		}
		for _, c := range counting {
			m.add(c, redirects)
		}
	}
	return m
}

func (m *inboundModel) add(c *Sidecar, redirects bool) {
	m.clusters++
	isBound, says := false, false
	for _, l := range c.Ingress {
		reachable := !strings.Contains(l.Bind, "127.0.0.1") && !strings.Contains(l.Bind, "::1")
		binds := map[string]bool{"NONE": true, "": !redirects, "DEFAULT": !redirects}[l.CaptureMode]
		if l.Port.Number == 8080 && binds && reachable {
			isBound = true
		}
		switch l.Endpoint {
		case "127.0.0.1:8080":
			m.locals, says = append(m.locals, "127.0.0.1"), true
		case "[::1]:8080":
			m.locals, says = append(m.locals, "::1"), true
		case "127.0.0.1:9090", "127.0.0.1:9080", "unix:///run/app":
			if l.Port.Number == 8080 {
				m.elsewhere, says = append(m.elsewhere, l.Endpoint), true
			}
		}
	}
	if isBound {
		m.bound++
	}
	if isBound || says {
		m.speakers = append(m.speakers, c.words())
	}
}

// contradicts says how an answer differs; "" if it does not.
func (m *inboundModel) contradicts(in Inbound) string {
	binds := certain.Maybe
	if m.bound == 0 {
		binds = certain.Never
	} else if m.bound == m.clusters {
		binds = certain.Always
	}
	isOne := func(got string, of []string) bool { return got == "" && len(of) == 0 || slices.Contains(of, got) }
	switch {
	case in.Binds != binds:
		return "binds"
	case !isOne(in.Local, m.locals):
		return "local"
	case !isOne(in.Elsewhere, m.elsewhere):
		return "elsewhere"
	case !isOne(in.By, m.speakers):
		return "by"
	}
	return ""
}
