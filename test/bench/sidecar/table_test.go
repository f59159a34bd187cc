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

// One measurement of three that is off does not count, whichever it is.
func TestTheMedianOfRepeatedRunsHasTheMiddleOfEachNumber(t *testing.T) {
	at := func(n int) *row {
		c := cost{
			latency: time.Duration(n), pacedLatency: time.Duration(2 * n), cpu: time.Duration(3 * n), pacedCPU: time.Duration(4 * n),
			rss: float64(5 * n), peak: float64(6 * n), rate: float64(7 * n),
		}
		return &row{kind: "tcp", direct: time.Duration(8 * n), pacedDirect: time.Duration(9 * n), ours: c, istio: c}
	}
	for _, rows := range [][]*row{{at(1), at(2), at(9)}, {at(9), at(1), at(2)}, {at(2), at(9), at(1)}} {
		if got := medianOf(rows); *got != *at(2) {
			t.Errorf("%+v, want %+v", got, at(2))
		}
	}
}
