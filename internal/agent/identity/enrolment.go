package identity

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/agent"
	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// An Enrolment is a certificate that istiod's CA issues.
type Enrolment struct {
	Dialer         *Dialer
	Token          string // file; it is read anew for every request
	State          string // directory in which the certificate and its key are kept
	Namespace      string
	ServiceAccount string // "" if the configuration does not tell
	TrustDomain    string
	Cluster        string
	TTL            time.Duration // requested
	Log            *slog.Logger

	mu   sync.Mutex
	cert *tls.Certificate
	due  time.Time       // when to renew it
	told agent.LastError // the last error in the log
}

// createCertificate is the method of istiod's CA.
const createCertificate = "/istio.v1.auth.IstioCertificateService/CreateCertificate"

// stateFile is the name of the file, in the state directory, with the key and
// the certificate chain. They are one file so that they cannot differ.
const stateFile = "identity.pem"

// Certificate returns the certificate, which it renews once half of its
// lifetime has passed. If renewing fails, the old one is used while it lasts.
func (e *Enrolment) Certificate(ctx context.Context) (*tls.Certificate, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cert == nil {
		e.stored()
	}
	if e.cert != nil &&
		!time.Now().Before(e.cert.Leaf.NotAfter) {
		e.cert = nil
	}
	if time.Now().Before(e.due) {
		return e.cert, nil
	}
	cert, err := e.renew(ctx)
	switch {
	case err == nil:
		e.use(cert, time.Now())
		e.told = agent.LastError{}
		e.Log.Info("istiod issued a certificate",
			"identity", cert.Leaf.URIs[0].String(),
			"expires", cert.Leaf.NotAfter.Format(time.RFC3339))
	case e.cert == nil:
		return nil, fmt.Errorf("enrolment: %w", err)
	case e.told.Another(err.Error()):
		e.Log.Warn(
			"cannot renew the certificate; trying again until it expires",
			"expires",
			e.cert.Leaf.NotAfter.Format(time.RFC3339),
			"reason",
			err.Error(),
		)
	}
	return e.cert, nil
}

// use makes a certificate the current one. It is renewed after half of the time
// that it had left when it was issued: NotBefore lies before that, for clocks
// that are slow.
//
// Certificates expire by the wall clock. Go's other clock stands still while the
// machine is suspended.
func (e *Enrolment) use(cert *tls.Certificate, issued time.Time) {
	issued = issued.UTC() // the wall clock alone
	if issued.After(cert.Leaf.NotAfter) {
		issued = time.Time{} // the clock is wrong: renew at once
	}
	e.cert, e.due = cert, issued.Add(cert.Leaf.NotAfter.Sub(issued)/2)
}

// checkRenewal is how often Run looks whether the certificate is due, by the wall clock,
// which may be set meanwhile. So often it tries again after a failure.
var checkRenewal = 10 * time.Second

// Run renews the certificate until ctx is done. Certificate alone would renew
// only when there is a new connection, the first of which enrols.
func (e *Enrolment) Run(ctx context.Context) {
	for {
		select {
		case <-time.After(checkRenewal):
		case <-ctx.Done():
			return
		}
		e.mu.Lock()
		enrolled := e.cert != nil
		e.mu.Unlock()
		if enrolled {
			_, _ = e.Certificate(ctx) // logs what is wrong
		}
	}
}

// renew asks istiod for a certificate and stores it. The token and the
// certificate that is still valid both prove the identity: one of them is
// enough, and tokens usually expire first.
func (e *Enrolment) renew(ctx context.Context) (*tls.Certificate, error) {
	token, err := os.ReadFile(e.Token)
	if err != nil && e.cert == nil {
		return nil, err
	}
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // nothing about keys of this curve can fail
	message := e.request(key)
	answer, err := e.ask(ctx, e.cert, token, message)
	if err != nil && e.cert != nil && len(token) > 0 {
		answer, err = e.ask(ctx, nil, token, message) // istiod may have other roots now
	}
	if err != nil {
		return nil, err
	}
	return e.accept(key, answer)
}

// ask calls istiod's CA. The certificate, the token or both prove the identity.
func (e *Enrolment) ask(ctx context.Context, cert *tls.Certificate, token, message []byte) ([]byte, error) {
	call := wire.NewCall("https", e.Dialer.Address, createCertificate)
	if s := strings.TrimSpace(string(token)); s != "" {
		if !wire.ValidValue(s) {
			return nil, fmt.Errorf("%s is not a token", e.Token)
		}
		call.Header["Authorization"] = []string{"Bearer " + s}
	}
	if e.Cluster != "" {
		call.Header["Clusterid"] = []string{e.Cluster}
	}
	conn, err := e.Dialer.Dial(ctx, cert)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	answer, err := wire.Call(conn, call, message)
	if err != nil {
		return nil, errors.New(redact(err.Error(), string(token)))
	}
	return answer, nil
}

// minSecret is the length from which a part of a token is a secret.
const minSecret = 8

// redact returns what istiod says of a request, without the token or parts of
// it, and not without end.
func redact(text, token string) string {
	if len(text) > 500 {
		text = text[:500] + "..."
	}
	notOfToken := func(r rune) bool { return !strings.ContainsRune(token, r) }
	for _, word := range strings.FieldsFunc(text, notOfToken) {
		for _, part := range strings.Split(word, ".") {
			if len(part) >= minSecret && strings.Contains(token, part) {
				text = strings.ReplaceAll(text, part, "<token>")
			}
		}
	}
	return text
}

// request returns an IstioCertificateRequest for the key.
func (e *Enrolment) request(key *ecdsa.PrivateKey) []byte {
	account := cmp.Or(e.ServiceAccount, "default")
	id := &url.URL{
		Scheme: "spiffe",
		Host:   e.TrustDomain,
		Path:   "/ns/" + e.Namespace + "/sa/" + account,
	}
	csr, _ := x509.CreateCertificateRequest(
		rand.Reader,
		&x509.CertificateRequest{URIs: []*url.URL{id}},
		key,
	)
	b := wire.AppendBytes(
		nil,
		1,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}),
	)
	b = protowire.AppendTag(b, 3, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(e.TTL/time.Second))
}

// accept reads an IstioCertificateResponse and stores the certificate if it can.
func (e *Enrolment) accept(key *ecdsa.PrivateKey, answer []byte) (*tls.Certificate, error) {
	der, _ := x509.MarshalECPrivateKey(key)
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	chain, err := certChain(answer)
	if err != nil {
		return nil, err
	}
	text = append(text, chain...)
	cert, err := e.parse(text)
	if err != nil {
		return nil, fmt.Errorf("istiod's certificate: %w", err)
	}
	name := filepath.Join(e.State, stateFile)
	if err := writeFile(name, text); err != nil {
		// A full disk is no reason to leave the mesh.
		e.Log.Warn("the certificate cannot be stored; after a restart a new token is needed", "file", name, "reason", err.Error())
	}
	return cert, nil
}

// certChain returns field 1 of an IstioCertificateResponse, which is repeated.
func certChain(m []byte) ([]byte, error) {
	var chain []byte
	ok := wire.Fields(m, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == 1 && kind == protowire.BytesType {
			part, _ := protowire.ConsumeBytes(value)
			chain = append(append(chain, part...), '\n')
		}
	})
	if !ok {
		return nil, errors.New("istiod's answer is malformed")
	}
	return chain, nil
}

// parse reads a key and its chain, and checks whose they are.
func (e *Enrolment) parse(text []byte) (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, err
	}
	if len(cert.Leaf.URIs) != 1 {
		return nil, errors.New("it must have exactly one URI, the identity")
	}
	id := cert.Leaf.URIs[0].Path
	want := "/ns/" + e.Namespace + "/sa/" + e.ServiceAccount
	if e.ServiceAccount == "" && strings.HasPrefix(id, want) || id == want {
		return &cert, nil
	}
	if e.ServiceAccount == "" {
		want += "*"
	}
	return nil, fmt.Errorf("its identity %q must end in %q", cert.Leaf.URIs[0], want)
}

// stored makes the certificate of the state directory the current one, if
// there is one that can be used.
func (e *Enrolment) stored() {
	name := filepath.Join(e.State, stateFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var cert *tls.Certificate
	if err == nil {
		cert, err = e.parse(text)
	}
	switch {
	case err == nil:
		e.use(cert, cert.Leaf.NotBefore)
	case e.told.Another(err.Error()):
		e.Log.Warn("the stored certificate cannot be used; enrolling anew", "file", name, "reason", err.Error())
	}
}

// writeFile replaces a file in one step. Nobody else may read it.
func writeFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := cmp.Or(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
