package server

import (
	"bufio"
	"io"
	"net/textproto"
	"reflect"
	"strings"
	"testing"
)

// whole gives a reader that has all of head in its buffer at the first read,
// as when the kubelet calls; byteWise one that never has.
func whole(head string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(head), 2<<10) }
func byteWise(head string) *bufio.Reader {
	return bufio.NewReader(&oneByte{strings.NewReader(head)})
}

type oneByte struct{ r io.Reader }

func (o *oneByte) Read(b []byte) (int, error) { return o.r.Read(b[:min(len(b), 1)]) }

var kubeletHead = "GET /app-health/app/livez HTTP/1.1\r\nHost: 10.0.0.1:15020\r\nUser-Agent: kube-probe/1.35\r\nAccept: */*\r\nConnection: close\r\n\r\n"

func TestAHeadAsTheKubeletSendsItIsReadAtOnce(t *testing.T) {
	br := whole(kubeletHead + "rest")
	want := &request{http11: true, method: "GET", target: "/app-health/app/livez", host: "10.0.0.1:15020",
		header: textproto.MIMEHeader{"User-Agent": {"kube-probe/1.35"}, "Accept": {"*/*"}, "Connection": {"close"}}}
	if req := plainRequest(br); !reflect.DeepEqual(req, want) {
		t.Errorf("%+v, want %+v", req, want)
	}
	if rest, _ := io.ReadAll(br); string(rest) != "rest" {
		t.Errorf("%q is left after the head", rest)
	}
}

func FuzzHeadsAreReadAlikeAtOnceAndInPieces(f *testing.F) {
	for _, head := range []string{
		kubeletHead,
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nX-A:  b c \r\nX-A:\r\nx-a: d\r\n\r\n",
		"GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
		"GET / HTTP/1.1\r\n X: a\r\n\r\n",
		"GET / HTTP/1.1\r\nX : a\r\n\r\n",
		"GET / HTTP/1.1\r\n: a\r\n\r\n",
		"GET / HTTP/1.1\nX: a\n\nY: b\r\n\r\n",
		"GET / HTTP/1.1\r\nX: a\x01\t\xff\r\n\r\n",
		"GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET /\xff HTTP/1.1\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\r\n\r\n",
	} {
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, head string) {
		pieces := byteWise(head)
		want, wantErr := readRequest(pieces)
		once := whole(head)
		got, err := readRequest(once)
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("at once %+v, %v; in pieces %+v, %v", got, err, want, wantErr)
		}
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(once)
		wantRest, _ := io.ReadAll(pieces)
		if string(rest) != string(wantRest) {
			t.Fatalf("at once %q is left, in pieces %q", rest, wantRest)
		}
	})
}
