package surroundings

import (
	"reflect"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

func TestTheLimitsAreThoseOfRangesAndQuotas(t *testing.T) {
	hard := field.Map{{Key: "pods", Value: 1}}
	s := New(given{objects: []any{read(LimitRanges, "a"), read(LimitRanges, "b"), &quota{named("", "c"), hard}}})
	ranges := []resources.LimitRange{resources.NewLimitRange("a", nil), resources.NewLimitRange("b", nil)}
	quotas := []resources.ResourceQuota{{Name: "c", Hard: hard}}
	if got := s.Limits(); !reflect.DeepEqual(got, resources.Limits{Ranges: ranges, Quotas: quotas}) {
		t.Errorf("%+v", got)
	}
}

// What nobody has collected is not there.
func TestNothingIsKnownOfNoSurroundings(t *testing.T) {
	s, pods := new(Surroundings), &Pods{Namespace: "shop"}
	route, _ := s.RoutedBy(pods, 80, "/")
	set, _ := s.SidecarSet(pods)
	v, _ := s.HealthCheckBy(pods, 80, "/", true)
	if s.HasServices() || s.Exposed(pods, 80)+s.ExposedElsewhere(pods, 80)+route != "" || set != nil || v != nil {
		t.Error("something is")
	}
	far := Namespace{named("", "shop")}
	if got := far.Words(); got != "Namespace shop" {
		t.Errorf("the Namespace is %q", got)
	}
	if set := (SidecarSet{Neighbour: named("", "a"), OfPods: "shop"}); set.Words() != "SidecarSet a" {
		t.Errorf("the SidecarSet is %q", set.Words())
	}
	if v := (Ingress{Neighbour: named("shop", "a")}); v.Words() != "Ingress shop/a" {
		t.Errorf("the Ingress is %q", v.Words())
	}
}

// A given is a Source that has objects whatever their namespace.
type given struct {
	objects, unplaced []any
	all               bool // there are no others in the cluster
}

func (g given) Find(k *Kind, unplaced bool) (found []Found) {
	all := g.objects
	if unplaced {
		all = g.unplaced
	}
	for _, v := range all {
		if reflect.TypeOf(v) == reflect.TypeOf(k.New()) {
			o := v.(interface{ object() *Neighbour }).object()
			found = append(found, Found{v, o.Far, o.Disputed})
		}
	}
	return found
}

func (g given) Complete(*Kind) bool { return g.all }

func (g given) Hears(k *Kind, _ func(any) bool) bool { return len(g.Find(k, false)) > 0 }

// pointers returns values as a Source has them.
func pointers[T any](values []T) (all []any) {
	for i := range values {
		all = append(all, &values[i])
	}
	return all
}

// around returns surroundings that have the objects.
func around[T any](values ...T) *Surroundings { return new(New(given{objects: pointers(values)})) }

func named(namespace, name string) Neighbour { return Neighbour{Namespace: namespace, Name: name} }

// read returns an object without a spec.
func read[T any](k Of[T], name string) any {
	v, _ := k.Read(named("", name), func(field.Path, any) (bool, error) { return false, nil })
	return v
}
