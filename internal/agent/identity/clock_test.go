package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"testing"
	"time"
)

func TestTheTimesAreTheDocumentedOnes(t *testing.T) {
	if got, want := fmt.Sprint(connectTimeout, checkRenewal, minSecret), "10s 10s 8"; got != want {
		t.Errorf("%s, want %s", got, want)
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
