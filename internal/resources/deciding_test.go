package resources

import (
	"iter"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// However the rest changes, a pod in which the deciding fields stay gets the same resources for probe-proxy.
func TestTheDecidingFieldsDecide(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 52))
	side := func(amounts ...string) (m field.Map) {
		for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
			if amount := amounts[rnd.IntN(len(amounts))]; amount != "" {
				m = append(m, field.Entry{Key: name, Value: amount})
			}
		}
		return m
	}
	draw := func(one func() bool) (m field.Map) {
		if one() {
			return nil
		}
		if r := side("", "0", "1", "2"); rnd.IntN(2) == 0 {
			m = append(m, field.Entry{Key: "requests", Value: r})
		}
		if r := side("", "", "0", "1", "2"); rnd.IntN(2) == 0 {
			m = append(m, field.Entry{Key: "limits", Value: r})
		}
		return m
	}
	spec := field.NewPath("spec")
	at := func(i int) field.Path { return spec.Item("containers", i).Key("resources") }
	const most = 3
	pod0 := func() map[string]field.Map {
		all := map[string]field.Map{spec.Key("resources").String(): draw(func() bool { return rnd.IntN(4) > 0 })}
		for i := range most {
			all[at(i).String()] = draw(func() bool { return rnd.IntN(4) == 0 })
		}
		return all
	}
	alone := 0
	for range 20000 {
		n := 1 + rnd.IntN(most)
		var containers iter.Seq2[pod.Ref, *pod.Container] = func(yield func(pod.Ref, *pod.Container) bool) {
			for i := range n {
				if !yield(pod.Ref{Index: i}, new(pod.Container)) {
					return
				}
			}
		}
		was, is := pod0(), pod0()
		source := func(all map[string]field.Map) Source { return func(p field.Path) field.Map { return all[p.String()] } }
		if n == 1 && rnd.IntN(4) == 0 { // what is no quantity; in a pod of several it is not known whether they decide
			was[at(0).String()] = field.Map{{Key: "limits", Value: field.Map{{Key: "cpu", Value: "x"}, {Key: "memory", Value: "1"}}}}
		}
		var ranges []LimitRange
		for range max(0, rnd.IntN(4)-2) {
			item := field.Map{{Key: "type", Value: "Container"}, {Key: "default", Value: side("", "1", "2")}, {Key: "defaultRequest", Value: side("", "1")}}
			ranges = append(ranges, NewLimitRange("x", field.Map{{Key: "limits", Value: field.List{item}}}))
		}
		fields := Deciding(spec, containers, ranges, source(was))
		for _, f := range fields {
			for key := range was {
				switch p := f.String(); {
				case p == key:
					is[key] = was[key]
				case len(p) > len(key) && p[:len(key)+1] == key+".":
					sideKey, name := f[len(f)-2].Key, f[len(f)-1].Key
					v, there := field.As[field.Map](was[key], sideKey).Get(name)
					if !there {
						v = nil
					}
					is[key] = field.Merge(is[key], field.Map{{Key: sideKey, Value: field.Map{{Key: name, Value: v}}}})
				}
			}
		}
		if len(fields) < n+1 || n == 1 && len(fields) == 3 {
			alone++
		}
		never := func(*pod.Container) bool { return false }
		before, after := Read(spec, containers, ranges, never, source(was)), Read(spec, containers, ranges, never, source(is))
		for _, configured := range []bool{false, true} {
			if b, a := before.Defaults(1, configured), after.Defaults(1, configured); !reflect.DeepEqual(a, b) {
				t.Fatalf("of %d containers %s decide\n%v: %v\n%v: %v", n, fields, was, b, is, a)
			}
		}
	}
	if alone < 1000 {
		t.Errorf("in %d pods a container decides alone", alone)
	}
}
