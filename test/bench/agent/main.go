// Command agent measures what probe-agent costs a virtual machine, beside
// Istio's pilot-agent without Envoy, which probes but never reports, and a bare
// loop, which is the least that any program in Go costs.
//
//	go run . [-o ../../../docs/guides/vm.md]
//
// Every program probes an app of its own once a second. istiod's place is taken
// by grpc-go's server. All traffic is on loopback.
package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// What probe-agent promises.
const (
	maxBinary  = 6.5e6 // bytes
	maxPlain   = 8e6   // resident, bytes
	maxTLS     = 12e6
	maxOfPilot = 0.7 // of the CPU of pilot-agent per probe; the bare loop takes 0.4
	maxOfBare  = 1.6 // of the CPU of the bare loop per probe
)

const (
	warmUp = 5 // probes before the measurement
	copies = 3 // of each program, at the same time; that of medium cost counts
)

func main() {
	probes := flag.Int("probes", 120, "probes of each program, one a second")
	gate := flag.Bool("gate", false, "measure four times longer if a promise is broken, and exit 1 if it is broken still")
	out := flag.String("o", "", "document to keep the table in, between its markers")
	flag.Parse()
	if err := run(*probes, *gate, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A row is what one program costs in one way of running it.
type row struct {
	name     string
	file     string
	secure   bool
	args     func(*row, *world) *exec.Cmd
	port     int // of its app
	probed   atomic.Int64
	reported *atomic.Int64

	binary, resident, peak int64         // bytes
	start, cpu             time.Duration // CPU to start, and for all probes
}

type rows []*row

// medium returns the row whose probes took neither the most nor the least CPU.
func (r rows) medium() *row {
	slices.SortFunc(r, func(a, b *row) int { return cmp.Compare(a.cpu, b.cpu) })
	return r[len(r)/2]
}

// A world is what the programs run in.
type world struct {
	dir, root string
	cert      tls.Certificate
	plain     string // addresses of istiod
	secure    string
	reports   map[string]*atomic.Int64
}

func run(probes int, gate bool, out string) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer os.RemoveAll(w.dir)
	measured, err := w.measure(probes)
	if broken := measured.broken(); err == nil && gate && broken != nil {
		fmt.Fprintf(os.Stderr, "bench: measuring four times longer, since a promise is broken: %v\n", broken)
		probes *= 4
		measured, err = w.measure(probes)
	}
	if err != nil {
		return err
	}
	text := table(measured, probes)
	fmt.Print(text)
	if out != "" {
		if err := testutil.ReplaceSection(out, "agent", text); err != nil {
			return err
		}
	}
	if gate {
		return measured.broken()
	}
	return nil
}

// measure runs some of each program at the same time, and returns the medium row of each: of
// probe-agent without and with TLS, of Istio's agent and of the bare loop.
func (w *world) measure(probes int) (rows, error) {
	programs := make([]rows, 4)
	var errs [4 * copies]error
	var group sync.WaitGroup
	for i := range errs {
		r := []*row{
			{name: "probe-agent, HTTP", file: "probe-agent", args: agent, reported: w.reports["plain"]},
			{name: "probe-agent, HTTPS and TLS to istiod", file: "probe-agent", secure: true, args: agent, reported: w.reports["secure"]},
			{name: "pilot-agent without Envoy, HTTP", file: "pilot-agent", args: pilotAgent},
			{name: "a bare loop in Go, HTTP", file: "bare", args: bareLoop},
		}[i%4]
		programs[i%4] = append(programs[i%4], r)
		group.Go(func() { errs[i] = r.measure(w, probes) })
		// Each probes in its own part of the second: none finds caches that another
		// has warmed.
		time.Sleep(time.Second / time.Duration(len(errs)))
	}
	group.Wait()
	var medium rows
	for _, copies := range programs {
		medium = append(medium, copies.medium())
	}
	return medium, errors.Join(errs[:]...)
}

// broken returns what is broken of the promises by the rows of [world.measure].
func (r rows) broken() error {
	ours, secure, pilot, bare := r[0], r[1], r[2], r[3]
	return errors.Join(ours.isSmall(maxPlain), secure.isSmall(maxTLS), ours.isCheap(pilot, maxOfPilot), ours.isCheap(bare, maxOfBare))
}

func newWorld() (*world, error) {
	dir, err := os.MkdirTemp("", "bench-agent")
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, root: root, reports: map[string]*atomic.Int64{"plain": new(atomic.Int64), "secure": new(atomic.Int64)}}
	for _, build := range [][]string{
		{"CGO_ENABLED=0", "-C", root, "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "./cmd/probe-agent"},
		{"GOOS=linux", "build", "-ldflags=-s -w", "-o", dir, "istio.io/istio/pilot/cmd/pilot-agent"},
		{"CGO_ENABLED=0", "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "./bare"},
	} {
		cmd := exec.Command("go", build[1:]...)
		cmd.Env = append(os.Environ(), build[0])
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	if w.cert, err = certificate(dir); err != nil {
		return nil, err
	}
	w.plain, err = serve(w.reports["plain"])
	if err == nil {
		w.secure, err = serve(w.reports["secure"], grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{w.cert}, ClientAuth: tls.RequireAnyClientCert})))
	}
	return w, err
}

// certificate issues the certificate that all programs use, and writes the files
// that Istio's agent expects on its machine.
func certificate(dir string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"istiod"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/shop/sa/default"}}, NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	for name, text := range map[string][]byte{
		"etc/certs/cert-chain.pem": chain, "etc/certs/root-cert.pem": chain, "etc/certs/key.pem": secret, "var/run/secrets/tokens/istio-token": []byte("none"),
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o600)); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.X509KeyPair(chain, secret)
}

// istiod takes reports and counts them.
type istiod struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	reports *atomic.Int64
}

func (i *istiod) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	for {
		m, err := s.Recv()
		if err != nil {
			return nil
		}
		if strings.HasSuffix(m.TypeUrl, "HealthInformation") {
			i.reports.Add(1)
		}
	}
}

func serve(reports *atomic.Int64, options ...grpc.ServerOption) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := grpc.NewServer(options...)
	discovery.RegisterAggregatedDiscoveryServiceServer(server, &istiod{reports: reports})
	go func() { _ = server.Serve(l) }()
	return l.Addr().String(), nil
}

// agent is the command of probe-agent.
func agent(r *row, w *world) *exec.Cmd {
	scheme := "HTTP"
	if r.secure {
		scheme = "HTTPS"
	}
	config := filepath.Join(w.dir, fmt.Sprintf("%d.json", r.port))
	text := fmt.Sprintf(`{"name": "reviews", "namespace": "shop", "address": "127.0.0.1", "probe": {"periodSeconds": 1, "timeoutSeconds": 5,
		"httpGet": {"port": %d, "host": "127.0.0.1", "scheme": %q}}}`, r.port, scheme)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		panic(err)
	}
	args := []string{"--config", config}
	if r.secure {
		certs := filepath.Join(w.dir, "etc/certs")
		args = append(args, "--istiod", w.secure, "--ca", certs+"/root-cert.pem", "--cert", certs+"/cert-chain.pem", "--key", certs+"/key.pem")
	} else {
		args = append(args, "--istiod", w.plain, "--insecure")
	}
	return exec.Command(filepath.Join(w.dir, r.file), args...)
}

// pilotAgent is the command of Istio's agent.
func pilotAgent(r *row, w *world) *exec.Cmd {
	probe := map[string]any{"periodSeconds": 1, "timeoutSeconds": 5, "httpGet": map[string]any{"port": r.port, "host": "127.0.0.1", "path": "/"}}
	config, err := json.Marshal(map[string]any{"discoveryAddress": w.secure, "readinessProbe": probe})
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(filepath.Join(w.dir, r.file), "proxy", "sidecar")
	cmd.Dir = w.dir
	certs := filepath.Join(w.dir, "etc/certs")
	cmd.Env = append(os.Environ(), "DISABLE_ENVOY=true", "PILOT_CERT_PROVIDER=custom", "POD_NAMESPACE=shop", "POD_NAME=vm", "INSTANCE_IP=127.0.0.1",
		"PROV_CERT="+certs, "OUTPUT_CERTS="+w.dir, "PROXY_CONFIG="+string(config))
	return cmd
}

// bareLoop is the command of the bare loop.
func bareLoop(r *row, w *world) *exec.Cmd {
	return exec.Command(filepath.Join(w.dir, r.file), fmt.Sprintf("127.0.0.1:%d", r.port))
}

// measure runs the program until its app has been probed often enough.
func (r *row) measure(w *world, probes int) error {
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.probed.Add(1) }))
	if r.secure {
		app.StartTLS()
	} else {
		app.Start()
	}
	app.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	defer app.Close()
	r.port = app.Listener.Addr().(*net.TCPAddr).Port
	info, err := os.Stat(filepath.Join(w.dir, r.file))
	if err != nil {
		return err
	}
	r.binary = info.Size()
	p, err := testutil.Start(r.args(r, w), nil)
	if err != nil {
		return err
	}
	defer p.Stop()
	pid := p.Cmd.Process.Pid
	if err := r.wait(warmUp); err != nil {
		return fmt.Errorf("%s: %w\n%s", r.name, err, p.Log())
	}
	r.start = testutil.CPUTime(pid)
	if err := r.wait(warmUp + int64(probes)); err != nil {
		return fmt.Errorf("%s: %w\n%s", r.name, err, p.Log())
	}
	r.cpu = testutil.CPUTime(pid) - r.start
	r.resident, r.peak = testutil.Memory(pid, "VmRSS"), testutil.Memory(pid, "VmHWM")
	if r.reported != nil && r.reported.Load() == 0 {
		return fmt.Errorf("%s never reported\n%s", r.name, p.Log())
	}
	return nil
}

// wait waits until the app has been probed n times.
func (r *row) wait(n int64) error {
	deadline := time.Now().Add(time.Duration(n-r.probed.Load())*2*time.Second + 30*time.Second)
	for r.probed.Load() < n {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d probes of %d", r.probed.Load(), n)
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond) // between two probes
	return nil
}

func table(all rows, probes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| program | binary | resident | at most | CPU to start | CPU for %d probes | CPU per probe |\n|---|---|---|---|---|---|---|\n", probes)
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %.1f MB | %.1f MB | %.1f MB | %d ms | %d ms | %.2f ms |\n",
			r.name, mb(r.binary), mb(r.resident), mb(r.peak), r.start.Milliseconds(), r.cpu.Milliseconds(), r.cpu.Seconds()*1000/float64(probes))
	}
	return b.String()
}

func mb(n int64) float64 { return float64(n) / 1e6 }

// isSmall returns what is broken of the promises about memory.
func (r *row) isSmall(resident int64) error {
	var broken []error
	if r.binary > maxBinary {
		broken = append(broken, fmt.Errorf("%s: the binary has %.1f MB, more than %.1f", r.name, mb(r.binary), maxBinary/1e6))
	}
	if r.resident > resident {
		broken = append(broken, fmt.Errorf("%s: %.1f MB are resident, more than %.1f", r.name, mb(r.resident), mb(resident)))
	}
	return errors.Join(broken...)
}

// isCheap returns an error if the probes cost more than a part of what they cost
// another program.
func (r *row) isCheap(other *row, most float64) error {
	if part := float64(r.cpu) / float64(other.cpu); part > most {
		return fmt.Errorf("%s: the probes take %.2f of the CPU of %s, more than %.2f", r.name, part, other.name, most)
	}
	return nil
}
