package vm

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

func entries(kv ...any) field.Map {
	var m field.Map
	for i := 0; i < len(kv); i += 2 {
		m = append(m, field.Entry{Key: kv[i].(string), Value: kv[i+1]})
	}
	return m
}

func TestWhatAnAuthorWroteIsTheEntryOfTheEnvVar(t *testing.T) {
	service, none := "a", ""
	for _, tt := range []struct {
		name, probe      string
		want             field.Map
		entry            prober.Original
		derivableFromEnv bool
	}{
		{"only what the rewriting changes of an httpGet", "{periodSeconds: 3, httpGet: {host: a, scheme: HTTPS, httpHeaders: [{name: A, value: b}], port: 1}}",
			entries(httpGet, entries("port", 1, "scheme", "HTTPS")),
			prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(1), Host: "a", Scheme: "HTTPS"}, TimeoutSeconds: 1}, false},
		{"an httpGet that is written as the entry is", "{httpGet: {path: /a, port: 1, scheme: HTTPS}, timeoutSeconds: 2}",
			entries(httpGet, entries("path", "/a", "port", 1, "scheme", "HTTPS"), timeoutSeconds, 2),
			prober.Original{HTTPGet: &prober.HTTPGet{Path: "/a", Port: field.Number(1), Scheme: "HTTPS"}, TimeoutSeconds: 2}, true},
		{"a timeout that is the default", "{httpGet: {path: /a, port: 1, scheme: HTTPS}, timeoutSeconds: 1}",
			entries(httpGet, entries("path", "/a", "port", 1, "scheme", "HTTPS"), timeoutSeconds, 1),
			prober.Original{HTTPGet: &prober.HTTPGet{Path: "/a", Port: field.Number(1), Scheme: "HTTPS"}, TimeoutSeconds: 1}, false},
		{"a timeout of 0, which stands for the default", "{grpc: {port: 1}, timeoutSeconds: 0}",
			entries(grpc, entries("port", 1), timeoutSeconds, 0),
			prober.Original{GRPC: &prober.GRPC{Port: field.Number(1), Service: &none}, TimeoutSeconds: 1}, false},
		{"a grpc that is written as the entry is", "{grpc: {port: 1, service: a}}",
			entries(grpc, entries("port", 1, "service", "a")),
			prober.Original{GRPC: &prober.GRPC{Port: field.Number(1), Service: &service}, TimeoutSeconds: 1}, true},
		{"a grpc in another order", "{grpc: {service: a, port: 1}}",
			entries(grpc, entries("service", "a", "port", 1)),
			prober.Original{GRPC: &prober.GRPC{Port: field.Number(1), Service: &service}, TimeoutSeconds: 1}, false},
		{"a grpc without a service", "{grpc: {port: 1}}",
			entries(grpc, entries("port", 1)),
			prober.Original{GRPC: &prober.GRPC{Port: field.Number(1), Service: &none}, TimeoutSeconds: 1}, true},
	} {
		b := newBuilder(read(t, group("", tt.probe)).Group)
		entry := entryOf(b.original)
		if d := cmp.Diff(tt.want, b.written); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
		if d := cmp.Diff(&tt.entry, entry); d != "" {
			t.Errorf("%s: the entry: -want +got\n%s", tt.name, d)
		}
		if got := cmp.Equal(b.written, writtenBy(entry)); got != tt.derivableFromEnv {
			t.Errorf("%s: told by the entry alone: %v", tt.name, got)
		}
	}
}

func TestTheStatusServerHasASecondMore(t *testing.T) {
	for inner, want := range map[int]int{-1: 2, 0: 2, 1: 2, 2: 3, math.MaxInt32 - 1: math.MaxInt32, math.MaxInt32: math.MaxInt32} {
		if got := outerTimeout(inner); got != want {
			t.Errorf("of %d: %d, want %d", inner, got, want)
		}
	}
}

// TestOnlyTheLinesThatMustChangeAreEdited has the paths of a probe's edits.
func TestOnlyTheLinesThatMustChangeAreEdited(t *testing.T) {
	for _, tt := range []struct {
		name, metadata, probe string
		want                  []string
	}{
		{"an https probe", "", "{httpGet: {port: 8443, scheme: HTTPS}}", []string{"httpGet.port", "httpGet.path", "httpGet.scheme", "timeoutSeconds"}},
		{"an https probe on the status port, whose timeout is long enough", rewrittenAnnotation, "{timeoutSeconds: 1, httpGet: {path: /, port: 15020, scheme: HTTPS}}", []string{"httpGet.path", "httpGet.scheme", "timeoutSeconds"}},
		{"a grpc probe", "", grpcProbe, []string{"grpc", "timeoutSeconds"}},
		{"one that is rewritten", rewrittenAnnotation, rewritten, nil},
		{"one that is rewritten, without a scheme", rewrittenAnnotation, "{httpGet: {path: /app-health/reviews/readyz, port: 15020}, timeoutSeconds: 2}", nil},
		{"one that is rewritten to another port", rewrittenAnnotation, "{httpGet: {path: /app-health/reviews/readyz, port: 15021}, timeoutSeconds: 2}", []string{"httpGet.port"}},
		{"one whose timeout is null", "", "{timeoutSeconds: null, httpGet: {port: 8443, scheme: HTTPS}}", []string{"httpGet.port", "httpGet.path", "httpGet.scheme", "timeoutSeconds"}},
		{"one that is rewritten without a timeout", rewrittenAnnotation, "{httpGet: {path: /app-health/reviews/readyz, port: 15020}}", []string{"timeoutSeconds"}},
	} {
		var got []string
		for _, e := range read(t, group(tt.metadata, tt.probe)).plan(everything).Edits {
			if e.Path[1].Key == "probe" {
				got = append(got, e.Path.String()[len("spec.probe."):])
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

func TestAProbeIsWrittenWithEveryDefault(t *testing.T) {
	timing := entries("initialDelaySeconds", 0, "timeoutSeconds", 1, "periodSeconds", 10, "successThreshold", 1, "failureThreshold", 1)
	for _, tt := range []struct {
		p    vmconfig.Probe
		want field.Map
	}{
		{vmconfig.Probe{HTTPGet: &prober.HTTPGet{Port: field.Number(1)}}, entries("httpGet", entries("path", "/", "port", 1, "scheme", "HTTP"))},
		{vmconfig.Probe{HTTPGet: &prober.HTTPGet{Path: "/a", Port: field.Number(1), Scheme: "HTTPS", Host: "b", HTTPHeaders: []prober.HTTPHeader{{Name: "c", Value: "d"}}}},
			entries("httpGet", entries("path", "/a", "port", 1, "scheme", "HTTPS", "host", "b", "httpHeaders", field.List{entries("name", "c", "value", "d")}))},
		{vmconfig.Probe{TCPSocket: &prober.TCPSocket{Port: field.Number(1)}}, entries("tcpSocket", entries("port", 1))},
		{vmconfig.Probe{TCPSocket: &prober.TCPSocket{Port: field.Number(1), Host: "a"}}, entries("tcpSocket", entries("port", 1, "host", "a"))},
		{vmconfig.Probe{GRPC: &prober.GRPC{Port: field.Number(1)}}, entries("grpc", entries("port", 1))},
		{vmconfig.Probe{GRPC: &prober.GRPC{Port: field.Number(1), Service: new("a")}}, entries("grpc", entries("port", 1, "service", "a"))},
		{vmconfig.Probe{Exec: &vmconfig.Exec{Command: []string{"a", "b"}}}, entries("exec", entries("command", field.List{"a", "b"}))},
	} {
		if d := cmp.Diff(append(tt.want, timing...), probeMap(&tt.p)); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
	own := vmconfig.Probe{TCPSocket: &prober.TCPSocket{Port: field.Number(1)}, InitialDelaySeconds: 2, TimeoutSeconds: 3, PeriodSeconds: 4, SuccessThreshold: 5, FailureThreshold: 6}
	want := entries("tcpSocket", entries("port", 1), "initialDelaySeconds", 2, "timeoutSeconds", 3, "periodSeconds", 4, "successThreshold", 5, "failureThreshold", 6)
	if d := cmp.Diff(want, probeMap(&own)); d != "" {
		t.Errorf("no default: -want +got\n%s", d)
	}
}

// An author's timeout that is null, or none, is so again.
func TestATimeoutComesBackAsItWas(t *testing.T) {
	for _, timeout := range []string{"", "    timeoutSeconds: null\n", "    timeoutSeconds: 1\n", "    timeoutSeconds: 0\n", "    timeoutSeconds: 5\n"} {
		in := "kind: WorkloadGroup\nmetadata:\n  name: reviews\nspec:\n  template: {}\n  probe:\n" + timeout + "    httpGet:\n      port: 8443\n      scheme: HTTPS\n"
		s := read(t, in)
		s = read(t, s.apply(t, s.plan(everything)))
		if s.Spec.Probe.TimeoutSeconds < 2 {
			t.Errorf("%q: rewritten, it has %d seconds", timeout, s.Spec.Probe.TimeoutSeconds)
		}
		once, _ := s.stream.Text()
		// The one of the rewritten probe may be null by now: the env var has it.
		for _, now := range []string{"timeoutSeconds: " + strconv.Itoa(s.Spec.Probe.TimeoutSeconds), "timeoutSeconds: null"} {
			s := read(t, strings.Replace(string(once), "timeoutSeconds: "+strconv.Itoa(s.Spec.Probe.TimeoutSeconds), now, 1))
			if got := s.apply(t, Restore(s.Group)); got != in {
				t.Errorf("restored is\n%swant\n%s", got, in)
			}
		}
	}
}

// What is written is not changed when its timeout is.
func TestAnotherTimeoutIsThatOfACopy(t *testing.T) {
	w := entries(timeoutSeconds, 1, grpc, entries("port", 1))
	if got, want := withTimeout(w, 4), entries(grpc, entries("port", 1), timeoutSeconds, 4); !cmp.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if want := entries(timeoutSeconds, 1, grpc, entries("port", 1)); !cmp.Equal(w, want) {
		t.Errorf("it has become %v", w)
	}
}
