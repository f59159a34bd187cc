package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func overTLS(port int) *prober.Original {
	p := httpGet(port, "")
	p.HTTPGet.Scheme = "HTTPS"
	return p
}

// Hostile apps over TLS.

// secure serves a handler over TLS, with a certificate that is made once.
func secure(curve elliptic.Curve, emptyURIs int, handle func(net.Conn)) func(net.Conn) {
	config := sync.OnceValue(func() *tls.Config {
		cert, err := hostileCertificate(curve, emptyURIs)
		if err != nil {
			panic(err)
		}
		c := &tls.Config{Certificates: []tls.Certificate{cert}}
		if curve == elliptic.P521() {
			c.CurvePreferences = []tls.CurveID{tls.CurveP521}
		}
		return c
	})
	return func(c net.Conn) {
		s := tls.Server(c, config())
		if s.Handshake() == nil {
			handle(s)
		}
	}
}

// hostileCertificate has empty URIs in its subjectAltName: two bytes each, and a url.URL once it is parsed.
func hostileCertificate(curve elliptic.Curve, emptyURIs int) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	uris := make([]byte, 2*emptyURIs)
	for i := 0; i < len(uris); i += 2 {
		uris[i] = 0x86
	}
	names, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: uris})
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	if emptyURIs > 0 {
		template.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: names}}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// redirectsOn answers each request with a redirect to another path.
func redirectsOn(c net.Conn) {
	c.Read(make([]byte, 4<<10))
	fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /%d\r\n\r\n", time.Now().UnixNano())
	hang(c)
}

// alerts answers a ClientHello with an alert.
func alerts(c net.Conn) {
	c.Read(make([]byte, 4<<10))
	io.WriteString(c, "\x15\x03\x03\x00\x02\x02\x28")
}
