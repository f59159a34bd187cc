package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

func TestTheTimesAreTheDocumentedOnes(t *testing.T) {
	if got, want := fmt.Sprint(connectTimeout, checkRenewal, minSecret), "10s 10s 8"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatIsSaidOfATokenIsRedacted(t *testing.T) {
	const token = "abcdefgh.12345678.xyz"
	for text, want := range map[string]string{
		"denied":                             "denied",
		"token abcdefgh.12345678.xyz is bad": "token <token>.<token>.xyz is bad",
		"claims 12345678":                    "claims <token>",
		"claims 1234567":                     "claims 1234567",
		"a b c d e f g h in another order hgfedcba": "a b c d e f g h in another order hgfedcba",
		strings.Repeat("-", 500):                    strings.Repeat("-", 500),
		strings.Repeat("-", 501):                    strings.Repeat("-", 500) + "...",
	} {
		if got := redact(text, token); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheChainIsFieldOneOfTheAnswer(t *testing.T) {
	for message, want := range map[string]string{
		"":                              "",
		"\x0a\x01a\x0a\x02bc":           "a\nbc\n",
		"\x12\x01x\x0a\x01a":            "a\n",
		"\x08\x61\x0a\x01a":             "a\n",
		"\x0a\x01a\x0d\x01\x01\x01\x01": "a\n",
	} {
		if got, err := certChain([]byte(message)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", message, got, err, want)
		}
	}
}

// TestRenewalIsDueByTheWallClock: the monotonic clock stands still while a machine is
// suspended, and the certificate expires all the same.
func TestRenewalIsDueByTheWallClock(t *testing.T) {
	now := time.Now()
	cert := &tls.Certificate{Leaf: &x509.Certificate{NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour)}}
	for name, test := range map[string]struct{ issued, latest time.Time }{
		"now":                          {now, now.Add(30 * time.Minute)},
		"an hour ago":                  {now.Add(-time.Hour), now},
		"in the future":                {now.Add(30 * time.Minute), now.Add(45 * time.Minute)},
		"at the certificate's end":     {now.Add(time.Hour), now.Add(time.Hour)},
		"after the certificate's end":  {now.Add(10 * time.Hour), now},
		"long after, by a wrong clock": {now.AddDate(10, 0, 0), now},
	} {
		var e Enrolment
		e.use(cert, test.issued)
		if e.due != e.due.Round(0) {
			t.Errorf("issued %s: it is due at %s, by the monotonic clock", name, e.due)
		}
		if e.due.After(test.latest) {
			t.Errorf("issued %s: it is due at %s, after %s", name, e.due, test.latest)
		}
	}
}

// TestOnlyAConnectionEnrols: Run renews what there is, and neither reads what is stored nor asks for a certificate.
func TestOnlyAConnectionEnrols(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, stateFile), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	e := &Enrolment{State: state, Token: filepath.Join(state, "no token"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		e.Run(ctx)
	})
	if log.String() != "" {
		t.Errorf("without a connection: %s", &log)
	}
	if _, err := e.Certificate(t.Context()); err == nil || !strings.Contains(log.String(), "the stored certificate cannot be used") {
		t.Errorf("with one: %v; %s", err, &log)
	}
}

// TestARequestNamesTheIdentity: what istiod's CA reads of it.
func TestARequestNamesTheIdentity(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		namespace, account, domain string
		ttl                        time.Duration
		uri                        string
		seconds                    uint64
	}{
		{"shop", "reviews", "cluster.local", 24 * time.Hour, "spiffe://cluster.local/ns/shop/sa/reviews", 86400},
		{"shop", "", "mesh.example", time.Minute, "spiffe://mesh.example/ns/shop/sa/default", 60},
		{"default", "shop", "a", 1500 * time.Millisecond, "spiffe://a/ns/default/sa/shop", 1},
	} {
		e := &Enrolment{Namespace: test.namespace, ServiceAccount: test.account, TrustDomain: test.domain, TTL: test.ttl}
		var csr *x509.CertificateRequest
		seconds := uint64(0)
		ok := wire.Fields(e.request(key), func(number protowire.Number, _ protowire.Type, value []byte) {
			switch number {
			case 1:
				text, _ := protowire.ConsumeBytes(value)
				if block, rest := pem.Decode(text); block != nil && block.Type == "CERTIFICATE REQUEST" && len(rest) == 0 {
					csr, _ = x509.ParseCertificateRequest(block.Bytes)
				}
			case 3:
				seconds, _ = protowire.ConsumeVarint(value)
			default:
				t.Errorf("field %d is unknown", number)
			}
		})
		if !ok || csr == nil || csr.CheckSignature() != nil || len(csr.URIs) != 1 {
			t.Fatalf("%+v: the request is %+v", test, csr)
		}
		if got := csr.URIs[0].String(); got != test.uri || seconds != test.seconds || !key.PublicKey.Equal(csr.PublicKey) {
			t.Errorf("%s for %d s, want %s for %d s", got, seconds, test.uri, test.seconds)
		}
	}
}

// TestACertificateMustBeOfTheMachinesIdentity, which has one name and no other.
func TestACertificateMustBeOfTheMachinesIdentity(t *testing.T) {
	const of = "spiffe://cluster.local/ns/"
	for _, test := range []struct {
		account string
		uris    []string
		want    string // of the error
	}{
		{"reviews", []string{of + "shop/sa/reviews"}, ""},
		{"reviews", []string{"spiffe://elsewhere/ns/shop/sa/reviews"}, ""},
		{"reviews", nil, "exactly one URI"},
		{"reviews", []string{of + "shop/sa/reviews", of + "shop/sa/reviews2"}, "exactly one URI"},
		{"reviews", []string{of + "shop/sa/reviews2"}, `must end in "/ns/shop/sa/reviews"`},
		{"reviews", []string{of + "shop/sa/review"}, `must end in "/ns/shop/sa/reviews"`},
		{"reviews", []string{of + "other/sa/reviews"}, `must end in "/ns/shop/sa/reviews"`},
		{"", []string{of + "shop/sa/reviews"}, ""},
		{"", []string{of + "shop/sa/default"}, ""},
		{"", []string{of + "other/sa/reviews"}, `must end in "/ns/shop/sa/*"`},
		{"", []string{of + "shop/sa/a", of + "shop/sa/b"}, "exactly one URI"},
	} {
		e := &Enrolment{Namespace: "shop", ServiceAccount: test.account}
		cert, err := e.parse(selfSigned(t, test.uris))
		if test.want == "" && (err != nil || len(cert.Certificate) != 1) {
			t.Errorf("%q of %v: %v", test.account, test.uris, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q of %v: %v, want %s", test.account, test.uris, err, test.want)
		}
	}
}

// selfSigned returns a certificate with its key.
func selfSigned(t *testing.T, uris []string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	for _, uri := range uris {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
}
