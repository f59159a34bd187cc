package kubelet

import (
	"fmt"
	"math/rand/v2"
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

// TestUsualClosesOfASecond counts them as plainly as can be: the first 50 of each second, whatever the seconds before had.
func TestUsualClosesOfASecond(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var c closes
	now := time.Unix(1_800_000_000, 0)
	in := make(map[int64]int)
	usual := 0
	for range 20_000 {
		now = now.Add(time.Duration(r.IntN(30)) * time.Millisecond)
		if r.IntN(500) == 0 {
			now = now.Add(time.Minute)
		}
		in[now.Unix()]++
		want := in[now.Unix()] <= 50
		if got := c.usual(now); got != want {
			t.Fatalf("close %d of second %d is usual: %t, want %t", in[now.Unix()], now.Unix(), got, want)
		}
		if want {
			usual++
		}
	}
	if usual == 20_000 || usual < 10_000 {
		t.Errorf("%d closes are usual", usual)
	}
}
