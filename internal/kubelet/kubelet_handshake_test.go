package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// certificateOfURIs returns a certificate with as many empty URIs in its subjectAltName: each is
// two bytes, and a url.URL once it is parsed.
func certificateOfURIs(t *testing.T, n int) tls.Certificate {
	t.Helper()
	names, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: []byte(strings.Repeat("\x86\x00", n))})
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "app"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: names}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// tlsApp is an app with a certificate, over one version of TLS.
func tlsApp(t *testing.T, cert tls.Certificate, version uint16, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	app := httptest.NewUnstartedServer(handler)
	app.Config.ErrorLog = log.New(io.Discard, "", 0)
	app.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: version, MaxVersion: version}
	app.EnableHTTP2 = true
	app.StartTLS()
	t.Cleanup(app.Close)
	return app
}

func targetOf(t *testing.T, app *httptest.Server, kind string) *Target {
	t.Helper()
	port := field.Number(app.Listener.Addr().(*net.TCPAddr).Port)
	p, probeType := &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: port, Scheme: "HTTPS"}, TimeoutSeconds: 5}, prober.Liveness
	switch kind {
	case "hook":
		probeType = prober.PreStop
	case "grpc":
		service := ""
		p = &prober.Original{GRPC: &prober.GRPC{Port: port, Service: &service, Mode: prober.GRPCTLS}, TimeoutSeconds: 5}
	}
	target, err := NewTarget("127.0.0.1", probeType, p)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// Nothing of a certificate is parsed beyond the bound, in both versions of TLS and in all that
// speak it; 40 KiB of it are charged for what they may take.
func TestHandshakeOfAHugeCertificate(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		app := tlsApp(t, certificateOfURIs(t, 127_000), version, func(http.ResponseWriter, *http.Request) {})
		for _, kind := range []string{"probe", "hook", "grpc"} {
			target := targetOf(t, app, kind)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			limit := 5 * time.Second
			if kind == "grpc" {
				limit = 1200 * time.Millisecond // it dials again after a second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			a := probed(ctx, t, target, &Call{Host: "x", Start: time.Now()})
			cancel()
			runtime.ReadMemStats(&after)
			if a.Verdict(target.Hook) != Failure || kind != "grpc" && !strings.Contains(a.Reason, "TLS handshake is larger than 40 KiB") {
				t.Errorf("TLS %s, %s: %+v", name, kind, a)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 { // gRPC dials several times
				t.Errorf("TLS %s, %s: it took %d bytes", name, kind, took)
			}
		}
	}
}

func TestHandshakeIsChargedUntilTheNextConnection(t *testing.T) {
	app := tlsApp(t, certificateOfURIs(t, 10), tls.VersionTLS13, func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.Path) < 5 {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		}
	})
	granted, most := 0, 0
	call := &Call{Host: "x", Header: make(textproto.MIMEHeader), Start: time.Now(), Own: true}
	call.Meter.Handshake = func(_ context.Context, n int) bool {
		granted += n
		most = max(most, granted)
		return true
	}
	call.Meter.Release = func(n int) { granted -= n }
	a := probed(t.Context(), t, targetOf(t, app, "probe"), call)
	one := granted
	if a.Status != 200 || one < 500*68 || most > one*3/2 {
		t.Errorf("%+v: %d bytes are charged for the last handshake, %d at most; want one at a time", a, one, most)
	}
	call.Close()
	call.Meter.Forget()
	if granted != 0 {
		t.Errorf("%d bytes stay charged", granted)
	}
}

func TestHandshakeWithoutRoomFails(t *testing.T) {
	app := tlsApp(t, certificateOfURIs(t, 10), tls.VersionTLS13, func(http.ResponseWriter, *http.Request) {})
	call := &Call{Host: "x", Start: time.Now()}
	call.Meter.Handshake = func(context.Context, int) bool { return false }
	if a := probed(t.Context(), t, targetOf(t, app, "probe"), call); a.Status != 502 || !strings.Contains(a.Reason, "TLS handshakes are too large, or too many at a time") {
		t.Errorf("%+v", a)
	}
}

// TestTheTLSOfGRPCIsThatOfHTTP2: from TLS 1.2 on, and of its suites those that RFC 9113 does not forbid (appendix A): with
// keys of one connection, and authenticated encryption. Probes and hooks take what Go's client takes.
func TestTheTLSOfGRPCIsThatOfHTTP2(t *testing.T) {
	ecdsaCert := certificateOfURIs(t, 1)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	rsaCert := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	connects := func(server *tls.Config) bool {
		ours, theirs := net.Pipe()
		deadline := time.Now().Add(20 * time.Second)
		_ = ours.SetDeadline(deadline)
		_ = theirs.SetDeadline(deadline)
		defer ours.Close()
		go func() {
			defer theirs.Close()
			app := tls.Server(theirs, server)
			if app.Handshake() == nil {
				_, _ = app.Write([]byte("x"))
			}
		}()
		client := tls.Client(ours, grpcTLS)
		_, err := client.Read(make([]byte, 1))
		return err == nil && client.ConnectionState().NegotiatedProtocol == "h2"
	}
	allowed := 0
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !slices.Contains(suite.SupportedVersions, tls.VersionTLS12) {
			continue
		}
		want := strings.HasPrefix(suite.Name, "TLS_ECDHE_") && (strings.Contains(suite.Name, "_GCM_") || strings.Contains(suite.Name, "_POLY1305_"))
		if want {
			allowed++
		}
		server := &tls.Config{Certificates: []tls.Certificate{rsaCert, ecdsaCert}, NextProtos: []string{"h2"}, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}
		if got := connects(server); got != want {
			t.Errorf("%s: %t, want %t", suite.Name, got, want)
		}
	}
	if allowed != 6 {
		t.Errorf("%d suites are allowed", allowed)
	}
	for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		server := &tls.Config{Certificates: []tls.Certificate{ecdsaCert}, NextProtos: []string{"h2"}, MinVersion: version, MaxVersion: version}
		if got := connects(server); got != want {
			t.Errorf("%s: %t, want %t", tls.VersionName(version), got, want)
		}
	}
}
