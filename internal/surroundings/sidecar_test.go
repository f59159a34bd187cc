package surroundings

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestEnvoyListensWhereEverySidecarHasItListen(t *testing.T) {
	const always, maybe, never = certain.Always, certain.Maybe, certain.Never
	web, other := field.KeyValues{{Key: "app", Value: "web"}}, field.KeyValues{{Key: "app", Value: "other"}}
	later := field.KeyValues{{Key: "istio.io/rev", Value: "canary"}}
	binds := []InboundListener{{Port: ListenerPort{Number: 9090}}, {Port: ListenerPort{Number: 8080}, CaptureMode: "NONE"}}
	of := func(namespace string, listeners ...InboundListener) Sidecar {
		return Sidecar{Neighbour: named(namespace, "x"), Ingress: listeners}
	}
	selecting := func(c Sidecar, labels field.KeyValues) Sidecar {
		c.WorkloadSelector = &PodLabels{labels}
		return c
	}
	for _, c := range []struct {
		name                     string
		sidecars                 []Sidecar
		redirected, unredirected certain.Certainty
	}{
		{"there is none", nil, never, never},
		{"it has none of the ports", []Sidecar{of("shop", InboundListener{Port: ListenerPort{Number: 80}, CaptureMode: "NONE"})}, never, never},
		{"one listens", []Sidecar{of("shop", binds...)}, always, always},
		{"one listens by default", []Sidecar{of("shop", InboundListener{Port: ListenerPort{Number: 8080}})}, never, always},
		{"one is for what is redirected", []Sidecar{of("shop", InboundListener{Port: ListenerPort{Number: 8080}, CaptureMode: "IPTABLES"})}, never, never},
		{"one of its listeners of the port listens", []Sidecar{of("shop", InboundListener{Port: ListenerPort{Number: 8080}, CaptureMode: "NONE"}, InboundListener{Port: ListenerPort{Number: 8080}, CaptureMode: "IPTABLES"}, InboundListener{Port: ListenerPort{Number: 9090}})}, always, always},
		{"one listens on the loopback interface", []Sidecar{of("shop", InboundListener{Port: ListenerPort{Number: 8080}, CaptureMode: "NONE", Bind: "127.0.0.1"})}, never, never},
		{"one listens on that of IPv6", []Sidecar{of("shop", InboundListener{Port: ListenerPort{Number: 8080}, CaptureMode: "NONE", Bind: "::1"})}, never, never},
		{"one listens everywhere", []Sidecar{of("shop", InboundListener{Port: ListenerPort{Number: 8080}, CaptureMode: "NONE", Bind: "0.0.0.0"})}, always, always},
		{"one of two listens", []Sidecar{of("shop", binds...), of("shop")}, maybe, maybe},
		{"both listen", []Sidecar{of("shop", binds...), of("shop", binds...)}, always, always},
		{"the one of the pod does not", []Sidecar{selecting(of("shop"), web), of("shop", binds...)}, never, never},
		{"the one of the pod does", []Sidecar{of("shop"), selecting(of("shop", binds...), web)}, always, always},
		{"that of other pods does", []Sidecar{selecting(of("shop", binds...), other)}, never, never},
		{"that of pods which may be these does", []Sidecar{selecting(of("shop", binds...), later)}, maybe, maybe},
		{"that of pods which may be these does, and that of all", []Sidecar{selecting(of("shop", binds...), later), of("shop", binds...)}, always, always},
		{"that of pods which may be these does not, and that of all does", []Sidecar{selecting(of("shop"), later), of("shop", binds...)}, maybe, maybe},
		{"that of the mesh does", []Sidecar{of("istio-system", binds...)}, always, always},
		{"that of the namespace stands in its way", []Sidecar{of("istio-system", binds...), of("shop")}, never, never},
		{"one with a selector is not that of the mesh", []Sidecar{selecting(of("istio-system", binds...), web)}, never, never},
		{"that of another namespace does", []Sidecar{of("other", binds...)}, never, never},
	} {
		s := around(c.sidecars...)
		pods := &Pods{Namespace: "shop", Kind: "Deployment", Labels: web}
		for redirects, want := range map[bool]certain.Certainty{true: c.redirected, false: c.unredirected} {
			in := s.Inbound("istio-system", pods, 8080, redirects)
			if in.Binds != want || (in.By != "") != (want != never) {
				t.Errorf("%s (redirected: %t): %+v, want %v", c.name, redirects, in, want)
			}
		}
	}
}

func TestASidecarSaysWhereTheAppListens(t *testing.T) {
	for _, c := range []struct {
		port             int
		endpoint         string
		local, elsewhere string // for what comes to port 8080
	}{
		{8080, "", "", ""},
		{8080, "127.0.0.1:8080", "127.0.0.1", ""},
		{8080, "[::1]:8080", "::1", ""},
		{8080, "0.0.0.0:8080", "", ""},
		{8080, "127.0.0.1:9090", "", "127.0.0.1:9090"},
		{8080, "unix:///run/app.sock", "", "unix:///run/app.sock"},
		{8080, "unix:///run/app:8080", "", "unix:///run/app:8080"},
		{8080, "unix:@app", "", "unix:@app"},
		{8080, "127.0.0.1:http", "", "127.0.0.1:http"},
		{8080, "nonsense", "", ""},
		{9080, "127.0.0.1:8080", "127.0.0.1", ""},
		{9080, "10.0.0.1:8080", "", ""},
	} {
		sidecar := Sidecar{Neighbour: named("", "x"), Ingress: []InboundListener{{Port: ListenerPort{Number: c.port}, Endpoint: c.endpoint}}}
		s := around(sidecar)
		in := s.Inbound("istio-system", &Pods{}, 8080, true)
		by := ""
		if c.local+c.elsewhere != "" {
			by = "Sidecar x"
		}
		if in.Local != c.local || in.Elsewhere != c.elsewhere || in.By != by {
			t.Errorf("%d to %q: %+v", c.port, c.endpoint, in)
		}
	}
}

func TestTheSurestSidecarSetAdds(t *testing.T) {
	web, other := field.KeyValues{{Key: "app", Value: "web"}}, field.KeyValues{{Key: "app", Value: "other"}}
	set := func(name, namespace string, labels field.KeyValues) SidecarSet {
		return SidecarSet{Neighbour: named("", name), OfPods: namespace, Selector: LabelSelector{MatchLabels: labels}}
	}
	byLabel := set("by-label", "", web)
	byLabel.NamespaceSelector = field.Map{{Key: "matchLabels", Value: field.Map{}}}
	for _, c := range []struct {
		name, namespace string
		sets            []SidecarSet
		found           string
		adds            certain.Certainty
	}{
		{"there is none", "shop", nil, "", certain.Never},
		{"one of every namespace", "shop", []SidecarSet{set("a", "", web)}, "a", certain.Always},
		{"one of the namespace", "shop", []SidecarSet{set("a", "shop", web)}, "a", certain.Always},
		{"one of another namespace", "shop", []SidecarSet{set("a", "other", web)}, "", certain.Never},
		{"one of a namespace that is not known", "", []SidecarSet{set("a", "shop", web)}, "a", certain.Maybe},
		{"one of other pods", "", []SidecarSet{set("a", "shop", other)}, "", certain.Never},
		{"one of namespaces with a label", "shop", []SidecarSet{byLabel}, "by-label", certain.Maybe},
		{"a sure one follows", "shop", []SidecarSet{byLabel, set("a", "", web), set("b", "", web)}, "a", certain.Always},
		{"a sure one precedes", "shop", []SidecarSet{set("a", "shop", web), byLabel}, "a", certain.Always},
	} {
		s := around(c.sets...)
		found, adds := s.SidecarSet(&Pods{Namespace: c.namespace, Kind: "Deployment", Labels: web})
		name := ""
		if found != nil {
			name = found.Name
		}
		if name != c.found || adds != c.adds {
			t.Errorf("%s: %q, %v, want %q, %v", c.name, name, adds, c.found, c.adds)
		}
	}
}

// Of several that may be about the pods, the first that says something is named.
func TestTheFirstSidecarThatSaysSomethingIsNamed(t *testing.T) {
	of := func(name, endpoint string) Sidecar {
		return Sidecar{Neighbour: named("", name), Ingress: []InboundListener{{Port: ListenerPort{Number: 8080}, Endpoint: endpoint}}}
	}
	binds := Sidecar{Neighbour: named("", "binds"), Ingress: []InboundListener{{Port: ListenerPort{Number: 8080}, CaptureMode: "NONE"}}}
	for _, c := range []struct {
		sidecars []Sidecar
		want     Inbound
	}{
		{[]Sidecar{of("a", ""), of("b", "127.0.0.1:8080"), of("c", "[::1]:8080")}, Inbound{Local: "127.0.0.1", Binds: certain.Never, By: "Sidecar b"}},
		{[]Sidecar{of("c", "[::1]:8080"), of("b", "127.0.0.1:8080")}, Inbound{Local: "::1", Binds: certain.Never, By: "Sidecar c"}},
		{[]Sidecar{of("a", "127.0.0.1:1"), of("b", "127.0.0.1:2")}, Inbound{Elsewhere: "127.0.0.1:1", Binds: certain.Never, By: "Sidecar a"}},
		{[]Sidecar{of("a", "127.0.0.1:8080"), of("b", "unix:///run/x")}, Inbound{Local: "127.0.0.1", Elsewhere: "unix:///run/x", Binds: certain.Never, By: "Sidecar b"}},
		{[]Sidecar{binds, of("a", "127.0.0.1:8080")}, Inbound{Local: "127.0.0.1", Binds: certain.Maybe, By: "Sidecar binds"}},
	} {
		s := around(c.sidecars...)
		if got := s.Inbound("istio-system", &Pods{}, 8080, true); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.sidecars, got, c.want)
		}
	}
}
