package main

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/identity"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// TestMain runs the program itself when a test starts it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_PROBE_AGENT") != "" {
		main()
	}
	os.Exit(m.Run())
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "reviews.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func execute(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

const valid = `{"name": "reviews", "namespace": "shop", "probe": {"periodSeconds": 7, "httpGet": {"port": 8080}}}`

func TestCheckValidatesAConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		`"httpGet": {"port": 8080, "path": "/ready"}`: "HTTP GET :8080 /ready every 7 s, timeout 2 s",
		`"tcpSocket": {"port": 22}`:                   "TCP :22 every 7 s, timeout 2 s",
		`"grpc": {"port": 50051, "service": "a"}`:     "gRPC :50051 a every 7 s, timeout 2 s",
		`"exec": {"command": ["true", "x"]}`:          `exec ["true" "x"] every 7 s, timeout 2 s`,
	} {
		file := writeConfig(t, `{"name": "reviews", "namespace": "shop", "probe": {"periodSeconds": 7, "timeoutSeconds": 2, `+text+`}}`)
		code, stdout, stderr := execute("check", file)
		if code != exitOK || stdout != file+": valid: WorkloadGroup shop/reviews, "+want+"\n" || stderr != "" {
			t.Errorf("%d, %s%s", code, stdout, stderr)
		}
	}
}

func TestABadConfigurationIsExitCode2AndNamesTheField(t *testing.T) {
	file := writeConfig(t, strings.Replace(valid, "7", "0", 1))
	want := "probe-agent: " + file + ": `probe.periodSeconds`: 0 must be a number from 1 to 2147483647\n"
	for _, args := range [][]string{
		{"check", file},
		{"probe", file},
		{"--config", file, "--istiod", "127.0.0.1:15010", "--insecure"},
	} {
		if code, stdout, stderr := execute(args...); code != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%q: %d, %s%s", args, code, stdout, stderr)
		}
	}
	file = writeConfig(t, strings.Replace(valid, `"port": 8080`, `"port": 8080, "host": "a b"`, 1))
	if code, _, stderr := execute("check", file); code != exitUsage || !strings.HasPrefix(stderr, "probe-agent: "+file+": `probe`: httpGet.path") {
		t.Errorf("%d, %s", code, stderr)
	}
}

func TestProbeProbesOnce(t *testing.T) {
	status := 200
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer app.Close()
	_, port, _ := net.SplitHostPort(app.Listener.Addr().String())
	file := writeConfig(t, strings.Replace(valid, "8080", port, 1))
	if code, stdout, stderr := execute("probe", file); code != exitOK || stdout != "healthy\n" || stderr != "" {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	status = 503
	if code, stdout, stderr := execute("probe", file); code != exitFailure || stdout != "" || stderr != "unhealthy: app answered with status 503\n" {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := execute("probe", "--ip", "127.0.0.2", file); code != exitFailure || stderr != "unhealthy: app refused the connection\n" {
		t.Errorf("%d, %s", code, stderr)
	}
}

func TestWrongUsageIsExitCode2(t *testing.T) {
	file := writeConfig(t, valid)
	blocked := filepath.Join(file, "state")
	serving := []string{"--config", file, "--istiod", "istiod.istio-system.svc:15012", "--ca", "root.pem"}
	plain := []string{"--config", file, "--insecure", "--istiod"}
	const either = "want either --token and --state, the directory for the certificate, or --cert and --key"
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "--config must name the configuration"},
		{[]string{"start"}, `unknown command "start": want check, probe or version, or flags alone to serve`},
		{[]string{"check"}, "check takes one configuration file as its argument"},
		{[]string{"check", file, file}, "check takes one configuration file as its argument"},
		{[]string{"probe", "--config", file, file}, "probe takes one configuration file as its argument"},
		{[]string{"check", "none.json"}, "open none.json: no such file or directory"},
		{[]string{"--wrong"}, "flag provided but not defined: -wrong"},
		{[]string{"--config", file}, `--istiod "" must be host:port`},
		{[]string{"--config", file, "--istiod", ":15012"}, `--istiod ":15012" must be host:port`},
		{[]string{"--config", file, "--istiod", "a:1"}, "--ca must name the file with istiod's root certificates"},
		{serving, either},
		{append(serving, "--token", "a", "--state", "b", "--cert", "c"), either},
		{append(serving, "--state", "a", "--cert", "b", "--key", "c"), either},
		{append(serving, "--token", "a", "--cert", "b"), either},
		{append(serving, "--token", "a"), either},
		{append(serving, "--state", "a"), either},
		{append(serving, "--cert", "a"), either},
		{append(serving, "--key", "a"), either},
		{append(serving, "--token", "a", "--state", "b", "--cert-ttl", "5ms"), "--cert-ttl 5ms must be at least 1s"},
		{append(serving, "--token", "a", "--state", blocked), "mkdir " + file + ": not a directory"},
		{append(serving, "--ip", "vm"), `--ip "vm" must be an IP address`},
		{append(serving, "--repeat", "100ms"), "--repeat 100ms must be at least 1s"},
		{append(plain, "10.0.0.1:15010"), `--insecure with --istiod "10.0.0.1:15010": plaintext is spoken to a loopback address only`},
		{append(plain, "istiod:15010"), `--insecure with --istiod "istiod:15010": plaintext is spoken to a loopback address only`},
		{append(plain, "localhost:15010", "--ca", "a"), "--insecure excludes --ca, --server-name, --token, --state, --cert and --key"},
	} {
		if code, stdout, stderr := execute(test.args...); code != exitUsage || stdout != "" || stderr != "probe-agent: "+test.want+"\n" {
			t.Errorf("%q: %d, %s%s", test.args, code, stdout, stderr)
		}
	}
	// An address of this machine is not that by which clients reach the app.
	code, _, stderr := execute(append(plain, "[::1]:15010")...)
	if want := "cannot find the IP of this machine, because --istiod \"[::1]:15010\" is the machine itself; --ip or the field `address` must tell it\n"; code != exitFailure || !strings.HasSuffix(stderr, want) {
		t.Errorf("%d, %s", code, stderr)
	}
}

// TestEverySetOfFlagsIsOneOfThreeOrRefused takes each set of the flags about TLS: a token, a certificate, or
// neither and no other with --insecure.
func TestEverySetOfFlagsIsOneOfThreeOrRefused(t *testing.T) {
	flags := []string{"--ca", "--server-name", "--token", "--state", "--cert", "--key"}
	dir := t.TempDir()
	for set := range 1 << len(flags) {
		for _, insecure := range []bool{false, true} {
			args := []string{"--config", "c", "--istiod", "localhost:1"}
			given := ""
			for i, flag := range flags {
				if set&(1<<i) != 0 {
					args = append(args, flag, filepath.Join(dir, "x"))
					given += flag
				}
			}
			identity := strings.ReplaceAll(strings.TrimPrefix(given, "--ca"), "--server-name", "")
			want := strings.HasPrefix(given, "--ca") && (identity == "--token--state" || identity == "--cert--key")
			if insecure {
				args = append(args, "--insecure")
				want = given == ""
			}
			if _, err := parse("", args); (err == nil) != want {
				t.Errorf("%q: %v", args, err)
			}
		}
	}
}

func TestFlagsReachTheNode(t *testing.T) {
	o, err := parse("", []string{"--config", "c", "--istiod", "istiod.test:15012", "--ca", "root", "--cert", "a", "--key", "b",
		"--ip", "10.0.0.9", "--entry", "vm-1", "--cluster", "primary", "--repeat", "1m"})
	if err != nil {
		t.Fatal(err)
	}
	c := &vmconfig.Config{Name: "reviews", Namespace: "shop", Address: "10.0.0.8", Network: "n", Locality: "l", ServiceAccount: "s", Labels: map[string]string{"a": "b"}}
	if err := o.complete(c, true); err != nil {
		t.Fatal(err)
	}
	n := &o.node
	if n.IP != "10.0.0.9" || n.Entry != "vm-1" || n.Cluster != "primary" || n.Name != "reviews" || n.Namespace != "shop" ||
		n.Network != "n" || n.Locality != "l" || n.ServiceAccount != "s" || n.Labels["a"] != "b" {
		t.Errorf("%+v", n)
	}
	if o.repeat != time.Minute || o.istiod.ServerName != "istiod.test" || o.scheme() != "https" {
		t.Errorf("%+v", o)
	}
	n.IP = ""
	if err := o.complete(c, true); err != nil || n.IP != "10.0.0.8" {
		t.Errorf("%s, %v", n.IP, err)
	}
}

func TestItIsSmallAndItsExitCodesAreTheDocumentedOnes(t *testing.T) {
	percent, limit, processors := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64), runtime.GOMAXPROCS(2)
	beSmall()
	if got := fmt.Sprint(debug.SetGCPercent(percent), debug.SetMemoryLimit(limit), runtime.GOMAXPROCS(processors)); got != "25 16777216 1" {
		t.Errorf("GC percent, memory limit, processors: %s", got)
	}
	if got := fmt.Sprint(exitOK, exitFailure, exitUsage); got != "0 1 2" {
		t.Error(got)
	}
}

func TestTheShortestTimesAreASecond(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if _, err := parse("", []string{"--config", "c", "--istiod", "a:1", "--ca", "r", "--token", "t", "--state", state, "--cert-ttl", "1s", "--repeat", "1s"}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(state); err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestTheIPIsThatWhichReachesIstiod(t *testing.T) {
	o := &options{istiod: identity.Dialer{Address: "127.0.0.1:99999"}}
	const want = "cannot find the IP of this machine; --ip or the field `address` can tell it: dial udp: address 99999: invalid port"
	if err := o.complete(&vmconfig.Config{}, true); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		own, ok := a.(*net.IPNet)
		if !ok || own.IP.IsLoopback() || own.IP.IsLinkLocalUnicast() {
			continue
		}
		o := &options{istiod: identity.Dialer{Address: net.JoinHostPort(own.IP.String(), "15012")}}
		if err := o.complete(&vmconfig.Config{}, true); err != nil || o.node.IP != own.IP.String() {
			t.Errorf("%s: %q, %v", own.IP, o.node.IP, err)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, arg := range []string{"help", "--help", "-h"} {
		code, stdout, stderr := execute(arg)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: %d, %s", arg, code, stderr)
		}
		golden.Compare(t, "testdata/help.txt", []byte(stdout))
	}
	if code, stdout, _ := execute("version"); code != exitOK || !strings.HasPrefix(stdout, "probe-agent ") {
		t.Error(stdout)
	}
}

func TestALogThatNobodyReadsDoesNotEndIt(t *testing.T) {
	istiod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer istiod.Close()
	cmd := exec.Command(os.Args[0], "--config", writeConfig(t, valid), "--istiod", istiod.Addr().String(), "--insecure", "--ip", "127.0.0.1")
	cmd.Env = append(os.Environ(), "RUN_PROBE_AGENT=1")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd.Stderr = write
	err = cmd.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		istiod.Close()
	}()
	conn, err := istiod.Accept() // it has written to its log by then
	if err != nil {
		t.Fatalf("ended before it reached istiod: %v", testutil.Received(t, ended))
	}
	defer conn.Close()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := testutil.Received(t, ended); err != nil {
		t.Error(err)
	}
}
