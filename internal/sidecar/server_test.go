package sidecar_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const (
	live = "/app-health/app/livez"
	stop = "/app-lifecycle/app/prestopz"
)

// patience bounds how long a test waits for something that must happen.
const patience = 20 * time.Second

var hooks = []string{stop, "/app-lifecycle/app/poststartz", "/app-lifecycle/b/prestopz"}

// start serves an app's handler through a server and returns its address.
func start(t *testing.T, app http.HandlerFunc) (addr string, log *testutil.Buffer, s *sidecar.Server) {
	t.Helper()
	return startWith(t, 1, app)
}

// startWith is start with another timeout of the probe, in seconds.
func startWith(t *testing.T, timeout int, app http.HandlerFunc) (addr string, log *testutil.Buffer, s *sidecar.Server) {
	t.Helper()
	ts := httptest.NewServer(app)
	t.Cleanup(ts.CloseClientConnections)
	port := ts.Listener.Addr().(*net.TCPAddr).Port
	get := &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(port), Scheme: "HTTP"}, TimeoutSeconds: timeout}
	probers := map[string]*prober.Original{live: get}
	for _, hook := range hooks {
		probers[hook] = get
	}
	_, bad, err := prober.Decode(`{"/app-health/bad/livez": {}, "/app-lifecycle/bad/prestopz": {"tcpSocket": {"port": "x"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	log = &testutil.Buffer{}
	s = sidecar.New(slog.New(slog.NewTextHandler(log, nil)), "127.0.0.1", 15020, probers, bad)
	l, err := sidecar.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go s.Serve(l)
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port), log, s
}

func ok(http.ResponseWriter, *http.Request) {}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := &http.Client{Timeout: patience}
	res, err := client.Get("http://" + url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// send writes text and returns the first line of what comes back.
func send(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	io.WriteString(conn, text)
	b, _ := io.ReadAll(conn)
	line, _, _ := strings.Cut(string(b), "\r\n")
	return line
}

func TestOnlyExactKeysAreAnswered(t *testing.T) {
	addr, _, _ := start(t, ok)
	for target, want := range map[string]int{
		live: 200, "/healthz": 200, "/readyz": 200, "/metrics": 200,
		live + "/": 404, live + "?x": 404, "/": 404, "/app-health/app/readyz": 404, "/app-health//livez": 404, "/app-health/%61pp/livez": 404, "/x/.." + live: 404,
	} {
		line := send(t, addr, "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if !strings.HasPrefix(line, fmt.Sprintf("HTTP/1.1 %d ", want)) {
			t.Errorf("GET %s: %q, want %d", target, line, want)
		}
	}
}

func TestARequestThatNoKubeletSendsIsRefused(t *testing.T) {
	addr, _, _ := start(t, ok)
	for request, want := range map[string]string{
		"HEAD " + live + " HTTP/1.1\r\nHost: x\r\n\r\n":                                          "405",
		"POST " + live + " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc":                  "405",
		"GET http://other" + live + " HTTP/1.1\r\nHost: x\r\n\r\n":                               "404",
		"CONNECT other:80 HTTP/1.1\r\nHost: x\r\n\r\n":                                           "404",
		"GET " + live + "\r\n\r\n":                                                               "400",
		"GET " + live + " HTTP/1.1\r\nno colon\r\n\r\n":                                          "400",
		"GET " + live + " HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                "400",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                       "505",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 70<<10) + "\r\n\r\n": "431",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A:b\r\n", 127) + "\r\n":     "431",
		"GET " + live + " HTTP/1.1\r\nHost : x\r\n\r\n":                                          "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n":                                 "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\nX-Forwarded-For : c\r\n\r\n":                    "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\n folded: c\r\n\r\n":                             "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\n: c\r\n\r\n":                                    "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n":                                "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n":                             "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\nA: b\r\n\r\n":                                     "400",
		"G T " + live + " HTTP/1.1\r\nHost: x\r\n\r\n":                                           "400",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A:b\r\n", 126) + "\r\n":     "200",
		"GET " + live + " HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 60<<10) + "\r\n\r\n": "200",
		"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n":                                                   "400",
	} {
		if line := send(t, addr, request); !strings.HasPrefix(line, "HTTP/1.1 "+want) {
			t.Errorf("%.60q: %q, want %s", request, line, want)
		}
	}
}

// What a caller reads of a request that leads to no call of the app.
func TestARefusalSaysWhy(t *testing.T) {
	addr, _, _ := start(t, ok)
	if status, body := get(t, addr+"/app-health/other/livez"); status != 404 || body != "probe-proxy: no such probe\n" {
		t.Errorf("%d %q", status, body)
	}
	res, err := http.Post("http://"+addr+live, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 405 || res.Header.Get("Allow") != "GET" || string(body) != "probe-proxy: only GET is allowed\n" {
		t.Errorf("%d %v %q, %v", res.StatusCode, res.Header, body, err)
	}
}

// Prometheus shows the HELP to people, and reads the TYPE.
func TestEveryMetricHasItsHelpAndType(t *testing.T) {
	addr, _, _ := start(t, ok)
	get(t, addr+live)
	_, metrics := get(t, addr+"/metrics")
	for _, want := range []string{
		"# HELP probe_proxy_probes_total Calls answered, by what the kubelet makes of the answer.\n# TYPE probe_proxy_probes_total counter\n",
		"# HELP probe_proxy_probe_duration_seconds Time from the caller's connection to the app's answer.\n# TYPE probe_proxy_probe_duration_seconds histogram\n",
		"# HELP probe_proxy_open_calls Calls that wait for the app.\n# TYPE probe_proxy_open_calls gauge\n",
	} {
		if _, after, found := strings.Cut("\n"+metrics, "\n"+want); !found || !strings.HasPrefix(after, strings.Fields(want)[2]) {
			t.Errorf("metrics lack %q before its samples:\n%s", want, metrics)
		}
	}
}

func TestABadEntryDisablesThatProbeAlone(t *testing.T) {
	addr, log, _ := start(t, ok)
	if status, body := get(t, addr+"/app-health/bad/livez"); status != 500 || !strings.HasPrefix(body, "probe-proxy: this probe is disabled, its entry cannot be used: ") || strings.Count(body, "\n") != 1 || !strings.HasSuffix(body, "\n") {
		t.Errorf("bad probe: %d %q, want a 500 that says so", status, body)
	}
	if line := send(t, addr, "GET /app-lifecycle/bad/prestopz HTTP/1.1\r\nHost: x\r\n\r\n"); line != "" {
		t.Errorf("bad hook: %q, want the connection dropped", line)
	}
	if status, _ := get(t, addr+live); status != 200 {
		t.Errorf("good probe: %d", status)
	}
	if n := strings.Count(log.String(), `msg="probe is disabled: its entry cannot be used" probe=/app-`); n != 2 {
		t.Errorf("log names %d disabled probes, want 2:\n%s", n, log)
	}
}

// TestALineOfFailureHasTheAppsWords: as much as a caller may get, on one line, and never a header.
func TestALineOfFailureHasTheAppsWords(t *testing.T) {
	const words = "no database:\n\x1b[31m"
	for _, c := range []struct {
		bodiesFrom int
		want       string
	}{
		{400, ` reason="app answered with status 503" app="no database:  [31m` + strings.Repeat("x", 200-len(words)) + `"` + "\n"},
		{1000, ` reason="app answered with status 503"` + "\n"},
	} {
		addr, log, s := start(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "secret")
			w.WriteHeader(503)
			io.WriteString(w, words+strings.Repeat("x", 500))
		})
		s.BodiesFrom = c.bodiesFrom
		get(t, addr+live)
		if got := log.String(); !strings.HasSuffix(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("bodies from %d: the line is %s", c.bodiesFrom, got)
		}
	}
}

func TestOnlyChangesOfStateAreLogged(t *testing.T) {
	status := 200
	addr, log, _ := start(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	for _, status = range []int{200, 200, 503, 503, 503, 200, 200} {
		get(t, addr+live)
	}
	if n := strings.Count(log.String(), "probe succeeds"); n != 2 {
		t.Errorf("%d lines of success, want 2:\n%s", n, log)
	}
	if n := strings.Count(log.String(), "probe fails"); n != 1 || !strings.Contains(log.String(), "status 503") {
		t.Errorf("%d lines of failure, want 1 with the reason:\n%s", n, log)
	}
	if _, metrics := get(t, addr+"/metrics"); !strings.Contains(metrics, `probe_proxy_probes_total{probe="/app-health/app/livez",verdict="failure"} 3`) {
		t.Errorf("metrics do not count 3 failures:\n%s", metrics)
	}
}

// An app that refuses at its start and is too slow later has two causes: the log has both, each once.
func TestALineForEachCause(t *testing.T) {
	status := 200
	addr, log, _ := start(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	for _, status = range []int{502, 502, 503, 503, 502, 200, 204, 502} {
		get(t, addr+live)
	}
	if n := strings.Count(log.String(), "probe fails"); n != 4 {
		t.Errorf("%d lines of failure, want 4:\n%s", n, log)
	}
	if n := strings.Count(log.String(), "probe succeeds"); n != 1 {
		t.Errorf("%d lines of success, want 1:\n%s", n, log)
	}
}

func TestTheCallersGoingAwayReachesTheApp(t *testing.T) {
	gone := make(chan struct{})
	came := make(chan struct{})
	addr, _, _ := start(t, func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
		close(gone)
	})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "GET "+stop+" HTTP/1.1\r\nHost: x\r\n\r\n") // a hook has no timeout of its own
	testutil.Received(t, came)
	conn.Close()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the app's request is still open")
	}
}

func TestAHangingAppIsReportedBeforeTheKubeletGivesUp(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	addr, _, _ := start(t, func(http.ResponseWriter, *http.Request) { <-release })
	if status, body := get(t, addr+live); status != 504 || !strings.Contains(body, "within 1s") {
		t.Errorf("%d %q, want 504 with the reason", status, body)
	}
}

// TestTheStatusOfASlowBodyIsPassedOnAtOnce: a caller that has the status while
// it waits for the body makes of a timeout what the kubelet makes of it.
func TestTheStatusOfASlowBodyIsPassedOnAtOnce(t *testing.T) {
	for _, test := range []struct {
		name    string
		version string
		end     func()
		body    string
		chunked bool
		cut     bool
	}{
		{name: "and the body when it comes", version: "1.1", body: "part and the rest", chunked: true},
		{name: "and the body that breaks off", version: "1.1", body: "part", chunked: true, end: func() { panic(http.ErrAbortHandler) }, cut: true},
		{name: "but not over HTTP/1.0", version: "1.0", body: "part and the rest"},
	} {
		t.Run(test.name, func(t *testing.T) {
			release := make(chan struct{})
			addr, _, _ := start(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(203)
				io.WriteString(w, "part")
				w.(http.Flusher).Flush()
				<-release
				if test.end != nil {
					test.end()
				}
				io.WriteString(w, " and the rest")
			})
			conn := dial(t, addr, "GET "+live+" HTTP/"+test.version+"\r\nHost: x\r\n\r\n")
			if !test.chunked {
				close(release)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || res.StatusCode != 203 || (len(res.TransferEncoding) > 0) != test.chunked {
				t.Fatalf("%+v, %v", res, err)
			}
			if test.chunked {
				close(release)
			}
			if b, err := io.ReadAll(res.Body); string(b) != test.body || (err != nil) != test.cut {
				t.Errorf("body %q, %v", b, err)
			}
		})
	}
}

func TestMetricsCountTheTimeOfProbes(t *testing.T) {
	addr, _, _ := start(t, func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Millisecond) })
	get(t, addr+live)
	_, metrics := get(t, addr+"/metrics")
	sum := 0.0
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, `probe_proxy_probe_duration_seconds_sum{probe="`+live+`"} `); ok {
			sum, _ = strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	if sum < 0.002 || !strings.Contains(metrics, `probe_proxy_probe_duration_seconds_count{probe="`+live+`"} 1`) {
		t.Errorf("a probe of 2 ms is counted with %g s:\n%s", sum, metrics)
	}
}

func TestAnAnswerHasABodyUnlessItsStatusForbidsOne(t *testing.T) {
	for status, want := range map[int]string{
		200: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 0\r\n\r\n",
		204: "HTTP/1.1 204 Status\r\nConnection: close\r\n\r\n",
		304: "HTTP/1.1 304 Status\r\nConnection: close\r\n\r\n",
		599: "HTTP/1.1 599 Status\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 0\r\n\r\n",
	} {
		addr, _, _ := start(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		conn := dial(t, addr, "GET "+live+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if got, err := io.ReadAll(conn); string(got) != want || err != nil {
			t.Errorf("%d: %q, %v; want %q", status, got, err, want)
		}
	}
}

// TestABodyThatBreaksOffBreaksOffForTheCaller: the kubelet discards the result.
func TestABodyThatBreaksOffBreaksOffForTheCaller(t *testing.T) {
	addr, _, _ := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "part")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	client := &http.Client{Timeout: patience}
	res, err := client.Get("http://" + addr + live)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); string(b) != "part" || err == nil {
		t.Errorf("body %q, %v; want a part and an error", b, err)
	}
}

func TestACallerThatGivesUpIsNoFault(t *testing.T) {
	addr, log, _ := start(t, ok)
	for _, text := range []string{"", "GET /", "GET " + live + " HTTP/1.1\r\nHost: x\r\n"} {
		conn := dial(t, addr, text)
		conn.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(conn); len(b) > 0 || err != nil {
			t.Errorf("%q is answered %q, %v", text, b, err)
		}
	}
	if strings.Contains(log.String(), "panicked") {
		t.Error(log.String())
	}
}

func TestMetricsSayWhatTheyAre(t *testing.T) {
	addr, _, _ := start(t, ok)
	_, metrics := get(t, addr+"/metrics")
	var got []string
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "# TYPE") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{"# TYPE probe_proxy_probes_total counter", "# TYPE probe_proxy_probe_duration_seconds histogram", "# TYPE probe_proxy_open_calls gauge"}
	if !slices.Equal(got, want) || strings.Count(metrics, "# HELP") != len(want) {
		t.Errorf("%q", got)
	}
	if !strings.HasSuffix(metrics, "probe_proxy_open_calls 0\n") || !strings.Contains(metrics, `probe_proxy_probe_duration_seconds_bucket{probe="`+live+`",le="0.005"} 0`) {
		t.Error(metrics)
	}
}
