package field

import (
	"io"
	"strings"
)

// A CommandEscaper passes a text on without commands of CI systems. It may come in pieces of any size:
// it holds a line until its end.
type CommandEscaper struct {
	w      io.Writer
	escape func(sign byte) string
	line   []byte // not passed on yet
}

// NewCommandEscaper returns a writer to w that does what [WithoutCommands] does.
func NewCommandEscaper(w io.Writer, escape func(sign byte) string) *CommandEscaper {
	return &CommandEscaper{w: w, escape: escape}
}

// most is how much of a text is copied at a time.
const most = 32 << 10

// WriteString passes on the lines that end in s, and holds the rest.
func (e *CommandEscaper) WriteString(s string) (int, error) {
	for rest := s; rest != ""; {
		piece := rest[:min(most, len(rest))]
		rest = rest[len(piece):]
		end := strings.LastIndexByte(piece, '\n') + 1
		e.line = append(e.line, piece[:end]...)
		if end > 0 {
			if err := e.Flush(); err != nil {
				return 0, err
			}
		}
		e.line = append(e.line, piece[end:]...)
	}
	return len(s), nil
}

// Write does what WriteString does.
func (e *CommandEscaper) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		piece := rest[:min(most, len(rest))]
		rest = rest[len(piece):]
		if _, err := e.WriteString(string(piece)); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush passes on what it holds: the text ends there.
func (e *CommandEscaper) Flush() error {
	if len(e.line) == 0 {
		return nil
	}
	_, err := io.WriteString(e.w, WithoutCommands(string(e.line), e.escape))
	e.line = e.line[:0]
	return err
}
