package transformer_test

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestTheFactsAreThoseByWhichAPodIsJudged(t *testing.T) {
	o := transformer.Defaults()
	o.ProbeProxy.Name = "prober"
	f := transformer.PolicyFacts(o)
	if names := f["ProbeProxyNames"]; !reflect.DeepEqual(names, []string{"probe-proxy", "prober"}) {
		t.Errorf("names %q", names)
	}
	yes, no := f["True"].([]string), f["False"].([]string)
	for _, v := range []string{"", "0", "1", "f", "F", "n", "no", "false", "False", "FALSE", "fALSE", "1", "t", "T", "true", "True", "TRUE", "tRUE", "off"} {
		on, err := strconv.ParseBool(v)
		if want := err == nil && on; slices.Contains(yes, v) != want {
			t.Errorf("%q says yes: %t", v, want)
		}
		if want := err == nil && !on; slices.Contains(no, v) != want {
			t.Errorf("%q says no: %t", v, want)
		}
	}
	pattern := regexp.MustCompile(f["PathPattern"].(string))
	parts := []string{"/", "/", "app-health", "app-lifecycle", "web", "livez", "readyz", "startupz", "prestopz", "poststartz", "x", ""}
	g, found := rand.New(rand.NewPCG(1, 1)), 0
	for range 400_000 {
		var path strings.Builder
		for range 6 {
			path.WriteString(parts[g.IntN(len(parts))])
		}
		_, _, want := prober.ParseKey(path.String())
		if got := pattern.MatchString(path.String()); got != want {
			t.Errorf("%q is a path of rewritten probes: %t, the pattern says %t", path.String(), want, got)
		}
		if want {
			found++
		}
		if want && !strings.HasPrefix(path.String(), f["PathStart"].(string)) {
			t.Errorf("%q does not begin with %q", path.String(), f["PathStart"])
		}
	}
	if found < 20 {
		t.Errorf("only %d paths were of rewritten probes", found)
	}
}
