package kubelet

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// maxRedirects is how many requests a chain of redirects may take.
const maxRedirects = 10

// maxDrain is how much of a redirect's body is read before the next request.
const maxDrain = 2 << 10

// handshakeTimeout is how long a handshake of TLS may take, however long the probe's
// timeout is: it is the default of net/http's transport, which the kubelet's has for
// probes, but not for hooks.
var handshakeTimeout = 10 * time.Second

type httpTarget struct {
	*Target
	url  *url.URL
	port string
	h2c  bool // HTTP/2 without TLS, with prior knowledge
}

// newHTTPTarget builds the URL as the kubelet does: a path that does not parse
// as a reference is a path as a whole. The kubelet ignores the protocol in
// hooks.
func newHTTPTarget(t *Target, h *prober.HTTPGet) (*httpTarget, error) {
	u, err := url.Parse(h.Path)
	if err != nil {
		u = &url.URL{Path: h.Path}
	}
	port := h.Port.String()
	u.Scheme = strings.ToLower(h.Scheme)
	u.Host = net.JoinHostPort(t.host, port)
	if u, err = url.Parse(u.String()); err != nil {
		return nil, fmt.Errorf("httpGet.path %q makes no URL: %w", h.Path, err)
	}
	return &httpTarget{t, u, port, h.Protocol == prober.HTTP2 && !t.Hook}, nil
}

// probe makes the request and follows redirects within the pod.
func (t *httpTarget) probe(ctx context.Context, call *Call) *Answer {
	first := &wire.Request{
		URL:    t.url,
		Host:   cleanHost(call, t.port),
		Header: call.Header,
		Meter:  &call.Meter,
	}
	a, err := t.follow(ctx, call, first)
	record, isOther := errors.AsType[tls.RecordHeaderError](err)
	if t.Hook &&
		isOther &&
		string(record.RecordHeader[:]) == "HTTP/" {
		// An https hook of a server that speaks plain HTTP: once more, without TLS.
		u := *first.URL
		u.Scheme = "http"
		plain := &wire.Request{
			URL:    &u,
			Host:   first.Host,
			Header: maps.Clone(first.Header),
			Meter:  first.Meter,
		}
		plain.Header.Del("Authorization")
		a, err = t.follow(ctx, call, plain)
	}
	if err == nil && (a.Status < 0 || a.Status > 999) { // over HTTP/2 it may be any number
		err = fmt.Errorf("app answered with status %d", a.Status)
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	if v := a.Verdict(t.Hook); v == Failure && a.Reason == "" {
		a.Reason = fmt.Sprintf("app answered with status %d", a.Status)
	}
	return a
}

// authorized returns the request with the URL's user as a header, unless it has one. A redirect of the
// request gets the user of its own URL.
func authorized(req *wire.Request) *wire.Request {
	user := req.URL.User
	if user == nil || req.Header.Get("Authorization") != "" {
		return req
	}
	password, _ := user.Password()
	sent := *req
	sent.Header = maps.Clone(req.Header)
	sent.Header.Set(
		"Authorization",
		"Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)),
	)
	return &sent
}

func (t *httpTarget) follow(ctx context.Context, call *Call, first *wire.Request) (*Answer, error) {
	for req, via := first, 1; ; via++ {
		if req.URL.Host == "" {
			return nil, errors.New("URL has no host")
		}
		res, err := t.send(ctx, call, authorized(req))
		if err != nil {
			return nil, err
		}
		next, err := t.redirect(call, first, req, res)
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return readAnswer(call, res, t.Hook), nil
		case via >= maxRedirects:
			return nil, fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		if res.ContentLength <= maxDrain {
			_, _ = io.CopyN(io.Discard, res.Body, maxDrain)
		}
		req = next
	}
}

// maxPause bounds the pause between attempts after a peer said that it did not
// process the request.
const maxPause = 100 * time.Millisecond

// send sends the request, on a new connection as often as the peer says that
// it did not process it. The kubelet's client does so too, without a pause.
func (t *httpTarget) send(ctx context.Context, call *Call, req *wire.Request) (*wire.Response, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		conn, err := t.dial(ctx, call, port(req.URL))
		if err != nil {
			return nil, err
		}
		res, err := t.roundTrip(ctx, conn, req)
		if !errors.Is(err, wire.ErrNotProcessed) {
			return res, err
		}
		time.Sleep(pause)
	}
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

func (t *httpTarget) roundTrip(ctx context.Context, conn net.Conn, req *wire.Request) (*wire.Response, error) {
	switch {
	case req.URL.Scheme == "http" && t.h2c:
		return wire.RoundTrip2(conn, req, nil)
	case req.URL.Scheme == "http":
		return wire.RoundTrip1(conn, req)
	case t.h2c:
		// The kubelet's client for this protocol verifies certificates, and
		// none is issued for a pod's IP.
		return nil, errors.New("app redirects from HTTP/2 without TLS to https")
	}
	// Nothing is verified, as in the kubelet; no sessions are kept. The name is sent
	// unless it is an IP address. Hooks never speak HTTP/2, because the kubelet's
	// client for hooks does not.
	config := &tls.Config{InsecureSkipVerify: true, ServerName: req.URL.Hostname()}
	if !t.Hook && !wantsWebSocket(req) {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	bounded := wire.NewHandshake(ctx, conn, req.Meter)
	secure := tls.Client(bounded, config)
	err := t.handshake(ctx, secure)
	bounded.Done()
	if err != nil {
		return nil, err
	}
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		return wire.RoundTrip2(secure, req, nil)
	}
	return wire.RoundTrip1(secure, req)
}

func (t *httpTarget) handshake(ctx context.Context, conn *tls.Conn) error {
	if t.Hook {
		return conn.HandshakeContext(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	err := conn.HandshakeContext(limited)
	if err != nil && limited.Err() != nil { // of a probe whose own time is over, failed says that
		return fmt.Errorf("app's TLS handshake took longer than %s", handshakeTimeout)
	}
	return err
}

// wantsWebSocket reports whether net/http sends a request over HTTP/1 alone.
func wantsWebSocket(req *wire.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket") &&
		wire.NamesUpgrade(req.Header)
}

// redirect returns the next request if the response is a redirect that is
// followed, or else nil. Redirects to another host are not followed, nor are
// those to another port if the caller may have chosen it.
func (t *httpTarget) redirect(call *Call, first, req *wire.Request, res *wire.Response) (*wire.Request, error) {
	switch res.Status {
	case 301, 302, 303, 307, 308:
	default:
		return nil, nil
	}
	location := res.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	u, err := req.URL.Parse(location)
	if err != nil {
		return nil, errors.New("app redirects to an invalid Location") // whose text is not the callers' business
	}
	if u.Hostname() != first.URL.Hostname() {
		return nil, nil
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("app redirects to the unsupported scheme %.20q", u.Scheme)
	}
	if port(u) != t.port &&
		!call.Own &&
		!t.plain(call) {
		return nil, nil
	}
	next := &wire.Request{
		URL:    u,
		Host:   u.Host,
		Header: maps.Clone(first.Header),
		Meter:  first.Meter,
	}
	if req.Host != req.URL.Host {
		if ref, _ := url.Parse(location); !ref.IsAbs() { // it was parsed above
			next.Host = req.Host
		}
	}
	setReferer(next, req)
	return next, nil
}

// kubeletSends reports whether the kubelet's clients send a header by themselves.
func kubeletSends(name, value string) bool {
	switch name {
	case "Accept":
		return value == "*/*"
	case "Accept-Encoding":
		return value == "gzip"
	case "Connection":
		return value == "close"
	case "User-Agent":
		client, version, _ := strings.Cut(value, "/")
		return (client == "kube-probe" || client == "kube-lifecycle") &&
			len(version) <= len("123.456+") &&
			strings.Trim(version, "0123456789.+") == ""
	}
	return false
}

// plain reports whether a call is one that the kubelet makes for a probe
// without `httpHeaders`. With other headers (Host, X-Forwarded-Port), from which
// apps build the Location of a redirect, a caller could choose a port of the pod.
func (t *httpTarget) plain(call *Call) bool {
	for name, values := range call.Header {
		if len(values) != 1 || !kubeletSends(name, values[0]) {
			return false
		}
	}
	return call.Host == net.JoinHostPort(t.host, call.Port)
}

// setReferer makes last the Referer of next, unless that leads from https to
// http, or the caller sent a Referer of its own.
func setReferer(next, last *wire.Request) {
	if next.Header.Get("Referer") != "" ||
		last.URL.Scheme == "https" && next.URL.Scheme == "http" {
		return
	}
	ref := *last.URL
	ref.User = nil
	next.Header["Referer"] = []string{ref.String()}
}

// readAnswer reads as much of the body as the kubelet would have read.
func readAnswer(call *Call, res *wire.Response, hook bool) *Answer {
	if hook && res.ContentLength > maxBody {
		return &Answer{Status: res.Status} // the kubelet leaves such a body unread
	}
	if call.Early != nil {
		defer time.AfterFunc(earlyAfter, func() {
			call.Early(res.Status)
		}).Stop()
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	a := &Answer{Status: res.Status, Body: body}
	if err != nil {
		a.Cut = true
		a.Reason = "app's body broke off: " + OneLine(err.Error())
	}
	return a
}

// cleanHost returns the Host that the app would have seen: the caller's, with
// the app's port in place of ours.
func cleanHost(call *Call, appPort string) string {
	if host, port, err := net.SplitHostPort(call.Host); err == nil && port == call.Port {
		return net.JoinHostPort(host, appPort)
	}
	return call.Host
}
