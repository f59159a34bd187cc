package kubelet

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// maxHealth bounds a health response, which is two bytes long.
const maxHealth = 16 << 10

// gzipEncoding is the only encoding of the kubelet's client. The kubelet links it for its
// traces (k8s.io/component-base/tracing), and grpc-go then offers it in every call.
const gzipEncoding = "gzip"

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
	port   string
	secure bool
	body   []byte // of the request
}

func newGRPCTarget(t *Target, g *prober.GRPC) *grpcTarget {
	return &grpcTarget{t, g.Port.String(), g.Mode == prober.GRPCTLS, healthRequest(*g.Service)}
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
		err := t.checkHealth(ctx, call)
		if err == nil {
			return &Answer{Status: 200}
		}
		if _, unhealthy := errors.AsType[*unhealthyError](err); unhealthy {
			return &Answer{Status: 503, Reason: err.Error(), Body: []byte("probe-proxy: " + err.Error() + "\n")}
		}
		if errors.Is(err, wire.ErrNotProcessed) && !repeated {
			repeated = true
			continue
		}
		if !errors.Is(err, errNotConnected) && !errors.Is(err, wire.ErrNotHTTP2) {
			return t.failed(ctx, err)
		}
		again := began.Add(wait)
		if deadline, ok := ctx.Deadline(); ok && !again.Before(deadline) {
			return t.failed(ctx, err)
		}
		wait = wait * 16 / 10
		select {
		case <-time.After(time.Until(again)):
		case <-ctx.Done():
			return t.failed(ctx, err)
		}
	}
}

// An unhealthyError is an answer of the app that is not SERVING.
type unhealthyError struct{ msg string }

func (e *unhealthyError) Error() string { return e.msg }

func unhealthy(format string, args ...any) error {
	return &unhealthyError{reason(fmt.Errorf(format, args...))}
}

func (t *grpcTarget) checkHealth(ctx context.Context, call *Call) error {
	conn, stop, err := t.connect(ctx, call)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotConnected, err)
	}
	defer stop()
	scheme := "http"
	if t.secure {
		scheme = "https"
	}
	req := wire.NewCall(scheme, net.JoinHostPort(t.app.IP, t.port), "/grpc.health.v1.Health/Check")
	req.Meter = &call.Meter
	req.Header["Grpc-Accept-Encoding"] = []string{gzipEncoding}
	if agent := call.Header.Get("User-Agent"); agent != "" {
		req.Header["User-Agent"] = []string{agent}
	}
	if deadline, ok := ctx.Deadline(); ok {
		req.Header["Grpc-Timeout"] = []string{grpcTimeout(time.Until(deadline))}
	}
	res, exchange, err := wire.RoundTrip2(conn, req, t.body)
	defer exchange.Close()
	if err != nil {
		return err
	}
	return readHealth(res)
}

// grpcTimeout returns the value of the header grpc-timeout for what is left until a deadline. It
// is never zero: the protocol demands a positive number. It is rounded up, as in grpc-go: an app
// whose deadline came before ours could still answer that it serves.
func grpcTimeout(left time.Duration) string {
	millis := (left + time.Millisecond - 1) / time.Millisecond
	return strconv.FormatInt(max(int64(millis), 1), 10) + "m"
}

// connect opens the connection for one call.
func (t *grpcTarget) connect(ctx context.Context, call *Call) (net.Conn, func() bool, error) {
	conn, stop, err := call.dial(ctx, t.app, t.port)
	if err != nil || !t.secure {
		return conn, stop, err
	}
	secure := tls.Client(conn, grpcTLS)
	err = secure.HandshakeContext(ctx)
	if err == nil && secure.ConnectionState().NegotiatedProtocol == "" {
		err = errors.New("app's TLS does not offer HTTP/2 (ALPN)")
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return secure, stop, nil
}

// healthRequest returns a length-prefixed HealthCheckRequest{service = 1}.
func healthRequest(service string) []byte {
	return wire.AppendMessage(nil, wire.AppendString(nil, 1, service))
}

// readHealth returns an error unless the response has what gRPC's client
// demands: the content type, grpc-status 0 and exactly one message, with the
// status SERVING. Like that client it ignores the HTTP status of a response
// that has the content type.
func readHealth(res *wire.Response) error {
	if err := checkHeader(res); err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxHealth+1))
	if err != nil {
		return err
	}
	if res.Trailer == nil {
		return unhealthy("app's gRPC answer has no trailers")
	}
	if err := checkStatus(res.Trailer); err != nil {
		return err
	}
	message, err := healthMessage(res, body)
	if err != nil {
		return err
	}
	health, ok := healthStatus(message)
	if !ok {
		return unhealthy("app's HealthCheckResponse is malformed")
	}
	if health != 1 {
		return unhealthy("app is not serving: %s", healthName(health))
	}
	return nil
}

// healthMessage returns the only message of a body, decompressed.
func healthMessage(res *wire.Response, body []byte) ([]byte, error) {
	compressed := len(body) > 0 && body[0] == 1
	if compressed {
		encodings := res.Header["Grpc-Encoding"]
		if len(encodings) == 0 || encodings[len(encodings)-1] != gzipEncoding {
			return nil, unhealthy("app's gRPC answer is compressed, with grpc-encoding %.60q", encodings)
		}
		body[0] = 0
	}
	message, ok := wire.OnlyMessage(body)
	if !ok || len(body) > maxHealth {
		return nil, unhealthy("app's gRPC answer is not one message")
	}
	if !compressed {
		return message, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(message))
	if err == nil {
		message, err = io.ReadAll(io.LimitReader(z, maxHealth+1))
	}
	if err != nil || len(message) > maxHealth {
		return nil, unhealthy("app's gRPC answer cannot be decompressed")
	}
	return message, nil
}

func checkHeader(res *wire.Response) error {
	switch {
	case wire.IsCall(res.Header):
		return checkMetadata(res.Header)
	case res.Status != 200:
		return unhealthy("app answered the gRPC call with HTTP status %d", res.Status)
	}
	return unhealthy("app's answer is not gRPC: Content-Type %.60q", res.Header["Content-Type"])
}

// checkMetadata refuses binary metadata that does not decode.
func checkMetadata(h textproto.MIMEHeader) error {
	for name, values := range h {
		if !strings.HasSuffix(name, "-Bin") {
			continue
		}
		for _, v := range values {
			decoding := base64.RawStdEncoding
			if len(v)%4 == 0 {
				decoding = base64.StdEncoding
			}
			if _, err := decoding.DecodeString(v); err != nil {
				return unhealthy("app's gRPC metadata %q is malformed", name)
			}
		}
	}
	return nil
}

// checkStatus demands grpc-status 0. If it is repeated, all must be numbers and
// the last one counts.
func checkStatus(trailer textproto.MIMEHeader) error {
	message := wire.StatusMessage(trailer)
	status, err := int64(0), errors.New("none")
	for _, v := range trailer["Grpc-Status"] {
		if status, err = strconv.ParseInt(v, 10, 32); err != nil {
			break
		}
	}
	switch {
	case err != nil:
		return unhealthy("app's gRPC answer has no valid grpc-status")
	case status == 12:
		return unhealthy("app does not implement grpc.health.v1.Health: %.100q", message)
	case status == 5:
		return unhealthy("app does not know the service: %.100q", message)
	case status != 0:
		return unhealthy("app answered with gRPC status %d: %.100q", status, message)
	}
	return checkMetadata(trailer)
}

func healthName(status int32) string {
	names := [...]string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
	if status >= 0 && int(status) < len(names) {
		return names[status]
	}
	return strconv.Itoa(int(status))
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
