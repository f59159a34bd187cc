package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

const portTaken = "another container of this pod listens there. Set another `port` in the functionConfig of rewrite-probes. If it is Istio's sidecar, set `answeredBy: istio-proxy`"

const livez = `{"/app-health/web/livez":{"httpGet":{"path":"/","port":%d,"scheme":"HTTP"},"timeoutSeconds":1}}`

func TestPort_taken(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, []string{"--port", strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}, "POD_IP=127.0.0.1")
	if code := p.waitEnd(t); code != exitFailure {
		t.Errorf("ended with %d, want exit code %d", code, exitFailure)
	}
	const want = "is taken: another container of this pod listens there. Set another `port` in the functionConfig of rewrite-probes. If it is Istio's sidecar, set `answeredBy: istio-proxy`"
	if !strings.Contains(strings.ReplaceAll(p.Log(), `\`, ""), want) {
		t.Errorf("message does not say %s: %s", want, p.Log())
	}
}

func TestItRefusesToRunAsIstiosUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become uid 1337")
	}
	// The test's binary stands in a folder that only root may enter.
	dir := t.TempDir()
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.CreateTemp("/tmp", "probe-proxy")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(binary.Name())
	if _, err := binary.Write(b); err != nil {
		t.Fatal(err)
	}
	binary.Chmod(0o755)
	binary.Close()
	for _, user := range []syscall.Credential{{Uid: 1337, Gid: 1337}, {Uid: 1337, Gid: 65532}, {Uid: 65532, Gid: 1337}} {
		cmd := exec.Command(binary.Name(), "--port=1")
		cmd.Dir = "/"
		cmd.Env = []string{"RUN_PROBE_PROXY=1", "POD_IP=127.0.0.1", "TMPDIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &user}
		var out bytes.Buffer
		cmd.Stderr = &out
		timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		_ = cmd.Run()
		timer.Stop()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(out.String(), "must not run as uid or gid 1337") ||
			!strings.Contains(out.String(), "): Istio redirects that user's traffic to the app, and probes would be refused; set securityContext.runAsUser to another, such as 65532") {
			t.Errorf("%d:%d: exit code %d: %s", user.Uid, user.Gid, cmd.ProcessState.ExitCode(), &out)
		}
	}
}

func TestTheLogCountsEveryDisabledProbe(t *testing.T) {
	p := start(t, []string{"--port", strconv.Itoa(freePort(t))}, "POD_IP=127.0.0.1",
		`ISTIO_KUBE_APP_PROBERS={"/app-health/web/livez":{"httpGet":{"port":80}},"/app-health/web/readyz":{},"/app-lifecycle/web/prestopz":{"tcpSocket":{"port":80}}}`)
	p.waitLog(t, "probes=1 disabled=2")
}

func TestASecondSignalEndsItAtOnce(t *testing.T) {
	for _, signals := range [][2]syscall.Signal{{syscall.SIGTERM, syscall.SIGTERM}, {syscall.SIGINT, syscall.SIGINT}, {syscall.SIGTERM, syscall.SIGINT}} {
		app, port := newApp(t), freePort(t)
		defer close(app.let)
		p := start(t, []string{"--port", strconv.Itoa(port), "--hooks-within", "1h"}, "POD_IP=127.0.0.1",
			fmt.Sprintf(`ISTIO_KUBE_APP_PROBERS={"/app-lifecycle/web/prestopz":{"httpGet":{"port":%d}}}`, app.port))
		p.waitLog(t, "answering probes")
		_ = p.Cmd.Process.Signal(signals[0])
		p.waitLog(t, waits)
		if got := answer(t, port, "/healthz"); got != 200 {
			t.Errorf("%v: it answers with %d while it waits", signals, got)
		}
		_ = p.Cmd.Process.Signal(signals[1])
		if code := p.waitEnd(t); code != exitOK || !strings.Contains(p.Log(), "ended as asked") {
			t.Errorf("%v: exit code %d: %s", signals, code, p.Log())
		}
	}
}

// TestAFloodLeavesItAnsweringWithinItsMemory sends, all at once, callers that
// send nothing, that never end their request, that send garbage or heads of
// many headers, and that call a probe of an app that hangs.
func TestAFloodLeavesItAnsweringWithinItsMemory(t *testing.T) {
	app, err := net.Listen("tcp", "127.0.0.1:0") // accepts, in the kernel, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	port := freePort(t)
	p := start(t, []string{"--port", strconv.Itoa(port)}, "POD_IP=127.0.0.1",
		"ISTIO_KUBE_APP_PROBERS="+fmt.Sprintf(livez, app.Addr().(*net.TCPAddr).Port))
	answer(t, port, "/healthz")
	texts := []string{"", "GET /", "GET /app-health/web/livez HTTP/1.1\r\nHost: x\r\n\r\n", "garbage\r\n\r\n", "GET / HTTP/1.1\r\n" + strings.Repeat("a:b\r\n", 12_000), "GET / HTTP/1.1\r\nX: " + strings.Repeat("y", 60<<10), "POST /app-health/web/livez HTTP/1.1\r\nContent-Length: 100000\r\n\r\nabc"}
	for i := range 2000 {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(port), time.Second)
		if err != nil {
			continue
		}
		defer conn.Close()
		conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		io.WriteString(conn, texts[i%len(texts)])
		if i%200 == 199 {
			answer(t, port, "/healthz")
		}
	}
	if highest := testutil.Memory(p.Cmd.Process.Pid, "VmHWM"); highest == 0 || highest > 24<<20 && !raced {
		t.Errorf("took %d bytes at most, want 24 MiB", highest)
	}
}

// unset unsets every env var that the program reads.
func unset(t *testing.T) {
	t.Helper()
	for _, name := range []string{"POD_IP", "ISTIO_KUBE_APP_PROBERS"} {
		t.Setenv(name, "")
	}
}

// TestCommandLine compares what is printed, as a whole.
func TestCommandLine(t *testing.T) {
	unset(t)
	var all strings.Builder
	for _, test := range []struct {
		probers string
		args    []string
	}{
		{"", []string{"version"}},
		{`{"/app-health/web/livez":{"httpGet":{"port":80}}}`, []string{"check"}},
		{`{"/app-health/web/livez":{"httpGet":{"port":80}},"/x":null}`, []string{"check"}},
		{`{"/app-health/web/livez":{"httpGet":{"port":80},"timeoutSeconds":9300000000}}`, []string{"check"}},
		{`{"/app-health/web/livez":{"httpGet":{"port":80,"method":"POST"}}}`, []string{"check"}},
		{`{"/app-lifecycle/web/prestopz":{"tcpSocket":{"port":80}}}`, []string{"check"}},
		{`{"/app-lifecycle/web/prestopz":{"httpGet":{"port":80}},"/app-health/other/readyz":{"grpc":{"port":1},"timeoutSeconds":7}}`, []string{"check"}},
		{`{"/app-health/web/livez":{"httpGet":{"port":8080,"protocol":"HTTP2"}},"/app-health/web/startupz":{"tcpSocket":{"port":8080},"timeoutSeconds":3}}`, []string{"check"}},
		{`{"/app-health/web/livez":{"grpc":{"port":8080,"service":"s","mode":"TLS"}},"/app-health/web/readyz":{"grpc":{"port":8080,"service":"s","mode":"Plaintext"}}}`, []string{"check"}},
		{`{"/osm-liveness-probe/web":{"httpGet":{"port":80}},"/app-health/web/livez":{"httpGet":{"path":"/a","port":8443,"scheme":"HTTPS"}}}`, []string{"check"}},
		{"x", []string{"check"}},
		{"{}", []string{"check", "{}"}},
		{"", []string{"check"}},
		{"", []string{"wait", "--help"}},
		{"", []string{"wait", "--port=0"}},
		{"", []string{"wait", "15099"}},
		{"", []string{"serv"}},
		{"", []string{"--prt", "1"}},
		{"", []string{"--port", "0"}},
		{"", []string{"--port", "65536"}},
		{"", []string{"--port", "1"}},
		{"", []string{"--port", "65535"}},
		{"", []string{"--port", "65535", "check"}},
		{"", []string{"--hooks-within=-1s"}},
		{"", []string{"--body", "some"}},
		{"", []string{"--form", "fsm"}},
		{"", []string{"--body", "none"}},
		{"", nil},
	} {
		t.Setenv("ISTIO_KUBE_APP_PROBERS", test.probers)
		var stdout, stderr bytes.Buffer
		code := run(test.args, &stdout, &stderr)
		if test.probers != "" {
			fmt.Fprintf(&all, "$ export ISTIO_KUBE_APP_PROBERS=%s\n", test.probers)
		}
		fmt.Fprintf(&all, "$ probe-proxy %s\n%s%sexit code %d\n\n", strings.Join(test.args, " "), &stdout, &stderr, code)
	}
	golden.Compare(t, "testdata/commands.txt", []byte(all.String()))
}

func TestTheHelpNamesEveryFlagAndEnvVar(t *testing.T) {
	var stdout, stderr bytes.Buffer
	for _, arg := range []string{"--help", "-h", "help"} {
		stdout.Reset()
		if code := run([]string{arg}, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
			t.Errorf("exit code %d, %s", code, &stderr)
		}
		golden.Compare(t, "testdata/help.txt", stdout.Bytes())
	}
}

// TestRefusalsSayWhatIsAllowed compares what is printed as a whole.
func TestRefusalsSayWhatIsAllowed(t *testing.T) {
	for _, test := range []struct {
		env, value string
		args       []string
		want       string
	}{
		{args: []string{"serv"}, want: `unknown command "serv": want check, wait or version, or nothing to serve`},
		{env: "POD_IP", value: "web", want: `env POD_IP "web" must be the pod's IP (fieldRef status.podIP)`},
		{args: []string{"check"}, want: "nothing to check: env ISTIO_KUBE_APP_PROBERS is not set"},
	} {
		t.Run(test.want, func(t *testing.T) {
			unset(t)
			if test.env != "" {
				t.Setenv(test.env, test.value)
			}
			var stdout, stderr bytes.Buffer
			if code := run(test.args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), test.want) || stdout.Len() > 0 {
				t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
			}
			if test.env != "POD_IP" && stderr.String() != "probe-proxy: "+test.want+"\n" {
				t.Errorf("%q", &stderr)
			}
		})
	}
}

// TestCheckWritesNothingThatATerminalObeys: the texts of the env var are those of a manifest.
func TestCheckWritesNothingThatATerminalObeys(t *testing.T) {
	const hostile = `a\u001b[2J\u009b\u202e\n\tb`
	const get = `{"httpGet":{"path":"/` + hostile + `","port":80}}`
	for _, env := range []string{
		`{"/app-health/` + hostile + `/livez":` + get + `}`,
		`{"/app-health/` + hostile + `/livez":{"grpc":{"port":80,"service":"` + hostile + `"}}}`,
		`{"` + hostile + `":null}`,
		`{"/app-health/a/livez":{"httpGet":{"scheme":"` + hostile + `","port":80}}}`,
		`{"/app-health/a/livez":{"` + hostile + `":1}}`,
		"{\x1b[2J", "\u009b",
	} {
		t.Setenv(prober.EnvName, env)
		var stdout, stderr bytes.Buffer
		run([]string{"check"}, &stdout, &stderr)
		got := stdout.String() + stderr.String()
		if strings.ContainsAny(got, "\x1b\u009b\u202e\t") || strings.Count(got, "\n") > 2 || got == "" {
			t.Errorf("%s: %q", env, got)
		}
	}
}

func TestWhatCannotBeServedIsSaidAtTheStart(t *testing.T) {
	long := strings.Repeat("x", 301)
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		code int
		want string
	}{
		{"a bad key", map[string]string{"ISTIO_KUBE_APP_PROBERS": `{"/x":null}`}, []string{"check"}, exitFailure,
			`entry "/x": path must be /app-health/<container>/{readyz,livez,startupz} or /app-lifecycle/<container>/{prestopz,poststartz}`},
		{"no JSON", map[string]string{"ISTIO_KUBE_APP_PROBERS": "x"}, nil, exitUsage,
			"ISTIO_KUBE_APP_PROBERS must be a JSON object of paths and probers: invalid character 'x' looking for beginning of value"},
		{"a long key", map[string]string{"ISTIO_KUBE_APP_PROBERS": `{"` + long + `":null}`}, []string{"check"}, exitFailure,
			`entry "` + long[:299] + "..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			unset(t)
			t.Setenv("POD_IP", "127.0.0.1")
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			var stdout, stderr bytes.Buffer
			code := run(test.args, &stdout, &stderr)
			if code != test.code || stderr.String() != "probe-proxy: "+test.want+"\n" {
				t.Errorf("exit code %d, want %d\n%s%s", code, test.code, &stdout, &stderr)
			}
		})
	}
}

// TestItIsSmall: docs/probe-proxy.md has what these settings cost and save. It ends since
// its port is taken.
func TestItIsSmall(t *testing.T) {
	percent, limit, processors := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64), runtime.GOMAXPROCS(2)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		runtime.GOMAXPROCS(processors)
		signal.Reset(syscall.SIGPIPE)
	}()
	taken, err := sidecar.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	unset(t)
	t.Setenv("POD_IP", "127.0.0.1")
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	var stderr strings.Builder
	if code := run([]string{"--port", port}, io.Discard, &stderr); code != exitFailure {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
	want := "level=WARN msg=\"no probes to answer: env var is not set\" env=ISTIO_KUBE_APP_PROBERS\nprobe-proxy: port " + port + " is taken: " + portTaken + "\n"
	if _, said, _ := strings.Cut(stderr.String(), " "); said != want {
		t.Errorf("%q, want %q", said, want)
	}
	if got := fmt.Sprint(debug.SetGCPercent(100), debug.SetMemoryLimit(-1), runtime.GOMAXPROCS(0)); got != "25 20971520 1" {
		t.Errorf("GC percent, memory limit, processors: %s", got)
	}
}

// The pod's own port may be one of Open Service Mesh's.
func TestItListensOnEachPortOnceAndOnItsOwnLast(t *testing.T) {
	for port, want := range map[int]string{
		15099: "[15901 15902 15903 15904 15099]", 15901: "[15902 15903 15904 15901]", 15903: "[15901 15902 15904 15903]",
	} {
		if got := fmt.Sprint((&options{port: port, form: formOSM}).ports()); got != want {
			t.Errorf("%d: %s, want %s", port, got, want)
		}
		if got := fmt.Sprint((&options{port: port, form: formIstio}).ports()); got != fmt.Sprint([]int{port}) {
			t.Errorf("%d: %s, want it alone", port, got)
		}
	}
}

func TestWhyItCannotListenIsSaid(t *testing.T) {
	for err, want := range map[error]string{
		syscall.EACCES:     "cannot listen on port 80: permission denied",
		syscall.EADDRINUSE: "port 80 is taken: " + portTaken,
	} {
		if got := listenError(80, err); got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

func TestWhereTheAppIsDialled(t *testing.T) {
	for _, test := range []struct {
		ip, want string
		fails    bool
	}{
		{ip: "10.0.0.1", want: "10.0.0.1"},
		{ip: "fd00::1", want: "fd00::1"},
		{fails: true},
		{ip: "web", fails: true},
	} {
		t.Setenv("POD_IP", test.ip)
		got, err := podIP()
		if (err != nil) != test.fails || got != test.want {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}

// TestALogThatNobodyReadsDoesNotEndIt: the reader of stderr has gone.
func TestALogThatNobodyReadsDoesNotEndIt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	cmd := exec.Command(os.Args[0], "--port", strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "RUN_PROBE_PROXY=1", "POD_IP=127.0.0.1", "ISTIO_KUBE_APP_PROBERS="+fmt.Sprintf(livez, 1))
	cmd.Stderr = w
	r.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for range 2 {
		if status := answer(t, port, "/app-health/web/livez"); status != 502 {
			t.Errorf("status %d, want 502", status)
		}
	}
}

func TestLargeValuesOfTheEnvAreNotEchoed(t *testing.T) {
	value := `{"/app-health/` + strings.Repeat("x", 36<<10) + `/livez":{"httpGet":{"port":1,"scheme":"` + strings.Repeat("y", 36<<10) + `"}}}`
	p := start(t, []string{"--port", strconv.Itoa(freePort(t))}, "POD_IP=127.0.0.1", "ISTIO_KUBE_APP_PROBERS="+value)
	p.waitLog(t, "answering probes")
	if log := p.Log(); len(log) > 2000 || !strings.Contains(log, "xxx...") || !strings.Contains(log, "YYY...") {
		t.Errorf("%d bytes of log: %.2000s", len(log), log)
	}
}

// TestOnlyLongValuesAreCut in the log: a letter more than fits is cut, and the end is marked.
func TestOnlyLongValuesAreCut(t *testing.T) {
	for _, size := range []int{0, 1, 299, 300, 301, 5000} {
		text := strings.Repeat("x", size)
		want := text
		if size > 300 {
			want = text[:300] + "..."
		}
		if got := clipped(text); got != want {
			t.Errorf("of %d letters %d are left", size, len(got))
		}
		if got := clip(nil, slog.String("a", text)); got.Key != "a" || got.Value.String() != want {
			t.Errorf("of an attribute of %d letters %d are left", size, len(got.Value.String()))
		}
	}
	if got := clip(nil, slog.Int("a", 1)); got.Value.Kind() != slog.KindInt64 || got.Value.Int64() != 1 {
		t.Errorf("a number becomes %v", got)
	}
}
