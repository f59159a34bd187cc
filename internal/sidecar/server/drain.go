package server

import (
	"context"
	"runtime"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// justBefore is how long before the SIGTERM a preStop hook may have ended to
// count as one that came with it. The kubelet calls the hook over the network
// and sends our signal through the container runtime, so that a short hook can
// be over first.
const justBefore = 2 * time.Second

// probesWithin is how long after the SIGTERM calls of probes may end. Callers
// could go on calling, and nobody misses the result.
const probesWithin = 500 * time.Millisecond

// callEnds frees the place of a call, and collects garbage after every few.
func (s *Server) callEnds(of *share) {
	if s.served.Add(1)%collectEvery == 0 {
		runtime.GC()
	}
	s.budget.mu.Lock()
	of.lastEnd = time.Now()
	s.budget.mu.Unlock()
	<-of.places
	select {
	case s.ended <- struct{}{}:
	default:
	}
}

// openCalls returns the number of calls that are open, and of those of hooks; and how
// many preStop hooks have come neither since the SIGTERM nor shortly before it, and are
// not open.
func (s *Server) openCalls(signal time.Time) (calls, hooks, pending int) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	for _, e := range s.entries {
		open := len(e.share.places)
		calls += open
		if e.probeType.IsHook() {
			hooks += open
		}
		if e.probeType == prober.PreStop && e.bad == nil && open == 0 && e.share.lastEnd.Before(signal.Add(-justBefore)) {
			pending++
		}
	}
	return calls, hooks, pending
}

// Drain returns when the server may end after a SIGTERM: when no call is open, or
// those of probes are late, and every preStop hook that the entries name has come,
// or at once when ctx is done. It waits for hooks no longer than hooksWithin, 0 for a
// native sidecar, which the kubelet ends after the containers with their hooks.
// It ends all ordinary containers at the same time, so that their hooks come
// together with our signal.
func (s *Server) Drain(ctx context.Context, hooksWithin time.Duration) {
	signal := time.Now()
	if _, _, pending := s.openCalls(signal); pending > 0 && hooksWithin > 0 {
		s.log.Info("waiting for preStop hooks that have not come yet", "hooks", pending, "within", hooksWithin)
	}
	late := time.After(hooksWithin)
	probesEnd := time.After(probesWithin)
	for {
		calls, hooks, pending := s.openCalls(signal)
		took := time.Since(signal)
		if (calls == 0 || hooks == 0 && took >= probesWithin) && (pending == 0 || took >= hooksWithin) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-probesEnd:
		case <-late:
		case <-s.ended:
		}
	}
}
