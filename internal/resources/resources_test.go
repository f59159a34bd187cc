package resources

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestAQuantityIsReadAsTheAPIServerReadsIt(t *testing.T) {
	huge := largest.milli
	for _, c := range []struct {
		v    field.Value
		want int64 // -1 if it is none
	}{
		{1, 1000}, {0.5, 500}, {nil, 0}, {"0", 0}, {"1", 1000}, {"1000m", 1000}, {"+2", 2000}, {"100.5m", 101}, {".5", 500}, {"5.", 5000}, {"0.1m", 1},
		{"1n", 1}, {"1500u", 2}, {"1e3", 1000000}, {"1E3", 1000000}, {"12e-1", 1200}, {"1k", 1000000}, {"1M", 1000000000}, {"1Ki", 1024000}, {"1.5Gi", 1610612736000},
		{"1024Mi", 1 << 30 * 1000}, {"1Gi", 1 << 30 * 1000}, {"1P", 1e18}, {"9007199254740991", 9007199254740991000},
		{"", -1}, {".", -1}, {"m", -1}, {"Gi", -1}, {"-1", -1}, {"1 Gi", -1}, {"1gi", -1}, {"1KB", -1}, {"0x10", -1}, {"1_000", -1}, {"1/2", -1}, {"1e", -1}, {"1e99", huge}, {"1e999999", huge}, {"1e-999999", 1}, {"0e999", 0}, {"++1", -1},
		{"1." + strings.Repeat("0", 60), 1000}, {"1.12345678901234567Gi", 1206302541820}, {"1e18", huge}, {"1e-18", 1},
		{"100Pi", huge}, {"1Ei", huge}, {"1E", huge}, {"9223372036854775807", huge}, {"99999999999999999999", huge}, {"99999999999999999999KB", -1}, {"99999999999999999999 ", -1}, {"${CPU}", -1}, {true, -1}, {field.Map{}, -1}, {-5, -1}, {math.Inf(1), -1},
	} {
		q, ok := readQuantity(c.v)
		if ok != (c.want >= 0) || ok && (q.milli != c.want || !q.set) {
			t.Errorf("%#v is %d thousandths (%t), want %d", c.v, q.milli, ok, c.want)
		}
	}
}

// The API takes a unit without a number for 0, which its own documentation does not.
func TestAnyQuantityIsWhatTheAPIMakesOfIt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 50))
	const digits, others = "0123456789.", "+-eEKMGTPinumkh "
	quantities := 0
	for range 50000 {
		text := ""
		for range 1 + rnd.IntN(4) {
			text += string(digits[rnd.IntN(len(digits))])
		}
		for range rnd.IntN(3) {
			text += string(others[rnd.IntN(len(others))])
		}
		if rnd.IntN(4) == 0 {
			text += string(digits[rnd.IntN(len(digits))])
		}
		theirs, err := resource.ParseQuantity(text)
		number, _, _ := strings.Cut(strings.NewReplacer("e", " ", "E", " ").Replace(text), " ")
		want := err == nil && theirs.Sign() >= 0 && strings.ContainsAny(number, "0123456789")
		q, ok := readQuantity(text)
		is := q.milli == theirs.MilliValue()
		if q == largest { // of which the API does not know the thousandths
			is = theirs.CmpInt64(math.MaxInt64/1000) > 0
		}
		if ok != want || ok && !is {
			t.Fatalf("%q is %d thousandths (%t); the API says %d (%v)", text, q.milli, ok, theirs.MilliValue(), err)
		}
		if ok {
			quantities++
		}
	}
	if quantities < 10000 {
		t.Errorf("%d are quantities", quantities)
	}
}

// amounts returns the mapping of a container's resources.
func amounts(requestCPU, requestMemory, limitCPU, limitMemory string) field.Map {
	side := func(cpu, memory string) (m field.Map) {
		if cpu != "" {
			m = append(m, field.Entry{Key: "cpu", Value: cpu})
		}
		if memory != "" {
			m = append(m, field.Entry{Key: "memory", Value: memory})
		}
		return m
	}
	return field.Map{{Key: "requests", Value: side(requestCPU, requestMemory)}, {Key: "limits", Value: side(limitCPU, limitMemory)}}
}

func TestConfiguredResourcesDrawTheDefaultsAlong(t *testing.T) {
	guaranteedDefaults, burstableDefaults := amounts("100m", "32Mi", "100m", "32Mi"), amounts("10m", "16Mi", "", "32Mi")
	for name, c := range map[string]struct {
		defaults, given field.Map
		class           Class
		want            field.Map
	}{
		"a request above the default limit":   {burstableDefaults, amounts("", "48Mi", "", ""), Burstable, amounts("10m", "48Mi", "", "48Mi")},
		"a request below the default limit":   {burstableDefaults, amounts("", "24Mi", "", ""), Burstable, amounts("10m", "24Mi", "", "32Mi")},
		"a limit below the default request":   {burstableDefaults, amounts("", "", "", "8Mi"), Burstable, amounts("10m", "8Mi", "", "8Mi")},
		"a limit above the default request":   {burstableDefaults, amounts("", "", "1", ""), Burstable, field.Map{burstableDefaults[0], {Key: "limits", Value: field.Map{{Key: "memory", Value: "32Mi"}, {Key: "cpu", Value: "1"}}}}},
		"a request as large as the limit":     {burstableDefaults, amounts("", "32768Ki", "", ""), Burstable, amounts("10m", "32768Ki", "", "32Mi")},
		"both":                                {burstableDefaults, amounts("", "1Gi", "", "2Gi"), Burstable, amounts("10m", "1Gi", "", "2Gi")},
		"a request in a Guaranteed pod":       {guaranteedDefaults, amounts("20m", "", "", ""), Guaranteed, amounts("20m", "32Mi", "20m", "32Mi")},
		"a limit in a Guaranteed pod":         {guaranteedDefaults, amounts("", "", "", "64Mi"), Guaranteed, amounts("100m", "64Mi", "100m", "64Mi")},
		"a limit that is removed":             {guaranteedDefaults, field.Map{{Key: "limits", Value: field.Map{{Key: "cpu"}}}}, Guaranteed, amounts("100m", "32Mi", "", "32Mi")},
		"nothing to draw along":               {nil, amounts("", "", "1", ""), BestEffort, amounts("", "", "1", "")},
		"another resource than CPU or memory": {burstableDefaults, field.Map{{Key: "limits", Value: field.Map{{Key: "ephemeral-storage", Value: "1Gi"}}}}, Burstable, field.Map{burstableDefaults[0], {Key: "limits", Value: field.Map{{Key: "memory", Value: "32Mi"}, {Key: "ephemeral-storage", Value: "1Gi"}}}}},
	} {
		if got := Merge(c.defaults, field.Merge(nil, c.given), c.class); name != "a limit that is removed" && !reflect.DeepEqual(got, field.Merge(nil, c.want)) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
		if got := Merge(c.defaults, c.given, c.class); name == "a limit that is removed" && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// Kubernetes adds up what runs at one moment, and takes the busiest one. While an init container runs, so do the native
// sidecars before it; at the end, all sidecars and containers (AggregateContainerRequests in component-helpers).
func TestThePodNeedsWhatItsBusiestMomentNeeds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 12))
	draw := func() (q quantities) {
		for i := range q {
			if rnd.IntN(3) > 0 {
				q[i] = quantity{rnd.Int64N(50), true}
			}
		}
		return q
	}
	early := 0
	for range 5000 {
		var p Pod
		for range rnd.IntN(6) {
			isSidecar := rnd.IntN(2) == 0
			p.containers = append(p.containers, containerResources{Requirements{draw(), draw()}, true, isSidecar})
		}
		for range 1 + rnd.IntN(3) {
			p.containers = append(p.containers, containerResources{Requirements{draw(), draw()}, false, false})
		}
		got := p.sum()
		for side, of := range map[string]func(Requirements) quantities{
			"requests": func(r Requirements) quantities { return r.requests },
			"limits":   func(r Requirements) quantities { return r.limits },
		} {
			for i, name := range computeResources {
				var running, most int64
				for _, c := range p.containers {
					amount := of(c.Requirements)[i].milli
					most = max(most, running+amount)
					if !c.init || c.restarts {
						running += amount
					}
				}
				if most > running {
					early++
				}
				if is := of(got)[i].milli; is != most {
					t.Fatalf("%s of %s is %d, want %d: %+v", side, name, is, most, p.containers)
				}
			}
		}
	}
	if early < 1000 {
		t.Errorf("an init container needs the most in %d cases", early)
	}
}
