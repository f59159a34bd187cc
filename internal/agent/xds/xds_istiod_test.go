package xds_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/xds"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// A fakeIstiod is net/http's server behind pipes, in a bubble of synctest. It
// keeps what it got as lines: seconds since the start, connection, message.
type fakeIstiod struct {
	start time.Time

	mu      sync.Mutex
	lines   []string
	conns   int
	down    error // Connect fails with it
	refuse  string
	deaf    bool // what is written is never answered
	answers bool // with data, as on a push
	current *http.Server
	streams map[int]context.CancelFunc
	node    []byte // as the last stream began
}

func newIstiod() *fakeIstiod {
	return &fakeIstiod{start: time.Now(), streams: make(map[int]context.CancelFunc)}
}

func (i *fakeIstiod) log(format string, args ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lines = append(i.lines, fmt.Sprintf("%.1f ", time.Since(i.start).Seconds())+fmt.Sprintf(format, args...))
}

// take returns the lines since the last call.
func (i *fakeIstiod) take() string {
	synctest.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	s := strings.Join(i.lines, "\n")
	i.lines = nil
	return s
}

func (i *fakeIstiod) connections() int {
	synctest.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.conns
}

func (i *fakeIstiod) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// connect is the agent's Connect: every connection has a server of its own.
func (i *fakeIstiod) connect(context.Context) (net.Conn, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down != nil {
		return nil, i.down
	}
	i.conns++
	ours, theirs := net.Pipe()
	if i.deaf {
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}
	server := &http.Server{Protocols: new(http.Protocols), Handler: i.handler(i.conns)}
	server.Protocols.SetUnencryptedHTTP2(true)
	i.current = server
	go func() { _ = server.Serve(&oneListener{theirs}) }()
	return ours, nil
}

// shutdown sends GOAWAY on the last connection, which goes on.
func (i *fakeIstiod) shutdown() {
	i.mu.Lock()
	server := i.current
	i.mu.Unlock()
	go func() { _ = server.Shutdown(context.Background()) }()
}

func (i *fakeIstiod) handler(conn int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		i.mu.Lock()
		refuse, answers := i.refuse, i.answers
		ctx, cancel := context.WithCancel(r.Context())
		i.streams[conn] = cancel
		i.mu.Unlock()
		go func() { <-ctx.Done(); _ = r.Body.Close() }()
		if r.URL.Path != "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources" || r.Method != "POST" || r.Host != "istiod.test:15012" {
			i.log("%d: %s %s %s", conn, r.Method, r.Host, r.URL)
		}
		if refuse != "" {
			i.log("%d: refused", conn)
			w.Header().Set("Grpc-Status", "7")
			w.Header().Set("Grpc-Message", strings.ReplaceAll(refuse, "%", "%25"))
			return
		}
		for {
			m, err := readMessage(r.Body)
			if err != nil {
				if errors.Is(err, io.EOF) {
					i.log("%d: end", conn)
				}
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
				return
			}
			i.log("%d: %s", conn, describe(m))
			if node := fields(m)[2]; node != nil {
				i.set(func() { i.node = node })
			}
			if answers {
				_, _ = w.Write(make([]byte, 10<<10))
				w.(http.Flusher).Flush()
			}
		}
	})
}

func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	m := make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err := io.ReadFull(r, m)
	return m, err
}

// describe words a DiscoveryRequest.
func describe(m []byte) string {
	f := fields(m)
	switch {
	case strings.HasSuffix(string(f[4]), "ClusterLoadAssignment"):
		return "node " + string(fields(f[2])[1])
	case string(f[4]) != "type.googleapis.com/istio.v1.HealthInformation":
		return fmt.Sprintf("type %q", f[4])
	case f[6] == nil:
		return "healthy"
	}
	return "unhealthy: " + string(fields(f[6])[2])
}

// fields returns the last value of each length-prefixed field.
func fields(m []byte) map[protowire.Number][]byte {
	found := make(map[protowire.Number][]byte)
	for len(m) > 0 {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			panic("malformed message")
		}
		m = m[n:]
		if kind == protowire.BytesType {
			found[field], _ = protowire.ConsumeBytes(m)
		}
		m = m[protowire.ConsumeFieldValue(field, kind, m):]
	}
	return found
}

// A oneListener accepts one connection.
type oneListener struct{ conn net.Conn }

func (l *oneListener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (l *oneListener) Close() error   { return nil }
func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{} }

// An agent is a reporter that runs.
type agent struct {
	*xds.Reporter
	states chan error
	stop   context.CancelFunc
	done   chan struct{}
	log    buffer
	status buffer
}

// A buffer may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func start(t *testing.T, i *fakeIstiod, repeat time.Duration, change ...func(*xds.Reporter)) *agent {
	a := &agent{states: make(chan error), done: make(chan struct{})}
	a.Reporter = &xds.Reporter{
		Connect: i.connect, Scheme: "https", Authority: "istiod.test:15012",
		Node:   &xds.Node{IP: "10.0.0.7", Config: &vmconfig.Config{Namespace: "shop", Name: "reviews"}},
		Repeat: repeat,
		Log: slog.New(slog.NewTextHandler(&a.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey || attr.Key == "address" {
				return slog.Attr{}
			}
			return attr
		}})),
		Status: func(s string) { fmt.Fprintln(&a.status, s) },
	}
	for _, f := range change {
		f(a.Reporter)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a.stop = cancel
	go func() { a.Run(ctx, a.states); close(a.done) }()
	return a
}

// end stops the agent and waits for it.
func (a *agent) end() {
	a.stop()
	<-a.done
	time.Sleep(time.Minute) // until nothing runs any more
}

const node = "node sidecar~10.0.0.7~reviews.shop~shop.svc.cluster.local"
