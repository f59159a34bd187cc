package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// running starts a rewritten pod and waits until it is Ready.
func running(t *testing.T, name, manifest string) node.State {
	t.Helper()
	start(t, name, pod(t, manifest, "default"))
	t.Cleanup(func() {
		if err := theNode.Remove(name, 60*time.Second); err != nil {
			t.Error(err)
		}
	})
	s, err := theNode.WaitFor(name, 90*time.Second, func(s node.State) bool { return s.Ready })
	if err != nil {
		t.Fatal(err, firstFailure(name))
	}
	return s
}

// The pods of the tests that break an app.
var (
	hangingPods = []string{"hang", "grpc-hang"}
	dyingPods   = []string{"dies", "tcp-dies"}
)

func TestAnAppThatHangsIsRestartedByItsLivenessProbe(t *testing.T) {
	t.Parallel()
	for _, manifest := range hangingPods {
		t.Run(manifest, func(t *testing.T) {
			t.Parallel()
			name := manifest + "-rewritten"
			running(t, name, manifest)
			if err := throughMesh(name, "/control/hang"); err != nil {
				t.Fatal(err)
			}
			hung := time.Now()
			// Two periods and the timeout of the last probe. The app ends at once
			// when it is told to.
			limit := 2*2*time.Second + time.Second + slack
			s, err := theNode.WaitFor(name, 30*time.Second, func(s node.State) bool { return s.Containers["app"].Restarts == 1 })
			if err != nil {
				t.Fatal(err)
			}
			took := s.At.Sub(hung)
			if took > limit {
				t.Errorf("restarted after %s, which must be at most %s", took, limit)
			}
			s, err = theNode.WaitFor(name, 30*time.Second, func(s node.State) bool { return s.Ready && s.Containers["app"].Restarts == 1 })
			if err != nil {
				t.Fatal(err)
			}
			if restarts(s) != 1 {
				t.Errorf("only the app may be restarted: %s", s)
			}
			note(t, "liveness restarts the app, once", fmt.Sprintf("restarted %.1f s after it hung (period 2 s, threshold 2, timeout 1 s), then Ready; sidecars not restarted", took.Seconds()))
		})
	}
}

func TestAnAppThatNoLongerListensBecomesNotReady(t *testing.T) {
	t.Parallel()
	for _, manifest := range dyingPods {
		t.Run(manifest, func(t *testing.T) {
			t.Parallel()
			name := manifest + "-rewritten"
			running(t, name, manifest)
			if err := throughMesh(name, "/control/close"); err != nil {
				t.Fatal(err)
			}
			died := time.Now()
			limit := 3*2*time.Second + slack
			s, err := theNode.WaitFor(name, 30*time.Second, func(s node.State) bool { return !s.Ready })
			if err != nil {
				t.Fatal(err)
			}
			took := s.At.Sub(died)
			if took > limit {
				t.Errorf("NotReady after %s, which must be at most %s", took, limit)
			}
			if restarts(s) != 0 {
				t.Errorf("nothing may be restarted: %s", s)
			}
			note(t, "NotReady within period × threshold", fmt.Sprintf("NotReady %.1f s after it stopped listening (period 2 s × threshold 3)%s", took.Seconds(), firstFailure(name)))
		})
	}
}

func TestAnAppThatIsKilledIsRestartedAndTheSidecarStays(t *testing.T) {
	t.Parallel()
	const name = "app-killed"
	before := running(t, name, "hang")
	if err := theNode.Kill(name, "app"); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	s, err := theNode.WaitFor(name, 30*time.Second, func(s node.State) bool { return s.Ready && s.Containers["app"].Restarts == 1 })
	if err != nil {
		t.Fatal(err)
	}
	if restarts(s) != 1 || s.Containers["probe-proxy"].ID != before.Containers["probe-proxy"].ID {
		t.Errorf("only the app may be restarted: %s", s)
	}
	note(t, "restarted and Ready again, sidecars not restarted", fmt.Sprintf("Ready again %.1f s after kill -9", s.At.Sub(killed).Seconds()))
}

// This test runs alone: it measures a gap under load.
func TestKillingTheSidecarUnderLoadLosesNoVerdictForLongerThanAPeriod(t *testing.T) {
	const name, period = "killed", 10 * time.Second // the default period, which the manifest leaves
	before := running(t, name, "default-period")
	url := "http://" + net.JoinHostPort(before.IP, "15099") + "/app-health/app/readyz"

	ctx, cancel := context.WithCancel(context.Background())
	gap := newGap()
	var sent atomic.Int64
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for ctx.Err() == nil {
				sent.Add(1)
				if answers(url) {
					gap.answered()
				}
				time.Sleep(40 * time.Millisecond) // 200 a second at most, in all
			}
		})
	}
	defer load.Wait()
	defer cancel()

	time.Sleep(2 * time.Second)
	if err := theNode.Kill(name, "probe-proxy"); err != nil {
		t.Fatal(err)
	}
	s, err := theNode.WaitFor(name, 30*time.Second, func(s node.State) bool {
		return s.Containers["probe-proxy"].Restarts == 1 && s.Containers["probe-proxy"].Running
	})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(3*period + 2*time.Second) // long enough for a liveness probe to have the app restarted
	cancel()
	load.Wait()

	after := theNode.State(name)
	if after.Containers["app"].Restarts != 0 || after.Containers["app"].ID != before.Containers["app"].ID {
		t.Errorf("the app must not be restarted: %s", after)
	}
	if !after.Ready || after.Containers["probe-proxy"].Restarts != 1 {
		t.Errorf("the pod must be Ready again after one restart of the sidecar: %s", after)
	}
	for _, h := range theNode.History(name) {
		if h.At.After(before.At) && !h.Containers["app"].Ready {
			t.Errorf("the app's container must stay ready: %s", h)
			break
		}
	}
	// A pod is Ready only while all its containers are, sidecars among them.
	unready := notReady(theNode.History(name), before.At)
	if unready > period {
		t.Errorf("the pod was not Ready for %s, which must be at most %s", unready, period)
	}
	if s.Containers["probe-proxy"].ExitCode != 137 {
		t.Errorf("the sidecar must have been killed: exit code %d", s.Containers["probe-proxy"].ExitCode)
	}
	longest := gap.longest()
	if longest > period {
		t.Errorf("no verdict for %s, which must be at most %s", longest, period)
	}
	note(t, "restarted by the kubelet, the app not; no verdict lost for longer than one period",
		fmt.Sprintf("no answer for %.1f s (period %.0f s) while %d probes were sent; probe-proxy restarted once, app 0 times and its container ready throughout; the pod not Ready, and so out of its Services, for %.1f s",
			longest.Seconds(), period.Seconds(), sent.Load(), unready.Seconds()))
}

// notReady adds up how long a pod was not Ready after a time.
func notReady(history []node.State, after time.Time) (sum time.Duration) {
	for i, s := range history[:len(history)-1] {
		if s.At.After(after) && !s.Ready {
			sum += history[i+1].At.Sub(s.At)
		}
	}
	return sum
}

func answers(url string) bool {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err == nil && r.StatusCode == http.StatusOK
}

// A gap records the longest time between two answers.
type gap struct {
	mu   sync.Mutex // guards last and max
	last time.Time
	max  time.Duration
}

func newGap() *gap { return &gap{last: time.Now()} }

func (g *gap) answered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.max = max(g.max, time.Since(g.last))
	g.last = time.Now()
}

// longest counts the time since the last answer too.
func (g *gap) longest() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(g.max, time.Since(g.last))
}
