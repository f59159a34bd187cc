package resources

import (
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
