// The command app is the application in the pods of these tests: it serves
// HTTP, HTTPS, TCP and gRPC health, records the requests, and breaks on demand.
//
// The pods in ../pods set it up with flags. While it runs, requests to its
// HTTP port under /control/ break it:
//
//	/control/close   it stops listening everywhere (the process lives on)
//	/control/hang    it accepts connections and never answers
//	/control/fail    /healthz answers 503 and the health service NOT_SERVING
//	/control/release a hook that was asked for with ?until=released is answered
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	var (
		httpAddr  = flag.String("http", ":8080", "where HTTP is served")
		anyAddrs  = flag.String("any", "", "where, separated by commas, every request of HTTP/1 and HTTP/2 is answered with 200, and gRPC health is served")
		httpsAddr = flag.String("https", "", "where HTTPS is served")
		h2cAddr   = flag.String("h2c", "", "where HTTP/2 is served without TLS, by prior knowledge, and nothing else")
		tcpAddr   = flag.String("tcp", "", "where connections are accepted and closed")
		grpcAddr  = flag.String("grpc", "", "where the gRPC health service is served; it knows the service \"ready\" only")
		grpcsAddr = flag.String("grpcs", "", "where the same is served over TLS")
		delay     = flag.Duration("delay", 0, "time before anything listens")
		fail      = flag.Bool("fail", false, "start as after /control/fail")
		exitAfter = flag.Duration("exit-after", 0, "time after which the program ends well, as a job does")
		get       = flag.String("get", "", "only ask this URL, as an exec probe does, and end with 1 unless it answers 200")
		getWhile  = flag.String("while", "", "with -get: ask again and again while this URL answers 200, and say how many answers were another")
		record    = flag.String("record", "", "file that hooks, starts and the end are written to")
	)
	flag.Parse()
	if *get != "" {
		if !ask(*get, *getWhile) {
			os.Exit(1)
		}
		return
	}

	rec := &recorder{path: *record}
	rec.add("started", "")
	time.Sleep(*delay)

	a := &app{rec: rec, health: health.NewServer()}
	a.released, a.release = context.WithCancel(context.Background())
	a.health.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING) // probes must ask for the service they name
	a.health.SetServingStatus("ready", healthpb.HealthCheckResponse_SERVING)
	if *fail {
		a.fail()
	}
	server := &http.Server{Handler: a}
	a.serve(*httpAddr, server.Serve)
	certificate := selfSigned()
	a.serve(*httpsAddr, func(l net.Listener) error {
		return server.Serve(tls.NewListener(l, &tls.Config{
			Certificates: []tls.Certificate{certificate},
			NextProtos:   []string{"h2", "http/1.1"},
		}))
	})
	priorKnowledge := &http.Server{Handler: a, Protocols: new(http.Protocols)}
	priorKnowledge.Protocols.SetUnencryptedHTTP2(true)
	a.serve(*h2cAddr, priorKnowledge.Serve)
	for addr := range strings.SplitSeq(*anyAddrs, ",") {
		a.serve(addr, a.anyServer().Serve)
	}
	a.serve(*tcpAddr, acceptAndClose)
	a.serve(*grpcAddr, a.healthServer().Serve)
	a.serve(*grpcsAddr, a.healthServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate))).Serve)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	var done <-chan time.Time
	if *exitAfter > 0 {
		done = time.After(*exitAfter)
	}
	select {
	case <-stop:
		rec.add("terminated", "")
	case <-done:
		rec.add("finished", "")
	}
}

// ask requests a URL once, or again and again while another answers 200, on a new connection
// each. It reports whether every answer was 200, and says what the others were.
func ask(url, while string) bool {
	lost := 0
	asked := 1
	for ; ; asked++ {
		if err := answered(url); err != nil {
			log.Println(err)
			lost++
		}
		if while == "" || answered(while) != nil {
			break
		}
	}
	fmt.Printf("%d of %d requests lost\n", lost, asked)
	return lost == 0
}

var asks = http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// answered returns an error, with what was answered, unless a URL answers 200.
func answered(url string) error {
	r, err := asks.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1024))
	return errors.Join(fmt.Errorf("%s: %s", r.Status, body), err)
}

// An app is what the servers share.
type app struct {
	rec    *recorder
	health *health.Server
	hung   atomic.Bool
	failed atomic.Bool

	released context.Context // ended by release
	release  context.CancelFunc

	mu        sync.Mutex // guards listeners
	listeners []net.Listener
}

// serve runs a server on an address; an empty address runs none.
func (a *app) serve(addr string, run func(net.Listener) error) {
	if addr == "" {
		return
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	a.mu.Lock()
	a.listeners = append(a.listeners, l)
	a.mu.Unlock()
	go func() { log.Println(addr, run(l)) }()
}

func (a *app) fail() {
	a.failed.Store(true)
	a.health.SetServingStatus("ready", healthpb.HealthCheckResponse_NOT_SERVING)
}

// close makes every later connection be refused.
func (a *app) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.listeners {
		l.Close()
	}
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.hung.Load() {
		<-r.Context().Done()
		return
	}
	switch r.URL.Path {
	case "/control/close":
		a.close()
	case "/control/hang":
		a.hung.Store(true)
	case "/control/fail":
		a.fail()
	case "/control/release":
		a.release()
	case "/healthz":
		if a.failed.Load() {
			http.Error(w, "failed on demand", http.StatusServiceUnavailable)
		}
	case "/strict": // as picky as an app behind virtual hosts and a router
		if r.Host != "strict.example" || r.Header.Get("X-Probe") != "yes" || r.URL.Query().Get("a") != "b c" {
			http.Error(w, "not the request of the manifest", http.StatusBadRequest)
		}
	case "/redirect":
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	case "/hook/post-start", "/hook/pre-stop":
		a.rec.add(r.URL.Path, r.UserAgent())
		takes, _ := time.ParseDuration(r.FormValue("for"))
		if r.FormValue("until") == "released" {
			<-a.released.Done()
		}
		time.Sleep(takes)
	default:
		http.NotFound(w, r)
	}
}

// anyServer answers whatever it is asked.
func (a *app) anyServer() *http.Server {
	health := a.healthServer()
	server := &http.Server{Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			health.ServeHTTP(w, r)
		}
	})
	return server
}

func (a *app) healthServer(options ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(g, hanging{a.health, a})
	return g
}

// hanging is the health service that hangs when the app does.
type hanging struct {
	healthpb.HealthServer
	app *app
}

func (h hanging) Check(ctx context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if h.app.hung.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.HealthServer.Check(ctx, r)
}

func acceptAndClose(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		c.Close()
	}
}

// A recorder writes lines of time, event and detail to a file that outlives
// the container.
type recorder struct {
	path string
	mu   sync.Mutex // one line at a time
}

func (r *recorder) add(event, detail string) {
	if r.path == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), event, detail)
}

func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"app"}, NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
