package vmconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

const full = `{
  "name": "reviews",
  "namespace": "shop",
  "serviceAccount": "reviews-vm",
  "network": "vms",
  "labels": {
    "app": "reviews"
  },
  "address": "10.1.2.3",
  "locality": "eu/a/1",
  "probe": {
    "initialDelaySeconds": 2,
    "timeoutSeconds": 3,
    "periodSeconds": 4,
    "successThreshold": 5,
    "failureThreshold": 6,
    "httpGet": {
      "path": "/healthz",
      "port": 8443,
      "host": "127.0.0.1",
      "scheme": "HTTPS",
      "httpHeaders": [
        {
          "name": "X-Probe",
          "value": "yes"
        }
      ]
    }
  }
}
`

func TestEveryFieldComesBackAsItWasWritten(t *testing.T) {
	c, err := vmconfig.Decode([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := &vmconfig.Config{
		Name: "reviews", Namespace: "shop", ServiceAccount: "reviews-vm", Network: "vms",
		Labels: map[string]string{"app": "reviews"}, Address: "10.1.2.3", Locality: "eu/a/1",
		Probe: vmconfig.Probe{
			InitialDelaySeconds: 2, TimeoutSeconds: 3, PeriodSeconds: 4, SuccessThreshold: 5, FailureThreshold: 6,
			HTTPGet: &prober.HTTPGet{Path: "/healthz", Port: field.Number(8443), Host: "127.0.0.1", Scheme: "HTTPS",
				HTTPHeaders: []prober.HTTPHeader{{Name: "X-Probe", Value: "yes"}}},
		},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	if got := string(c.Encode()); got != full {
		t.Errorf("got\n%s", got)
	}
}

func TestTheDefaultsAreTheDocumentedOnes(t *testing.T) {
	for _, tt := range []struct {
		handler string
		want    vmconfig.Probe
	}{
		{`"httpGet": {"port": 1}`, vmconfig.Probe{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTP"}}},
		{`"tcpSocket": {"port": 65535, "host": "::1"}`, vmconfig.Probe{TCPSocket: &prober.TCPSocket{Port: field.Number(65535), Host: "::1"}}},
		{`"grpc": {"port": 9000, "service": "a"}`, vmconfig.Probe{GRPC: &prober.GRPC{Port: field.Number(9000), Service: new("a")}}},
		{`"exec": {"command": ["/bin/true", ""]}, "grpc": null`, vmconfig.Probe{Exec: &vmconfig.Exec{Command: []string{"/bin/true", ""}}}},
	} {
		c, err := vmconfig.Decode([]byte(`{"name": "az.b", "namespace": "b-019", "probe": {` + tt.handler + `}}`))
		if err != nil {
			t.Errorf("%s: %v", tt.handler, err)
			continue
		}
		tt.want.TimeoutSeconds, tt.want.PeriodSeconds, tt.want.SuccessThreshold, tt.want.FailureThreshold = 1, 10, 1, 3
		if d := cmp.Diff(tt.want, c.Probe); d != "" {
			t.Errorf("%s: %s", tt.handler, d)
		}
		again, err := vmconfig.Decode(c.Encode())
		if err != nil || !cmp.Equal(c, again) {
			t.Errorf("%s: encoded and decoded it is %v, %v", tt.handler, again, err)
		}
	}
}

// Each row replaces a part of the full configuration.
func TestWhatCannotBeUsedIsAnErrorThatNamesTheField(t *testing.T) {
	const form = "the configuration must be a JSON object as rewrite-probes writes it: "
	const notKnown = " is not known to this version, which could not probe as the kubelet does"
	for _, tt := range []struct{ from, to, want string }{
		{`"locality":`, `"loaclity":`, form + `field "loaclity"` + notKnown},
		{`"timeoutSeconds": 3`, `"timeoutSeconds": "3"`, form + "json: cannot unmarshal string into Go struct field Probe.probe.timeoutSeconds of type int"},
		{`"app": "reviews"`, `"app": 1`, form + "json: cannot unmarshal number into Go struct field Config.labels of type string"},
		{`"name": "reviews"`, `"name": ""`, "`name`: must be set"},
		{`"name": "reviews"`, `"name": "re~views"`, "`name`: \"re~views\" must have only lower-case letters, digits, `-` and `.`, and at most 253 of them"},
		{`"namespace": "shop",`, ``, "`namespace`: must be set"},
		{`"serviceAccount": "reviews-vm"`, `"serviceAccount": "A"`, "`serviceAccount`: \"A\" must have only lower-case letters, digits, `-` and `.`, and at most 253 of them"},
		{`"address": "10.1.2.3"`, `"address": "vm.example.com"`, "`address`: \"vm.example.com\" must be an IP address"},
		{`"initialDelaySeconds": 2`, `"initialDelaySeconds": -2`, "`probe.initialDelaySeconds`: -2 must be a number from 0 to 2147483647"},
		{`"timeoutSeconds": 3`, `"timeoutSeconds": 0`, "`probe.timeoutSeconds`: 0 must be a number from 1 to 2147483647"},
		{`"periodSeconds": 4`, `"periodSeconds": 0`, "`probe.periodSeconds`: 0 must be a number from 1 to 2147483647"},
		{`"periodSeconds": 4`, `"periodSeconds": 0.5`, form + "json: cannot unmarshal number 0.5 into Go struct field Probe.probe.periodSeconds of type int"},
		{`"periodSeconds": 4`, `"period": 4`, form + `field "period"` + notKnown},
		{`"successThreshold": 5`, `"successThreshold": 2147483648`, "`probe.successThreshold`: 2147483648 must be a number from 1 to 2147483647"},
		{`"failureThreshold": 6`, `"failureThreshold": 0`, "`probe.failureThreshold`: 0 must be a number from 1 to 2147483647"},
		{`"httpGet": {`, `"grpc": {"port": 1}, "httpGet": {`, "`probe`: must have exactly one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has `httpGet`, `grpc`"},
		{`"httpGet": {`, `"tcpSocket": {"port": 1}, "exec": {"command": ["a"]}, "httpGet": {`, "`probe`: must have exactly one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has `httpGet`, `tcpSocket`, `exec`"},
		{`"port": 8443`, `"port": 0`, "`probe.httpGet.port`: 0 must be a number from 1 to 65535"},
		{`"port": 8443`, `"port": 65536`, "`probe.httpGet.port`: 65536 must be a number from 1 to 65535"},
		{`"scheme": "HTTPS"`, `"scheme": "https"`, "`probe.httpGet.scheme`: \"https\" must be HTTP or HTTPS"},
		{`"scheme": "HTTPS"`, `"protocol": "HTTP2"`, "`probe.httpGet.protocol`: \"HTTP2\" must be unset: a WorkloadGroup cannot have the field"},
		{`"name": "X-Probe"`, `"name": "X_Probe"`, "`probe.httpGet.httpHeaders[0].name`: \"X_Probe\" must have only letters, digits and `-`, and at least one"},
		{`"value": "yes"`, `"valeu": "yes"`, form + `field "valeu"` + notKnown},
		{`"name": "X-Probe",`, `"name": "X"}, {"names": "Y",`, form + `field "names"` + notKnown},
		{`"value": "yes"`, `"value": "a\u0000b"`, "`probe.httpGet.httpHeaders[0].value`: \"a\\x00b\" must have no line break and no NUL"},
		{`"value": "yes"`, `"value": "a\nb"`, "`probe.httpGet.httpHeaders[0].value`: \"a\\nb\" must have no line break and no NUL"},
		{`"value": "yes"`, `"value": "a\r\nb"`, "`probe.httpGet.httpHeaders[0].value`: \"a\\r\\nb\" must have no line break and no NUL"},
	} {
		if n := strings.Count(full, tt.from); n != 1 {
			t.Fatalf("%s is there %d times", tt.from, n)
		}
		checkError(t, strings.Replace(full, tt.from, tt.to, 1), tt.want)
	}
	for bad := range 3 { // the first that is wrong is named, wherever it is
		for _, part := range []string{"name", "value"} {
			headers := make([]string, 4)
			for i := range headers {
				name, value := "X", "y"
				if i >= bad && part == "name" {
					name = fmt.Sprintf("X_%d", i)
				}
				if i >= bad && part == "value" {
					value = fmt.Sprintf(`y%d\n`, i)
				}
				headers[i] = fmt.Sprintf(`{"name": "%s", "value": "%s"}`, name, value)
			}
			want := map[string]string{
				"name":  fmt.Sprintf("\"X_%d\" must have only letters, digits and `-`, and at least one", bad),
				"value": fmt.Sprintf("\"y%d\\n\" must have no line break and no NUL", bad),
			}[part]
			checkError(t, `{"name": "a", "namespace": "b", "probe": {"httpGet": {"port": 1, "httpHeaders": [`+strings.Join(headers, ", ")+`]}}}`,
				fmt.Sprintf("`probe.httpGet.httpHeaders[%d].%s`: %s", bad, part, want))
		}
	}
	longest := strings.Repeat("a", 253)
	if c, err := vmconfig.Decode([]byte(strings.Replace(full, "reviews", longest, 1))); err != nil || c.Name != longest {
		t.Errorf("a name of 253 letters: %v", err)
	}
	checkError(t, strings.Replace(full, "reviews", longest+"a", 1), "`name`: \""+longest+"a\" must have only lower-case letters, digits, `-` and `.`, and at most 253 of them")
	for handler, want := range map[string]string{
		`{}`:                                   "`probe`: must have exactly one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has none",
		`null`:                                 "`probe`: must have exactly one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has none",
		`[]`:                                   form + "json: cannot unmarshal array into Go struct field Config.probe of type vmconfig.Probe",
		`{"httpGet": []}`:                      form + "json: cannot unmarshal array into Go struct field Probe.probe.httpGet of type prober.HTTPGet",
		`{"tcpSocket": {}}`:                    "`probe.tcpSocket.port`: 0 must be a number from 1 to 65535",
		`{"grpc": {"port": 70000}}`:            "`probe.grpc.port`: 70000 must be a number from 1 to 65535",
		`{"grpc": {"port": 1, "mode": "TLS"}}`: "`probe.grpc.mode`: \"TLS\" must be unset: a WorkloadGroup cannot have the field",
		`{"exec": {}}`:                         "`probe.exec.command`: must name a program",
		`{"exec": {"command": [""]}}`:          "`probe.exec.command`: must name a program",
		`{"exec": {"command": "sh -c x"}}`:     form + "json: cannot unmarshal string into Go struct field Exec.probe.exec.command of type []string",
	} {
		checkError(t, `{"name": "a", "namespace": "b", "probe": `+handler+`}`, want)
	}
	for text, want := range map[string]string{
		``:                  form + "EOF",
		`{"a": true}`:       form + `field "a"` + notKnown,
		`{"name": {}}`:      form + "json: cannot unmarshal object into Go struct field Config.name of type string",
		`{"name": true}`:    form + "json: cannot unmarshal bool into Go struct field Config.name of type string",
		`{"labels": ["a"]}`: form + "json: cannot unmarshal array into Go struct field Config.labels of type map[string]string",
		`{"probe": {"exec": {"command": ["a", 1]}}}`: form + "json: cannot unmarshal number into Go struct field Exec.probe.exec.command of type string",
		`[]`:          form + "json: cannot unmarshal array into Go value of type vmconfig.Config",
		`null`:        "`name`: must be set",
		`{"name": `:   form + "unexpected EOF",
		full + `}`:    form + "something follows the JSON value",
		full + `{}`:   form + "something follows the JSON value",
		`{"name"; 1}`: form + "invalid character ';' after object key",
	} {
		checkError(t, text, want)
	}
}

func checkError(t *testing.T, text, want string) {
	t.Helper()
	c, err := vmconfig.Decode([]byte(text))
	if err == nil || err.Error() != want {
		t.Errorf("got %v, %v, want %s, of\n%s", c, err, want, text)
	}
}

// The handlers are shared with the object that the probe was read from.
func TestDefaultsDoNotChangeTheHandlerThatLacksThem(t *testing.T) {
	p := vmconfig.Probe{HTTPGet: &prober.HTTPGet{Port: field.Number(1)}, GRPC: &prober.GRPC{Port: field.Number(2)}, SuccessThreshold: 7}
	got := p.WithDefaults()
	if p.HTTPGet.Path != "" || p.HTTPGet.Scheme != "" || p.GRPC.Service != nil || p.PeriodSeconds != 0 {
		t.Errorf("was changed: %+v %+v %+v", p, p.HTTPGet, p.GRPC)
	}
	if got.HTTPGet.Path != "/" || got.HTTPGet.Scheme != "HTTP" || got.GRPC.Service == nil || got.SuccessThreshold != 7 || got.FailureThreshold != 3 {
		t.Errorf("got %+v %+v %+v", got, got.HTTPGet, got.GRPC)
	}
}

// A configuration is printed with what is set, and the numbers of its probe.
func TestWhatIsNotSetIsNotPrinted(t *testing.T) {
	c := &vmconfig.Config{Name: "a", Namespace: "b", Probe: vmconfig.DefaultProbe()}
	c.Probe.Exec = &vmconfig.Exec{Command: []string{"true"}}
	const want = `{
  "name": "a",
  "namespace": "b",
  "probe": {
    "initialDelaySeconds": 0,
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
    "exec": {
      "command": [
        "true"
      ]
    }
  }
}
`
	if got := string(c.Encode()); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAProbeIsMadeOfItsHandlerAndItsTimeout(t *testing.T) {
	service := "s"
	for name, p := range map[string]vmconfig.Probe{
		"httpGet":   {TimeoutSeconds: 2, HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTP"}},
		"tcpSocket": {TimeoutSeconds: 3, PeriodSeconds: 9, TCPSocket: &prober.TCPSocket{Port: field.Number(2)}},
		"grpc":      {TimeoutSeconds: 4, GRPC: &prober.GRPC{Port: field.Number(3), Service: &service}},
	} {
		want := prober.Original{HTTPGet: p.HTTPGet, TCPSocket: p.TCPSocket, GRPC: p.GRPC, TimeoutSeconds: p.TimeoutSeconds}
		if got := p.Prober(); *got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
