package main

import "testing"

func TestAKnownMissIsNotBrokenUntilItGrows(t *testing.T) {
	const known, other = "TCP, median latency at 50/s", "HTTP, median latency at 50/s"
	var p promises
	for _, c := range []struct {
		what   string
		value  float64
		broken int
	}{
		{known, maxLatency, 0},
		{known, held[known], 0},
		{known, held[known] + 0.01, 1},
		{other, maxLatency, 1},
		{other, maxLatency + 0.01, 2},
	} {
		p.holds(c.what, c.value, maxLatency)
		if len(p.broken) != c.broken {
			t.Errorf("%s, %.2f: %d promises are broken, must be %d", c.what, c.value, len(p.broken), c.broken)
		}
	}
}
