package vm

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestOnlyWhatTheAgentGetsWrongIsRewritten(t *testing.T) {
	taken := "  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n        ISTIO_KUBE_APP_PROBERS: '{\"/app-health/other/readyz\":{\"httpGet\":{\"port\":1}}}'\n"
	for _, tt := range []struct {
		name, metadata, probe string
		rewrite               []string
		state                 transformer.State
		reason                string // of the verdict
		findings              []string
	}{
		{"an https probe", "", httpsProbe, everything, transformer.WouldRewrite, "", nil},
		{"a grpc probe", "", grpcProbe, everything, transformer.WouldRewrite, "", nil},
		{"an http probe works", "", "{failureThreshold: 3, httpGet: {port: 1}}", everything, transformer.LeftAlone, "vm-probe-works", nil},
		{"an http probe by its name works", "", "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTP}}", everything, transformer.LeftAlone, "vm-probe-works", nil},
		{"a tcpSocket probe works", "", "{failureThreshold: 3, tcpSocket: {port: 1}}", everything, transformer.LeftAlone, "vm-probe-works", nil},
		{"an exec probe works", "", "{failureThreshold: 3, exec: {command: [a]}}", everything, transformer.LeftAlone, "vm-probe-works", nil},
		{"an https probe that is not selected", "", httpsProbe, []string{"grpc"}, transformer.LeftAlone, "not-selected", nil},
		{"a grpc probe that is not selected", "", grpcProbe, []string{"httpGet"}, transformer.LeftAlone, "not-selected", nil},
		{"a probe that works is not a matter of selection", "", "{failureThreshold: 3, tcpSocket: {port: 1}}", nil, transformer.LeftAlone, "vm-probe-works", nil},
		{"without a threshold the agent takes 1", "", "{grpc: {port: 1}}", everything, transformer.WouldRewrite, "", []string{"vm-threshold-default"}},
		{"a field that is not known", "", "{failureThreshold: 3, grpc: {port: 1, mode: TLS}}", everything, transformer.LeftAlone, "handler-unknown", []string{"handler-unknown"}},
		{"https to 127.0.0.1", "", "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, host: 127.0.0.1}}", everything, transformer.WouldRewrite, "", nil},
		{"https to localhost", "", "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, host: localhost}}", everything, transformer.WouldRewrite, "", nil},
		{"https to another loopback", "", "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, host: 127.0.0.2}}", everything, transformer.LeftAlone, "vm-https-verified", []string{"vm-https-verified"}},
		{"http to another loopback works", "", "{failureThreshold: 3, httpGet: {port: 1, host: 127.0.0.2}}", everything, transformer.LeftAlone, "vm-probe-works", nil},
		{"https to another host has one error", "", "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, host: 10.1.2.3}}", everything, transformer.Refused, "vm-host-remote", []string{"vm-host-remote"}},
		{"a group without a name", "  name: \"\"\n", grpcProbe, everything, transformer.LeftAlone, "vm-probe-invalid", []string{"vm-probe-invalid"}},
		{"a name that is no part of a path", "  name: a/b\n", grpcProbe, everything, transformer.LeftAlone, "vm-probe-invalid", []string{"vm-probe-invalid"}},
		{"a probe that works needs no name", "  name: a/b\n", "{failureThreshold: 3, tcpSocket: {port: 1}}", everything, transformer.LeftAlone, "vm-probe-works", nil},
		{"an env var of somebody else", taken, grpcProbe, everything, transformer.LeftAlone, "vm-config-invalid", []string{"vm-config-invalid"}},
		{"a probe that works may have such an env var", taken, "{failureThreshold: 3, tcpSocket: {port: 1}}", everything, transformer.LeftAlone, "vm-probe-works", nil},
	} {
		text := group(tt.metadata, tt.probe)
		if slices.Contains([]string{"  name: \"\"\n", "  name: a/b\n"}, tt.metadata) {
			text = "kind: WorkloadGroup\nmetadata:\n" + tt.metadata + "spec: {template: {}, probe: " + tt.probe + "}\n"
		}
		plan := read(t, text).plan(tt.rewrite)
		if v := plan.Probes[0]; v.State != tt.state || v.Reason.String() != tt.reason || !slices.Equal(reasons(plan), tt.findings) {
			t.Errorf("%s: %s %q, %v", tt.name, v.State, v.Reason.String(), plan.Findings)
		}
	}
}

func TestAnAnnotationOfTheEntriesIsInTheWay(t *testing.T) {
	for _, tt := range []struct{ name, entries, probe, want string }{
		{"of the originals", `{proxyMetadata: {ISTIO_KUBE_APP_PROBERS: "{}"}}`, grpcProbe, "vm-config-invalid"},
		{"of the originals, but the probe works", `{proxyMetadata: {ISTIO_KUBE_APP_PROBERS: "{}"}}`, "{failureThreshold: 3, tcpSocket: {port: 1}}", ""},
		{"that sends a probe of localhost elsewhere", `{proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: "false"}}`, "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, host: localhost}}", "vm-config-invalid"},
		{"that sends a probe of localhost there too", `{proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: "true"}}`, "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, host: localhost}}", ""},
		{"that sends a probe without a host where it goes anyway", `{proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: "false"}}`, httpsProbe, ""},
		{"that sends a grpc probe where it goes anyway", `{proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: "false"}}`, grpcProbe, ""},
		{"of something else", `{proxyMetadata: {A: b}}`, grpcProbe, ""},
	} {
		plan := read(t, "kind: WorkloadGroup\nmetadata: {name: a}\nspec:\n  metadata: {annotations: {proxy.istio.io/config: '"+tt.entries+"'}}\n  template: {}\n  probe: "+tt.probe+"\n").plan(everything)
		got := ""
		for _, f := range plan.Findings {
			got += f.Reason.String()
			if f.Field.String() != "spec.metadata.annotations[proxy.istio.io/config]" {
				t.Errorf("%s: at %s", tt.name, f.Field)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWhatIstiodRefusesHasAKey(t *testing.T) {
	for _, tt := range []struct{ name, probe, reason, path, last string }{
		{"no handler", "{failureThreshold: 3}", "vm-no-handler", "spec.probe", "and has none, so Istio's agent crashes"},
		{"two handlers", "{failureThreshold: 3, tcpSocket: {port: 1}, exec: {command: [a]}}", "vm-no-handler", "spec.probe", "and has `tcpSocket`, `exec`"},
		{"an exec without a command", "{failureThreshold: 3, exec: {command: []}}", "vm-no-handler", "spec.probe.exec.command", "must name a program, so Istio's agent crashes"},
		{"a number", "{failureThreshold: -1, tcpSocket: {port: 1}}", "vm-probe-invalid", "spec.probe.failureThreshold", "must be a number from 1 to 2147483647"},
		{"a port", "{failureThreshold: 3, grpc: {port: 0}}", "vm-probe-invalid", "spec.probe.grpc.port", "must be a number from 1 to 65535"},
		{"a scheme", "{failureThreshold: 3, httpGet: {port: 1, scheme: https}}", "vm-probe-invalid", "spec.probe.httpGet.scheme", "must be HTTP or HTTPS"},
	} {
		plan := read(t, group("", tt.probe)).plan(everything)
		if len(plan.Findings) != 1 || plan.Findings[0].Reason.String() != tt.reason || plan.Findings[0].Field.String() != tt.path || !strings.HasSuffix(plan.Findings[0].Text.String(), tt.last) {
			t.Errorf("%s: %v", tt.name, plan.Findings)
		}
	}
}

func TestAFindingHasTheValueAndABetterOne(t *testing.T) {
	plan := read(t, group("", "{failureThreshold: 3, httpGet: {port: 1, host: a, httpHeaders: [{name: Host, value: b}, {name: X, value: c}, {name: HOST, value: d}]}}")).plan(everything)
	want := []transformer.Finding{
		{Reason: reason.VMHostRemote, Field: probePath.Key(httpGet, "host"), Current: "a"},
		{Reason: reason.VMHeaderCase, Field: probePath.Key(httpGet).Item("httpHeaders", 2).Key("name"), Current: "HOST", Proposed: "Host"},
	}
	for i := range plan.Findings {
		plan.Findings[i].Severity, plan.Findings[i].Text = "", reason.Text{}
	}
	if d := cmp.Diff(want, plan.Findings); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestTheAgentReachesOnlyItsOwnHost(t *testing.T) {
	for host, want := range map[string]bool{
		"": true, "localhost": true, "127.0.0.1": true, "127.1.2.3": true,
		"Localhost": false, "::1": false, "::ffff:127.0.0.1": false, "10.1.2.3": false, "0.0.0.0": false, "example.com": false,
	} {
		if isOwnHost(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

func TestTheDefaultsAreThoseOfTheAgent(t *testing.T) {
	p := &vmconfig.Probe{HTTPGet: &prober.HTTPGet{Port: field.Number(1)}}
	want := &vmconfig.Probe{TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 1, HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTP"}}
	if d := cmp.Diff(want, effective(p)); d != "" || p.HTTPGet.Path != "" {
		t.Errorf("-want +got\n%s", d)
	}
	set := &vmconfig.Probe{InitialDelaySeconds: 2, TimeoutSeconds: 3, PeriodSeconds: 4, SuccessThreshold: 5, FailureThreshold: 6, GRPC: &prober.GRPC{Port: field.Number(1), Service: new("")}}
	if d := cmp.Diff(set, effective(set)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestAFieldThatIstioDoesNotHaveIsNamed(t *testing.T) {
	for _, tt := range []struct{ probe, path, first string }{
		{"{httpGet: {path: /, port: 1, host: a, scheme: HTTP, httpHeaders: []}, initialDelaySeconds: 1, timeoutSeconds: 1, periodSeconds: 1, successThreshold: 1, failureThreshold: 1}", "", ""},
		{"{tcpSocket: {host: a, port: 1}}", "", ""},
		{"{grpc: {service: a, port: 1}}", "", ""},
		{"{exec: {command: [a]}}", "", ""},
		{"{tcpSocket: {port: 1}, terminationGracePeriodSeconds: 1}", "spec.probe.terminationGracePeriodSeconds", "initialDelaySeconds"},
		{"{httpGet: {port: 1, protocol: HTTP2}}", "spec.probe.httpGet.protocol", "path"},
		{"{exec: {command: [a], env: []}}", "spec.probe.exec.env", "command"},
	} {
		path, known := unknownField(newBuilder(read(t, group("", tt.probe)).Group).source)
		if path.String() != tt.path || tt.first != "" && known[0] != tt.first {
			t.Errorf("%s: %s, known %v", tt.probe, path, known)
		}
	}
}
