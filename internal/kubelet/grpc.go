package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// grpcTLS is the configuration of grpc-go without verification: at least TLS
// 1.2, and none of the cipher suites that HTTP/2 forbids.
var grpcTLS = &tls.Config{
	InsecureSkipVerify: true,
	NextProtos:         []string{"h2"},
	MinVersion:         tls.VersionTLS12,
	CipherSuites: []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	},
}

type grpcTarget struct {
	*Target
	port    string
	secure  bool
	request []byte // a HealthCheckRequest{service = 1}
}

// errNotConnected says that an attempt made no connection for calls.
var errNotConnected = errors.New("no connection")

// probe calls grpc.health.v1.Health/Check.
//
// As the kubelet's client does, it dials again while it gets no connection for
// calls, after 1 s, then after 1.6 times as long each time. It repeats a call
// once if the app says that it did not process the call.
func (t *grpcTarget) probe(ctx context.Context, call *Call) *Answer {
	repeated := false
	for wait := time.Second; ; {
		began := time.Now()
		unhealthy, err := t.check(ctx, call)
		switch {
		case err == nil && unhealthy == "":
			return &Answer{Status: 200}
		case err == nil:
			return Says(503, OneLine(unhealthy))
		case errors.Is(err, wire.ErrNotProcessed) && !repeated:
			repeated = true
			continue
		case !errors.Is(err, errNotConnected) && !errors.Is(err, wire.ErrNotHTTP2):
			return t.failed(ctx, err)
		}
		again := began.Add(wait)
		if deadline, _ := ctx.Deadline(); !again.Before(deadline) { // only hooks have none
			return t.failed(ctx, err)
		}
		wait = longer(wait)
		select {
		case <-time.After(time.Until(again)):
		case <-ctx.Done():
			return t.failed(ctx, err)
		}
	}
}

func longer(wait time.Duration) time.Duration { return wait * 16 / 10 }

// check makes one call. It returns why the app is not serving, "" if it is, or else the
// error why there is no answer.
func (t *grpcTarget) check(ctx context.Context, call *Call) (unhealthy string, err error) {
	conn, err := t.connect(ctx, call)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNotConnected, err)
	}
	scheme := "http"
	if t.secure {
		scheme = "https"
	}
	req := wire.NewCall(scheme, net.JoinHostPort(t.host, t.port), "/grpc.health.v1.Health/Check")
	req.Meter = &call.Meter
	req.Header["Grpc-Accept-Encoding"] = []string{"gzip"} // the kubelet links it for its traces
	if agent := call.Header.Get("User-Agent"); agent != "" {
		req.Header["User-Agent"] = []string{agent}
	}
	deadline, _ := ctx.Deadline()
	req.Header["Grpc-Timeout"] = []string{grpcTimeout(time.Until(deadline))}
	message, err := wire.Call(conn, req, t.request)
	if answer, ok := errors.AsType[*wire.CallError](err); ok {
		return inWords(answer), nil
	}
	if err != nil {
		return "", err
	}
	health, ok := healthStatus(message)
	switch {
	case !ok:
		return "app's HealthCheckResponse is malformed", nil
	case health != 1:
		return "app is not serving: " + healthName(health), nil
	}
	return "", nil
}

// inWords words an answer without a HealthCheckResponse.
func inWords(e *wire.CallError) string {
	switch e.Code {
	case -1:
		return "app's " + e.Message
	case 12:
		return fmt.Sprintf("app does not implement grpc.health.v1.Health: %.100q", e.Message)
	case 5:
		return fmt.Sprintf("app does not know the service: %.100q", e.Message)
	}
	return fmt.Sprintf("app answered with gRPC status %d: %.100q", e.Code, e.Message)
}

// grpcTimeout returns the value of the header grpc-timeout for what is left until a deadline. It
// is never zero: the protocol demands a positive number. It is rounded up, as in grpc-go: an app
// whose deadline came before ours could still answer that it serves.
func grpcTimeout(left time.Duration) string {
	millis := (left + time.Millisecond - 1) / time.Millisecond
	return strconv.FormatInt(max(int64(millis), 1), 10) + "m"
}

func (t *grpcTarget) connect(ctx context.Context, call *Call) (net.Conn, error) {
	conn, err := t.dial(ctx, call, t.port)
	if err != nil || !t.secure {
		return conn, err
	}
	bounded := wire.NewHandshake(ctx, conn, &call.Meter)
	secure := tls.Client(bounded, grpcTLS)
	err = secure.HandshakeContext(ctx)
	bounded.Done()
	if err == nil && secure.ConnectionState().NegotiatedProtocol == "" {
		err = errors.New("app's TLS does not offer HTTP/2 (ALPN)")
	}
	return secure, err
}

func healthName(status int32) string {
	names := map[int32]string{0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
	return cmp.Or(names[status], strconv.Itoa(int(status)))
}

// healthStatus reads field 1 of a HealthCheckResponse. The last one counts;
// other fields are skipped.
func healthStatus(m []byte) (status int32, ok bool) {
	ok = wire.Fields(m, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == 1 && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(value)
			status = int32(v)
		}
	})
	return status, ok
}
