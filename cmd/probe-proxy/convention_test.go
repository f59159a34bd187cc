package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/server"
)

func TestTheEnvVarTellsTheConvention(t *testing.T) {
	for _, c := range []struct{ istio, osm, fsm, flag, want, fails string }{
		{want: "ISTIO_KUBE_APP_PROBERS"},
		{istio: "{}", want: "ISTIO_KUBE_APP_PROBERS"},
		{osm: "{}", want: "OSM_KUBE_APP_PROBERS"},
		{istio: "{}", osm: "{}", fails: "env ISTIO_KUBE_APP_PROBERS and OSM_KUBE_APP_PROBERS must not both be set: a pod has the probes of one mesh"},
		{fsm: "{}", want: "FSM_KUBE_APP_PROBERS"},
		{osm: "{}", fsm: "{}", fails: "env OSM_KUBE_APP_PROBERS and FSM_KUBE_APP_PROBERS must not both be set: a pod has the probes of one mesh"},
		{istio: "{}", osm: "{}", flag: "OSM_KUBE_APP_PROBERS", want: "OSM_KUBE_APP_PROBERS"},
		{flag: "OTHER", want: "OTHER"},
	} {
		t.Setenv("ISTIO_KUBE_APP_PROBERS", c.istio)
		t.Setenv("OSM_KUBE_APP_PROBERS", c.osm)
		t.Setenv("FSM_KUBE_APP_PROBERS", c.fsm)
		if c.flag == "" {
			c.flag = "ISTIO_KUBE_APP_PROBERS"
		}
		d, err := server.ByEnv(c.flag, os.Getenv)
		switch {
		case err != nil:
			if err.Error() != c.fails {
				t.Errorf("%+v: %v", c, err)
			}
		case c.fails != "" || d.EnvName != c.want:
			t.Errorf("%+v: %s", c, d.EnvName)
		}
	}
}

func TestCheckKnowsTheConventionsByTheirPaths(t *testing.T) {
	t.Setenv("ISTIO_KUBE_APP_PROBERS", "")
	t.Setenv("OSM_KUBE_APP_PROBERS", "")
	for value, want := range map[string]string{
		`{"/app-health/web/livez":{"httpGet":{"port":8080,"protocol":"HTTP2"}}}`:            "HTTP/2 GET :8080 /",
		`{"/app-health/web/livez":{"grpc":{"port":8080,"service":"s","mode":"TLS"}}}`:       "gRPC TLS :8080 s",
		`{"/app-health/web/livez":{"grpc":{"port":8080,"service":"s","mode":"Plaintext"}}}`: "gRPC :8080 s",
		`{"/osm-readiness-probe/web":{"tcpSocket":{"port":8080},"timeoutSeconds":3}}`:       "web        readyz  TCP :8080  3s       /osm-readiness-probe/web",
		`{"/fsm-startup-probe/web":{"httpGet":{"path":"/a","port":8443,"scheme":"HTTPS"}}}`: "/fsm-startup-probe/web",
		`{"/app-health/web/livez":{"tcpSocket":{"port":8080}}}`:                             "web        livez  TCP :8080  1s       /app-health/web/livez",
	} {
		var out, errs bytes.Buffer
		if code := run([]string{"check", value}, nil, &out, &errs); code != exitOK || !strings.Contains(out.String(), want) {
			t.Errorf("exit %d\n%s%s", code, &out, &errs)
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"check", `{"/osm-liveness-probe":{"tcpSocket":{"port":8080}}}`}, nil, &out, &errs); code != exitFailure || !strings.Contains(errs.String(), "must end with the container") {
		t.Errorf("exit %d: %s", code, &errs)
	}
}
