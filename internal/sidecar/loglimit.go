package sidecar

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"
)

// The log may have logBurst lines at once, and then one every logEvery: callers
// can make a probe change its state as often as they like.
const (
	logBurst = 50
	logEvery = time.Second

	maxUnwritten = 64 // lines that wait to be written
)

// limited returns a logger that drops the lines beyond the limit. The next
// line after those, and after lines that a [LogWriter] dropped, says how many.
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
	}
	err := h.Handler.Handle(ctx, r)
	if errors.Is(err, errUnread) {
		h.dropped++
	} else {
		h.dropped = 0
	}
	return err
}

// A LogWriter writes the lines of a log from one goroutine: what reads them may be stuck, and no
// call waits for it.
type LogWriter struct {
	lines   chan []byte
	written chan struct{} // closed when all lines are, after End
}

// errUnread says that a line was dropped, because too many before it are not written yet.
var errUnread = errors.New("nobody reads the log")

// NewLogWriter returns a writer for a log that ends in to. Besides the lines that callers may
// cause, so many more may wait: those of the start, none of which is dropped.
func NewLogWriter(to io.Writer, more int) *LogWriter {
	w := &LogWriter{lines: make(chan []byte, maxUnwritten+more), written: make(chan struct{})}
	go func() {
		defer close(w.written)
		for line := <-w.lines; line != nil; line = <-w.lines {
			_, _ = to.Write(line) // there is nobody to tell
		}
	}()
	return w
}

// Write has a line written, or returns an error if too many wait.
func (w *LogWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- bytes.Clone(line):
		return len(line), nil
	default:
		return 0, errUnread
	}
}

// End returns when all lines are written, or after a while.
func (w *LogWriter) End(within time.Duration) {
	late := time.After(within)
	select {
	case w.lines <- nil:
	case <-late:
		return
	}
	select {
	case <-w.written:
	case <-late:
	}
}
