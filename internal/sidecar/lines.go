package sidecar

import "time"

// Connections that wait to be accepted are accepted before anything else runs, acceptAtOnce
// at a time. Then ofLine of each line are served, and all goroutines run for restTime: only
// when none can run does the runtime look at what came from apps.
const (
	acceptAtOnce = 256
	ofLine       = 4
	maxInLines   = 256 // connections
	restTime     = 10 * time.Microsecond
)

// lines are connections that were accepted together, and are not served yet, by the entry that
// they call. Of each there is nothing but the socket and what came on it. So a caller who calls
// one entry more often than the processor can serve is dropped before he costs much, and calls
// of other entries pass. Requests that call no entry, and those that are not complete, have a line
// too, that of nil. One goroutine uses lines.
type lines struct {
	byEntry map[*entry][]inLine
	len     int
	max     int
	drop    func(socket int)
	buf     [smallHead]byte // for what came on one
}

// An inLine is a connection that waits to be served.
type inLine struct {
	socket int
	first  []byte    // what came on it
	start  time.Time // when it was accepted
}

func newLines(most int, drop func(socket int)) *lines {
	return &lines{byEntry: make(map[*entry][]inLine), max: most, drop: drop}
}

// add adds a connection. If there are too many, it drops the oldest of the longest line.
func (l *lines) add(e *entry, c inLine) {
	if l.len == l.max {
		l.drop(l.next(l.longest()).socket)
	}
	l.byEntry[e] = append(l.byEntry[e], c)
	l.len++
}

func (l *lines) longest() (longest *entry) {
	for e, line := range l.byEntry {
		if len(line) > len(l.byEntry[longest]) {
			longest = e
		}
	}
	return longest
}

// next removes the oldest of a line.
func (l *lines) next(e *entry) inLine {
	line := l.byEntry[e]
	l.byEntry[e] = line[1:]
	if len(line) == 1 {
		delete(l.byEntry, e)
	}
	l.len--
	return line[0]
}

// serve serves the oldest of each line.
func (l *lines) serve(serve func(inLine)) {
	for e := range l.byEntry {
		for range min(ofLine, len(l.byEntry[e])) {
			serve(l.next(e))
		}
	}
}
