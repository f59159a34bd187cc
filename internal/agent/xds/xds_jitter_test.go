package xds

import (
	"testing"
	"time"
)

func TestAWaitIsShortenedByUpToAQuarter(t *testing.T) {
	shortest, longest := time.Hour, time.Duration(0)
	for range 10_000 {
		d := jitter(time.Hour)
		shortest, longest = min(shortest, d), max(longest, d)
		if d := jitter(1); d != 1 {
			t.Fatalf("a nanosecond is %s", d)
		}
	}
	if shortest < 45*time.Minute || shortest > 46*time.Minute || longest > time.Hour || longest < 59*time.Minute {
		t.Errorf("from %s to %s", shortest, longest)
	}
}
