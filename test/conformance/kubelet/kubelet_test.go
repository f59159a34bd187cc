package kubelet_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// minScenarios is how many must at least be compared.
const minScenarios = 2000

// ours and istios are the tables of the scenarios, for docs/proof/probers.md.
var ours, istios string

func TestMain(m *testing.M) { os.Exit(testutil.RunAndProve(m, prove)) }

func prove() error {
	if ours == "" {
		return testutil.ErrPartly
	}
	version, err := testutil.ModuleVersion("../../go.mod", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	page := testutil.ProofPage("../../..", "probers")
	return errors.Join(page.Prove("probe-proxy", "k8s.io/kubernetes "+version+".\n\n"+ours), page.Keep("istio", istios))
}

// TestTheVerdictThroughProbeProxyIsTheKubeletsOwn probes the same apps with
// the kubelet's own probers, directly and through probe-proxy, and wants the
// same verdicts and the same requests at the app. Istio's status server
// answers the same probes; what it says is counted beside.
func TestTheVerdictThroughProbeProxyIsTheKubeletsOwn(t *testing.T) {
	ours := build(t, "../../..", "./cmd/probe-proxy")
	istio := build(t, "istiostatus", ".")
	scenarios := generate()
	if len(scenarios) < minScenarios {
		t.Fatalf("%d scenarios, must be at least %d", len(scenarios), minScenarios)
	}
	runs := prepare(t, scenarios, ours, istio)
	var wg sync.WaitGroup
	work := make(chan *run)
	for range 24 {
		wg.Go(func() {
			for r := range work {
				r.compare()
			}
		})
	}
	for _, r := range runs {
		work <- r
	}
	close(work)
	wg.Wait()
	summarise(t, runs)
}

func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s in %s: %v\n%s", pkg, dir, err, b)
	}
	return out
}

// A verdict is the kubelet's result of one probe. The kubelet discards a result
// that comes with an error, which is a verdict of its own.
type verdict struct {
	result    probe.Result
	discarded bool
}

// loose returns the result, with an error taken for a failure.
func (v verdict) loose() probe.Result {
	if v.discarded {
		return probe.Failure
	}
	return v.result
}

func (v verdict) String() string {
	if v.discarded {
		return "error"
	}
	return string(v.result)
}

// A run is a scenario with the ports on which it can be probed.
type run struct {
	*scenario
	app                          app
	key                          string
	appPort, oursPort, istioPort int // istioPort 0: not compared

	direct, ours, istio verdict
	directMsg, oursMsg  string
	sameRequests        bool
	directSaw, oursSaw  []string
	repeated            bool
}

// batchSize keeps the env value within what an exec takes (128 KiB).
const batchSize = 300

// prepare starts the apps, and a probe-proxy and a status server for each batch.
func prepare(t *testing.T, scenarios []*scenario, ours, istio string) []*run {
	byIP := map[string][]*run{}
	for i, sc := range scenarios {
		r := &run{scenario: sc}
		probeType := prober.Liveness
		if sc.hook {
			probeType = prober.PreStop
		}
		r.key = prober.Key("s"+strconv.Itoa(i), probeType)
		l, err := net.Listen("tcp", net.JoinHostPort(sc.ip, "0"))
		if err != nil {
			t.Fatal(err)
		}
		r.appPort = l.Addr().(*net.TCPAddr).Port
		t.Cleanup(func() { l.Close() })
		go sc.app(&r.app, l)
		byIP[sc.ip] = append(byIP[sc.ip], r)
	}
	var all []*run
	for ip, runs := range byIP {
		for batch := range slices.Chunk(runs, batchSize) {
			env := "ISTIO_KUBE_APP_PROBERS=" + encode(t, batch)
			port := must(testutil.FreePort())
			start(t, port, exec.Command(ours, "--port", strconv.Itoa(port)), env, "POD_IP="+ip)
			istioPort := 0
			if ip == "127.0.0.1" { // for IPv6 it wants an address that only Istio's init container makes
				istioPort = must(testutil.FreePort())
				start(t, istioPort, exec.Command(istio, ip, strconv.Itoa(istioPort)), env)
			}
			for _, r := range batch {
				r.oursPort, r.istioPort = port, istioPort
			}
		}
		all = append(all, runs...)
	}
	return all
}

func encode(t *testing.T, runs []*run) string {
	probers := map[string]*prober.Original{}
	for _, r := range runs {
		p := &prober.Original{TimeoutSeconds: r.timeout}
		switch {
		case r.http != nil:
			p.HTTPGet = &prober.HTTPGet{Path: r.http.Path, Port: field.Number(r.appPort), Scheme: string(r.http.Scheme)}
			if r.http.Protocol != nil {
				p.HTTPGet.Protocol = string(*r.http.Protocol)
			}
		case r.grpc != nil:
			p.GRPC = &prober.GRPC{Port: field.Number(r.appPort), Service: r.grpc.Service}
			if r.grpc.Mode != nil {
				p.GRPC.Mode = string(*r.grpc.Mode)
			}
		default:
			p.TCPSocket = &prober.TCPSocket{Port: field.Number(r.appPort)}
		}
		if r.hook {
			p.TimeoutSeconds = 0
		}
		probers[r.key] = p
	}
	return prober.Encode(probers)
}

// start runs a server until the test ends, and waits until it listens.
func start(t *testing.T, port int, cmd *exec.Cmd, env ...string) {
	t.Helper()
	cmd.Env = append(os.Environ(), env...)
	p, err := testutil.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() && strings.Contains(p.Log(), "panic") {
			t.Logf("%s wrote:\n%s", cmd.Path, p.Log())
		}
	})
	err = testutil.Eventually(time.Minute, func() error {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s does not listen: %v\n%s", cmd.Path, err, p.Log())
	}
}

// compare probes directly, through probe-proxy and through Istio's server. A
// difference counts when it shows three times: the machine may have been busy.
func (r *run) compare() {
	for range 3 {
		r.app.take()
		r.direct, r.directMsg = r.probeApp()
		r.directSaw = r.app.take()
		r.ours, r.oursMsg = r.probeThrough(r.oursPort)
		r.oursSaw = r.app.take()
		r.sameRequests = slices.Equal(r.directSaw, r.oursSaw)
		if r.istioPort != 0 {
			r.istio, _ = r.probeThrough(r.istioPort)
		}
		if r.direct == r.ours && r.sameRequests {
			return
		}
		r.repeated = true
		time.Sleep(3 * time.Second)
	}
}

func (r *run) probeApp() (verdict, string) {
	limit := time.Duration(r.timeout) * time.Second
	switch {
	case r.http != nil:
		get := r.http.DeepCopy()
		get.Port = intstr.FromInt32(int32(r.appPort))
		return r.get(get, limit)
	case r.grpc != nil:
		options := grpcprobe.ProbeOptions{UseTLS: r.grpc.Mode != nil && *r.grpc.Mode == v1.GRPCProbeModeTLS}
		return verdictOf(grpcprobe.New().Probe(r.ip, *r.grpc.Service, r.appPort, limit, options))
	default:
		return verdictOf(tcpprobe.New().Probe(r.ip, r.appPort, limit))
	}
}

// probeThrough makes the probe that a rewritten pod has.
func (r *run) probeThrough(port int) (verdict, string) {
	get := &v1.HTTPGetAction{}
	if r.http != nil {
		get.HTTPHeaders = r.http.HTTPHeaders
	}
	get.Path, get.Port, get.Scheme = r.key, intstr.FromInt32(int32(port)), "HTTP"
	return r.get(get, time.Duration(r.timeout)*time.Second)
}

func (r *run) get(get *v1.HTTPGetAction, limit time.Duration) (verdict, string) {
	kind := "probe"
	if r.hook {
		kind = "lifecycle"
	}
	req, err := httpprobe.NewRequestForHTTPGetAction(get, &v1.Container{}, r.ip, kind)
	if err != nil {
		return verdictOf(probe.Unknown, "", err)
	}
	switch {
	case r.hook:
		return runHook(req, 2*limit)
	case get.Protocol != nil && *get.Protocol == v1.HTTPProtocolHTTP2:
		return verdictOf(httpprobe.New(false).ProbeH2C(req, limit))
	}
	return verdictOf(httpprobe.New(false).Probe(req, limit))
}

func verdictOf(result probe.Result, msg string, err error) (verdict, string) {
	if err != nil {
		return verdict{result, true}, err.Error()
	}
	return verdict{result: result}, msg
}

// maxRespBody is the kubelet's maxRespBodyLength.
const maxRespBody = 10 << 10

// runHook does what the kubelet's handler runner does for httpGet, with the kubelet's
// client. A hook that is not over within the limit is an error.
func runHook(req *http.Request, limit time.Duration) (verdict, string) {
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: httpprobe.RedirectChecker(false),
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), limit) // the pod's grace period
	defer cancel()
	req = req.WithContext(ctx)
	res, err := client.Do(req)
	if err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		plain := req.Clone(ctx)
		plain.URL.Scheme = "http"
		plain.Header.Del("Authorization")
		res, err = client.Do(plain)
	}
	if err != nil {
		return verdict{probe.Failure, ctx.Err() != nil}, err.Error()
	}
	if res.ContentLength <= maxRespBody {
		io.Copy(io.Discard, &io.LimitedReader{R: res.Body, N: maxRespBody})
	}
	res.Body.Close()
	return verdict{probe.Success, ctx.Err() != nil}, res.Status
}

// A tally counts what came of the scenarios of one axis.
type tally struct{ n, ours, requests, istioN, istio, loose int }

func (a *tally) add(r *run) {
	a.n++
	a.ours += count(r.direct == r.ours)
	a.requests += count(r.sameRequests)
	if r.istioPort != 0 {
		a.istioN++
		a.istio += count(r.direct == r.istio)
		a.loose += count(r.direct.loose() == r.istio.loose())
	}
}

// summarise reports the differences, and makes the table of the results.
func summarise(t *testing.T, runs []*run) {
	t.Helper()
	axes := map[string]*tally{}
	total := &tally{}
	repeated := 0
	verdicts := map[string]int{}
	for _, r := range runs {
		if axes[r.axis] == nil {
			axes[r.axis] = &tally{}
		}
		verdicts[r.direct.String()]++
		repeated += count(r.repeated)
		axes[r.axis].add(r)
		total.add(r)
		if r.direct != r.ours {
			t.Errorf("%s, %s (%s): direct %s (%s), through probe-proxy %s (%s)", r.axis, r.name, r.ip, r.direct, r.directMsg, r.ours, r.oursMsg)
		} else if !r.sameRequests {
			t.Errorf("%s, %s (%s): app saw directly\n%s\nthrough probe-proxy\n%s", r.axis, r.name, r.ip, strings.Join(r.directSaw, "\n\n"), strings.Join(r.oursSaw, "\n\n"))
		}
	}
	// A comparison in which a verdict hardly occurs shows little of it.
	for _, v := range []string{"success", "warning", "failure", "error"} {
		if least := len(runs) / 20; verdicts[v] < least {
			t.Errorf("the kubelet's verdict is %s in %d scenarios, must be at least %d", v, verdicts[v], least)
		}
	}
	ours = table(axes, total, "scenarios | same verdict | same requests", func(a *tally) string {
		return fmt.Sprintf("%d | %d | %d", a.n, a.ours, a.requests)
	})
	istios = table(axes, total, "same verdict | error taken for failure", func(a *tally) string {
		return fmt.Sprintf("%d of %d | %d of %d", a.istio, a.istioN, a.loose, a.istioN)
	})
	t.Logf("\n%s\nIstio's status server:\n%sverdicts of the direct probes: %v; compared again: %d", ours, istios, verdicts, repeated)
}

// table returns the results, with a row for each axis.
func table(axes map[string]*tally, total *tally, head string, cells func(*tally) string) string {
	var b strings.Builder
	b.WriteString("| apps | " + head + " |\n|" + strings.Repeat("---|", strings.Count(head, "|")+2) + "\n")
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, cells(axes[name]))
	}
	fmt.Fprintf(&b, "| **all** | %s |\n", cells(total))
	return b.String()
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
