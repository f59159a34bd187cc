package prober_test

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func TestAKeyOfOSMNamesItsProbeTypeAndPerhapsItsContainer(t *testing.T) {
	for _, s := range []prober.ProbeType{prober.Liveness, prober.Readiness, prober.Startup} {
		for _, container := range []string{"", "web"} {
			key := prober.OSMKey(s, container)
			if c, probeType, ok := prober.ParseOSMKey(key); !ok || c != container || probeType != s {
				t.Errorf("%s: %q %q %t", key, c, probeType, ok)
			}
		}
	}
	for _, key := range []string{"", "/", "/osm-liveness-probe/", "/osm-liveness-probe-2", "/osm-liveness-probe/a/b", "/app-health/a/livez", "/osm-healthcheck"} {
		if _, _, ok := prober.ParseOSMKey(key); ok {
			t.Errorf("%q is no key", key)
		}
	}
	if prober.OSMKey(prober.PreStop, "web") != "" || prober.OSMPort(prober.PreStop) != 0 {
		t.Error("a hook has neither key nor port")
	}
	if got := prober.OSMPorts(); !slices.Equal(got, []int{15901, 15902, 15903, 15904}) {
		t.Errorf("ports %v", got)
	}
}

func TestEntriesThatOSMHasNoFormForAreBad(t *testing.T) {
	probers, bad, err := prober.DecodeOSM(`{"/osm-liveness-probe":{"httpGet":{"port":1}},"/osm-readiness-probe":{"tcpSocket":{"port":1}},
		"/osm-startup-probe":{"httpGet":{"port":1,"scheme":"HTTPS"}},"/osm-startup-probe/a":{"grpc":{"port":1}},"/app-health/a/livez":{"httpGet":{"port":1}}}`)
	if err != nil || len(probers) != 1 || probers["/osm-liveness-probe"].TimeoutSeconds != 1 {
		t.Errorf("%v, %v", probers, err)
	}
	var keys []string
	for _, e := range bad {
		keys = append(keys, e.Key)
	}
	if want := []string{"/app-health/a/livez", "/osm-readiness-probe", "/osm-startup-probe", "/osm-startup-probe/a"}; !slices.Equal(keys, want) {
		t.Errorf("bad %v", keys)
	}
}
