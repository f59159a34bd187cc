package probe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/probe"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// run plays results, one per probe (+ healthy, - not), and returns the states
// with the seconds at which they were reported.
func run(t *testing.T, p vmconfig.Probe, results string) (states []string) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		once := func(context.Context) error {
			if n == len(results) {
				cancel()
				return errors.New("cut off")
			}
			n++
			if results[n-1] == '+' {
				return nil
			}
			return fmt.Errorf("probe %d", n)
		}
		probe.Run(ctx, &p, once, func(unhealthy error) {
			states = append(states, fmt.Sprintf("%d s %v", int(time.Since(start).Seconds()), unhealthy))
		})
	})
	return states
}

func TestAStateIsReportedWhenTheThresholdIsReached(t *testing.T) {
	for _, test := range []struct {
		name                            string
		delay, period, success, failure int
		results                         string
		want                            []string
	}{
		{"at once, after the delay", 3, 10, 1, 3, "+", []string{"3 s <nil>"}},
		{"changes only", 0, 10, 1, 1, "++--+", []string{"0 s <nil>", "20 s probe 3", "40 s <nil>"}},
		{"failures in a row", 0, 5, 1, 3, "+--+---", []string{"0 s <nil>", "30 s probe 7"}},
		{"successes in a row", 0, 5, 2, 1, "+-+-++-+", []string{"5 s probe 2", "25 s <nil>", "30 s probe 7"}},
		{"the first state is unhealthy", 1, 2, 1, 2, "---", []string{"3 s probe 2"}},
		{"many failures do not count double", 0, 1, 3, 3, "------+++", []string{"2 s probe 3", "8 s <nil>"}},
	} {
		p := vmconfig.Probe{InitialDelaySeconds: test.delay, PeriodSeconds: test.period, SuccessThreshold: test.success, FailureThreshold: test.failure}
		if got := run(t, p, test.results); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestItEndsBetweenTwoProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		p := vmconfig.Probe{PeriodSeconds: 2, SuccessThreshold: 1, FailureThreshold: 1}
		start, probes := time.Now(), 0
		probe.Run(ctx, &p, func(context.Context) error { probes++; return nil }, func(error) {})
		if took := time.Since(start); took != 5*time.Second || probes != 3 {
			t.Errorf("%d probes in %s", probes, took)
		}
	})
}

func TestNothingIsProbedAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := vmconfig.Probe{InitialDelaySeconds: 1, PeriodSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1}
	probe.Run(ctx, &p, func(context.Context) error { t.Error("it was probed"); return nil }, func(error) { t.Error("it was reported") })
}
