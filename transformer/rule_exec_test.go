package transformer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// workarounds returns the findings about the pod spec of a Deployment.
func workarounds(t *testing.T, spec string) []transformer.Finding {
	t.Helper()
	return slices.DeleteFunc(plan(t, podOf("", spec)).Findings, func(f transformer.Finding) bool { return f.Reason.String() != "exec-workaround" })
}

const podVariables = "env:\n- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n- {name: NODE, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}\n- {name: PORT, value: \"8080\"}\n- {name: TWO, value: a b}\n"

func TestAnExecProbeThatAsksThePodItselfHasANativeForm(t *testing.T) {
	for command, want := range map[string]string{
		`[curl, -f, "http://localhost:8080/healthz"]`:                                            "httpGet :8080/healthz",
		`[/usr/bin/curl, -fsS, --max-time, "5", "localhost:8080"]`:                               "httpGet :8080/",
		`[curl, --fail, --silent, -o, /dev/null, "http://127.0.0.1/ready?full=1"]`:               "httpGet :80/ready?full=1",
		`[curl, -sfk, "https://[::1]:8443/readyz"]`:                                              "httpGet https :8443/readyz",
		`[curl, -fkso/dev/null, "https://localhost/"]`:                                           "httpGet https :443/",
		`[curl, -f, -H, "Host: shop", --header, "Accept: text/plain", "http://localhost:80/"]`:   "",
		`[sh, -c, "curl -sf http://localhost:8080/healthz || exit 1"]`:                           "httpGet :8080/healthz",
		`[/bin/bash, -c, "exec curl -sf 'http://localhost:8080/a' > /dev/null 2>&1"]`:            "",
		`[/bin/bash, -c, "curl -f http://localhost:8080/a"]`:                                     "httpGet :8080/a",
		`[bash, -c, "nc -z localhost 80 || exit 1"]`:                                             "tcpSocket :80",
		`[fish, -c, "nc -z localhost 80"]`:                                                       "",
		`[sh, -x, "nc -z localhost 80"]`:                                                         "",
		`[sh, -c, "nc -z localhost 80", x]`:                                                      "",
		`[/bin/sh, -ec, "curl -f \"http://${POD_IP}:$PORT/live\" >/dev/null"]`:                   "",
		`[sh, -c, "curl -f http://localhost:8080>/dev/null"]`:                                    "",
		`[wget, -q, --spider, "http://localhost:3000/"]`:                                         "httpGet :3000/",
		`[wget, -qO-, "localhost:9000/minio/health/live"]`:                                       "httpGet :9000/minio/health/live",
		`[wget, --no-verbose, --tries=1, --spider, "http://localhost:80/x"]`:                     "httpGet :80/x",
		`[wget, --no-check-certificate, -T, "3", -O, /dev/null, "https://127.0.0.1:8443/"]`:      "httpGet https :8443/",
		`[sh, -c, "wget -q -O - --header='X-A: b' http://127.0.0.1:8080/healthz &>/dev/null"]`:   "",
		`[sh, -c, "wget -q -O - --header='X-A: b' http://127.0.0.1:8080/healthz 2>/dev/null"]`:   "",
		`[nc, -z, localhost, "5432"]`:                                                            "tcpSocket :5432",
		`[nc, -zv, -w, "1", 127.0.0.1, "6379"]`:                                                  "tcpSocket :6379",
		`[nc, -z, -w, 2s, 127.0.0.1, "6379"]`:                                                    "",
		`[nc, -z, -w, ms, 127.0.0.1, "6379"]`:                                                    "",
		`[nc, -zwms, 127.0.0.1, "6379"]`:                                                         "",
		`[sh, -c, "nc -vz -w2 $POD_IP 11211"]`:                                                   "",
		`[/bin/grpc_health_probe, "-addr=:50051"]`:                                               "grpc :50051",
		`[grpc_health_probe, --addr=localhost:9090, -service=shop.Cart, -connect-timeout=250ms]`: "grpc :9090 shop.Cart",
		`[/usr/local/bin/grpc-health-probe, -v, -addr, "127.0.0.1:50051", -rpc-timeout, 2s]`:     "",
		`[curl, "http://localhost:8080/healthz"]`:                                                "", // passes with 500 too
		`[curl, -f, "http://db:8080/healthz"]`:                                                   "",
		`[curl, -f, "https://localhost:8443/"]`:                                                  "", // verifies the certificate
		`[curl, -f, --cacert, /ca, "https://localhost:8443/"]`:                                   "",
		`[curl, -f, -X, POST, "http://localhost/"]`:                                              "",
		`[curl, -f, -d, a, "http://localhost/"]`:                                                 "",
		`[curl, -f, "http://user@localhost/"]`:                                                   "",
		`[curl, -f, --unix-socket, /s, "http://localhost/"]`:                                     "",
		`[curl, -f, "http://localhost/a", "http://localhost/b"]`:                                 "",
		`[curl, -f, "http://localhost:http/"]`:                                                   "",
		`[curl, -f, "ftp://localhost/"]`:                                                         "",
		`[curl, -f]`:                                                                             "",
		`[curl, -f, "http://localhost/", -o]`:                                                    "",
		`[curl, -f, "http://localhost:$(PORT)/"]`:                                                "",
		`[wget, "http://localhost/"]`:                                                            "", // leaves a file behind
		`[wget, --spider, --post-data=a, "http://localhost/"]`:                                   "",
		`[sh, -c, "curl -sf http://localhost/ | grep ok"]`:                                       "",
		`[sh, -c, "curl -sf http://localhost/ && test -f /ready"]`:                               "",
		`[sh, -c, "test -f /ready; curl -sf http://localhost/"]`:                                 "",
		`[sh, -c, "curl -sf http://localhost/\ncurl -sf http://localhost/b"]`:                    "",
		`[sh, -c, "curl -sf http://localhost/ || true"]`:                                         "",
		`[sh, -c, "! curl -sf http://localhost/"]`:                                               "",
		`[sh, -c, "curl -sf http://$(hostname)/"]`:                                               "",
		"[sh, -c, \"curl -sf http://localhost/`cat /p`\"]":                                       "",
		`[sh, -c, "curl -sf http://$NODE:8080/"]`:                                                "",
		`[sh, -c, "curl -sf http://$HOSTNAME:8080/"]`:                                            "",
		`[sh, -c, "curl -sf http://localhost/ $TWO"]`:                                            "",
		`[sh, -c, "curl -sf 'http://localhost/"]`:                                                "",
		`[sh, -c, "curl -sf http://localhost/$1", sh, a]`:                                        "",
		`[sh, -x, "curl -sf http://localhost/"]`:                                                 "",
		`[nc, localhost, "80"]`:                                                                  "",
		`[nc, -zu, localhost, "53"]`:                                                             "",
		`[nc, -z, localhost, 80-90]`:                                                             "",
		`[nc, -z, db, "80"]`:                                                                     "",
		`[grpc_health_probe, "-addr=:50051", -tls, -tls-no-verify]`:                              "grpc :50051 TLS",
		`[grpc_health_probe, --tls-no-verify, --tls, "-addr=:50051", -service=a]`:                "grpc :50051 a TLS",
		`[grpc_health_probe, "-addr=:50051", -tls]`:                                              "", // verifies the certificate
		`[grpc_health_probe, "-addr=:50051", -tls-no-verify]`:                                    "", // refuses to run
		`[grpc_health_probe, "-addr=:50051", -tls, -tls-no-verify, -tls-server-name=a]`:          "",
		`[grpc_health_probe, "-addr=cart:50051"]`:                                                "",
		`[grpc_health_probe, "-service=a"]`:                                                      "",
		`[wget, -qO, /dev/null, "http://localhost:80/x"]`:                                        "httpGet :80/x",
		`[dash, -c, "curl -sf http://localhost:80/x"]`:                                           "",
		`[ash, -lc, "curl -sf http://localhost:80/x"]`:                                           "",
		`[sh, -ce, "curl -sf http://localhost:80/x"]`:                                            "",
		`[zsh, -c, "curl -sf http://localhost:80/x"]`:                                            "",
		`[ncat, -zw2, localhost, "80"]`:                                                          "",
		`[bash, -c, "nc -vz -w2 ::1 11211"]`:                                                     "tcpSocket :11211",
		`[sh, -c, "wget -q -O - http://127.0.0.1:8080/healthz || exit 1"]`:                       "httpGet :8080/healthz",
		`[sh, -c, "wget -q -O - http://127.0.0.1:8080/healthz || exit 0"]`:                       "",
		`[/usr/local/bin/grpc_health_probe, -v, -addr, "127.0.0.1:50051", -rpc-timeout, 2s]`:     "grpc :50051",
		`[grpc_health_probe, -addr, "127.0.0.1:50051", -rpc-timeout, "2"]`:                       "",
		`[grpc_health_probe, -v]`:                                                                "",
		`[netcat, -n4zv, "::1", "65535"]`:                                                        "tcpSocket :65535",
		`[curl, -f, "http://::1:80/"]`:                                                           "",
		`[nc, -z, "localhost 80"]`:                                                               "",
		`[curl, -f, "http://localhost:8080/a", -s]`:                                              "",
		`[curl, -of, "http://localhost/"]`:                                                       "",
		`[curl, -so, -f, "http://localhost/"]`:                                                   "",
		`[curl, -m, -f, "http://localhost/"]`:                                                    "",
		`[wget, -q, -O, x, "http://localhost/"]`:                                                 "",
		`[netcat, -n4zv, "[::1]", "65535"]`:                                                      "",
		`[nc, -zw2x, localhost, "80"]`:                                                           "",
		`[nc, -zQ, localhost, "80"]`:                                                             "",
		`[nc, -zw2Q, localhost, "80"]`:                                                           "",
		`[nc, -z, localhost, "0"]`:                                                               "",
		`[nc, -z, localhost, "65536"]`:                                                           "",
		`[nc, -z, localhost, "80", "81"]`:                                                        "",
		`[curl, -f, "http://localhost:0/"]`:                                                      "",
		`[curl, -f, "http://localhost:65536/"]`:                                                  "",
		`[curl, -f, "", "http://localhost/"]`:                                                    "",
		`[curl, -f, -H, "A", "http://localhost/"]`:                                               "",
		`[curl, -f, -H, ":b", "http://localhost/"]`:                                              "",
		`[curl, -f, -H, "A: ", "http://localhost/"]`:                                             "",
		`[sh, -c, "curl -sf http://localhost/$UNKNOWN"]`:                                         "",
		`[grpc_health_probe, "-addr=:0"]`:                                                        "",
		`[grpc_health_probe, "-addr=:1", more]`:                                                  "",
		`[cat, /tmp/healthy]`:                                                                    "",
		`[sh, -c, ""]`:                                                                           "",
		`[curl]`:                                                                                 "",
		`[]`:                                                                                     "",
	} {
		found := workarounds(t, app(podVariables+"livenessProbe: {exec: {command: "+command+"}}\nlifecycle: {preStop: {exec: {command: "+command+"}}}"))
		got := ""
		for _, f := range found {
			if f.Severity != transformer.Info || f.Reason.String() != "exec-workaround" || f.Field.String() != tmpl+"livenessProbe" || f.Container != "app" {
				t.Errorf("%s: %+v", command, f)
			}
			if now, _ := f.Current.(field.Map); len(now) != 1 || now[0].Key != "exec" {
				t.Errorf("%s: the value that is there is said to be %v", command, f.Current)
			}
			got += proposed(f.Proposed)
			if words := strings.TrimSuffix(want, " TLS"); want != "" && (!strings.Contains(textOf(f), words) || words != want && !strings.Contains(textOf(f), "`"+words+"` with `mode: TLS`.")) {
				t.Errorf("%s: %s", command, textOf(f))
			}
		}
		if got != want {
			t.Errorf("%s: %q is proposed, want %q", command, got, want)
		}
	}
}

// Each option by itself: without effect, with a value as the next word or behind the option.
func TestTheOptionsOfHTTPToolsAreKnown(t *testing.T) {
	for start, options := range map[string]string{
		"curl, -f":       "-s|--silent|-S|--show-error|-L|--location|-v|--verbose|-k|--insecure|--fail|-o, x|-ox|--output, x|-m, 1s|-m1|--max-time, 1s|--connect-timeout, 1s|--noproxy, x",
		"curl, --fail":   "-f",
		"wget, --spider": "-q|--quiet|-nv|--no-verbose|-S|--server-response|--no-check-certificate|-T, \"1\"|-T1|--timeout=1|-t, \"2\"|--tries=2|-O, -|-O-|-O/dev/null|--output-document=-",
		"wget, -O, -":    "--spider",
	} {
		for option := range strings.SplitSeq(options, "|") {
			command := fmt.Sprintf("[%s, %s, \"http://localhost:8080/\"]", start, option)
			found := workarounds(t, app("livenessProbe: {exec: {command: "+command+"}}\n"))
			if len(found) != 1 || !strings.HasPrefix(proposed(found[0].Proposed), "httpGet :8080/") {
				t.Errorf("%s: %+v", command, found)
			}
		}
	}
}

// proposed words a handler that a finding proposes.
func proposed(v field.Value) string {
	m := v.(field.Map)
	h := m[0].Value.(field.Map)
	scheme := strings.ToLower(field.As[string](h, "scheme"))
	if scheme != "" {
		scheme = " " + scheme
	}
	words := fmt.Sprintf("%s%s :%d%s", m[0].Key, scheme, field.As[int](h, "port"), field.As[string](h, "path"))
	if service := field.As[string](h, "service"); service != "" {
		words += " " + service
	}
	if mode := field.As[string](h, "mode"); mode != "" {
		words += " " + mode
	}
	return words
}
