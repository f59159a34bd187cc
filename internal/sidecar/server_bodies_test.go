package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

// Of a status below the one that is set, a caller gets no body but our own.
func TestCallersGetOnlyTheBodiesThatAreWanted(t *testing.T) {
	ready := kubelet.Answer{Status: 200, Body: []byte("db=10.0.0.7 ok")}
	moved := kubelet.Answer{Status: 302, Body: []byte("elsewhere")}
	failed := kubelet.Answer{Status: 503, Body: []byte("db=10.0.0.7 down"), Reason: "app answered with status 503"}
	first := kubelet.Answer{Status: 400, Body: []byte("no"), Reason: "app answered with status 400"}
	alike := kubelet.Answer{Status: 503, Body: []byte("probe-proxy: no\n"), Reason: "no"}
	cut := kubelet.Answer{Status: 200, Body: []byte("db="), Cut: true, Reason: "app's body broke off: EOF"}
	refused := *kubelet.Says(502, "app refused the connection")
	disabled := *(&entry{bad: io.EOF}).disabled()
	for _, c := range []struct {
		from                               int
		ready, moved, failed, refused, cut bool
	}{
		{math.MaxInt, false, false, false, true, false},
		{400, false, false, true, true, false},
		{0, true, true, true, true, true},
	} {
		for _, a := range []struct {
			answer kubelet.Answer
			want   bool
		}{{ready, c.ready}, {moved, c.moved}, {failed, c.failed}, {first, c.failed}, {alike, c.failed}, {refused, c.refused}, {disabled, c.refused}, {cut, c.cut}} {
			s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
			s.BodiesFrom = c.from
			_, ours := net.Pipe()
			w := &written{Conn: ours}
			body := string(a.answer.Body)
			newConn(s, &view{common: true, port: s.port}, w).sendAnswer(&a.answer)
			want := ""
			if a.want {
				want = body
			}
			head, got, _ := strings.Cut(strings.Join(w.texts, ""), "\r\n\r\n")
			if got != want || !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d ", a.answer.Status)) {
				t.Errorf("from %d: of status %d the caller gets %q, want %q", c.from, a.answer.Status, got, want)
			}
		}
	}
}

// TestACallerSeesWhetherABodyIsWhole has net/http read what is sent, for each status, and with the head sent early or not.
func TestACallerSeesWhetherABodyIsWhole(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
	for status := 100; status < 1000; status++ {
		for _, text := range []string{"", "db=10.0.0.7 ok"} {
			for _, cut := range []bool{false, true} {
				for _, early := range []bool{false, true} {
					_, ours := net.Pipe()
					w := &written{Conn: ours}
					c := newConn(s, &view{common: true, port: s.port}, w)
					if early {
						c.early(status)
					}
					c.sendAnswer(&kubelet.Answer{Status: status, Body: []byte(text), Cut: cut})
					want := text
					if !hasBody(status) {
						want = ""
					}
					got := []byte(nil)
					res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(strings.Join(w.texts, ""))), nil)
					if err == nil {
						got, err = io.ReadAll(res.Body)
					}
					if cut != (err != nil) || !cut && (res.StatusCode != status || string(got) != want) {
						t.Errorf("%d, body %q, cut %t, early %t: the caller gets %q, %v of %q", status, text, cut, early, got, err, w.texts)
					}
				}
			}
		}
	}
}
