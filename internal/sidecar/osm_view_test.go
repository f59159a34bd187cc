package sidecar

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// The kubelet itself ends a call whose time is over, so the probe with the most time answers for all.
func TestTheLongestTimeoutAnswersASharedRoute(t *testing.T) {
	entries := []*entry{
		{target: &kubelet.Target{Timeout: time.Second}},
		{target: &kubelet.Target{Timeout: 5 * time.Second}},
		{bad: errors.New("cannot be probed")},
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		v := &view{osm: make(map[prober.OSMRoute]*entry), number: 15901}
		var overTLS prober.OSMRoute
		for _, route := range prober.OSMRoutes(map[string]*prober.Original{"/app-health/a/livez": {HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTPS"}}})["/app-health/a/livez"] {
			overTLS = route
		}
		for _, i := range order {
			v.add(prober.OSMRoute{}, entries[i])
			v.add(overTLS, entries[i])
		}
		if v.osm[prober.OSMRoute{}] != entries[1] || v.osm[overTLS] != entries[1] || v.tls != entries[1] {
			t.Errorf("in the order %v another answers", order)
		}
		other := &view{osm: make(map[prober.OSMRoute]*entry), number: 15902}
		if other.add(overTLS, entries[0]); other.tls != nil {
			t.Error("TLS of another port is passed on")
		}
	}
}

func TestTheAddressOfAnAppHasItsPort(t *testing.T) {
	const key = "/app-health/a/livez"
	probe := &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(8443), Scheme: "HTTPS"}, TimeoutSeconds: 1}
	for ip, want := range map[string]string{"10.0.0.7": "10.0.0.7:8443", "fd00::7": "[fd00::7]:8443"} {
		s := New(slog.New(slog.DiscardHandler), ip, 0, map[string]*prober.Original{key: probe}, nil)
		if got := s.entries[key].address; got != want {
			t.Errorf("app at %s: TLS goes to %s, want %s", ip, got, want)
		}
	}
}

// tlsView returns the view of the port of liveness probes, whose TLS goes to an app.
func tlsView(t *testing.T, app net.Listener, timeout int) (*Server, *view) {
	t.Helper()
	const key = "/app-health/a/livez"
	probe := probeOf(app, timeout)
	probe.HTTPGet.Scheme = "HTTPS"
	s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, map[string]*prober.Original{key: probe}, nil)
	v := &view{port: "15901", number: 15901, osm: make(map[prober.OSMRoute]*entry)}
	for _, route := range prober.OSMRoutes(map[string]*prober.Original{key: probe})[key] {
		v.add(route, s.entries[key])
	}
	if v.tls == nil {
		t.Fatal("the port passes no TLS on")
	}
	return s, v
}

// TestTLSOfAConnectionThatWaitedIsWhole: others use its buffer meanwhile.
func TestTLSOfAConnectionThatWaitedIsWhole(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a sync.Pool keeps what was put back for each processor
	app := listenLocal(t)
	s, v := tlsView(t, app, 60)
	places := v.tls.share.places
	for range cap(places) {
		places <- struct{}{}
	}
	caller, ours := net.Pipe()
	const sent = "\x16\x03\x01 the beginning of a handshake"
	go newConnWith(s, v, ours, []byte(sent), time.Now()).serve()
	err := testutil.Eventually(20*time.Second, func() error {
		s.budget.mu.Lock()
		defer s.budget.mu.Unlock()
		if s.budget.waiting.Len() != 1 {
			return errors.New("the connection does not wait for a place")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		b := buffers.Get().(*[smallHead]byte)
		copy(b[:], strings.Repeat("x", len(sent)))
		defer buffers.Put(b)
	}
	<-places
	conn, err := app.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != sent {
		t.Errorf("the app gets %q, %v; want %q", got, err, sent)
	}
	caller.Close()
}

// TestTLSThatCannotBePassedOnIsAFailure, which is counted and logged with its reason; the caller gets no answer.
func TestTLSThatCannotBePassedOnIsAFailure(t *testing.T) {
	app := listenLocal(t)
	s, v := tlsView(t, app, 20)
	app.Close()
	var log strings.Builder
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	for round := range uint64(3) {
		caller, ours := net.Pipe()
		ended := make(chan struct{})
		go func() {
			newConnWith(s, v, ours, []byte("\x16\x03\x01"), time.Now()).serve()
			close(ended)
		}()
		_ = caller.SetDeadline(time.Now().Add(20 * time.Second))
		if got, err := io.ReadAll(caller); len(got) > 0 || err != nil {
			t.Errorf("the caller gets %q, %v", got, err)
		}
		testutil.Received(t, ended)
		e := v.tls
		counted := [3]uint64{e.verdicts[0].Load(), e.verdicts[1].Load(), e.verdicts[2].Load()}
		if want := [3]uint64{kubelet.Failure: round + 1}; counted != want || len(e.share.places) > 0 {
			t.Errorf("verdicts %v, want %v; %d places are taken", counted, want, len(e.share.places))
		}
	}
	_, said, _ := strings.Cut(log.String(), "level=")
	if !strings.HasPrefix(said, `WARN msg="probe fails" probe=/app-health/a/livez status=0 reason="cannot pass TLS on to the app: dial tcp 127.0.0.1:`) || strings.Count(said, "\n") != 1 {
		t.Errorf("the log says %s", said)
	}
}

// TestTLSOfADisabledProbeIsNoRequest: it is read as HTTP, and refused.
func TestTLSOfADisabledProbeIsNoRequest(t *testing.T) {
	s, v := tlsView(t, listenLocal(t), 3)
	v.tls.bad = errors.New("cannot be probed")
	caller, ours := net.Pipe()
	_ = caller.SetDeadline(time.Now().Add(20 * time.Second))
	go newConnWith(s, v, ours, []byte("\x16\x03\x01\r\n\r\n"), time.Now()).serve()
	answer, err := io.ReadAll(caller)
	if line, _, _ := strings.Cut(string(answer), "\r\n"); line != "HTTP/1.1 400 Bad Request" || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestTLSWithoutAPlaceIsNotPassedOn: the connection ends with the probe's time, and the app sees none.
func TestTLSWithoutAPlaceIsNotPassedOn(t *testing.T) {
	app := listenLocal(t)
	s, v := tlsView(t, app, 3)
	synctest.Test(t, func(t *testing.T) {
		e := v.tls
		e.share.places = make(chan struct{}, 1) // of this clock
		e.share.places <- struct{}{}
		caller, ours := net.Pipe()
		began := time.Now()
		go newConnWith(s, v, ours, []byte("\x16\x03\x01"), began).serve()
		got, _ := io.ReadAll(caller)
		if took := time.Since(began); len(got) > 0 || took != e.target.Timeout {
			t.Errorf("after %s it gets %q, want the end after %s", took, got, e.target.Timeout)
		}
		if n := len(e.share.places); n != 1 {
			t.Errorf("%d places are taken, want the one of another", n)
		}
	})
	_ = app.(*net.TCPListener).SetDeadline(time.Now())
	if conn, err := app.Accept(); err == nil {
		conn.Close()
		t.Error("the app has a connection")
	}
}

func probeOf(app net.Listener, timeout int) *prober.Original {
	port := app.Addr().(*net.TCPAddr).Port
	return &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(port), Scheme: "HTTP"}, TimeoutSeconds: timeout}
}

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
