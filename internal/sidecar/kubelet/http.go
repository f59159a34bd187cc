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
	"strconv"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/wire"
)

// maxRedirects is how many requests a chain of redirects may take.
const maxRedirects = 10

// maxDrain is how much of a redirect's body is read before it is followed.
const maxDrain = 2 << 10

// Nothing is verified, as in the kubelet; no sessions are kept. Hooks never
// speak HTTP/2, because the kubelet's client for hooks does not.
var (
	probeTLS = &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}
	hookTLS  = &tls.Config{InsecureSkipVerify: true}
)

type httpTarget struct {
	app  App
	url  *url.URL
	port string
}

// newHTTPTarget builds the URL as the kubelet does: what does not parse as a
// reference is taken for a path as a whole.
func newHTTPTarget(app App, h *prober.HTTPGet) (*httpTarget, error) {
	u, err := url.Parse(h.Path)
	if err != nil {
		u = &url.URL{Path: h.Path}
	}
	port := strconv.Itoa(int(h.Port))
	u.Scheme = strings.ToLower(h.Scheme)
	u.Host = net.JoinHostPort(app.IP, port)
	if u, err = url.Parse(u.String()); err != nil {
		return nil, fmt.Errorf("httpGet.path %q makes no URL: %w", h.Path, err)
	}
	return &httpTarget{app, u, port}, nil
}

// probeHTTP makes the request and follows redirects within the pod.
func (t *Target) probeHTTP(ctx context.Context, call *Call) *Answer {
	first := t.http.request(call)
	a, err := t.follow(ctx, call, first)
	var record tls.RecordHeaderError
	if t.hook && errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/" {
		// An https hook of a server that speaks plain HTTP: once more, without TLS.
		u := *first.URL
		u.Scheme = "http"
		plain := &wire.Request{URL: &u, Host: first.Host, Header: maps.Clone(first.Header)}
		plain.Header.Del("Authorization")
		a, err = t.follow(ctx, call, plain)
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	if v := a.Verdict(t.hook); v == Failure && a.Reason == "" {
		a.Reason = fmt.Sprintf("app answered with status %d", a.Status)
	}
	return a
}

func (h *httpTarget) request(call *Call) *wire.Request {
	req := &wire.Request{URL: h.url, Host: cleanHost(call, h.port), Header: call.Header}
	authorize(req)
	return req
}

// authorize turns the URL's user into a header, where there is none yet.
func authorize(req *wire.Request) {
	user := req.URL.User
	if user == nil || req.Header.Get("Authorization") != "" {
		return
	}
	password, _ := user.Password()
	req.Header = maps.Clone(req.Header)
	req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
}

func (t *Target) follow(ctx context.Context, call *Call, first *wire.Request) (*Answer, error) {
	req := first
	for via := 1; ; via++ {
		a, next, err := t.step(ctx, call, first, req, via)
		if err != nil || next == nil {
			return a, err
		}
		req = next
	}
}

// step makes one request of a chain: it gives the answer or the next request.
func (t *Target) step(ctx context.Context, call *Call, first, req *wire.Request, via int) (*Answer, *wire.Request, error) {
	if req.URL.Host == "" {
		return nil, nil, errors.New("URL has no host")
	}
	conn, stop, err := call.dial(ctx, t.http.app, port(req.URL))
	if err != nil {
		return nil, nil, err
	}
	defer stop()
	res, exchange, err := t.roundTrip(ctx, conn, req)
	if err != nil {
		return nil, nil, err
	}
	defer exchange.Close()
	next, err := redirect(first, req, res)
	if err != nil {
		return nil, nil, err
	}
	if next == nil {
		return readAnswer(call, res), nil, nil
	}
	if via >= maxRedirects {
		return nil, nil, fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if res.ContentLength <= maxDrain {
		_, _ = io.CopyN(io.Discard, res.Body, maxDrain)
	}
	return nil, next, nil
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

func (t *Target) roundTrip(ctx context.Context, conn net.Conn, req *wire.Request) (*wire.Response, *wire.Exchange, error) {
	if req.URL.Scheme == "http" {
		return wire.RoundTrip1(conn, req)
	}
	config := probeTLS
	if t.hook || wantsWebSocket(req) {
		config = hookTLS
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, nil, err
	}
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		return wire.RoundTrip2(secure, req, nil)
	}
	return wire.RoundTrip1(secure, req)
}

// wantsWebSocket tells a request that net/http sends over HTTP/1 alone.
func wantsWebSocket(req *wire.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(strings.Join(req.Header["Connection"], ",")), "upgrade")
}

// redirect gives the request that a response asks for; nil where it asks for
// none or for another host, which ends the chain.
func redirect(first, req *wire.Request, res *wire.Response) (*wire.Request, error) {
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
		return nil, fmt.Errorf("app redirects to an invalid Location %.80q", location)
	}
	if u.Hostname() != first.URL.Hostname() {
		return nil, nil
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("app redirects to the unsupported scheme %.20q", u.Scheme)
	}
	next := &wire.Request{URL: u, Host: u.Host, Header: maps.Clone(first.Header)}
	if first.Host != first.URL.Host {
		if ref, err := url.Parse(location); err == nil && !ref.IsAbs() {
			next.Host = first.Host
		}
	}
	setReferer(next, req)
	authorize(next)
	return next, nil
}

// setReferer names the page before, unless that was secure and this is not;
// a Referer that the caller chose stays.
func setReferer(next, last *wire.Request) {
	if next.Header.Get("Referer") != "" || last.URL.Scheme == "https" && next.URL.Scheme == "http" {
		return
	}
	ref := *last.URL
	ref.User = nil
	next.Header["Referer"] = []string{ref.String()}
}

// readAnswer reads what the kubelet would have read of the body.
func readAnswer(call *Call, res *wire.Response) *Answer {
	if call.Early != nil {
		defer time.AfterFunc(earlyAfter, func() { call.Early(res.Status) }).Stop()
	}
	limited := &io.LimitedReader{R: res.Body, N: maxBody}
	body, err := io.ReadAll(limited)
	a := &Answer{Status: res.Status, Body: body}
	if err != nil {
		a.Cut, a.Reason = true, "app's body broke off: "+reason(err)
	}
	return a
}

// cleanHost gives the Host that the app would have seen: the caller's, with
// the app's port in place of ours.
func cleanHost(call *Call, appPort string) string {
	if host, port, err := net.SplitHostPort(call.Host); err == nil && port == call.Port {
		return net.JoinHostPort(host, appPort)
	}
	return call.Host
}
