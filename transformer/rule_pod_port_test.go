package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The port of probe-proxy is the app's: the pod is refused with one message for each place that shows
// it, whatever else is in the pod, and with the same fix.
func TestAPortOfTheAppIsRefused(t *testing.T) {
	const declared = "ports: [{containerPort: %[1]d}]\n"
	for _, chosen := range []int{8080, 15099} {
		for spec, want := range map[string]int{
			declared + "livenessProbe: {httpGet: {port: %[1]d}}":                                        1,
			declared + "livenessProbe: {httpGet: {port: %[1]d}}\nreadinessProbe: {httpGet: {port: 81}}": 1,
			declared + "readinessProbe: {httpGet: {port: 81}}":                                          1,
			"livenessProbe: {httpGet: {port: %[1]d}}\nreadinessProbe: {httpGet: {port: 81}}":            1,
			"livenessProbe: {httpGet: {port: 8080}}":                                                    1,
		} {
			if chosen == 15099 && !strings.Contains(spec, "%[1]d") {
				continue
			}
			text := podOf("", app(strings.ReplaceAll(spec, "%[1]d", fmt.Sprint(chosen))))
			r := plan(t, text, answeredBy("probe-proxy"), port(chosen))
			f := wantReason(t, r, "port-taken")
			if f.Severity != transformer.Error || len(r.Findings) != want || !strings.Contains(textOf(f), "Move the app to another port, or set another `port`") {
				t.Errorf("port %d, %s: %v", chosen, spec, r.Findings)
			}
			wantText(t, r, text)
		}
	}
}
