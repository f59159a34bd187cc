package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"
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
	cert := &tls.Certificate{Leaf: &x509.Certificate{NotAfter: now.Add(time.Hour)}}
	for name, issued := range map[string]time.Time{
		"now":                          now,
		"an hour ago":                  now.Add(-time.Hour),
		"in the future":                now.Add(30 * time.Minute),
		"after the certificate's end":  now.Add(10 * time.Hour),
		"long after, by a wrong clock": now.AddDate(10, 0, 0),
	} {
		var e Enrolment
		e.use(cert, issued)
		if e.due != e.due.Round(0) {
			t.Errorf("issued %s: it is due at %s, by the monotonic clock", name, e.due)
		}
		if !e.due.Before(cert.Leaf.NotAfter) {
			t.Errorf("issued %s: it is due at %s, after the certificate's end", name, e.due)
		}
	}
}
