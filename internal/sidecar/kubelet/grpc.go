package kubelet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/wire"
)

// maxHealth bounds a health response, which is two bytes long.
const maxHealth = 16 << 10

// probeGRPC calls grpc.health.v1.Health/Check without TLS.
//
// The kubelet's client dials again while the app does not accept a
// connection, after 1 s, then after 1.6 times as long each time; so does this.
func (t *Target) probeGRPC(ctx context.Context, call *Call) *Answer {
	for wait := time.Second; ; wait = wait * 16 / 10 {
		began := time.Now()
		err := t.checkHealth(ctx, call)
		if err == nil {
			return &Answer{Status: 200}
		}
		var unhealthy *unhealthyError
		if errors.As(err, &unhealthy) {
			return &Answer{Status: 503, Reason: err.Error(), Body: []byte("probe-proxy: " + err.Error() + "\n")}
		}
		var dial *net.OpError
		if !errors.Is(err, wire.ErrNotHTTP2) && !(errors.As(err, &dial) && dial.Op == "dial") {
			return t.failed(ctx, err)
		}
		again := began.Add(wait)
		if deadline, ok := ctx.Deadline(); ok && !again.Before(deadline) {
			return t.failed(ctx, err)
		}
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

func (t *Target) checkHealth(ctx context.Context, call *Call) error {
	g := t.prober.GRPC
	port := strconv.Itoa(int(g.Port))
	conn, stop, err := call.dial(ctx, t.app, port)
	if err != nil {
		return err
	}
	defer stop()
	req := &wire.Request{
		URL:  &url.URL{Scheme: "http", Path: "/grpc.health.v1.Health/Check"},
		Host: net.JoinHostPort(t.app.IP, port),
		Header: textproto.MIMEHeader{
			"Content-Type": {"application/grpc"},
			"Te":           {"trailers"},
		},
	}
	if agent := call.Header.Get("User-Agent"); agent != "" {
		req.Header["User-Agent"] = []string{agent}
	}
	if deadline, ok := ctx.Deadline(); ok {
		req.Header["Grpc-Timeout"] = []string{strconv.FormatInt(max(time.Until(deadline).Milliseconds(), 1), 10) + "m"}
	}
	res, exchange, err := wire.RoundTrip2(conn, req, healthRequest(*g.Service))
	defer exchange.Close()
	if err != nil {
		return err
	}
	return readHealth(res)
}

// healthRequest is a length-prefixed HealthCheckRequest{service = 1}.
func healthRequest(service string) []byte {
	var m []byte
	if service != "" {
		m = binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(service)))
		m = append(m, service...)
	}
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m)))
	return append(b, m...)
}

// readHealth wants what gRPC's client wants: the content type, grpc-status 0
// and exactly one message, with the status SERVING. The client does not look at
// the HTTP status of an answer whose content type is gRPC's.
func readHealth(res *wire.Response) error {
	if err := checkContentType(res.Header.Get("Content-Type")); err != nil {
		if res.Status != 200 {
			return unhealthy("app answered the gRPC call with HTTP status %d", res.Status)
		}
		return err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxHealth+1))
	if err != nil {
		return err
	}
	trailer := res.Trailer
	if trailer == nil && len(body) > 0 {
		return unhealthy("app's gRPC answer has no trailers")
	}
	if trailer == nil {
		trailer = res.Header // a response of trailers only
	}
	message := trailer.Get("Grpc-Message")
	status, err := strconv.ParseInt(trailer.Get("Grpc-Status"), 10, 32)
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
	if len(body) < 5 || len(body) > maxHealth || body[0] != 0 ||
		int64(binary.BigEndian.Uint32(body[1:5])) != int64(len(body)-5) {
		return unhealthy("app's gRPC answer is not one plain message")
	}
	health, ok := healthStatus(body[5:])
	if !ok {
		return unhealthy("app's HealthCheckResponse is malformed")
	}
	if health != 1 {
		return unhealthy("app is not serving: %s", healthName(health))
	}
	return nil
}

func checkContentType(v string) error {
	rest, ok := strings.CutPrefix(v, "application/grpc")
	if !ok || rest != "" && rest[0] != '+' && rest[0] != ';' {
		return unhealthy("app's answer is not gRPC: Content-Type %.60q", v)
	}
	return nil
}

func healthName(status uint64) string {
	names := [...]string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
	if status < uint64(len(names)) {
		return names[status]
	}
	return strconv.FormatUint(status, 10)
}

// healthStatus reads field 1 of a HealthCheckResponse; the last one counts,
// other fields are passed over.
func healthStatus(m []byte) (status uint64, ok bool) {
	var groups []uint64 // the fields of the open groups
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		field, kind := tag>>3, tag&7
		if n <= 0 || field == 0 {
			return 0, false
		}
		m = m[n:]
		switch kind {
		case 3:
			groups = append(groups, field)
			continue
		case 4:
			last := len(groups) - 1
			if last < 0 || groups[last] != field {
				return 0, false
			}
			groups = groups[:last]
			continue
		}
		value, size := fieldValue(kind, m)
		if size < 0 || size > len(m) {
			return 0, false
		}
		if field == 1 && kind == 0 && len(groups) == 0 {
			status = uint64(uint32(value))
		}
		m = m[size:]
	}
	return status, len(groups) == 0
}

// fieldValue gives the number in m and how many bytes a field of the kind
// takes there; -1 where there is none.
func fieldValue(kind uint64, m []byte) (value uint64, size int) {
	v, n := binary.Uvarint(m)
	switch {
	case kind == 1:
		return 0, 8
	case kind == 5:
		return 0, 4
	case kind == 0 && n > 0:
		return v, n
	case kind == 2 && n > 0 && v <= uint64(len(m)):
		return 0, n + int(v)
	}
	return 0, -1
}
