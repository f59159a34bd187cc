package sidecar

import (
	"bytes"
	"fmt"
	"net/textproto"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// Limits of requests' heads. The kubelet's are smaller than smallHead, unless
// the probe has large `httpHeaders`.
const (
	smallHead = 4 << 10  // bytes that every head may have
	maxHead   = 64 << 10 // bytes of one head
	maxLines  = 128      // of one head
)

var endOfHead = []byte("\r\n\r\n")

var buffers = sync.Pool{New: func() any {
	return new([smallHead]byte)
}}

// A request is a request's head.
type request struct {
	http11               bool
	method, target, host string
	header               textproto.MIMEHeader
	fields               string // the lines from which header was read
	large                bool   // the head is larger than smallHead
}

// hasBody reports whether more than the head may come.
func (r *request) hasBody() bool {
	return r.method != "GET" ||
		r.header["Content-Length"] != nil ||
		r.header["Transfer-Encoding"] != nil
}

// A badRequest is an error with the status for the caller.
type badRequest struct {
	status int
	msg    string
}

func (e *badRequest) Error() string { return e.msg }

// answer returns what the caller gets.
func (e *badRequest) answer() []byte {
	body := "probe-proxy: " + e.msg + "\n"
	return appendAnswer(e.status, len(body), []byte(body))
}

var errNoProbe = &badRequest{404, "no such probe"}

var errHeadTooLarge = &badRequest{431, fmt.Sprintf("request's head is too large: at most %d bytes and %d lines", maxHead, maxLines)}

// readRequest reads a request's head. It is not parsed before it is complete, so that
// it takes no memory but its bytes.
func (c *conn) readRequest() (*request, error) {
	buf := c.buf[:]
	var err error
	for n, searched := c.first, 0; ; {
		if c.isPassedOn(buf[:n]) {
			c.first = n
			return nil, errTLS
		}
		if end := bytes.Index(buf[searched:n], endOfHead); end >= 0 {
			return parseHead(buf[:searched+end])
		}
		if err != nil {
			return nil, err
		}
		if n == len(buf) {
			if n == maxHead {
				return nil, errHeadTooLarge
			}
			c.server.budget.enter(c, &c.server.budget.large)
			buf = append(make([]byte, 0, maxHead), buf...)[:maxHead]
		}
		var m int
		m, err = c.Read(buf[n:])
		n += m
		searched = max(n-m-len(endOfHead), 0)
	}
}

// parseHead parses a head without its empty line, of which it keeps nothing. It is
// stricter than HTTP where the kubelet's requests allow it.
func parseHead(head []byte) (*request, error) {
	if bytes.Count(head, []byte("\n")) >= maxLines {
		return nil, errHeadTooLarge
	}
	line, rest, _ := strings.Cut(string(head), "\r\n")
	req, err := requestLine(line)
	if err != nil {
		return nil, err
	}
	req.fields = rest
	req.large = len(head) > smallHead
	if req.header, err = parseFields(rest); err != nil {
		return nil, err
	}
	if len(req.header["Host"]) > 1 {
		return nil, &badRequest{400, "request has several Host headers"}
	}
	req.host = req.header.Get("Host")
	delete(req.header, "Host")
	return req, nil
}

// parseFields reads the lines of a head after the first.
func parseFields(lines string) (textproto.MIMEHeader, error) {
	header := make(textproto.MIMEHeader)
	for line := ""; lines != ""; {
		line, lines, _ = strings.Cut(lines, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok ||
			!wire.ValidName(name) ||
			!wire.ValidValue(value) {
			return nil, &badRequest{400, "header is malformed"}
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		header[name] = append(header[name], value)
	}
	return header, nil
}

// plainTarget returns the target of a GET of HTTP/1 without a body, if nothing else has come.
// It parses no header.
func plainTarget(head []byte) (target []byte, ok bool) {
	if bytes.Index(head, endOfHead) != len(head)-len(endOfHead) {
		return nil, false
	}
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	method, line, _ := bytes.Cut(line, []byte(" "))
	target, proto, _ := bytes.Cut(line, []byte(" "))
	if string(method) != "GET" ||
		len(target) == 0 ||
		string(proto) != "HTTP/1.1" {
		return nil, false
	}
	for line := range bytes.SplitSeq(rest, []byte("\n")) {
		if announcesBody(line) {
			return nil, false
		}
	}
	return target, true
}

// announcesBody reports whether a line of a head may say that a body follows.
func announcesBody(line []byte) bool {
	for _, name := range [...]string{"content-length", "transfer-encoding"} {
		if len(line) >= len(name) &&
			strings.EqualFold(string(line[:len(name)]), name) {
			return true
		}
	}
	return false
}

// requestLine reads the first line of a head.
func requestLine(line string) (*request, error) {
	method, rest, _ := strings.Cut(line, " ")
	target, proto, _ := strings.Cut(rest, " ")
	major, minor, ok := wire.ParseVersion(proto)
	if !ok ||
		!wire.ValidName(method) ||
		target == "" ||
		!wire.ValidValue(target) {
		return nil, &badRequest{400, "request line is malformed"}
	}
	if major != 1 {
		return nil, &badRequest{505, "only HTTP/1 is spoken here"}
	}
	return &request{http11: minor > 0, method: method, target: target}, nil
}
