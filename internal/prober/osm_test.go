package prober_test

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func TestAKeyOfOSMNamesItsProbeTypeAndPerhapsItsContainer(t *testing.T) {
	for _, s := range []prober.ProbeType{prober.Liveness, prober.Readiness, prober.Startup} {
		for _, container := range []string{"", "web"} {
			key := prober.OSMKey(container, s)
			if c, probeType, ok := prober.ParseOSMKey(key); !ok || c != container || probeType != s {
				t.Errorf("%s: %q %q %t", key, c, probeType, ok)
			}
		}
	}
	for _, key := range []string{"", "/", "/osm-liveness-probe/", "/osm-liveness-probe-2", "/osm-liveness-probe/a/b", "/app-health/a/livez", "/osm-healthcheck"} {
		if container, probeType, ok := prober.ParseOSMKey(key); ok || container != "" || probeType != "" {
			t.Errorf("%q is no key, and not %q %q", key, container, probeType)
		}
	}
	if prober.OSMKey("web", prober.PreStop) != "" || prober.OSMPort(prober.PreStop) != 0 {
		t.Error("a hook has neither key nor port")
	}
	if got := prober.OSMPorts(); !slices.Equal(got, []int{15901, 15902, 15903, 15904}) {
		t.Errorf("ports %v", got)
	}
}

func TestAKeyOfFSMNamesItsProbeTypeAndItsContainer(t *testing.T) {
	for probeType, want := range map[prober.ProbeType]string{
		prober.Liveness: "/fsm-liveness-probe/web", prober.Readiness: "/fsm-readiness-probe/web", prober.Startup: "/fsm-startup-probe/web",
	} {
		key := prober.FSMKey("web", probeType)
		if container, of, ok := prober.FSM.ParseKey(key); key != want || !ok || container != "web" || of != probeType {
			t.Errorf("%q: %q %q %t, want %q", key, container, of, ok, want)
		}
	}
	if key := prober.FSMKey("web", prober.PreStop); key != "" {
		t.Errorf("a hook has the key %q", key)
	}
	for _, key := range []string{"", "/fsm-liveness-probe", "/fsm-liveness-probe/", "/fsm-liveness-probe/a/b", "/osm-liveness-probe/a", "/fsm-/osm-liveness-probe/a", "liveness-probe/a"} {
		if container, probeType, ok := prober.FSM.ParseKey(key); ok || container != "" || probeType != "" {
			t.Errorf("%q is no key, and not %q %q", key, container, probeType)
		}
	}
}

func TestEntriesThatAConventionCannotExpressAreBad(t *testing.T) {
	type decoder func(string) (map[string]*prober.Prober, []*prober.EntryError, error)
	for _, c := range []struct {
		decode     decoder
		value      string
		good       string
		badEntries []string
	}{
		{prober.OSM.Decode, `{"/osm-liveness-probe":{"httpGet":{"port":1}},"/osm-liveness-probe/a":{"httpGet":{}},"/osm-readiness-probe":{"tcpSocket":{"port":1}},
			"/osm-startup-probe":{"httpGet":{"port":1,"scheme":"HTTPS"}},"/osm-startup-probe/a":{"grpc":{"port":1}},"/app-health/a/livez":{"httpGet":{"port":1}}}`,
			"/osm-liveness-probe", []string{"/app-health/a/livez", "/osm-liveness-probe/a", "/osm-readiness-probe", "/osm-startup-probe", "/osm-startup-probe/a"}},
		{prober.FSM.Decode, `{"/fsm-liveness-probe/a":{"httpGet":{"port":1,"scheme":"HTTPS"}},"/fsm-liveness-probe":{"httpGet":{"port":1}},
			"/fsm-readiness-probe/a":{"grpc":{"port":1}},"/fsm-startup-probe/a":{"tcpSocket":{}},"/osm-liveness-probe/a":{"httpGet":{"port":1}}}`,
			"/fsm-liveness-probe/a", []string{"/fsm-liveness-probe", "/fsm-readiness-probe/a", "/fsm-startup-probe/a", "/osm-liveness-probe/a"}},
	} {
		probers, bad, err := c.decode(c.value)
		if err != nil || len(probers) != 1 || probers[c.good] == nil || probers[c.good].TimeoutSeconds != 1 {
			t.Errorf("%v, %v", probers, err)
		}
		var keys []string
		for _, e := range bad {
			keys = append(keys, e.Key)
		}
		if !slices.Equal(keys, c.badEntries) {
			t.Errorf("bad %v, want %v", keys, c.badEntries)
		}
	}
}
