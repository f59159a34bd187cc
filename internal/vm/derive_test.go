package vm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// original returns the probe of a container, whose port is 8080 if it is named http.
func original(t *testing.T, container, probe string) transformer.OriginalProbe {
	t.Helper()
	s, err := manifest.Read("", []byte("probe: "+probe+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	o, at := s.Objects()[0], field.NewPath("probe")
	v, _ := o.Value(at)
	from := transformer.OriginalProbe{Container: container, Probe: v.(field.Map), Port: 8080}
	if strings.Contains(probe, "nowhere") {
		from.Port, from.PortErr = 0, errors.New("is nowhere")
	}
	return from
}

func TestAReferenceNamesOneProbe(t *testing.T) {
	workloads := []workload{
		{"Deployment web", []transformer.OriginalProbe{original(t, "a", "{exec: {}}"), original(t, "b", "{exec: {}}")}},
		{"Deployment one", []transformer.OriginalProbe{original(t, "app", "{exec: {}}")}},
		{"Deployment long", []transformer.OriginalProbe{original(t, "app-metrics", "{exec: {}}"), original(t, "app", "{exec: {}}")}},
		{"Pod none", nil},
	}
	const form = "must be KIND/NAME or KIND/NAME/CONTAINER, such as Deployment/reviews"
	for _, tt := range []struct{ name, ref, container, err string }{
		{"a workload with one probe", "Deployment/one", "app", ""},
		{"the container of one probe", "Deployment/one/app", "app", ""},
		{"one container of several", "Deployment/web/b", "b", ""},
		{"a container whose name begins another", "Deployment/long/app", "app", ""},
		{"the beginning of a container's name", "Deployment/long/ap", "", `Deployment long has a readinessProbe in "app-metrics", "app". Name one of these containers: Deployment/long/CONTAINER`},
		{"a name alone", "one", "", form},
		{"an empty text", "", "", form},
		{"an empty name", "Deployment/", "", form},
		{"an empty container", "Deployment/one/", "", form},
		{"more than a container", "Deployment/one/app/more", "", form},
		{"a workload that is not there", "StatefulSet/one", "", "no StatefulSet one"},
		{"a workload without a probe", "Pod/none", "", "Pod none has no readinessProbe"},
		{"a container of a workload without a probe", "Pod/none/a", "", "Pod none has no readinessProbe"},
		{"a container without a probe", "Deployment/web/c", "", `Deployment web has a readinessProbe in "a", "b". Name one of these containers: Deployment/web/CONTAINER`},
		{"several probes", "Deployment/web", "", `Deployment web has a readinessProbe in "a", "b". Name one of these containers: Deployment/web/CONTAINER`},
	} {
		b := newBuilder(read(t, group("", ""), workloads...).Group)
		from, where, err := b.find(tt.ref)
		switch {
		case tt.err != "":
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.err)
			}
		case err != nil || from.Container != tt.container || !strings.HasSuffix(where, fmt.Sprintf(", container %q", tt.container)) || !strings.HasPrefix(strings.Replace(where, " ", "/", 1), strings.TrimSuffix(tt.ref, "/"+tt.container)):
			t.Errorf("%s: %+v of %q, %v", tt.name, from, where, err)
		}
	}
}

func TestAProbeIsTranslatedIntoThatOfAGroup(t *testing.T) {
	with := func(change func(*vmconfig.Probe)) *vmconfig.Probe {
		p := vmconfig.DefaultProbe()
		change(&p)
		return &p
	}
	for _, tt := range []struct {
		name, probe string
		want        *vmconfig.Probe
		err         string
	}{
		{"an httpGet with every field", "{httpGet: {path: /a, port: 1, host: b, scheme: HTTPS, httpHeaders: [{name: hOST, value: c}, {name: x, value: d}]}}",
			with(func(p *vmconfig.Probe) {
				p.HTTPGet = &prober.HTTPGet{Path: "/a", Port: field.Number(1), Host: "b", Scheme: "HTTPS", HTTPHeaders: []pod.HTTPHeader{{Name: "Host", Value: "c"}, {Name: "x", Value: "d"}}}
			}), ""},
		{"an httpGet over HTTP/1", "{httpGet: {port: 1, protocol: HTTP1}}", with(func(p *vmconfig.Probe) { p.HTTPGet = &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTP"} }), ""},
		{"an httpGet over HTTP/2", "{httpGet: {port: 1, protocol: HTTP2}}", nil, "`readinessProbe.httpGet.protocol`: \"HTTP2\" must be unset: a WorkloadGroup cannot have the field"},
		{"a tcpSocket", "{tcpSocket: {port: 1, host: a}}", with(func(p *vmconfig.Probe) { p.TCPSocket = &prober.TCPSocket{Port: field.Number(1), Host: "a"} }), ""},
		{"a grpc", "{grpc: {port: 1, service: a, mode: Plaintext}}", with(func(p *vmconfig.Probe) { p.GRPC = &prober.GRPC{Port: field.Number(1), Service: new("a")} }), ""},
		{"a grpc without a service", "{grpc: {port: 1}}", with(func(p *vmconfig.Probe) { p.GRPC = &prober.GRPC{Port: field.Number(1), Service: new("")} }), ""},
		{"a grpc over TLS", "{grpc: {port: 1, mode: TLS}}", nil, "`readinessProbe.grpc.mode`: \"TLS\" must be unset: a WorkloadGroup cannot have the field"},
		{"an exec", "{exec: {command: [a, b]}}", with(func(p *vmconfig.Probe) { p.Exec = &vmconfig.Exec{Command: []string{"a", "b"}} }), ""},
		{"the timing", "{exec: {command: [a]}, initialDelaySeconds: 2, timeoutSeconds: 3, periodSeconds: 4, successThreshold: 5, failureThreshold: 6}",
			&vmconfig.Probe{InitialDelaySeconds: 2, TimeoutSeconds: 3, PeriodSeconds: 4, SuccessThreshold: 5, FailureThreshold: 6, Exec: &vmconfig.Exec{Command: []string{"a"}}}, ""},
		{"a zero, which stands for the default", "{exec: {command: [a]}, periodSeconds: 0}", with(func(p *vmconfig.Probe) { p.Exec = &vmconfig.Exec{Command: []string{"a"}} }), ""},
		{"no handler", "{periodSeconds: 1}", nil, "`readinessProbe`: must have exactly one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has none"},
		{"a sleep, as hooks have it", "{sleep: {seconds: 1}}", nil, `field "sleep" is not known to this version`},
		{"two handlers", "{exec: {command: [a]}, tcpSocket: {port: 1}}", nil, "`readinessProbe`: must have exactly one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has `tcpSocket`, `exec`"},
		{"a port of the container", "{tcpSocket: {port: http}}", with(func(p *vmconfig.Probe) { p.TCPSocket = &prober.TCPSocket{Port: field.Number(8080)} }), ""},
		{"a port of the group, which wins", "{httpGet: {port: other}}", with(func(p *vmconfig.Probe) {
			p.HTTPGet = &prober.HTTPGet{Path: "/", Port: field.Number(9443), Scheme: "HTTP"}
		}), ""},
		{"a port that neither has", "{httpGet: {port: nowhere}}", nil, "is nowhere, and `spec.template.ports` of the group has none"},
	} {
		g := read(t, "kind: WorkloadGroup\nmetadata: {name: reviews}\nspec: {template: {ports: {other: 9443}}}\n").Group
		from := original(t, "app", tt.probe)
		got, err := newBuilder(g).translate(&from)
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.err)
			}
			continue
		}
		if d := cmp.Diff(tt.want, got); err != nil || d != "" {
			t.Errorf("%s: %v, -want +got\n%s", tt.name, err, d)
		}
	}
}

func TestTheProbeOfAWorkloadBecomesThatOfTheGroup(t *testing.T) {
	const derivedRecord = "    rewrite-probes.io/originals: '{\"derived\":{\"tcpSocket\":{\"port\":1},\"initialDelaySeconds\":0,\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3}}'\n"
	from := "  annotations:\n    rewrite-probes.io/probe-from: Pod/a\n"
	tcp := "{tcpSocket: {port: 1}, initialDelaySeconds: 0, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}"
	for _, tt := range []struct {
		name, metadata, probe, workload string
		state                           transformer.State
		reasons                         []string
		probeAfter                      string // what the probe has then
	}{
		{"a group without a probe gets it", from, "", "{tcpSocket: {port: 1}}", transformer.WouldRewrite, nil, "port: 1"},
		{"one that is rewritten goes to the status server", from, "", "{grpc: {port: 1}}", transformer.WouldRewrite, nil, "path: /app-health/reviews/readyz"},
		{"one with a host keeps it", from, "", "{httpGet: {port: 1, host: localhost, scheme: HTTPS}}", transformer.WouldRewrite, nil, "host: localhost"},
		{"one that an earlier run took is not written again", from + derivedRecord, tcp, "{tcpSocket: {port: 1}}", transformer.LeftAlone, nil, "port: 1"},
		{"one that an earlier run took follows the workload", from + derivedRecord, tcp, "{tcpSocket: {port: 2}}", transformer.WouldRewrite, nil, "port: 2"},
		{"one that was edited since is an error", from + derivedRecord, strings.Replace(tcp, "10", "11", 1), "{tcpSocket: {port: 2}}", transformer.LeftAlone, []string{"vm-source-differs"}, "port: 1"},
		{"one whose handler was removed since is an error", from + derivedRecord, "{periodSeconds: 10}", "{tcpSocket: {port: 1}}", transformer.LeftAlone, []string{"vm-source-differs"}, "{periodSeconds: 10}"},
		{"one of the author's that is the same stays", from, "{failureThreshold: 3, tcpSocket: {port: 1}}", "{tcpSocket: {port: 1}}", transformer.LeftAlone, nil, "port: 1"},
		{"one of the author's that says less and means the same stays", from, "{failureThreshold: 3, httpGet: {port: 1}}", "{httpGet: {path: /, port: 1}, periodSeconds: 10}", transformer.LeftAlone, nil, "{port: 1}"},
		{"one that says less and means the same stays too", from, "{failureThreshold: 3, httpGet: {path: /, port: 1}}", "{httpGet: {port: 1}}", transformer.LeftAlone, nil, "port: 1"},
		{"one of the author's that differs is an error", from, "{failureThreshold: 3, tcpSocket: {port: 1}}", "{tcpSocket: {port: 2}}", transformer.LeftAlone, []string{"vm-source-differs"}, "port: 1"},
		{"a command is a warning", from, "", "{exec: {command: [a]}}", transformer.WouldRewrite, []string{"vm-source-exec"}, "- a"},
		{"a command that differs is only an error", from, "{failureThreshold: 3, exec: {command: [b]}}", "{exec: {command: [a]}}", transformer.LeftAlone, []string{"vm-source-differs"}, "[b]"},
		{"a probe that cannot be translated is an error", from, "{failureThreshold: 3, tcpSocket: {port: 1}}", "{tcpSocket: {port: nowhere}}", transformer.LeftAlone, []string{"vm-source-unknown"}, "port: 1"},
		{"a probe that cannot be made is an error, and not written", from, "", "{httpGet: {port: 1, host: 10.1.2.3}}", transformer.Refused, []string{"vm-host-remote"}, ""},
	} {
		s := read(t, group(tt.metadata, tt.probe), workload{"Pod a", []transformer.OriginalProbe{original(t, "app", tt.workload)}})
		plan := s.plan(everything)
		if got := reasons(plan); !slices.Equal(got, tt.reasons) {
			t.Errorf("%s: %v, want %v", tt.name, plan.Findings, tt.reasons)
		}
		if len(plan.Probes) != 1 || plan.Probes[0].State != tt.state {
			t.Errorf("%s: %+v, want %s", tt.name, plan.Probes, tt.state)
		}
		_, probe, _ := strings.Cut(s.apply(t, plan), "  probe:")
		if !strings.Contains(probe, tt.probeAfter) || tt.probeAfter == "" && probe != "" {
			t.Errorf("%s: the probe is %s", tt.name, probe)
		}
	}
}

// TestARunAfterTheFirstKnowsAProbeThatWasTaken has the handlers that are rewritten
// change between the runs.
func TestARunAfterTheFirstKnowsAProbeThatWasTaken(t *testing.T) {
	workload := workload{"Pod a", []transformer.OriginalProbe{original(t, "app", "{grpc: {port: 9000}}")}}
	run := func(text string, rewrite []string) string {
		s := read(t, text, workload)
		return s.apply(t, s.plan(rewrite))
	}
	in := group("  annotations:\n    rewrite-probes.io/probe-from: Pod/a\n", "")
	out := run(in, everything)
	for _, want := range []string{
		`ISTIO_KUBE_APP_PROBERS: '{"/app-health/reviews/readyz":{"grpc":{"port":9000,"service":""},"timeoutSeconds":1}}'`,
		`rewrite-probes.io/originals: '{"derived":{"grpc":{"port":9000},"initialDelaySeconds":0,"timeoutSeconds":1,`,
		"\n    timeoutSeconds: 2\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("has no %s:\n%s", want, out)
		}
	}
	if again := run(out, everything); again != out {
		t.Errorf("a second run makes\n%s", again)
	}
	plain := run(in, nil)
	if got := run(out, nil); got != plain || !strings.Contains(plain, "\n    grpc:\n      port: 9000\n") || !strings.Contains(plain, "\n    timeoutSeconds: 1\n") {
		t.Errorf("if nothing is rewritten any more it is\n%swant\n%s", got, plain)
	}
	later := run(plain, everything)
	if !strings.Contains(later, "path: /app-health/reviews/readyz") {
		t.Errorf("it is not rewritten again:\n%s", later)
	}
	for _, text := range []string{out, plain, later} {
		s := read(t, text)
		if got := s.apply(t, Restore(s.Group)); got != in {
			t.Errorf("restored is\n%swant\n%s", got, in)
		}
	}
}

func TestTheErrorOfASourceNamesTheContainer(t *testing.T) {
	s := read(t, group("  annotations: {rewrite-probes.io/probe-from: Pod/a}\n", ""), workload{"Pod a", []transformer.OriginalProbe{original(t, "app", "{}")}})
	plan := s.plan(everything)
	if len(plan.Findings) != 1 || plan.Probes != nil {
		t.Fatalf("%+v", plan)
	}
	f := plan.Findings[0]
	if want := "\"Pod/a\": Pod a, container \"app\": `readinessProbe`: must have exactly one of"; !strings.Contains(f.Text.String(), want) || f.Current != "Pod/a" || f.Field.String() != "metadata.annotations[rewrite-probes.io/probe-from]" {
		t.Errorf("%+v, want %s", f, want)
	}
}
