package transformer

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// What the kubelet does with each probe and hook while a pod starts, written down for each type and place.
func TestWhatWaitsForAProbeOrHookWhileThePodStarts(t *testing.T) {
	type row struct{ atStart, gates, needsStart bool }
	native := map[prober.ProbeType]row{
		prober.Readiness: {}, prober.PreStop: {}, prober.Liveness: {atStart: true},
		prober.Startup: {atStart: true, gates: true, needsStart: true}, prober.PostStart: {atStart: true, gates: true, needsStart: true},
	}
	ordinary := map[prober.ProbeType]row{
		prober.Readiness: {}, prober.PreStop: {}, prober.Liveness: {}, prober.Startup: {}, prober.PostStart: {atStart: true, gates: true},
	}
	for _, name := range prober.ProbeTypes() {
		for _, init := range []bool{true, false} {
			want := ordinary[name]
			if init {
				want = native[name]
			}
			for _, kind := range pod.HandlerKinds() {
				for _, always := range []bool{true, false} {
					c := &pod.Container{Name: "c"}
					if always {
						c.RestartPolicy = "Always"
					}
					s := &site{at: pod.Ref{Init: init}, container: c, name: name, current: &pod.Handler{}, original: &pod.Handler{}}
					if s.atStart() != want.atStart || s.gates() != want.gates || s.needsStart() != want.needsStart {
						t.Errorf("%s, init %t: at start %t, gates %t, needs it %t", name, init, s.atStart(), s.gates(), s.needsStart())
					}
					never := init && !always || name.IsHook() && kind != "httpGet"
					if got := s.neverWorks(kind); got != never {
						t.Errorf("%s %s, init %t, restarted %t: never works %t", kind, name, init, always, got)
					}
				}
			}
		}
	}
}

func TestWhereAHolderAnswers(t *testing.T) {
	app := map[string]*prober.Original{"/app-health/app/livez": {HTTPGet: &prober.HTTPGet{Port: field.Number(80)}}}
	for _, inForm := range []bool{true, false} {
		h := &holder{container: &pod.Container{Name: "p"}, listens: []int{15098, 15031}}
		if inForm {
			h.routes = prober.OSMRoutes(app)
		}
		for port := 15000; port < 16000; port++ {
			want := port == 15098 || port == 15031 || inForm && 15901 <= port && port <= 15904
			if got := h.answersOn(port); got != want {
				t.Errorf("in the form of Open Service Mesh %t, port %d: %t", inForm, port, got)
			}
		}
	}
}

func TestWhereAnAnswererListens(t *testing.T) {
	o := Defaults()
	for _, d := range serviceMeshes {
		s := &setting{opts: &o, mesh: d}
		for _, who := range []string{AnsweredByProbeProxy, AnsweredByIstioProxy, AnsweredByEnvoy, AnsweredByApp} {
			for port := 15890; port < 15910; port++ {
				a := answerer{who, 15899}
				want := port == 15899
				if d.name == "osm" && who == AnsweredByEnvoy {
					want = want || 15901 <= port && port <= 15903
				} else if d.name == "osm" && who == AnsweredByProbeProxy {
					want = want || 15901 <= port && port <= 15904
				}
				if got := s.listensOn(a, port); got != want {
					t.Errorf("%s in %s, port %d: %t", who, d.name, port, got)
				}
			}
		}
	}
}

// What a holder keeps may go if we wrote it, or if nothing else can have written it.
func TestWhatMayBeRemovedOfAHolder(t *testing.T) {
	for n := range 16 {
		h := &holder{ours: n&1 > 0, proxy: n&2 > 0}
		if n&4 > 0 {
			h.claim("/app-health/app/livez")
		}
		if n&8 > 0 {
			h.container = &pod.Container{Name: "c"}
		}
		if want := n != 8; h.isRemovable() != want {
			t.Errorf("%+v: %t", h, h.isRemovable())
		}
	}
}

// A kubelet restarts a container after the probe has failed as often as it may, beginning after the delay.
func TestHowLongTheKubeletWaitsForAProbe(t *testing.T) {
	dials := &pod.Probe{Handler: pod.Handler{HTTPGet: &pod.HTTPGet{Port: field.Number(80)}}}
	exec := &pod.Probe{Handler: pod.Handler{Exec: &pod.Exec{Command: []string{"x"}}}}
	for _, c := range []struct {
		name    prober.ProbeType
		startup *pod.Probe
		source  field.Map
		want    int
	}{
		{prober.Liveness, nil, nil, 20},
		{prober.Startup, dials, nil, 20},
		{prober.Startup, dials, field.Map{{Key: "initialDelaySeconds", Value: 7}}, 27},
		{prober.Liveness, nil, field.Map{{Key: "initialDelaySeconds", Value: 5}, {Key: "failureThreshold", Value: 2}, {Key: "periodSeconds", Value: 3}}, 8},
		{prober.Liveness, nil, field.Map{{Key: "failureThreshold", Value: 1}, {Key: "periodSeconds", Value: 100}}, 0},
		{prober.Liveness, nil, field.Map{{Key: "failureThreshold", Value: 0}, {Key: "periodSeconds", Value: 0}}, 20},
		{prober.Liveness, exec, nil, 20},
		{prober.Liveness, dials, nil, math.MaxInt},
		{prober.Readiness, nil, nil, math.MaxInt},
		{prober.PostStart, nil, nil, math.MaxInt},
		{prober.PreStop, nil, nil, math.MaxInt},
	} {
		s := &site{name: c.name, container: &pod.Container{StartupProbe: c.startup}, source: c.source}
		if got := (&template{in: new(Input)}).patience(s); got != c.want {
			t.Errorf("%s %v: %d, want %d", c.name, c.source, got, c.want)
		}
	}
}

func TestWhetherTheOptionsDeclareANamespaceInjected(t *testing.T) {
	const always, maybe, never = certain.Always, certain.Maybe, certain.Never
	for _, c := range []struct {
		patterns  []string
		namespace string
		want      certain.Certainty
	}{
		{nil, "shop", maybe}, {nil, "", maybe}, {[]string{}, "shop", never}, {[]string{}, "", never}, {[]string{}, "${NS}", never},
		{[]string{"*"}, "shop", always}, {[]string{"*"}, "", always}, {[]string{"a", "*"}, "${NS}", always},
		{[]string{"shop"}, "shop", always}, {[]string{"a", "shop"}, "shop", always}, {[]string{"shop", "a"}, "shop", always}, {[]string{"shop"}, "shop-2", never}, {[]string{"shop"}, "", maybe}, {[]string{"shop"}, "${NS}", maybe},
		{[]string{"sh*"}, "shop", always}, {[]string{"sh?p"}, "shop", always}, {[]string{"sh?"}, "shop", never}, {[]string{"s*x"}, "shop", never}, {[]string{"**"}, "", maybe},
	} {
		if got := (Istio{InjectedNamespaces: c.patterns}).injects(c.namespace); got != c.want {
			t.Errorf("%q, %q: %v, want %v", c.patterns, c.namespace, got, c.want)
		}
	}
}

// A list of ports is compared with a plain reading of it.
func TestAnyListOfPortsIsReadAsItIsWritten(t *testing.T) {
	items := []string{"80", " 80", "80 ", "8080", "8000-8090", " 79-81 ", "81-79", "0", "0-90", "65535", "65536", "80-65536", "80-", "-80", "x", "", "  ", "08", "80-80", "1-1"}
	g := rand.New(rand.NewPCG(1, 3))
	for range 20_000 {
		l := portList{key: "k", ranges: g.IntN(2) == 0, full: g.IntN(2) == 0}
		var list []string
		for range g.IntN(4) {
			list = append(list, items[g.IntN(len(items))])
		}
		text := strings.Join(list, ",")
		has := func(port int) bool { // of an item that is a port, or a range where these are allowed
			return slices.ContainsFunc(list, func(item string) bool {
				low, high, ok := plainRange(item, l.ranges)
				return ok && low <= port && port <= high
			})
		}
		entries := field.KeyValues{{Key: "a", Value: "80"}, {Key: "k", Value: text}}
		annotations := entries.Note(nil)
		for _, port := range []int{0, 1, 8, 79, 80, 81, 8045, 65535, 65536} {
			if got := l.has(annotations, port); got != has(port) {
				t.Fatalf("%+v of %q has %d: %t", l, text, port, got)
			}
		}
		isBad := func(item string) bool {
			_, _, ok := plainRange(item, l.ranges)
			return !ok && (l.full || strings.TrimSpace(item) != "")
		}
		all := list
		if len(all) == 0 {
			all = []string{""}
		}
		i := slices.IndexFunc(all, isBad)
		if item, bad := l.badItem(annotations); bad != (i >= 0) || bad && item != all[i] {
			t.Fatalf("%+v of %q: the bad item is %q, %t", l, text, item, bad)
		}
		// What is added is there, nothing else goes, and what is taken out again leaves what was there.
		with := l.with(annotations, 9)
		if !l.has(with, 9) || l.has(annotations, 9) && with.Get("k") != text || with.Get("a") != "80" || annotations.Get("k") != text {
			t.Fatalf("%+v of %q with 9: %q", l, text, with.Unnoted())
		}
		for _, recorded := range []field.KeyValues{entries, nil} {
			back := l.without(with, recorded, 9).Get("k")
			if back != text && (recorded != nil || strings.TrimSpace(strings.TrimRight(text, ", ")) != strings.TrimSpace(strings.TrimRight(back, ", "))) {
				t.Fatalf("%+v of %q: taking 9 out of %q leaves %q", l, text, with.Get("k"), back)
			}
		}
		if got := l.without(annotations.With("k", text+",9"), field.KeyValues{{Key: "k", Value: "other"}}, 9).Get("k"); got != text && text != "" {
			t.Fatalf("%+v: another's record makes %q of %q", l, got, text+",9")
		}
	}
}

// plainRange returns the ports of an item of a list.
func plainRange(item string, ranges bool) (low, high int, ok bool) {
	parts := strings.Split(strings.TrimSpace(item), "-")
	if len(parts) > 2 || len(parts) == 2 && !ranges {
		return 0, 0, false
	}
	var numbers []int
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return 0, 0, false
		}
		numbers = append(numbers, n)
	}
	low, high = numbers[0], numbers[len(numbers)-1]
	return low, high, low <= high
}

// The edits of a difference give what is wanted, whatever was there. Only what the API server fills in stays.
func TestAnyDifferenceBecomesWhatIsWanted(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 4))
	var value func(depth int) field.Value
	mapping := func(depth int) field.Map {
		m := field.Map{}
		for _, key := range []string{"a", "b", "c", "timeoutSeconds", "image"} {
			if g.IntN(2) == 0 {
				m = append(m, field.Entry{Key: key, Value: value(depth - 1)})
			}
		}
		g.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
		return m
	}
	value = func(depth int) field.Value {
		switch n := g.IntN(6); {
		case n == 0 || depth == 0:
			return []field.Value{1, 2, "x", "y", true}[g.IntN(5)] // to a patch null is nothing
		case n == 1:
			l := field.List{}
			for range g.IntN(3) {
				l = append(l, value(depth-1))
			}
			return l
		}
		return mapping(depth)
	}
	for range 5000 {
		have, want := mapping(3), mapping(3)
		before := fmt.Sprint(have, want)
		edits := diff(field.NewPath("c"), have, want, nil)
		after, err := jsonpatch.Edited(field.Map{{Key: "c", Value: have}}, edits)
		if err != nil {
			t.Fatalf("%v of %v to %v: %v", edits, have, want, err)
		}
		got, _ := field.At(after, field.NewPath("c"))
		if !field.Equal(withoutFilledIn(got, want), want) {
			t.Fatalf("%#v to %#v: %v gives %#v", have, want, edits, got)
		}
		if after := fmt.Sprint(have, want); after != before {
			t.Fatalf("%s was changed to %s", before, after)
		}
		if len(diff(field.NewPath("c"), got, want, nil)) > 0 {
			t.Fatalf("%v and %v still differ", got, want)
		}
	}
}

// withoutFilledIn returns a value without the entries of the API server's that another does not have.
func withoutFilledIn(got, want field.Value) field.Value {
	switch g := got.(type) {
	case field.Map:
		w, isMap := want.(field.Map)
		if !isMap {
			return got
		}
		var out field.Map
		for _, e := range g {
			v, has := w.Get(e.Key)
			if !has && e.Key == "timeoutSeconds" && e.Value == 1 {
				continue
			}
			e.Value = withoutFilledIn(e.Value, v)
			out = append(out, e)
		}
		if out == nil {
			return field.Map{}
		}
		return out
	case field.List:
		w, _ := want.(field.List)
		if len(w) != len(g) {
			return got
		}
		out := field.List{}
		for i := range g {
			out = append(out, withoutFilledIn(g[i], w[i]))
		}
		return out
	}
	return got
}

func TestEnvVarsOfBothListsAreMergedInOrder(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 5))
	for range 2000 {
		list := func(names ...string) (l field.List) {
			for _, name := range names {
				if g.IntN(2) == 0 {
					l = append(l, field.Map{{Key: "name", Value: name}, {Key: "value", Value: strconv.Itoa(g.IntN(100))}})
				}
			}
			return l
		}
		base, changes := list("A", "B", "C"), list("D", "C", "A", "E")
		before := fmt.Sprint(base)
		var want []string
		find := func(l field.List, name string) string {
			for _, v := range l {
				if m := v.(field.Map); field.As[string](m, "name") == name {
					return name + "=" + field.As[string](m, "value")
				}
			}
			return ""
		}
		for _, name := range []string{"A", "B", "C"} {
			if find(base, name) != "" {
				want = append(want, cmp.Or(find(changes, name), find(base, name)))
			}
		}
		for _, name := range []string{"D", "C", "A", "E"} {
			if find(changes, name) != "" && find(base, name) == "" {
				want = append(want, find(changes, name))
			}
		}
		var got []string
		for _, v := range mergeEnv(base, changes) {
			got = append(got, field.As[string](v.(field.Map), "name")+"="+field.As[string](v.(field.Map), "value"))
		}
		if !slices.Equal(got, want) || fmt.Sprint(base) != before {
			t.Fatalf("%v with %v: %v, want %v", before, changes, got, want)
		}
	}
}

// A record keeps what was added to it, and neither encoding nor a copy changes another.
func TestARecordIsNobodyElses(t *testing.T) {
	r := Record{{Key: RecordTexts, Value: field.Map{{Key: "t", Value: "1"}}}, {Key: recordHandlers, Value: field.Map{{Key: "h", Value: field.Map{}}}}, {Key: "probe", Value: field.Map{}}}
	before := fmt.Sprint(r)
	if got, want := r.Encode(), `{"probe":{},"handlers":{"h":{}},"texts":{"t":"1"}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := slices.Clone(r)
	other.Add(RecordTexts, field.Entry{Key: "u", Value: "2"})
	other.Add(RecordEmpty)
	if fmt.Sprint(r) != before {
		t.Errorf("%v, was %v", r, before)
	}
	if got := other.Values(RecordTexts); fmt.Sprint(got) != "[{t 1} {u 2}]" || len(other) != len(r) {
		t.Errorf("%v", other)
	}
	other.Set(RecordTexts, field.Map{})
	other.Set(RecordEmpty, field.Map{{Key: "env", Value: nil}})
	if len(other.Section(RecordTexts)) != 0 || len(other) != len(r)+1 || other[len(other)-1].Key != RecordEmpty {
		t.Errorf("%v", other)
	}
	if (Record{}).Encode() != "" || Record(nil).Encode() != "" {
		t.Error("nothing is encoded")
	}
	// A list or mapping that was empty becomes so again; one that a record says to have had something does not.
	for _, c := range []struct {
		noted field.Value
		op    field.Op
	}{{field.Map{}, field.Set}, {field.List{}, field.Set}, {nil, field.Set}, {field.List{1}, field.Delete}, {field.Map{{Key: "a"}}, field.Delete}, {"", field.Delete}, {0, field.Delete}} {
		r := Record{{Key: RecordEmpty, Value: field.Map{{Key: "env", Value: c.noted}}}}
		if e := r.Emptied(field.NewPath("spec", "env")); e.Op != c.op {
			t.Errorf("%v: %v", c.noted, e)
		}
		if e := r.Emptied(field.NewPath("env", "other")); e.Op != field.Delete {
			t.Errorf("another field: %v", e)
		}
	}
}

// A plan is made again until its edits need no other texts, and the last one counts.
func TestAPlanIsMadeAgainForItsTexts(t *testing.T) {
	for last := range 4 {
		calls := 0
		plan := func(texts []field.WrittenText) Plan {
			calls++
			if len(texts) != calls-1 {
				t.Errorf("call %d has %d texts", calls, len(texts))
			}
			return Plan{Known: strconv.Itoa(len(texts))}
		}
		p := WithTexts(plan, func([]field.Edit) []field.WrittenText { return make([]field.WrittenText, min(calls, last)) })
		if calls != last+1 || p.Known != strconv.Itoa(last) {
			t.Errorf("%d texts: %d plans, the last one with %s", last, calls, p.Known)
		}
	}
}

func TestWhereAProbeFails(t *testing.T) {
	for _, c := range []struct {
		outcome   world.Outcome
		why, want string
	}{
		{world.Fails, whyNoCertificate, "under strict mTLS"}, {world.Fails, whyNoCertificate + " (PeerAuthentication a)", "under strict mTLS"},
		{world.Fails, "Consul rewrites no grpc probes, and " + whyNoCertificate, "in the mesh"}, {world.Fails, whyAccepted, "in the mesh"}, {world.FalselyPasses, whyNoCertificate, "in the mesh"},
	} {
		if got := (&Verdict{StrictTLS: c.outcome, Why: c.why}).Where(); got != c.want {
			t.Errorf("%s, since %s: %s", c.outcome, c.why, got)
		}
	}
}
