package kubelet

import (
	"fmt"
	"testing"
	"time"
)

// The first four are the kubelet's, or net/http's in the kubelet.
func TestTheLimitsAreTheDocumentedOnes(t *testing.T) {
	got := fmt.Sprint(maxBody, maxRedirects, maxDrain, handshakeTimeout, margin, earlyAfter, maxPause, usualCloses)
	if d := longer(longer(time.Second)); d != 2560*time.Millisecond {
		t.Errorf("the third dial comes after %s", d)
	}
	if want := "10240 10 2048 10s 10ms 50ms 100ms 50"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
