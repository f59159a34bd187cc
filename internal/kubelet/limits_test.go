package kubelet

import (
	"fmt"
	"testing"
)

// The first four are the kubelet's, or net/http's in the kubelet.
func TestTheLimitsAreTheDocumentedOnes(t *testing.T) {
	got := fmt.Sprint(maxBody, maxRedirects, maxDrain, handshakeTimeout, margin, earlyAfter, maxPause)
	if want := "10240 10 2048 10s 10ms 50ms 100ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
