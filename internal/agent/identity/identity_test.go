package identity_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/identity"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A ca is istiod's CA as far as an agent sees it.
type ca struct {
	server *httptest.Server
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate

	mu        sync.Mutex
	lifetime  time.Duration
	id        string
	refuse    string
	malformed []byte   // is answered instead of a certificate
	noCerts   bool     // certificates are refused: they are of a CA that is no longer trusted
	calls     []string // what proved the identity, and what was asked for
}

func newCA(t *testing.T) *ca {
	t.Helper()
	c := &ca{lifetime: time.Hour, id: "spiffe://mesh/ns/shop/sa/reviews-vm"}
	c.key, c.cert = issue(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}, nil, nil)
	key, cert := issue(t, &x509.Certificate{DNSNames: []string{"istiod.istio-system.svc"}, NotAfter: time.Now().Add(time.Hour)}, c.cert, c.key)
	roots := x509.NewCertPool()
	roots.AddCert(c.cert)
	c.server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.server.EnableHTTP2 = true
	c.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	c.server.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
		ClientAuth:   tls.VerifyClientCertIfGiven,
		ClientCAs:    roots,
	}
	c.server.StartTLS()
	t.Cleanup(c.server.Close)
	return c
}

// issue signs a certificate; without an issuer it signs itself.
func issue(t *testing.T, template, issuer *x509.Certificate, issuerKey crypto.Signer) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if issuer == nil {
		issuer, issuerKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

func (c *ca) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	m := body[5:][:binary.BigEndian.Uint32(body[1:])]
	first, _, n := protowire.ConsumeTag(m)
	text, used := protowire.ConsumeBytes(m[n:])
	second, _, tag := protowire.ConsumeTag(m[n+used:])
	seconds, _ := protowire.ConsumeVarint(m[n+used+tag:])
	block, _ := pem.Decode(text)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = csr.CheckSignature()
	}
	if first != 1 || second != 3 {
		err = fmt.Errorf("fields %d and %d", first, second)
	}
	proof := r.Header.Get("Authorization")
	if certs := r.TLS.PeerCertificates; len(certs) > 0 {
		proof += " and certificate of " + certs[0].URIs[0].String()
	}
	c.calls = append(c.calls, fmt.Sprintf("%s %v %s: %s for %d s, %v", r.URL.Path, r.Header["Clusterid"], proof, csr.URIs[0], seconds, err))
	w.Header().Set("Content-Type", "application/grpc")
	refuse := c.refuse
	if c.noCerts && len(r.TLS.PeerCertificates) > 0 {
		refuse = "unknown authority"
	}
	if refuse != "" {
		w.Header().Set("Grpc-Status", "16")
		w.Header().Set("Grpc-Message", refuse)
		return
	}
	id, _ := url.Parse(c.id)
	now := time.Now()
	der, _ := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), URIs: []*url.URL{id}, NotBefore: now.Add(-2 * time.Minute), NotAfter: now.Add(c.lifetime), // as istiod does
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, c.cert, csr.PublicKey, c.key)
	var answer []byte
	for _, cert := range [][]byte{der, c.cert.Raw} {
		answer = protowire.AppendTag(answer, 1, protowire.BytesType)
		answer = protowire.AppendBytes(answer, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	}
	if c.malformed != nil {
		answer = c.malformed
	}
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
}

func (c *ca) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// take returns the calls since the last time.
func (c *ca) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := strings.Join(c.calls, "\n")
	c.calls = nil
	return s
}

type fixture struct {
	*ca
	*identity.Enrolment
	dir string
	log bytes.Buffer
}

const secret = "eyJhbGciOiJub25lIn0.e30.c2VjcmV0"

func newFixture(t *testing.T) *fixture {
	f := &fixture{ca: newCA(t), dir: t.TempDir()}
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.ca.cert.Raw})
	write(t, filepath.Join(f.dir, "root.pem"), string(root))
	write(t, filepath.Join(f.dir, "token"), secret+"\n")
	f.Enrolment = f.restart()
	return f
}

// restart returns the enrolment of a new process.
func (f *fixture) restart() *identity.Enrolment {
	return &identity.Enrolment{
		Dialer:    &identity.Dialer{Address: f.server.Listener.Addr().String(), ServerName: "istiod.istio-system.svc", CA: filepath.Join(f.dir, "root.pem")},
		Token:     filepath.Join(f.dir, "token"),
		State:     f.dir,
		Namespace: "shop", ServiceAccount: "reviews-vm", TrustDomain: "mesh", Cluster: "primary",
		TTL: 90 * time.Minute,
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const asked = "/istio.v1.auth.IstioCertificateService/CreateCertificate [primary] Bearer " + secret + ": spiffe://mesh/ns/shop/sa/reviews-vm for 5400 s, <nil>"

func TestATokenBecomesACertificateThatIsKept(t *testing.T) {
	f := newFixture(t)
	cert, err := f.Certificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := f.take(); got != asked {
		t.Errorf("asked for %s", got)
	}
	conn, err := f.Dialer.Dial(t.Context(), cert)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()

	// Neither now nor after a restart is it asked again.
	_ = os.Remove(f.Token)
	for _, e := range []*identity.Enrolment{f.Enrolment, f.restart()} {
		again, err := e.Certificate(t.Context())
		if err != nil || !again.Leaf.Equal(cert.Leaf) || f.take() != "" {
			t.Errorf("%v", err)
		}
	}
	info, err := os.Stat(filepath.Join(f.dir, "identity.pem"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	if !issued.MatchString(f.log.String()) {
		t.Errorf("the log says\n%s", &f.log)
	}
	if strings.Contains(f.log.String(), secret) || strings.Contains(f.log.String(), "PRIVATE") {
		t.Errorf("a secret is in the log:\n%s", &f.log)
	}
}

func TestACertificateIsRenewedAtHalfOfItsLifetime(t *testing.T) {
	f := newFixture(t)
	f.lifetime = 6 * time.Second
	first, err := f.Certificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.take()
	if again, err := f.Certificate(t.Context()); err != nil || again != first || f.take() != "" {
		t.Errorf("it is renewed too early: %v", err)
	}
	time.Sleep(time.Until(first.Leaf.NotAfter.Add(-2200 * time.Millisecond)))
	_ = os.Remove(f.Token) // the certificate is proof enough

	f.change(func() { f.refuse = "not now" })
	old, err := f.Certificate(t.Context())
	if err != nil || !old.Leaf.Equal(first.Leaf) || !keepsTheOld.MatchString(f.log.String()) {
		t.Errorf("%v\n%s", err, &f.log)
	}
	f.take()
	f.change(func() { f.refuse, f.lifetime = "", time.Hour })
	second, err := f.Certificate(t.Context())
	if err != nil || second.Leaf.Equal(first.Leaf) {
		t.Fatal(err)
	}
	if got, want := f.take(), strings.Replace(asked, "Bearer "+secret, " and certificate of spiffe://mesh/ns/shop/sa/reviews-vm", 1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestARestartDoesNotDelayARenewal: what a restart finds is due when it was due before. The clock of the
// certificate begins with its NotBefore, since nothing else says when it was issued.
func TestARestartDoesNotDelayARenewal(t *testing.T) {
	f := newFixture(t)
	id, err := url.Parse(f.id)
	if err != nil {
		t.Fatal(err)
	}
	for percent := 5; percent < 100; percent += 10 {
		begin := time.Now().Add(-time.Duration(percent) * time.Hour)
		key, cert := issue(t, &x509.Certificate{URIs: []*url.URL{id}, NotBefore: begin, NotAfter: begin.Add(100 * time.Hour)}, f.ca.cert, f.key)
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(f.dir, "identity.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))+
			string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})))
		got, err := f.restart().Certificate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if renewed := f.take() != ""; renewed != (percent > 50) || renewed == got.Leaf.Equal(cert) {
			t.Errorf("after %d %% of its time: it is renewed: %t", percent, renewed)
		}
	}
}

func TestACertificateThatCannotBeStoredIsUsed(t *testing.T) {
	f := newFixture(t)
	f.State = filepath.Join(f.dir, "gone")
	cert, err := f.Certificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.take()
	if again, err := f.Certificate(t.Context()); err != nil || again != cert || f.take() != "" {
		t.Errorf("it is asked for again: %v", err)
	}
	if n := strings.Count(f.log.String(), "the certificate cannot be stored; after a restart a new token is needed"); n != 1 || !strings.Contains(f.log.String(), "no such file or directory") {
		t.Errorf("said %d times:\n%s", n, &f.log)
	}
}

func TestTheTokenAloneRenewsACertificateThatIsRefused(t *testing.T) {
	f := newFixture(t)
	first, err := f.Certificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.MakeDue()
	f.change(func() { f.noCerts = true })
	f.take()
	second, err := f.Certificate(t.Context())
	if err != nil || second.Leaf.Equal(first.Leaf) {
		t.Errorf("it is not renewed: %v\n%s", err, &f.log)
	}
	withCert := strings.Replace(asked, secret+":", secret+" and certificate of spiffe://mesh/ns/shop/sa/reviews-vm:", 1)
	if got := f.take(); got != withCert+"\n"+asked {
		t.Errorf("got %s", got)
	}
}

func TestAnEnrolmentThatRunsRenews(t *testing.T) {
	f := newFixture(t)
	f.lifetime = 2 * time.Second
	first, err := f.Certificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.change(func() { f.lifetime = time.Hour })
	f.take()
	defer func(was time.Duration) { *identity.CheckRenewal = was }(*identity.CheckRenewal)
	*identity.CheckRenewal = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	fresh := f.restart() // enrols with its first connection
	fresh.State = t.TempDir()
	var running sync.WaitGroup
	running.Go(func() { fresh.Run(ctx) })
	running.Go(func() { f.Run(ctx) })
	for f.take() == "" {
		if time.Now().After(first.Leaf.NotAfter.Add(20 * time.Second)) {
			t.Fatal("it was not renewed")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := f.take(); got != "" {
		t.Errorf("it is asked again: %s", got)
	}
	cancel()
	running.Wait()
}

func TestARenewalThatFailsIsLoggedOnceUntilOneSucceeds(t *testing.T) {
	f := newFixture(t)
	for _, step := range []struct {
		refuse string
		calls  int // each with the certificate, and where that is refused with the token alone
		logged int
	}{{"", 1, 0}, {"not now", 2, 1}, {"not now", 2, 1}, {"not today", 2, 2}, {"", 1, 2}, {"not today", 2, 3}} {
		f.MakeDue()
		f.refuse = step.refuse
		if _, err := f.Certificate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if calls := strings.Split(f.take(), "\n"); len(calls) != step.calls {
			t.Errorf("%+v: %q", step, calls)
		}
		if n := strings.Count(f.log.String(), "cannot renew"); n != step.logged {
			t.Errorf("%+v: %d lines", step, n)
		}
	}
	// Without a token there is nothing else to prove the identity with.
	_ = os.Remove(f.Token)
	f.MakeDue()
	if _, err := f.Certificate(t.Context()); err != nil || strings.Contains(f.take(), "\n") {
		t.Errorf("%v", err)
	}
}

// listen returns a listener with the server's certificate, to which a connection may take so long.
func (f *fixture) listen(t *testing.T, connect time.Duration) net.Listener {
	t.Helper()
	was := *identity.ConnectTimeout
	*identity.ConnectTimeout = connect
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: f.server.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		*identity.ConnectTimeout = was
	})
	return l
}

// TestACAThatDoesNotAnswerIsGivenUp: it takes the connection and says nothing.
func TestACAThatDoesNotAnswerIsGivenUp(t *testing.T) {
	f := newFixture(t)
	l := f.listen(t, 500*time.Millisecond)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if conn, err := l.Accept(); err == nil {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // for an agent that gives up nothing
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the agent leaves its connection open")
			}
		}
	}()
	f.Dialer.Address = l.Addr().String()
	if _, err := f.Certificate(t.Context()); err == nil || !strings.Contains(err.Error(), "i/o timeout") && !strings.Contains(err.Error(), "deadline exceeded") {
		t.Error(err)
	}
	testutil.Received(t, ended) // the connection is closed
}

func TestWhatCannotBeTrustedIsNotUsed(t *testing.T) {
	f := newFixture(t)
	fails := func(want string) {
		t.Helper()
		_, err := f.restart().Certificate(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v, want %s", err, want)
		}
		if calls := f.take(); strings.Count(calls, "\n") > 0 {
			t.Errorf("istiod is asked more than once:\n%s", calls)
		}
	}
	f.refuse = "token audience mismatch"
	fails("enrolment: token audience mismatch (gRPC status 16)")
	f.refuse = "invalid token " + secret + ": claims c2VjcmV0."
	fails("enrolment: invalid token <token>.e30.<token>: claims <token>. (gRPC status 16)")
	f.refuse = strings.Repeat("no ", 1000)
	fails("no no...")
	f.refuse, f.id = "", "spiffe://mesh/ns/other/sa/reviews-vm"
	fails(`istiod's certificate: its identity "spiffe://mesh/ns/other/sa/reviews-vm" must end in "/ns/shop/sa/reviews-vm"`)
	f.id = "spiffe://mesh/ns/shop/sa/reviews-vm-2"
	fails(`must end in "/ns/shop/sa/reviews-vm"`)
	f.malformed = []byte{0x0a, 0x05}
	fails("enrolment: istiod's answer is malformed")
	f.malformed = []byte{}
	fails("enrolment: istiod's certificate: tls: failed to find certificate PEM data in certificate input, but did find a private key")
	f.malformed = nil
	write(t, f.Token, "two\nlines")
	fails("is not a token")
	_ = os.Remove(f.Token)
	fails("no such file")

	// A stored certificate of another identity, or none at all.
	write(t, f.Token, secret)
	for _, stored := range []string{"", "no PEM"} {
		if stored != "" {
			write(t, filepath.Join(f.dir, "identity.pem"), stored)
		}
		f.id = "spiffe://mesh/ns/shop/sa/reviews-vm"
		if _, err := f.restart().Certificate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	other := f.restart()
	other.ServiceAccount = "" // any of the namespace
	f.take()
	if _, err := other.Certificate(t.Context()); err != nil || f.take() != "" {
		t.Errorf("%v", err)
	}
	f.id = "spiffe://mesh/ns/other/sa/reviews-vm"
	other = f.restart()
	other.ServiceAccount, other.State = "", t.TempDir()
	if _, err := other.Certificate(t.Context()); err == nil || err.Error() != `enrolment: istiod's certificate: its identity "spiffe://mesh/ns/other/sa/reviews-vm" must end in "/ns/shop/sa/*"` {
		t.Errorf("%v", err)
	}
	f.id = "spiffe://mesh/ns/shop/sa/reviews-vm"
	f.take()
	other = f.restart()
	other.ServiceAccount = "else"
	if _, err := other.Certificate(t.Context()); err == nil || !strings.Contains(f.take(), "/sa/else for") || !enrolsAnew.MatchString(f.log.String()) {
		t.Errorf("%v", err)
	}
}

// The file has a certificate that names a host.
func TestAStoredCertificateOfAHostIsNotUsed(t *testing.T) {
	f := newFixture(t)
	key, cert := issue(t, &x509.Certificate{DNSNames: []string{"vm"}, NotAfter: time.Now().Add(time.Hour)}, f.ca.cert, f.key)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.dir, "identity.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))+
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})))
	f.refuse = "not now"
	for range 3 { // as often as the agent tries to connect
		if _, err := f.Certificate(t.Context()); err == nil || f.take() != asked {
			t.Errorf("%v", err)
		}
	}
	f.refuse = ""
	if _, err := f.Certificate(t.Context()); err != nil || f.take() != asked || strings.Count(f.log.String(), `reason="it must have exactly one URI, the identity"`) != 1 {
		t.Errorf("%v\n%s", err, &f.log)
	}
}

func TestACertificateThatHasExpiredIsNeitherShownNorUsed(t *testing.T) {
	f := newFixture(t)
	f.lifetime = -time.Second
	if _, err := f.Certificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.take()
	f.refuse = "not now"
	if cert, err := f.Certificate(t.Context()); err == nil || err.Error() != "enrolment: not now (gRPC status 16)" || f.take() != asked {
		t.Errorf("%v, %v", cert, err)
	}
	f.Dialer.CA = filepath.Join(f.dir, "none")
	if _, err := f.Certificate(t.Context()); err == nil || err.Error() != "enrolment: open "+f.Dialer.CA+": no such file or directory" {
		t.Error(err)
	}
}

// What the log says of a certificate, of one that is not renewed, and of one that is of no use.
var (
	issued      = regexp.MustCompile(`^time=\S+ level=INFO msg="istiod issued a certificate" identity=spiffe://mesh/ns/shop/sa/reviews-vm expires=\S+Z\n$`)
	keepsTheOld = regexp.MustCompile(`msg="cannot renew the certificate; trying again until it expires" expires=\S+Z reason="not now \(gRPC status 16\)"\n`)
	enrolsAnew  = regexp.MustCompile(`msg="the stored certificate cannot be used; enrolling anew" file=\S+identity\.pem reason="its identity \\"spiffe://mesh/ns/shop/sa/reviews-vm\\" must end in \\"/ns/shop/sa/else\\""\n`)
)

func TestIstiodIsVerified(t *testing.T) {
	f := newFixture(t)
	for name, test := range map[string]struct {
		change func(*identity.Dialer)
		want   string
	}{
		"another name": {func(d *identity.Dialer) { d.ServerName = "istiod.other.svc" }, "not istiod.other.svc"},
		"no roots":     {func(d *identity.Dialer) { d.CA = f.Token }, "has no certificate in PEM form"},
		"no file":      {func(d *identity.Dialer) { d.CA = "none" }, "no such file"},
		"nobody":       {func(d *identity.Dialer) { d.Address = "127.0.0.1:1" }, "connection refused"},
	} {
		d := *f.Dialer
		test.change(&d)
		if _, err := d.Dial(t.Context(), nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	http1 := httptest.NewUnstartedServer(nil)
	http1.TLS = &tls.Config{Certificates: f.server.TLS.Certificates}
	http1.StartTLS()
	defer http1.Close()
	d := *f.Dialer
	d.Address = http1.Listener.Addr().String()
	if _, err := d.Dial(t.Context(), nil); err == nil || err.Error() != "TLS with "+d.Address+": remote error: tls: no application protocol" {
		t.Errorf("a server without HTTP/2 is no istiod: %v", err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: f.server.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_ = conn.(*tls.Conn).Handshake()
		}
	}()
	d.Address = l.Addr().String()
	if _, err := d.Dial(t.Context(), nil); err == nil || err.Error() != "TLS with "+d.Address+": istiod's TLS does not offer HTTP/2 (ALPN)" {
		t.Error(err)
	}
}

// TestADialThatFailsLeavesNothingOpen: an agent dials for as long as it runs.
func TestADialThatFailsLeavesNothingOpen(t *testing.T) {
	f := newFixture(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f.Dialer.Address = l.Addr().String()
	defer func(was time.Duration) { *identity.ConnectTimeout = was }(*identity.ConnectTimeout)
	*identity.ConnectTimeout = time.Second
	other := &tls.Config{Certificates: httpsCertificates(t), NextProtos: []string{"h2"}}
	for name, answer := range map[string]func(net.Conn){
		"no answer":           func(net.Conn) {},
		"no TLS":              func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"another certificate": func(conn net.Conn) { _ = tls.Server(conn, other).Handshake() },
	} {
		ended := make(chan error, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				answer(conn)
				_, err = io.Copy(io.Discard, conn)
			}
			ended <- err
		}()
		conn, err := f.Dialer.Dial(t.Context(), nil)
		if err == nil {
			t.Errorf("%s: it is taken for istiod", name)
			conn.Close()
		}
		if err := testutil.Received(t, ended); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is left open", name)
		}
	}
}

// TestIstiodMaySendMuchAfterTheHandshake, which alone is bounded in its bytes and its time.
func TestIstiodMaySendMuchAfterTheHandshake(t *testing.T) {
	f := newFixture(t)
	l := f.listen(t, 20*time.Second)
	const much = 1 << 20
	go testutil.ServeConns(l, func(conn net.Conn) { _, _ = conn.Write(make([]byte, much)) })
	f.Dialer.Address = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := f.Dialer.Dial(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel() // it is connected
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if n, err := io.Copy(io.Discard, conn); n != much || err != nil {
		t.Errorf("%d bytes come, %v; want %d", n, err, much)
	}
}

// httpsCertificates returns those of a server that nobody knows.
func httpsCertificates(t *testing.T) []tls.Certificate {
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	return s.TLS.Certificates
}

// TLS before 1.2 is refused, even with HTTP/2 in it.
func TestIstiodMustSpeakANewTLS(t *testing.T) {
	f := newFixture(t)
	for version, wanted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
			Certificates: f.server.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS10, MaxVersion: version,
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if conn, err := l.Accept(); err == nil {
				_ = conn.(*tls.Conn).Handshake()
			}
		}()
		d := *f.Dialer
		d.Address = l.Addr().String()
		conn, err := d.Dial(t.Context(), nil)
		if (err == nil) != wanted || err != nil && !strings.Contains(err.Error(), "protocol version") {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			_ = conn.Close()
		}
		_ = l.Close()
	}
}

func TestFilesAreReadOnEveryConnection(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Certificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := &identity.Files{Cert: filepath.Join(f.dir, "identity.pem"), Key: filepath.Join(f.dir, "identity.pem")}
	first, err := files.Certificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(files.Cert)
	if _, err := files.Certificate(t.Context()); err == nil || !strings.Contains(err.Error(), files.Cert) {
		t.Error(err)
	}
	if _, err := f.restart().Certificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := files.Certificate(t.Context())
	if err != nil || second.Leaf.Equal(first.Leaf) {
		t.Error(err)
	}
}
