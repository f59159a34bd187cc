package agent_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/agent"
)

func TestTimesAndAddressesMakeNoOtherError(t *testing.T) {
	var text agent.LastError
	for _, c := range []struct {
		text string
		want bool
	}{
		{"TLS: certificate has expired: current time 2026-11-22T16:00:00Z is after 2026-11-21T00:00:00Z", true},
		{"TLS: certificate has expired: current time 2026-11-22T16:00:10Z is after 2026-11-21T00:00:00Z", false},
		{"read tcp 10.0.0.7:40000->10.0.0.1:15012: connection reset by peer", true},
		{"read tcp 10.0.0.7:40001->10.0.0.1:15012: connection reset by peer", false},
		{"denied (gRPC status 7)", true},
		{"denied (gRPC status 16)", true},
		{"denied (gRPC status 7)", true},
		{"enrolment: denied", true}, // a word that only ends in a colon counts
		{"renewal: denied", true},
		{"renewal; denied", true},
		{"renewal:, denied", true}, // nor do several at its end make it an address
		{"enrolment:, denied", true},
		{"enrolment;: denied", true},
		{"dial tcp [::1]:15012: denied", true},
		{"dial tcp [::2]:15012: denied", false},
	} {
		if got := text.Another(c.text); got != c.want {
			t.Errorf("%q is another: %t, want %t", c.text, got, c.want)
		}
	}
}
