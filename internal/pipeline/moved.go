package pipeline

import (
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// A move says that the items of a list moved by some places.
type move struct {
	list string // its path
	from int    // the index of the first item that moved
	by   int
}

// movesOf returns the moves that edits cause.
func movesOf(edits []field.Edit) (moves []move) {
	for _, e := range edits {
		n := len(e.Path) - 1
		if n < 0 || !e.Path[n].IsIndex {
			continue
		}
		switch at := int(e.Path[n].Index); e.Op {
		case field.Insert:
			moves = append(moves, move{e.Path[:n].String(), at, 1})
		case field.Delete:
			moves = append(moves, move{e.Path[:n].String(), at + 1, -1})
		}
	}
	return moves
}

// followEdits lets messages about an object name their fields as they are after
// the edits. The results of a ResourceList name fields of the items beside them,
// and a second run must produce the same results.
func followEdits(messages []report.Message, edits []field.Edit) {
	moves := movesOf(edits)
	if len(moves) == 0 {
		return
	}
	for i := range messages {
		m := &messages[i]
		if moved := movedField(m.Field, moves); moved != m.Field {
			m.Text = strings.ReplaceAll(m.Text, "`"+m.Field+"`", "`"+moved+"`")
			m.Field = moved
		}
	}
}

// movedField returns the path of a field after the moves.
func movedField(path string, moves []move) string {
	var moved strings.Builder
	rest := path
	for {
		before, after, found := strings.Cut(rest, "[")
		number, tail, closed := strings.Cut(after, "]")
		if !found || !closed {
			moved.WriteString(rest)
			return moved.String()
		}
		list := path[:len(path)-len(rest)+len(before)]
		moved.WriteString(before + "[")
		if index, err := strconv.Atoi(number); err == nil {
			to := index
			for _, m := range moves {
				if m.list == list && index >= m.from {
					to += m.by
				}
			}
			number = strconv.Itoa(to)
		}
		moved.WriteString(number + "]")
		rest = tail
	}
}
