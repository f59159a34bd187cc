package resources

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// The API server makes the default limit the maximum if there is none, and the default request the default limit,
// or else the minimum (SetDefaults_LimitRangeItem in pkg/apis/core/v1/defaults.go).
func TestALimitRangeGetsItsDefaults(t *testing.T) {
	amount := func(s string) field.Map { return field.Map{{Key: "cpu", Value: s}} }
	set := func(q quantity) string {
		if !q.set {
			return ""
		}
		return q.String()
	}
	for _, c := range []struct{ low, high, byDefault, request, wantRequest, wantLimit string }{
		{"", "", "", "", "", ""},
		{"1", "", "", "", "1", ""},
		{"", "4", "", "", "4", "4"},
		{"1", "4", "", "", "4", "4"},
		{"1", "4", "3", "", "3", "3"},
		{"1", "4", "3", "2", "2", "3"},
		{"1", "", "", "2", "2", ""},
		{"1", "", "3", "", "3", "3"},
	} {
		item := field.Map{{Key: "type", Value: "Container"}}
		for _, x := range []struct{ key, amount string }{{"min", c.low}, {"max", c.high}, {"default", c.byDefault}, {"defaultRequest", c.request}} {
			if x.amount != "" {
				item = append(item, field.Entry{Key: x.key, Value: amount(x.amount)})
			}
		}
		l := NewLimitRange("x", field.Map{{Key: "limits", Value: field.List{item}}})
		r := Filled(nil, []LimitRange{l})
		if request, limit := set(r.requests[0]), set(r.limits[0]); request != c.wantRequest || limit != c.wantLimit {
			t.Errorf("%+v: a request of %q and a limit of %q", c, request, limit)
		}
		if l.HasDefaults() != (c.wantRequest != "") {
			t.Errorf("%+v: has defaults: %t", c, l.HasDefaults())
		}
	}
}

// What a quota limits every container must have, unless the pod has resources as a whole.
func TestAQuotaDemandsWhatEveryOtherContainerHas(t *testing.T) {
	full, empty := amounts("1", "1Gi", "1", "1Gi"), field.Map(nil)
	for _, c := range []struct {
		name      string
		hard      string
		own       field.Map
		apps      []field.Map
		ours      field.Map
		isRefused bool
	}{
		{"ours has none", "limits.cpu", nil, []field.Map{full, full}, amounts("1", "1Gi", "", "1Gi"), true},
		{"ours has it", "limits.cpu", nil, []field.Map{full, full}, amounts("", "", "1", ""), false},
		{"one of the others has none", "limits.cpu", nil, []field.Map{full, empty}, empty, false},
		{"the first of the others has none", "limits.cpu", nil, []field.Map{empty, full}, empty, false},
		{"the request is that of the limit", "requests.memory", nil, []field.Map{full}, amounts("", "", "1", "1Gi"), false},
		{"ours has no request", "requests.memory", nil, []field.Map{full}, amounts("1", "", "1", ""), true},
		{"ours has no request, by its older name", "memory", nil, []field.Map{full}, amounts("1", "", "1", ""), true},
		{"what is limited is nothing of a container", "pods", nil, []field.Map{full}, empty, false},
		{"the pod has them as a whole", "limits.cpu", full, []field.Map{full, full}, amounts("1", "1Gi", "", "1Gi"), false},
	} {
		spec := field.NewPath("spec")
		all := map[string]field.Map{spec.Key("resources").String(): c.own}
		containers := func(yield func(pod.Ref, *pod.Container) bool) {
			for i := range c.apps {
				all[spec.Item("containers", i).Key("resources").String()] = c.apps[i]
				if !yield(pod.Ref{Index: i}, new(pod.Container)) {
					return
				}
			}
		}
		p := Read(spec, containers, nil, func(*pod.Container) bool { return false }, func(path field.Path) field.Map { return all[path.String()] })
		quota := ResourceQuota{Name: "x", Hard: field.Map{{Key: c.hard, Value: "100"}}}
		if got := p.Refusal(Limits{Quotas: []ResourceQuota{quota}}, Filled(c.ours, nil), true); (got != "") != c.isRefused {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// fitted lowers the requests that are above their limits.
func fitted(resources field.Map) field.Map {
	requests, limits := resources[0].Value.(field.Map), resources[1].Value.(field.Map)
	for i, e := range requests {
		if high := field.As[string](limits, e.Key); high != "" && e.Value.(string) > high {
			requests[i].Value = high
		}
	}
	return resources
}

// podOf returns a pod of containers with resources and of its own ones; the first are native sidecars.
func podOf(own field.Map, sidecars int, containers ...field.Map) *Pod {
	spec := field.NewPath("spec")
	all := map[string]field.Map{spec.Key("resources").String(): own}
	each := func(yield func(pod.Ref, *pod.Container) bool) {
		for i, r := range containers {
			at, c := pod.Ref{Init: i < sidecars, Index: i}, new(pod.Container)
			if at.Init {
				c.RestartPolicy = "Always"
			}
			all[spec.Item(at.List(), i).Key("resources").String()] = r
			if !yield(at, c) {
				return
			}
		}
	}
	return Read(spec, each, nil, func(*pod.Container) bool { return false }, func(path field.Path) field.Map { return all[path.String()] })
}

// The API server refuses a pod by a LimitRange if a container or the sum of all has less than the least, more than the
// most, or a limit of too many times the request; nothing is less than the least, and no limit more than the most
// (minConstraint, maxConstraint and limitRequestRatioConstraint in plugin/pkg/admission/limitranger). What it would
// refuse anyway is not said of probe-proxy.
func TestALimitRangeRefusesWhatTheAPIServerRefuses(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 3))
	draw := func() string { return []string{"", "", "0", "1", "2", "3"}[rnd.IntN(6)] }
	amountsOf := func() field.Map { return fitted(amounts(draw(), draw(), draw(), draw())) }
	violates := func(item field.Map, r Requirements) bool {
		for i, name := range computeResources {
			request, limit := r.requests[i], r.limits[i]
			get := func(key string) (int64, bool) {
				v, set := field.As[field.Map](item, key).Get(name)
				q, _ := readQuantity(v)
				return q.milli, set
			}
			low, hasLow := get("min")
			high, hasHigh := get("max")
			ratio, hasRatio := get("maxLimitRequestRatio")
			switch {
			case hasLow && (!request.set || request.milli < low || limit.set && limit.milli < low):
				return true
			case hasHigh && (!limit.set || limit.milli > high || request.set && request.milli > high):
				return true
			case hasRatio && (!request.set || request.milli == 0 || !limit.set || limit.milli == 0 || limit.milli*1000 > request.milli*ratio):
				return true
			}
		}
		return false
	}
	refused, accepted, fitting := 0, 0, 0
	for range 5000 {
		var list field.List
		var items []field.Map
		for range 1 + rnd.IntN(2) {
			item := field.Map{{Key: "type", Value: []string{"Container", "Pod", "PersistentVolumeClaim", "Other"}[rnd.IntN(4)]}}
			side := []string{"min", "max", "maxLimitRequestRatio"}[rnd.IntN(3)]
			item = append(item, field.Entry{Key: side, Value: amounts(draw(), draw(), "", "")[0].Value})
			items, list = append(items, item), append(list, item)
		}
		limits := Limits{Ranges: []LimitRange{NewLimitRange("x", field.Map{{Key: "limits", Value: list}})}}
		native := rnd.IntN(2) == 0
		p := podOf(nil, rnd.IntN(2), amountsOf(), amountsOf())
		// Without the defaults of the LimitRange, which are those of another test.
		ours := Filled(amountsOf(), nil)
		want := false
		for _, item := range items {
			switch field.As[string](item, "type") {
			case "Container":
				want = want || violates(item, ours)
			case "Pod":
				want = want || violates(item, p.With(ours, native).sum()) && !violates(item, p.sum())
			}
		}
		if why := p.Refusal(limits, ours, native); (why != "") != want {
			t.Fatalf("%v refuses %v in a pod of %v (native: %t): %q, want %t", items, ours, p.containers, native, why, want)
		}
		if want {
			refused++
		} else {
			accepted++
		}
		// What is proposed is accepted, and fits every container's limits.
		text := p.Fitting(limits, native)
		if text == "" {
			continue
		}
		fitting++
		var cpu, memory string
		if cpu, memory = fittingOf(text); text != "probeProxy: {resources: {requests: {cpu: "+cpu+", memory: "+memory+"}, limits: {cpu: "+cpu+", memory: "+memory+"}}}" {
			t.Fatalf("%v: proposed are %s", items, text)
		}
		if why := p.Refusal(limits, Filled(amounts(cpu, memory, cpu, memory), nil), native); why != "" {
			t.Fatalf("%v: proposed are %s, which is refused: %s", items, text, why)
		}
		free := !slices.ContainsFunc(items, func(m field.Map) bool { return field.As[string](m, "type") == "Container" })
		if free && (cpu != "100m" || memory != "32Mi") {
			t.Fatalf("%v: proposed are %s", items, text)
		}
	}
	if refused < 700 || accepted < 700 || fitting < 700 {
		t.Errorf("%d are refused, %d accepted, and for %d something is proposed", refused, accepted, fitting)
	}
}

// fittingOf returns CPU and memory of the requests that are proposed.
func fittingOf(text string) (cpu, memory string) {
	_, text, _ = strings.Cut(text, "{cpu: ")
	cpu, text, _ = strings.Cut(text, ", memory: ")
	memory, _, _ = strings.Cut(text, "}")
	return cpu, memory
}

// The class is that of ComputePodQOS in Kubernetes' component-helpers, for every pod of two containers.
func TestTheClassIsThatOfTheKubelet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 3))
	draw := func() string { return []string{"", "", "0", "1", "1", "2"}[rnd.IntN(6)] }
	count := map[Class]int{}
	for range 5000 {
		containers := []field.Map{fitted(amounts(draw(), draw(), draw(), draw()))}
		if rnd.IntN(2) == 0 {
			containers = append(containers, fitted(amounts(draw(), draw(), draw(), draw())))
		}
		p := podOf(nil, rnd.IntN(2), containers...)
		requests, limits, isGuaranteed := map[string]int64{}, map[string]int64{}, true
		for _, c := range p.containers {
			for i, name := range computeResources {
				requests[name] += c.requests[i].milli
				limits[name] += c.limits[i].milli
				isGuaranteed = isGuaranteed && c.limits[i].milli > 0
			}
		}
		want := Burstable
		switch cpu, memory := computeResources[0], computeResources[1]; {
		case requests[cpu]+requests[memory]+limits[cpu]+limits[memory] == 0:
			want = BestEffort
		case isGuaranteed && requests[cpu] == limits[cpu] && requests[memory] == limits[memory]:
			want = Guaranteed
		}
		if got := p.Class(); got != want {
			t.Fatalf("%v is %s, want %s", containers, got, want)
		}
		count[want]++
		// The resources of probe-proxy keep it.
		for _, native := range []bool{true, false} {
			with := p.With(Filled(p.Defaults(1, false), nil), native)
			if got := with.Class(); got != want {
				t.Fatalf("%v is %s, and with probe-proxy %s", containers, want, got)
			}
			if p.limitless(0) != with.limitless(0) && want != BestEffort {
				t.Fatalf("%v, with probe-proxy, may have all CPU: %t", containers, with.limitless(0))
			}
		}
	}
	for _, class := range []Class{Guaranteed, Burstable, BestEffort} {
		if count[class] < 25 {
			t.Errorf("%d pods are %s", count[class], class)
		}
	}
}

// What a pod needs is that of its busiest moment, its own resources if it has them, and never less than nothing.
func TestWhatALimitRangeIsComparedWith(t *testing.T) {
	of := func(kind, side, cpu, memory string) Limits {
		item := field.Map{{Key: "type", Value: kind}, {Key: side, Value: amounts(cpu, memory, "", "")[0].Value}}
		return Limits{Ranges: []LimitRange{NewLimitRange("x", field.Map{{Key: "limits", Value: field.List{item}}})}}
	}
	small, spec := Filled(amounts("10m", "16Mi", "100m", "32Mi"), nil), field.NewPath("spec")
	plain := func(init, app field.Map) *Pod { // with an init container that is no sidecar
		each := func(yield func(pod.Ref, *pod.Container) bool) {
			_ = yield(pod.Ref{Init: true}, new(pod.Container)) && yield(pod.Ref{}, new(pod.Container))
		}
		return Read(spec, each, nil, func(*pod.Container) bool { return false }, func(p field.Path) field.Map {
			return map[string]field.Map{"spec.initContainers[0].resources": init, "spec.containers[0].resources": app}[p.String()]
		})
	}
	early := plain(amounts("", "", "2", "2Gi"), amounts("", "", "1", "1Gi"))
	huge := podOf(nil, 0, amounts("", "", "", "4611686018427387"), amounts("", "", "", "4611686018427387"))
	for _, c := range []struct {
		name          string
		pod           *Pod
		limits        Limits
		native, plain bool // whether it is refused with a native sidecar, and with an ordinary container
	}{
		{"an init container needs the most, and a native sidecar is there already", early, of("Pod", "max", "2", "2Gi"), true, false},
		{"the containers need the most", podOf(nil, 0, amounts("", "", "2", "2Gi")), of("Pod", "max", "2", "2Gi"), true, true},
		{"the pod has its own", podOf(amounts("2", "2Gi", "2", "2Gi"), 0, amounts("1", "1Gi", "2", "2Gi")), of("Pod", "max", "2", "2Gi"), false, false},
		{"the pod's own is too little for one more", podOf(amounts("1", "1Gi", "2", "2Gi"), 0, amounts("1", "1Gi", "1", "1Gi")), Limits{}, true, true},
		{"the pod's own was too little before", podOf(amounts("1", "1Gi", "2", "2Gi"), 0, amounts("2", "2Gi", "2", "2Gi")), Limits{}, false, false},
		{"it is more than can be counted", huge, of("Pod", "max", "", "9223372036854774"), true, true},
		{"it was too much before", huge, of("Pod", "max", "1", "1"), false, false},
	} {
		for native, want := range map[bool]bool{true: c.native, false: c.plain} {
			if why := c.pod.Refusal(c.limits, small, native); (why != "") != want {
				t.Errorf("%s (native: %t): %q", c.name, native, why)
			}
		}
	}
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{Limits{}, "{cpu: 100m, memory: 32Mi}"},
		{of("Container", "max", "0", "16Mi"), "{cpu: 0, memory: 16Mi}"},
		{of("Container", "min", "200m", "16Mi"), "{cpu: 200m, memory: 32Mi}"},
		{of("Pod", "max", "1", "1Gi"), "{cpu: 100m, memory: 32Mi}"},
		{of("Pod", "min", "200m", "1Mi"), "{cpu: 100m, memory: 32Mi}"}, // the pod has it with the app's
	} {
		if got := podOf(nil, 0, amounts("", "", "200m", "1Mi")).Fitting(c.limits, true); got != "probeProxy: {resources: {requests: "+c.want+", limits: "+c.want+"}}" {
			t.Errorf("%+v: %s, want %s", c.limits, got, c.want)
		}
	}
}

// The pod's own resources with the defaults of Kubernetes 1.37 decide its class, and what another container changes.
func TestAPodsOwnResourcesHaveDefaults(t *testing.T) {
	limit := amounts("", "", "1", "1Gi")
	init := podOf(amounts("", "", "1", "1Gi"), 1, amounts("500m", "", "", ""), nil)
	small := Filled(amounts("10m", "16Mi", "", "32Mi"), nil)
	spec := field.NewPath("spec")
	each := func(yield func(pod.Ref, *pod.Container) bool) {
		_ = yield(pod.Ref{Init: true}, new(pod.Container)) && yield(pod.Ref{}, new(pod.Container))
	}
	early := Read(spec, each, nil, func(*pod.Container) bool { return false }, func(p field.Path) field.Map {
		return map[string]field.Map{"spec.resources": limit, "spec.initContainers[0].resources": amounts("500m", "", "", "")}[p.String()]
	})
	for _, c := range []struct {
		name     string
		pod      *Pod
		class    Class
		key, how string // of what one more container changes
	}{
		{"both", podOf(amounts("1", "1Gi", "1", "1Gi"), 0, nil), Guaranteed, "", ""},
		{"limits, and no container has a request", podOf(limit, 0, nil), Guaranteed, "requests.cpu", "would be 10m"},
		{"limits, and a sidecar has a request", init, Burstable, "requests.cpu", "would be 510m"},
		{"limits, and an init container has a request", early, Burstable, "requests.cpu", "would be 510m"},
		{"requests, and a container has no limit", podOf(amounts("1", "1Gi", "", ""), 0, limit, nil), Burstable, "", ""},
		{"requests below the limits of all", podOf(amounts("500m", "1Mi", "", ""), 0, limit, limit), Burstable, "limits.cpu", "would no longer be 2, but missing"},
		{"requests above the limits of all", podOf(amounts("2", "2Gi", "", ""), 0, limit), Guaranteed, "limits.cpu", "would no longer be 2, but missing"},
		{"nothing of its own", podOf(nil, 0, limit), Guaranteed, "", ""},
		{"another resource", podOf(field.Map{{Key: "limits", Value: field.Map{{Key: "hugepages-2Mi", Value: "1"}}}}, 0, limit), Guaranteed, "requests.cpu", "would be 1010m"},
	} {
		if got := c.pod.Class(); got != c.class {
			t.Errorf("%s: %s, want %s", c.name, got, c.class)
		}
		if key, how := c.pod.Changed(c.pod.With(small, true)); key != c.key || how != c.how {
			t.Errorf("%s: %q %q, want %q %q", c.name, key, how, c.key, c.how)
		}
	}
}

func TestProbeProxyGetsWhatTheReadablePodNeeds(t *testing.T) {
	bad := amounts("x", "", "", "")
	for _, c := range []struct {
		name       string
		pod        *Pod
		configured bool
		unreadable string
		want       field.Map
	}{
		{"nothing", podOf(nil, 0, nil), false, "", nil},
		{"nothing, and something is configured", podOf(nil, 0, nil), true, "", leastResources},
		{"its own, and something is configured", podOf(amounts("1", "", "", ""), 0, nil), true, "", nil},
		{"a request", podOf(nil, 0, amounts("1", "", "", "")), false, "", leastResources},
		{"no limit of memory", podOf(nil, 0, amounts("", "", "1", "")), false, "", limitedResources},
		{"no limit of CPU", podOf(nil, 0, amounts("", "", "", "1Gi")), false, "", leastResources},
		{"what is no quantity", podOf(nil, 0, bad), false, "spec.containers[0].resources.requests.cpu", leastResources},
		{"what is no quantity, in the limits", podOf(nil, 0, nil, amounts("", "", "", "1 Gi")), false, "spec.containers[1].resources.limits.memory", leastResources},
		{"what is no quantity, of its own", podOf(bad, 0, nil), false, "spec.resources.requests.cpu", leastResources},
		{"what is no quantity, in a Guaranteed pod", podOf(nil, 0, amounts("", "", "1", "1Gi"), bad), false, "spec.containers[1].resources.requests.cpu", leastResources},
	} {
		if got := c.pod.Defaults(0, c.configured); !field.Same(got, c.want) || c.pod.Unreadable.String() != c.unreadable {
			t.Errorf("%s: %v, and %q is no quantity", c.name, got, c.pod.Unreadable)
		}
	}
	// One that is filled in later counts as it is, if it has some.
	for _, r := range []field.Map{nil, amounts("1", "", "", "")} {
		each := func(yield func(pod.Ref, *pod.Container) bool) { yield(pod.Ref{}, new(pod.Container)) }
		p := Read(field.NewPath("spec"), each, nil, func(*pod.Container) bool { return true }, func(path field.Path) field.Map {
			return map[string]field.Map{"spec.containers[0].resources": r}[path.String()]
		})
		if got := len(p.containers); got != min(len(r), 1) {
			t.Errorf("%v: %d containers count", r, got)
		}
	}
}

// The defaults of LimitRanges fill in what a container lacks, those of the first before those of the next.
func TestDefaultsOnlyFillIn(t *testing.T) {
	of := func(request, limit string) LimitRange {
		item := field.Map{{Key: "type", Value: "Container"}, {Key: "defaultRequest", Value: field.Map{{Key: "cpu", Value: request}}}, {Key: "default", Value: field.Map{{Key: "cpu", Value: limit}}}}
		return NewLimitRange("x", field.Map{{Key: "limits", Value: field.List{item}}})
	}
	ranges := []LimitRange{of("2", "3"), of("4", "5")}
	for _, c := range []struct {
		given          field.Map
		request, limit string
	}{
		{nil, "2", "3"}, {amounts("1", "", "", ""), "1", "3"}, {amounts("", "", "1", ""), "1", "1"}, {amounts("1", "", "6", ""), "1", "6"}, {amounts("0", "", "", ""), "0", "3"},
	} {
		if r := Filled(c.given, ranges); r.requests[0].String() != c.request || r.limits[0].String() != c.limit {
			t.Errorf("%v: a request of %s and a limit of %s, want %s and %s", c.given, r.requests[0], r.limits[0], c.request, c.limit)
		}
	}
}
