package server

import (
	"bufio"
	"bytes"
	"errors"
	"net/textproto"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/wire"
)

// A request is the head of one.
type request struct {
	http11               bool
	method, target, host string
	header               textproto.MIMEHeader
}

// A badRequest is an error with the status that tells the caller.
type badRequest struct {
	status int
	msg    string
}

func (e *badRequest) Error() string { return e.msg }

// readRequest reads the head of a request. What no caller of ours sends is
// refused rather than understood.
func readRequest(br *bufio.Reader) (*request, error) {
	if req := plainRequest(br); req != nil {
		return req, nil
	}
	tp := textproto.Reader{R: br}
	line, err := tp.ReadLine()
	if err != nil {
		return nil, err
	}
	req, err := requestLine(line)
	if err != nil {
		return nil, err
	}
	header, err := tp.ReadMIMEHeader()
	var malformed textproto.ProtocolError
	if errors.As(err, &malformed) {
		return nil, &badRequest{400, "header is malformed"}
	}
	if err != nil {
		return nil, err
	}
	hosts := header["Host"]
	if len(hosts) > 1 {
		return nil, &badRequest{400, "request has several Host headers"}
	}
	delete(header, "Host")
	req.host, req.header = strings.Join(hosts, ""), header
	return req, nil
}

// requestLine gives a request with what its first line says.
func requestLine(line string) (*request, error) {
	method, rest, ok := strings.Cut(line, " ")
	target, proto, ok2 := strings.Cut(rest, " ")
	major, minor, ok3 := wire.ParseVersion(proto)
	if !ok || !ok2 || !ok3 || method == "" || target == "" {
		return nil, &badRequest{400, "request line is malformed"}
	}
	if major != 1 {
		return nil, &badRequest{505, "only HTTP/1 is spoken here"}
	}
	return &request{http11: minor > 0, method: method, target: target}, nil
}

// plainRequest reads a head as the kubelet sends it: all there at once, and
// made of lines that leave nothing to interpret. For any other it gives nil
// and reads nothing. net/textproto reads the same from it, in three times the
// time; after a pause between probes, when the processor's caches have
// forgotten all of its code, that is 20 µs more.
func plainRequest(br *bufio.Reader) *request {
	if _, err := br.Peek(1); err != nil {
		return nil
	}
	b, _ := br.Peek(br.Buffered())
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return nil
	}
	line, rest, _ := strings.Cut(string(b[:end]), "\r\n")
	req, err := requestLine(line)
	if err != nil || !printable(line) {
		return nil
	}
	req.header = make(textproto.MIMEHeader)
	hosts := 0
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !canonical(name) || !printable(value) {
			return nil
		}
		value = strings.Trim(value, " ")
		if name != "Host" {
			req.header[name] = append(req.header[name], value)
			continue
		}
		req.host = value
		if hosts++; hosts > 1 {
			return nil
		}
	}
	_, _ = br.Discard(end + len("\r\n\r\n"))
	return req
}

// canonical tells names that textproto leaves as they are. There are others.
func canonical(name string) bool {
	upper := true
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z' && upper, c >= 'a' && c <= 'z' && !upper, c >= '0' && c <= '9', c == '-':
		default:
			return false
		}
		upper = c == '-'
	}
	return name != ""
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
