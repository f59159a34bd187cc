package sidecar

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The log may have logBurst lines at once, and then one every logEvery: callers
// can make a probe change its state as often as they like.
const (
	logBurst = 50
	logEvery = time.Second
)

// limited returns a logger that drops the lines beyond the limit. The next
// line after those says how many were dropped.
func limited(log *slog.Logger) *slog.Logger {
	return slog.New(&limitedHandler{Handler: log.Handler(), lines: logBurst, last: time.Now()})
}

type limitedHandler struct {
	slog.Handler
	mu      sync.Mutex
	lines   int       // that may be written now; guarded by mu
	last    time.Time // when lines was last raised; guarded by mu
	dropped int       // guarded by mu
}

// Handle writes the record, unless there were too many.
func (h *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := int(time.Since(h.last) / logEvery)
	h.lines = min(h.lines+n, logBurst)
	h.last = h.last.Add(time.Duration(n) * logEvery)
	if h.lines == 0 {
		h.dropped++
		return nil
	}
	h.lines--
	if h.dropped > 0 {
		r.AddAttrs(slog.Int("dropped", h.dropped))
		h.dropped = 0
	}
	return h.Handler.Handle(ctx, r)
}
