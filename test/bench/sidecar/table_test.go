package main

import (
	"slices"
	"testing"
	"time"
)

func TestAPromiseIsBrokenBeyondItsBound(t *testing.T) {
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	for _, c := range []struct {
		latency, paced int // of probe-proxy, where Istio's server adds 100 µs
		want           []string
	}{
		{175, 175, nil},
		{176, 175, []string{"TCP, median latency: 0.76, at most 0.75"}},
		{175, 176, []string{"TCP, median latency at 50/s: 0.76, at most 0.75"}},
	} {
		r := &row{kind: "tcp", direct: us(100), pacedDirect: us(100), ours: cost{latency: us(c.latency), pacedLatency: us(c.paced), cpu: us(70), pacedCPU: us(70)},
			istio: cost{latency: us(200), pacedLatency: us(200), cpu: us(100), pacedCPU: us(100)}}
		if got := brokenBy(r); !slices.Equal(got, c.want) {
			t.Errorf("%d µs and %d µs: %q, want %q", c.latency, c.paced, got, c.want)
		}
	}
}
