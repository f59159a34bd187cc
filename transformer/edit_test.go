package transformer_test

import (
	"strings"
	"testing"
)

// TestAListThatLosesItsLastItemAndGetsAnotherStays: to remove the list and to add to
// it are edits that exclude each other.
func TestAListThatLosesItsLastItemAndGetsAnotherStays(t *testing.T) {
	t.Run("containers", func(t *testing.T) {
		original := podOf("", app(httpProbe))
		declared := plan(t, original, answeredBy("istio-proxy")).text
		head, containers, _ := strings.Cut(declared, "      containers:\n")
		first, proxy, ok := strings.Cut(containers, "      - name: istio-proxy\n")
		if !ok {
			t.Fatalf("no istio-proxy is declared:\n%s", declared)
		}
		moved := head + "      initContainers:\n      - name: istio-proxy\n" + proxy + "      containers:\n" + first
		r := plan(t, moved, answeredBy("probe-proxy"))
		wantText(t, r, plan(t, original, answeredBy("probe-proxy")).text)
		wantText(t, restore(t, r.text), original)
	})
	t.Run("env", func(t *testing.T) {
		proxy := "      - name: istio-proxy\n        image: auto\n"
		originals := "        env:\n        - name: OSM_KUBE_APP_PROBERS\n          value: '{\"/osm-readiness-probe/app\":{\"tcpSocket\":{\"port\":8002}}}'\n"
		r := plan(t, podOf("", app(osmTCPProbe))+proxy+originals, answeredBy("istio-proxy"))
		want := podOf("", app("readinessProbe:\n  tcpSocket:\n    port: 8002\n")) + proxy
		wantText(t, r, plan(t, want, answeredBy("istio-proxy")).text)
		wantText(t, restore(t, r.text), want)
	})
}

// osmTCPProbe is what Open Service Mesh makes of a tcpSocket probe.
const osmTCPProbe = `readinessProbe:
  httpGet:
    path: /osm-healthcheck
    port: 15904
    scheme: HTTP
    httpHeaders:
    - name: Original-Tcp-Port
      value: "8002"
`
