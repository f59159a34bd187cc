package main

import (
	"errors"
	"testing"
	"time"
)

// The numbers are those of the kubelet's and runc's own functions.
func TestCPUsAreWhatTheKubeletMakesOfThem(t *testing.T) {
	for _, c := range []struct {
		cpus                          cpus
		shares, quota, pod, container int
	}{
		{cpus{}, 2, 1000, 1, 1},
		{cpus{request: 5, limit: 5}, 5, 1000, 1, 2},
		{cpus{request: 10, limit: 10}, 10, 1000, 1, 4},
		{cpus{request: 20, limit: 100}, 20, 10000, 1, 6},
		{cpus{request: 50, limit: 50}, 51, 5000, 2, 11},
		{cpus{request: 1000, limit: 1000}, 1024, 100000, 39, 100},
		{cpus{request: 2000, limit: 2000}, 2048, 200000, 79, 174},
	} {
		if s, q, p, w := c.cpus.shares(), c.cpus.quota(), c.cpus.podWeight(), c.cpus.containerWeight(); s != c.shares || q != c.quota || p != c.pod || w != c.container {
			t.Errorf("%s: %d shares, quota %d, weights %d and %d, want %v", c.cpus, s, q, p, w, c)
		}
	}
	if got := (cpus{1000, 2000}).plus(cpus{20, 100}); got != (cpus{1020, 2100}) {
		t.Errorf("two limited containers are %s", got)
	}
	if got := (cpus{1000, 0}).plus(cpus{20, 100}); got != (cpus{1020, 0}) {
		t.Errorf("a pod with a container without a limit is %s", got)
	}
}

func TestAProbeThatFailedIsAMissedOne(t *testing.T) {
	s := &series{probes: []func() error{func() error { return nil }, func() error { return errors.New("late") }}}
	s.once()
	s.took = []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	if got, want := s.String(), "**1 of 3**; 2, 3 ms"; got != want {
		t.Errorf("the cell is %q, want %q", got, want)
	}
	s.missed = 0
	if got, want := s.String(), "0; 2, 3 ms"; got != want {
		t.Errorf("the cell is %q, want %q", got, want)
	}
}
