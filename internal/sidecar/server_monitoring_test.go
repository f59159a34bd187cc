package sidecar_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const monitoring = "../../examples/monitoring"

// The alerts and the dashboard would show nothing, without a word, if they
// asked for a metric or a label that probe-proxy does not have.
func TestTheMonitoringExamplesAskForMetricsThatExist(t *testing.T) {
	addr, _, _ := start(t, func(http.ResponseWriter, *http.Request) {})
	_, exposed := get(t, addr+"/metrics")
	metric := regexp.MustCompile(`probe_proxy_[a-z_]+`)
	verdict := regexp.MustCompile(`verdict=~?\\?"([a-z|]+)\\?"`)
	files := []string{"podmonitor.yaml", "alerts.yaml", "dashboard.json", "../../docs/operations.md"}
	asked := 0
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(monitoring, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metric.FindAllString(string(text), -1) {
			asked++
			if !strings.Contains(exposed, "# TYPE "+name+" ") && !strings.Contains(exposed, "\n"+name+"{") {
				t.Errorf("%s asks for %s, which probe-proxy does not expose:\n%s", file, name, exposed)
			}
		}
		for _, m := range verdict.FindAllStringSubmatch(string(text), -1) {
			for v := range strings.SplitSeq(m[1], "|") {
				if !strings.Contains(exposed, `verdict="`+v+`"`) {
					t.Errorf("%s asks for the verdict %s, which probe-proxy does not count", file, v)
				}
			}
		}
	}
	if asked < 8 {
		t.Errorf("only %d metrics were found in %v", asked, files)
	}
}

func TestTheMonitoringExamplesAreWhatTheyClaimToBe(t *testing.T) {
	var monitor struct {
		Kind string
		Spec struct {
			PodMetricsEndpoints []struct {
				Path        string
				Relabelings []struct {
					SourceLabels               []string `yaml:"sourceLabels"`
					Regex, Action, Replacement string
					TargetLabel                string `yaml:"targetLabel"`
				}
			} `yaml:"podMetricsEndpoints"`
		}
	}
	decode(t, "podmonitor.yaml", &monitor)
	if monitor.Kind != "PodMonitor" || len(monitor.Spec.PodMetricsEndpoints) != 1 || monitor.Spec.PodMetricsEndpoints[0].Path != "/metrics" {
		t.Fatalf("got %+v", monitor)
	}
	// Prometheus anchors the expressions at both ends.
	for ip, want := range map[string]string{"10.0.0.7": "10.0.0.7:15099", "fd00::7": "[fd00::7]:15099"} {
		var addresses []string
		for _, r := range monitor.Spec.PodMetricsEndpoints[0].Relabelings {
			re := regexp.MustCompile("^(?:" + r.Regex + ")$")
			if r.TargetLabel == "__address__" && re.MatchString(ip) {
				addresses = append(addresses, re.ReplaceAllString(ip, strings.Replace(r.Replacement, "$1", "${1}", 1)))
			}
		}
		if !slices.Equal(addresses, []string{want}) {
			t.Errorf("a pod with the IP %s is scraped at %v, want %s", ip, addresses, want)
		}
	}
	var rules struct {
		Kind string
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr, For string
				}
			}
		}
	}
	decode(t, "alerts.yaml", &rules)
	if rules.Kind != "PrometheusRule" || len(rules.Spec.Groups) != 1 || len(rules.Spec.Groups[0].Rules) != 2 {
		t.Fatalf("got %+v", rules)
	}
	for _, r := range rules.Spec.Groups[0].Rules {
		if r.Alert == "" || r.For == "" || strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") || strings.Count(r.Expr, "{") != strings.Count(r.Expr, "}") {
			t.Errorf("got %+v", r)
		}
	}
	text, err := os.ReadFile(filepath.Join(monitoring, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &board); err != nil || len(board.Panels) != 3 {
		t.Errorf("the dashboard has %d panels: %v", len(board.Panels), err)
	}
}

// decode reads the one document of a file.
func decode(t *testing.T, name string, into any) {
	t.Helper()
	f, err := os.Open(filepath.Join(monitoring, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		t.Errorf("%s must have one document: %v", name, err)
	}
}
