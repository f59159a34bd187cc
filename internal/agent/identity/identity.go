// Package identity connects to istiod as a virtual machine that proves its
// identity: by a certificate from files that something else renews, or by one
// that istiod's own CA issues for a token and renews before it expires.
//
// Keys and tokens are never part of an error or a log line.
package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// Files is a certificate that something else renews.
type Files struct{ Cert, Key string }

// Certificate reads the files.
func (f *Files) Certificate(context.Context) (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	return &cert, nil
}

// A Dialer connects to istiod.
type Dialer struct {
	Address    string // host:port
	ServerName string // in istiod's certificate
	CA         string // file with the roots of istiod's certificate
}

// connectTimeout bounds one attempt to connect.
var connectTimeout = 10 * time.Second

// Dial connects with a certificate, or without if it is nil. The roots are
// read anew, because they may have been rotated.
func (d *Dialer) Dial(ctx context.Context, cert *tls.Certificate) (net.Conn, error) {
	pem, err := os.ReadFile(d.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", d.CA)
	}
	config := &tls.Config{
		RootCAs:    roots,
		ServerName: d.ServerName,
		NextProtos: []string{"h2"},
		MinVersion: tls.VersionTLS12,
	}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.Address)
	if err != nil {
		return nil, err
	}
	bounded := wire.NewHandshake(ctx, conn, nil)
	secure := tls.Client(bounded, config)
	err = secure.HandshakeContext(ctx)
	bounded.Done()
	if err == nil && secure.ConnectionState().NegotiatedProtocol != "h2" {
		err = errors.New("istiod's TLS does not offer HTTP/2 (ALPN)")
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS with %s: %w", d.Address, err)
	}
	return secure, nil
}
