package surroundings

import (
	"reflect"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

func TestTheLimitsAreThoseOfRangesAndQuotas(t *testing.T) {
	ranges := []resources.LimitRange{resources.NewLimitRange("a", nil), resources.NewLimitRange("b", nil)}
	quotas := []resources.ResourceQuota{{Name: "c", Hard: field.Map{{Key: "pods", Value: 1}}}}
	s := Surroundings{LimitRanges: ranges, Quotas: quotas}
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
	if s.HasServices() || s.Exposed(pods, 80)+s.ExposedElsewhere(pods, 80)+route != "" || set != nil || v != nil || s.Declared(pods, 80) != nil {
		t.Error("something is")
	}
	far := Elsewhere{Namespace: &field.Metadata{Name: "shop", Namespace: "x"}}
	if got := far.Words(); got != "Namespace shop" {
		t.Errorf("the Namespace is %q", got)
	}
	if set := (SidecarSet{Name: "a", Namespace: "shop"}); set.Words() != "SidecarSet a" {
		t.Errorf("the SidecarSet is %q", set.Words())
	}
	if v := (Ingress{Name: "a", Namespace: "shop"}); v.Words() != "Ingress shop/a" {
		t.Errorf("the Ingress is %q", v.Words())
	}
}
