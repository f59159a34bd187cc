package surroundings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// A random expression, as text and as a function of labels, means the same; with an unknown label it is certain only if no value
// of that changes the answer.
func TestASelectorOfCalicoMeansWhatItSays(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 9))
	seen := make(map[certain.Certainty]int)
	for range 20_000 {
		text, holds := randomSelector(rnd, 3)
		labels := map[string]string{}
		for _, key := range []string{"a", "b/c"} {
			if rnd.IntN(2) == 0 {
				labels[key] = []string{"x", "xy"}[rnd.IntN(2)]
			}
		}
		look := func(key string) (string, certain.Certainty) {
			v, set := labels[key]
			if key == "unknown" {
				return "", certain.Maybe
			}
			return v, certain.Of(set)
		}
		got := calicoSelects(text, look)
		seen[got]++
		worlds := []certain.Certainty{certain.Of(holds(labels))}
		for _, v := range []string{"x", "xy"} {
			labels["unknown"] = v
			worlds = append(worlds, certain.Of(holds(labels)))
		}
		if got != certain.Maybe && slices.ContainsFunc(worlds, func(w certain.Certainty) bool { return w != got }) ||
			got == certain.Maybe && !strings.Contains(text, "unknown") {
			t.Fatalf("%s: %d, want %v", text, got, worlds)
		}
	}
	if min(seen[certain.Always], seen[certain.Maybe], seen[certain.Never]) < 1000 {
		t.Errorf("%v", seen)
	}
}

func randomSelector(rnd *rand.Rand, depth int) (text string, holds func(map[string]string) bool) {
	key := []string{"a", "b/c", "unknown"}[rnd.IntN(3)]
	value := []string{"x", "xy", "z"}[rnd.IntN(3)]
	quoted := []string{"'" + value + "'", `"` + value + `"`}[rnd.IntN(2)]
	of := func(is func(string) bool) func(map[string]string) bool {
		return func(l map[string]string) bool { v, set := l[key]; return set && is(v) }
	}
	not := func(f func(map[string]string) bool) func(map[string]string) bool {
		return func(l map[string]string) bool { return !f(l) }
	}
	equals := of(func(v string) bool { return v == value })
	if depth > 0 && rnd.IntN(2) == 0 {
		x, isX := randomSelector(rnd, depth-1)
		y, isY := randomSelector(rnd, depth-1)
		switch rnd.IntN(3) {
		case 0:
			return fmt.Sprintf("(%s) && (%s)", x, y), func(l map[string]string) bool { return isX(l) && isY(l) }
		case 1:
			return fmt.Sprintf("(%s)||(%s)", x, y), func(l map[string]string) bool { return isX(l) || isY(l) }
		}
		return "!(" + x + " )", not(isX)
	}
	switch rnd.IntN(9) {
	case 0:
		return key + " == " + quoted, equals
	case 1:
		return key + "!=" + quoted, not(equals)
	case 2:
		return key + " in { " + quoted + ", 'q' }", equals
	case 3:
		return key + " not in {'q'," + quoted + "}", not(equals)
	case 4:
		return "has(" + key + ")", of(func(string) bool { return true })
	case 5:
		return key + " contains " + quoted, of(func(v string) bool { return strings.Contains(v, value) })
	case 6:
		return key + " starts with " + quoted, of(func(v string) bool { return strings.HasPrefix(v, value) })
	case 7:
		return key + " ends with " + quoted, of(func(v string) bool { return strings.HasSuffix(v, value) })
	}
	return " all()", func(map[string]string) bool { return true }
}

// A selector that Calico refuses is about nothing that is known, and one without end ends.
func TestASelectorThatIsNoneIsUnknown(t *testing.T) {
	look := func(string) (string, certain.Certainty) { return "x", certain.Always }
	for _, text := range []string{"a", "a ==", "a == x", "a == 'x", "a in {'x'", "a in {'x' 'y'}", "has(a", "(a == 'x'", "a == 'x')", "a == 'x' &&", "a = 'x'", "!", "&& all()", strings.Repeat("(", 1<<20), strings.Repeat("!", 1<<20)} {
		if got := calicoSelects(text, look); got != certain.Maybe {
			t.Errorf("%.20s: %d", text, got)
		}
	}
	for _, text := range []string{"", "  ", "\n"} {
		if got := calicoSelects(text, look); got != certain.Always {
			t.Errorf("%q: %d", text, got)
		}
	}
	if got := calicoSelects("global()", look); got != certain.Never {
		t.Errorf("global(): %d", got)
	}
}
