package surroundings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A prefix of Gateway API's is one of whole segments of the path; a slash at its end does not matter.
func TestAPrefixMatchesWholeSegments(t *testing.T) {
	words := []string{"", "a", "ab", "a/b", "a/bc", "ab/c", "b"}
	for _, prefix := range words {
		for _, path := range words {
			begin, all := strings.Split("/"+prefix, "/"), strings.Split("/"+path, "/")
			want := prefix == "" || len(begin) <= len(all) && slices.Equal(begin, all[:len(begin)])
			for _, m := range []PathMatch{{"", "/" + prefix}, {"PathPrefix", "/" + prefix}, {"PathPrefix", strings.TrimSuffix("/"+prefix, "/") + "/"}} {
				if got := m.mayMatch("/" + path); got != want {
					t.Errorf("%q matches /%s: %t", m, path, got)
				}
			}
			if exact := (&PathMatch{"Exact", "/" + prefix}); exact.mayMatch("/"+path) != (prefix == path) {
				t.Errorf("exactly /%s matches /%s: %t", prefix, path, prefix != path)
			}
		}
	}
	if m := (&PathMatch{"RegularExpression", "/a"}); !m.mayMatch("/b") {
		t.Error("a regular expression is known")
	}
	if m := new(PathMatch); !m.mayMatch("/b") {
		t.Error("no path does not match all")
	}
}

// Only a Server that is certainly about the pods and the port counts, and its routes.
func TestOnlyASureServerHasRoutes(t *testing.T) {
	web := field.KeyValues{{Key: "app", Value: "web"}}
	server := LinkerdServer{Neighbour: named("", "web"), PodSelector: &LabelSelector{MatchLabels: web}, Port: field.IntOrString{Int: 80}}
	of := func(name string, paths []PathMatch, servers ...string) HTTPRoute {
		r := HTTPRoute{Neighbour: named("", name), Rules: make([]RouteRule, len(paths))}
		for i, p := range paths {
			r.Rules[i].Matches = append(r.Rules[i].Matches, struct {
				Path PathMatch `json:"path"`
			}{p})
		}
		for _, s := range servers {
			r.ParentRefs = append(r.ParentRefs, ParentRef{"Service", "x"}, ParentRef{"Server", s})
		}
		return r
	}
	routes := []HTTPRoute{
		of("other", []PathMatch{{}}, "api"),
		of("a", []PathMatch{{"Exact", "/x"}}, "api", "web"),
		of("b", []PathMatch{{"Exact", "/y"}, {"Exact", "/live"}}, "web"),
	}
	for _, c := range []struct {
		labels field.KeyValues
		port   int
		path   string
		route  string
		may    bool
	}{
		{web, 80, "/live", "HTTPRoute a", true},
		{web, 80, "/other", "HTTPRoute a", false},
		{web, 81, "/live", "", false},
		{web, 8080, "/live", "", false},
		{field.KeyValues{{Key: "app", Value: "other"}}, 80, "/live", "", false},
		{nil, 80, "/live", "", false},
	} {
		among := func() *Surroundings {
			return new(New(given{objects: append(pointers(slices.Clone(routes)), &server)}))
		}
		s := among()
		for range 2 { // in any order of the routes
			if route, may := s.RoutedBy(&Pods{Kind: "Deployment", Labels: c.labels}, c.port, c.path); (route != "") != (c.route != "") || may != c.may {
				t.Errorf("%+v: %q, %t", c, route, may)
			}
			slices.Reverse(routes)
			s = among()
		}
		if route, may := s.RoutedBy(&Pods{Kind: "Deployment", Labels: c.labels}, c.port, c.path); route != c.route || may != c.may {
			t.Errorf("%+v: %q, %t", c, route, may)
		}
	}
}

// A Server names its port by a number, or by a name of the container's. Without one it is about every port.
func TestAServerIsAboutItsPort(t *testing.T) {
	spec := &pod.Spec{Containers: []pod.Container{{Ports: []pod.ContainerPort{{Name: "http", ContainerPort: 8080}}}}}
	for port, want := range map[field.IntOrString]string{
		{Int: 80}: "[80]", {Int: 8080}: "[8080]", {Str: "http", IsString: true}: "[8080]", {Str: "grpc", IsString: true}: "[]", {}: "[80 8080]",
	} {
		s := New(given{objects: []any{
			&LinkerdServer{Neighbour: named("", "web"), Port: port, PodSelector: new(LabelSelector)},
			&HTTPRoute{Neighbour: named("", "a"), ParentRefs: []ParentRef{{"Server", "web"}}},
		}})
		routed := []int{}
		for _, p := range []int{80, 8080} {
			if route, _ := s.RoutedBy(&Pods{Kind: "Deployment", Labels: field.KeyValues{}, Spec: spec}, p, "/"); route != "" {
				routed = append(routed, p)
			}
		}
		if got := fmt.Sprint(routed); got != want {
			t.Errorf("%+v: %s, want %s", port, got, want)
		}
	}
}
