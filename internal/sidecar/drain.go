package sidecar

import (
	"context"
	"runtime"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// probesWithin is how long after the SIGTERM calls of probes may end. Callers
// could go on calling, and nobody misses the result.
const probesWithin = 500 * time.Millisecond

// callEnds frees the places of a call, and collects garbage after every few.
func (s *Server) callEnds(of *share, large bool) {
	if s.served.Add(1)%collectEvery == 0 {
		runtime.GC()
	}
	<-of.places
	if large {
		<-of.large
	}
	select {
	case s.ended <- struct{}{}:
	default:
	}
}

// openCalls returns the number of calls that are open, and of those of hooks.
func (s *Server) openCalls() (calls, hooks int) {
	for _, e := range s.entries {
		open := len(e.share.places)
		calls += open
		if e.probeType.IsHook() {
			hooks += open
		}
	}
	return calls, hooks
}

// preStopHooks returns how many preStop hooks may be called.
func (s *Server) preStopHooks() (n int) {
	for _, e := range s.entries {
		if e.probeType == prober.PreStop && e.bad == nil {
			n++
		}
	}
	return n
}

// Drain returns when the server may end after a SIGTERM: when no call is open, or
// those of probes are late, or at once when ctx is done. With preStop hooks it stays for
// hooksWithin, 0 for a native sidecar, which the kubelet ends after the containers with
// their hooks. It ends all ordinary containers at the same time, so that their hooks come
// together with our signal. Whether a hook has been called does not count: anybody may
// have called it.
func (s *Server) Drain(ctx context.Context, hooksWithin time.Duration) {
	signal := time.Now()
	hooks := s.preStopHooks()
	if hooks == 0 {
		hooksWithin = 0
	}
	if hooksWithin > 0 {
		s.log.Info("waiting for preStop hooks", "hooks", hooks, "within", hooksWithin)
	}
	late := time.After(hooksWithin)
	probesEnd := time.After(probesWithin)
	for {
		calls, hooks := s.openCalls()
		took := time.Since(signal)
		if (calls == 0 || hooks == 0 && took >= probesWithin) && took >= hooksWithin {
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
