package kubelet_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// details: names of trailers, what follows a gRPC message, and settings of HTTP/2. Some are
// named, and many are drawn.
func (s *suite) details() {
	s.trailer("Content-Length")
	s.trailer("Transfer-Encoding")
	for range 60 {
		names := make([]string, s.rnd.IntN(4))
		for i := range names {
			names[i] = pick(s, "X", "A-b", "content-length", " Transfer-Encoding", "trailer", "Host", "TE", "", "a b", "Content-Length ", "\tX", "Set-Cookie", "ü")
		}
		s.trailer(strings.Join(names, pick(s, ",", ", ", "\r\nTrailer: ", ";")))
	}
	s.stray([]byte{0, 0})
	for range 40 {
		b := make([]byte, s.rnd.IntN(14))
		for i := range b {
			b[i] = pick(s, byte(0), 0, 0, 1, 2, 8, 9, 255)
		}
		s.stray(b)
	}
	s.settings(setting{8, 2})
	for range 50 {
		list := make([]setting, s.rnd.IntN(3)+1)
		for i := range list {
			list[i] = setting{uint16(pick(s, 1, 2, 3, 4, 5, 6, 8, 9, 16, 0xffff)), pick(s, 0, 1, 2, 100, 16383, 16384, 65535, 1<<24-1, 1<<24, 1<<31-1, 1<<31, uint32(1<<32-1))}
		}
		s.settings(list...)
	}
}

// trailer adds an app that announces trailers, and sends one.
func (s *suite) trailer(names string) {
	status := pick(s, 200, 200, 302, 500)
	whole := fmt.Sprintf("HTTP/1.%d %d Status\r\nTrailer: %s\r\n", pick(s, 1, 1, 1, 0), status, names)
	name := fmt.Sprintf("%d, trailer %q", status, names)
	switch s.rnd.IntN(4) {
	case 0:
		s.add("details", name+" with a length", text(whole+"Content-Length: 2\r\n\r\nok"))
	case 1:
		s.add("details", name+" sent", text(whole+"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n"))
	case 2:
		s.add("details", name+" of a hook", text(whole+"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), hook)
	default:
		s.add("details", name, text(whole+"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"))
	}
}

// stray adds a gRPC app whose answer is SERVING, with bytes behind the message.
func (s *suite) stray(after []byte) {
	body := append([]byte{0, 0, 0, 0, 2, 8, 1}, after...)
	s.add("details", fmt.Sprintf("SERVING and then %q", after), handler(nil, priorKnowledge, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = w.Write(body)
		w.(http.Flusher).Flush()
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}), health1(""))
}

// A setting is one of a SETTINGS frame.
type setting struct {
	id    uint16
	value uint32
}

// settings adds apps that speak HTTP/2 with these settings.
func (s *suite) settings(list ...setting) {
	frame := []byte{0, 0, byte(6 * len(list)), 4, 0, 0, 0, 0, 0}
	for _, one := range list {
		frame = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(frame, one.id), one.value)
	}
	name := fmt.Sprintf("settings %v", list)
	const ok = "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"
	s.add("details", name, framesWith(string(frame), ok), protocol(v1.HTTPProtocolHTTP2), timeout(2))
}
