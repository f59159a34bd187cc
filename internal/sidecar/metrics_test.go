package sidecar

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func TestAProbeThatTheKubeletCouldNotMakeIsDisabledAlone(t *testing.T) {
	const probe, hook = "/app-health/a/livez", "/app-lifecycle/a/prestopz"
	tcp := &prober.TCPSocket{Port: field.Number(1)}
	s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 15099, map[string]*prober.Original{
		probe: {TCPSocket: tcp, TimeoutSeconds: 1},
		hook:  {TCPSocket: tcp},
	}, nil)
	if answered, disabled := s.Count(); answered != 1 || disabled != 1 || s.entries[probe].bad != nil {
		t.Errorf("%d answered, %d disabled", answered, disabled)
	}
	const want = "probe-proxy: this probe is disabled, its entry cannot be used: hook must be httpGet: the kubelet supports no other\n"
	if a := s.entries[hook].disabled(); string(a.Body) != want || a.Status != 500 || !a.Drop {
		t.Errorf("%+v", a)
	}
}

func TestTheMetricsAreTheWholePage(t *testing.T) {
	const probe, hook = "/app-health/a/livez", "/app-lifecycle/a/prestopz"
	get := &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTP"}
	_, bad, _ := prober.Decode(`{"/app-health/b/livez": {}}`)
	s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 15099, map[string]*prober.Original{
		probe: {HTTPGet: get, TimeoutSeconds: 1},
		hook:  {HTTPGet: get},
	}, bad)
	log := slog.New(slog.DiscardHandler)
	for took, status := range map[time.Duration]int{
		500 * time.Microsecond: 200, time.Millisecond: 204, 1001 * time.Microsecond: 302, 25 * time.Millisecond: 200,
		99 * time.Millisecond: 404, 2 * time.Second: 503, 5 * time.Second: 200, 5001 * time.Millisecond: 399,
	} {
		s.entries[probe].record(log, &kubelet.Answer{Status: status}, took, 0)
	}
	s.entries[hook].record(log, &kubelet.Answer{Status: 500}, 3*time.Second, 0)
	s.entries[hook].record(log, &kubelet.Answer{Drop: true}, time.Minute, 0)
	s.entries["/app-health/b/livez"].disabled()
	s.entries[probe].share.places <- struct{}{}
	want := `# HELP probe_proxy_probes_total Calls answered, by what the kubelet makes of the answer.
# TYPE probe_proxy_probes_total counter
probe_proxy_probes_total{probe="/app-health/a/livez",verdict="success"} 4
probe_proxy_probes_total{probe="/app-health/a/livez",verdict="warning"} 2
probe_proxy_probes_total{probe="/app-health/a/livez",verdict="failure"} 2
probe_proxy_probes_total{probe="/app-health/b/livez",verdict="success"} 0
probe_proxy_probes_total{probe="/app-health/b/livez",verdict="warning"} 0
probe_proxy_probes_total{probe="/app-health/b/livez",verdict="failure"} 1
probe_proxy_probes_total{probe="/app-lifecycle/a/prestopz",verdict="success"} 1
probe_proxy_probes_total{probe="/app-lifecycle/a/prestopz",verdict="warning"} 0
probe_proxy_probes_total{probe="/app-lifecycle/a/prestopz",verdict="failure"} 1
# HELP probe_proxy_probe_duration_seconds Time from the caller's connection to the app's answer.
# TYPE probe_proxy_probe_duration_seconds histogram
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="0.001"} 2
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="0.005"} 3
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="0.025"} 4
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="0.1"} 5
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="0.5"} 5
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="1"} 5
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="5"} 7
probe_proxy_probe_duration_seconds_bucket{probe="/app-health/a/livez",le="+Inf"} 8
probe_proxy_probe_duration_seconds_sum{probe="/app-health/a/livez"} 12.127501
probe_proxy_probe_duration_seconds_count{probe="/app-health/a/livez"} 8
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="0.001"} 0
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="0.005"} 0
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="0.025"} 0
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="0.1"} 0
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="0.5"} 0
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="1"} 0
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="5"} 1
probe_proxy_probe_duration_seconds_bucket{probe="/app-lifecycle/a/prestopz",le="+Inf"} 2
probe_proxy_probe_duration_seconds_sum{probe="/app-lifecycle/a/prestopz"} 63
probe_proxy_probe_duration_seconds_count{probe="/app-lifecycle/a/prestopz"} 2
# HELP probe_proxy_open_calls Calls that wait for the app.
# TYPE probe_proxy_open_calls gauge
probe_proxy_open_calls 1
`
	if d := cmp.Diff(want, string(s.metrics())); d != "" {
		t.Error(d)
	}
}
