package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// TestDrain_openCallsAndPreStopHooks runs on a clock
// of its own (testing/synctest), so that its times are exact.
func TestDrain_openCallsAndPreStopHooks(t *testing.T) {
	const within = 10 * time.Second
	type call struct {
		key        string
		begin, end time.Duration // from the SIGTERM
	}
	const probe, preStop, other, postStart = "/app-health/a/livez", "/app-lifecycle/a/prestopz", "/app-lifecycle/b/prestopz", "/app-lifecycle/a/poststartz"
	for name, test := range map[string]struct {
		entries []string
		bad     string
		within  time.Duration
		calls   []call
		want    time.Duration
		awaited int // hooks that the log names
	}{
		"nothing is open":                              {entries: []string{probe, preStop}},
		"a native sidecar, a probe is open":            {entries: []string{probe, preStop}, calls: []call{{probe, -time.Second, 300 * time.Millisecond}}, want: 300 * time.Millisecond},
		"a native sidecar, a probe hangs":              {entries: []string{probe, preStop}, calls: []call{{probe, -time.Second, 3 * time.Second}}, want: probesWithin},
		"a native sidecar, callers go on":              {entries: []string{probe}, calls: []call{{probe, -time.Second, time.Second}, {probe, 0, time.Minute}}, want: probesWithin},
		"a hook is open, and a probe hangs":            {entries: []string{probe, preStop}, calls: []call{{probe, -time.Second, time.Minute}, {preStop, 0, 2 * time.Second}}, want: 2 * time.Second},
		"a native sidecar, a hook is open":             {entries: []string{preStop}, calls: []call{{preStop, -time.Second, time.Minute}}, want: time.Minute},
		"an ordinary container without hooks":          {entries: []string{probe}, within: within},
		"an ordinary container with a postStart hook":  {entries: []string{postStart}, within: within},
		"a hook that never comes":                      {entries: []string{probe, preStop}, within: within, want: within, awaited: 1},
		"a hook that comes":                            {entries: []string{preStop}, within: within, calls: []call{{preStop, time.Second, 4 * time.Second}}, want: within, awaited: 1},
		"a hook that lasts longer than the wait":       {entries: []string{preStop}, within: within, calls: []call{{preStop, time.Second, time.Minute}}, want: time.Minute, awaited: 1},
		"a hook that came first and is open":           {entries: []string{preStop}, within: within, calls: []call{{preStop, -time.Minute, time.Second}}, want: within, awaited: 1},
		"a stranger called the hook just before":       {entries: []string{preStop}, within: within, calls: []call{{preStop, -2 * time.Second, -time.Second}}, want: within, awaited: 1},
		"a stranger calls the hook, then the kubelet":  {entries: []string{preStop}, within: within, calls: []call{{preStop, 0, time.Second}, {preStop, 9 * time.Second, 12 * time.Second}}, want: 12 * time.Second, awaited: 1},
		"a hook of an earlier restart":                 {entries: []string{preStop}, within: within, calls: []call{{preStop, -time.Minute, -3 * time.Second}}, want: within, awaited: 1},
		"two hooks, and one never comes":               {entries: []string{preStop, other}, within: within, calls: []call{{preStop, time.Second, 2 * time.Second}}, want: within, awaited: 2},
		"two hooks, and both come":                     {entries: []string{preStop, other}, within: within, calls: []call{{preStop, time.Second, 5 * time.Second}, {other, 2 * time.Second, 3 * time.Second}}, want: within, awaited: 2},
		"a hook that cannot be used is not waited for": {entries: []string{probe}, bad: preStop, within: within},
		"probes go on while a hook is awaited":         {entries: []string{probe, preStop}, within: within, calls: []call{{probe, 9 * time.Second, 11 * time.Second}}, want: within, awaited: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				probers := make(map[string]*prober.Original)
				for _, key := range test.entries {
					probers[key] = &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTP"}, TimeoutSeconds: 1}
				}
				var bad []*prober.EntryError
				if test.bad != "" {
					bad = []*prober.EntryError{{Key: test.bad, Err: context.Canceled}}
				}
				s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 15020, probers, bad)
				var log strings.Builder
				s.log = slog.New(slog.NewTextHandler(&log, nil))
				const before = 2 * time.Minute
				signal := time.Now().Add(before)
				for _, c := range test.calls {
					go func() {
						time.Sleep(before + c.begin)
						s.entries[c.key].share.places <- struct{}{}
						time.Sleep(c.end - c.begin)
						s.callEnds(&s.entries[c.key].share, false)
					}()
				}
				time.Sleep(before)
				s.Drain(t.Context(), test.within)
				if took := time.Since(signal); took != test.want {
					t.Errorf("ended after %s, want %s", took, test.want)
				}
				want := ""
				if test.awaited > 0 {
					want = fmt.Sprintf(` msg="waiting for preStop hooks" hooks=%d within=10s`+"\n", test.awaited)
				}
				if _, line, _ := strings.Cut(log.String(), "level=INFO"); line != want {
					t.Errorf("the log says %q, want %q", line, want)
				}
				time.Sleep(time.Hour) // the calls end
			})
		})
	}
}

func TestASecondSignalEndsDrainingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const preStop = "/app-lifecycle/a/prestopz"
		s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 15020, map[string]*prober.Original{preStop: {HTTPGet: &prober.HTTPGet{Port: field.Number(1)}}}, nil)
		s.entries[preStop].share.places <- struct{}{}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		s.Drain(ctx, time.Hour)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}
