package vmconfig_test

import (
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
	const handlers = "allowed are initialDelaySeconds, timeoutSeconds, periodSeconds, successThreshold, failureThreshold, httpGet, tcpSocket, grpc, exec"
	for _, tt := range []struct{ from, to, want string }{
		{`"locality":`, `"loaclity":`, "`loaclity`: unknown field; allowed are name, namespace, serviceAccount, network, labels, address, locality, probe"},
		{`"locality":`, `"locality": "us", "locality":`, "`locality`: the field is there twice"},
		{`"timeoutSeconds": 3`, `"timeoutSeconds": "3"`, "`probe.timeoutSeconds`: has a JSON string where a whole number must be"},
		{`"app": "reviews"`, `"app": "reviews", "app": "reviews"`, "`labels.app`: the field is there twice"},
		{`"app": "reviews"`, `"app": 1`, "`labels`: has a JSON number where a string must be"},
		{`"name": "reviews"`, `"name": ""`, "`name`: must be set"},
		{`"name": "reviews"`, `"name": "re~views"`, "`name`: \"re~views\" must have only lower-case letters, digits, `-` and `.`, and at most 253 of them"},
		{`"namespace": "shop",`, ``, "`namespace`: must be set"},
		{`"serviceAccount": "reviews-vm"`, `"serviceAccount": "A"`, "`serviceAccount`: \"A\" must have only lower-case letters, digits, `-` and `.`, and at most 253 of them"},
		{`"address": "10.1.2.3"`, `"address": "vm.example.com"`, "`address`: \"vm.example.com\" must be an IP address"},
		{`"initialDelaySeconds": 2`, `"initialDelaySeconds": -2`, "`probe.initialDelaySeconds`: -2 must be a number from 0 to 2147483647"},
		{`"timeoutSeconds": 3`, `"timeoutSeconds": 0`, "`probe.timeoutSeconds`: 0 must be a number from 1 to 2147483647"},
		{`"periodSeconds": 4`, `"periodSeconds": 0`, "`probe.periodSeconds`: 0 must be a number from 1 to 2147483647"},
		{`"periodSeconds": 4`, `"periodSeconds": 0.5`, "`probe.periodSeconds`: has a JSON number 0.5 where a whole number must be"},
		{`"periodSeconds": 4`, `"period": 4`, "`probe.period`: unknown field; " + handlers},
		{`"successThreshold": 5`, `"successThreshold": 2147483648`, "`probe.successThreshold`: 2147483648 must be a number from 1 to 2147483647"},
		{`"failureThreshold": 6`, `"failureThreshold": 0`, "`probe.failureThreshold`: 0 must be a number from 1 to 2147483647"},
		{`"httpGet": {`, `"HTTPGet": {`, "`probe.HTTPGet`: unknown field; " + handlers},
		{`"httpGet": {`, `"grpc": {"port": 1}, "httpGet": {`, "`probe`: must have only one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has `httpGet`, `grpc`"},
		{`"httpGet": {`, `"tcpSocket": {"port": 1}, "exec": {"command": ["a"]}, "httpGet": {`, "`probe`: must have only one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has `httpGet`, `tcpSocket`, `exec`"},
		{`"port": 8443`, `"port": 0`, "`probe.httpGet.port`: 0 must be a number from 1 to 65535"},
		{`"port": 8443`, `"port": 65536`, "`probe.httpGet.port`: 65536 must be a number from 1 to 65535"},
		{`"scheme": "HTTPS"`, `"scheme": "https"`, "`probe.httpGet.scheme`: \"https\" must be HTTP or HTTPS"},
		{`"name": "X-Probe"`, `"name": "X_Probe"`, "`probe.httpGet.httpHeaders[0].name`: \"X_Probe\" must have only letters, digits and `-`, and at least one"},
		{`"value": "yes"`, `"valeu": "yes"`, "`probe.httpGet.httpHeaders[0].valeu`: unknown field; allowed are name, value"},
		{`"name": "X-Probe",`, `"name": "X"}, {"names": "Y",`, "`probe.httpGet.httpHeaders[1].names`: unknown field; allowed are name, value"},
		{`"value": "yes"`, `"value": "a\r\nb"`, "`probe.httpGet.httpHeaders[0].value`: \"a\\r\\nb\" must have no line break and no NUL"},
	} {
		if n := strings.Count(full, tt.from); n != 1 {
			t.Fatalf("%s is there %d times", tt.from, n)
		}
		checkError(t, strings.Replace(full, tt.from, tt.to, 1), tt.want)
	}
	longest := strings.Repeat("a", 253)
	if c, err := vmconfig.Decode([]byte(strings.Replace(full, "reviews", longest, 1))); err != nil || c.Name != longest {
		t.Errorf("a name of 253 letters: %v", err)
	}
	checkError(t, strings.Replace(full, "reviews", longest+"a", 1), "`name`: \""+longest+"a\" must have only lower-case letters, digits, `-` and `.`, and at most 253 of them")
	for handler, want := range map[string]string{
		`{}`:                               "`probe`: must have one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has none",
		`null`:                             "`probe`: must have one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has none",
		`[]`:                               "`probe`: has a JSON array where an object must be",
		`{"httpGet": []}`:                  "`probe.httpGet`: has a JSON array where an object must be",
		`{"tcpSocket": {}}`:                "`probe.tcpSocket.port`: 0 must be a number from 1 to 65535",
		`{"grpc": {"port": 70000}}`:        "`probe.grpc.port`: 70000 must be a number from 1 to 65535",
		`{"exec": {}}`:                     "`probe.exec.command`: must name a program",
		`{"exec": {"command": [""]}}`:      "`probe.exec.command`: must name a program",
		`{"exec": {"command": "sh -c x"}}`: "`probe.exec.command`: has a JSON string where a list must be",
	} {
		checkError(t, `{"name": "a", "namespace": "b", "probe": `+handler+`}`, want)
	}
	for text, want := range map[string]string{
		``:                  "the configuration must be a JSON object: unexpected end of JSON input",
		`{"a": true}`:       "`a`: unknown field; allowed are name, namespace, serviceAccount, network, labels, address, locality, probe",
		`{"name": {}}`:      "`name`: has a JSON object where a string must be",
		`{"name": true}`:    "`name`: has a JSON bool where a string must be",
		`{"labels": ["a"]}`: "`labels`: has a JSON array where an object must be",
		`{"probe": {"exec": {"command": ["a", 1]}}}`: "`probe.exec.command`: has a JSON number where a string must be",
		`[]`:          "the configuration must be a JSON object: json: cannot unmarshal array into Go value of type vmconfig.Config",
		`null`:        "`name`: must be set",
		`{"name": `:   "the configuration must be a JSON object: unexpected end of JSON input",
		full + `}`:    "the configuration must be a JSON object: invalid character '}' after top-level value",
		full + `{}`:   "the configuration must be a JSON object: invalid character '{' after top-level value",
		`{"name"; 1}`: "the configuration must be a JSON object: invalid character ';' after object key",
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
