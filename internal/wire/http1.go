// Package wire implements HTTP as far as one probe needs it: one GET, one
// response, one connection, over HTTP/1 or HTTP/2; and one call of gRPC, which
// may stay open.
//
// It replaces net/http, whose memory and CPU every pod would pay
// (docs/probe-proxy.md has the numbers). It accepts and refuses what net/http's
// client does, which the kubelet uses: header lines are read by the same
// parser, net/textproto, but only the fields that probes need are kept. Tests
// compare the two, here, in internal/kubelet and in test/conformance/kubelet.
package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Request is a GET.
type Request struct {
	URL    *url.URL
	Host   string // the Host header; it may be empty
	Header textproto.MIMEHeader
	Meter  *Meter // shared by all requests of a call; nil stands for a new one
}

// A Response is the head of a response and a reader of its body, which returns
// io.EOF at the body's proper end and another error if the body is cut off.
type Response struct {
	Status        int
	Header        textproto.MIMEHeader // the fields that probes need
	ContentLength int64                // -1 if it is not declared
	Body          io.Reader
	// Trailer is filled in at the body's end, over HTTP/2 only. It is the
	// header if the response has no body.
	Trailer textproto.MIMEHeader
}

// hopHeaders are never written: the message has no body, and Host has its own line.
var hopHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Trailer"}

// RoundTrip1 writes the request to conn in HTTP/1.1 and reads the head of the
// response.
func RoundTrip1(conn io.ReadWriter, req *Request) (*Response, error) {
	if _, err := conn.Write(appendRequest(make([]byte, 0, 512), req)); err != nil {
		return nil, err
	}
	metered := &meteredReader{Reader: conn, meter: cmp.Or(req.Meter, &Meter{})}
	res, err := readResponse(bufio.NewReader(metered), metered)
	if err != nil && metered.err != nil {
		err = metered.err // the head was cut off
	}
	return res, unexpected(err)
}

func appendRequest(b []byte, req *Request) []byte {
	b = append(b, "GET "+req.URL.RequestURI()+" HTTP/1.1\r\nHost: "+req.Host+"\r\n"...)
	for _, name := range sentNames(req.Header) {
		for _, value := range req.Header[name] {
			b = append(b, name+": "+value+"\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

// sentNames returns the names of the fields that are sent, sorted.
func sentNames(h textproto.MIMEHeader) []string {
	isOfHop := func(name string) bool { return slices.Contains(hopHeaders, name) }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h)), isOfHop)
}

func readResponse(br *bufio.Reader, metered *meteredReader) (*Response, error) {
	tp := textproto.Reader{R: br}
	for {
		http11, status, err := readStatusLine(&tp)
		if err != nil {
			return nil, err
		}
		header, err := readHeader(&tp)
		if err != nil {
			return nil, err
		}
		if status/100 == 1 && status != 101 {
			next, _ := br.Peek(br.Buffered())
			metered.empty = false
			metered.ended = false
			metered.charge(next)
			continue
		}
		maps.DeleteFunc(
			header,
			func(name string, _ []string) bool {
				return keptField(name) == ""
			},
		)
		res := &Response{Status: status, Header: header}
		return res, res.frame(br, http11)
	}
}

// readHeader reads header lines. Its errors have none of their text, unlike those of
// textproto: callers see them, and a line that breaks off may be a cookie.
func readHeader(tp *textproto.Reader) (textproto.MIMEHeader, error) {
	header, err := tp.ReadMIMEHeader()
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		err = errors.New("malformed header line")
	}
	return header, err
}

// readStatusLine accepts what net/http.ReadResponse accepts.
func readStatusLine(tp *textproto.Reader) (http11 bool, status int, err error) {
	line, err := tp.ReadLine()
	if err != nil {
		return
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	major, minor, ok := ParseVersion(proto)
	status, err = strconv.Atoi(code)
	if !ok ||
		len(code) != 3 ||
		err != nil ||
		status < 0 {
		err = fmt.Errorf("malformed HTTP response %.40q", line)
	}
	isUnsaid := major == 0 && minor == 0 // which net/http takes for HTTP/1.1
	return major > 1 || major == 1 && minor >= 1 || isUnsaid, status, err
}

// ParseVersion reads "HTTP/1.1": one digit each.
func ParseVersion(s string) (major, minor int, ok bool) {
	if len(s) != len("HTTP/1.1") ||
		s[:5] != "HTTP/" ||
		s[6] != '.' {
		return 0, 0, false
	}
	major = int(s[5]) - '0'
	minor = int(s[7]) - '0'
	return major, minor, major >= 0 &&
		major <= 9 &&
		minor >= 0 &&
		minor <= 9
}

// frame determines where the body ends (RFC 9112 section 6.3, and where
// net/http is stricter, as net/http).
func (res *Response) frame(br *bufio.Reader, http11 bool) error {
	res.ContentLength = -1
	res.Body = br
	encodings := res.Header["Transfer-Encoding"]
	length, err := contentLength(res.Header["Content-Length"])
	if err != nil {
		return err
	}
	chunked := http11 && len(encodings) > 0
	if chunked &&
		(len(encodings) > 1 || !strings.EqualFold(encodings[0], "chunked")) {
		return fmt.Errorf("unsupported transfer encoding %.40q", encodings)
	}
	if chunked {
		if err := checkTrailers(res.Header["Trailer"]); err != nil {
			return err
		}
	}
	switch {
	case res.Status == 101 && res.Header.Get("Upgrade") != "" && NamesUpgrade(res.Header): // no longer HTTP
	case res.Status/100 == 1, res.Status == 204, res.Status == 304:
		res.ContentLength = 0
		res.Body = strings.NewReader("")
	case chunked:
		res.Body = &chunkedReader{br: br}
	case length >= 0:
		res.ContentLength = length
		res.Body = &exactReader{io.LimitedReader{R: br, N: length}}
	}
	return nil
}

// checkTrailers refuses the names of trailers that net/http refuses.
func checkTrailers(values []string) error {
	for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
		switch name = textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)); name {
		case "Transfer-Encoding", "Trailer", "Content-Length":
			return fmt.Errorf("bad trailer %s", name)
		}
	}
	return nil
}

// contentLength returns the declared length, -1 if there is none. Repeated
// values must be equal.
func contentLength(values []string) (int64, error) {
	if len(values) == 0 {
		return -1, nil
	}
	first := textproto.TrimString(values[0])
	for _, v := range values[1:] {
		if textproto.TrimString(v) != first {
			return 0, fmt.Errorf("conflicting Content-Length %.40q", values)
		}
	}
	n, err := strconv.ParseUint(first, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("bad Content-Length %.40q", first)
	}
	return int64(n), nil
}

// An exactReader reads N bytes; fewer is an error.
type exactReader struct{ io.LimitedReader }

func (e *exactReader) Read(p []byte) (int, error) {
	n, err := e.LimitedReader.Read(p)
	if err == io.EOF && e.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// A chunkedReader decodes the chunked transfer coding. Lines must end with
// CRLF; trailers are read and dropped.
type chunkedReader struct {
	br     *bufio.Reader
	left   uint64 // of the current chunk
	excess int64  // bytes other than data, beyond what each chunk may have
	open   bool   // a chunk's data has been read, its CRLF has not
	err    error
}

func (c *chunkedReader) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.err = c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	if uint64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.br.Read(p)
	c.left -= uint64(n)
	if err != nil {
		c.err = unexpected(err)
	}
	return n, c.err
}

// next reads up to the next chunk's data. After the last chunk it returns io.EOF.
func (c *chunkedReader) next() error {
	var end [2]byte
	if c.open {
		if _, err := io.ReadFull(c.br, end[:]); err != nil {
			return unexpected(err)
		}
		if string(end[:]) != "\r\n" {
			return errors.New("malformed chunked encoding")
		}
	}
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return unexpected(err)
	}
	if bytes.IndexByte(line, '\r') != len(line)-2 {
		return errors.New("chunked line must end with CRLF")
	}
	size, _, _ := strings.Cut(strings.TrimRight(string(line), " \t\r\n"), ";")
	if len(size) > 16 {
		return errors.New("chunk is too large")
	}
	c.left, err = strconv.ParseUint(size, 16, 64)
	if err != nil {
		return fmt.Errorf("bad chunk size %.20q", size)
	}
	// net/http's rule: 16 bytes a chunk and twice the data are free, and
	// 16 KiB beyond that are too many. It overflows for a size over 1<<62, here as there.
	c.excess = max(c.excess+int64(len(line))-16-2*int64(c.left), 0)
	if c.excess > 16<<10 {
		return errors.New("chunked encoding contains too much non-data")
	}
	c.open = true
	if c.left > 0 {
		return nil
	}
	return c.trailer()
}

// trailer reads to the end of the message, which is CRLF or header lines that
// fit into the buffer with the CRLF CRLF after them.
func (c *chunkedReader) trailer() error {
	if b, err := c.br.Peek(2); err != nil {
		return unexpected(err)
	} else if string(b) == "\r\n" {
		return io.EOF
	}
	for n := 4; ; n++ {
		b, err := c.br.Peek(n)
		if err != nil {
			return unexpected(err)
		}
		if string(b[n-4:]) == "\r\n\r\n" {
			break
		}
	}
	if _, err := readHeader(&textproto.Reader{R: c.br}); err != nil {
		return unexpected(err)
	}
	return io.EOF
}

// unexpected returns err, for a place where no io.EOF may come.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
