package field

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// However a text is cut into pieces, a command in it is found, also one that is in two of them.
func TestCommandEscaper_findsWhatIsInTwoPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"::", ":", "error::", "add-mask", "#", "##", "[", "vso[", " ", "\t", "\n", "a", strings.Repeat("x", most-3), strings.Repeat(" ", most)}
	for range 300 {
		var text, got strings.Builder
		e := NewCommandEscaper(&got, EscapedSign)
		for range random.IntN(12) {
			piece := parts[random.IntN(len(parts))] + parts[random.IntN(len(parts))]
			text.WriteString(piece)
			if random.IntN(2) == 0 {
				e.WriteString(piece)
			} else {
				fmt.Fprint(e, piece)
			}
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := WithoutCommands(text.String(), EscapedSign); got.String() != want {
			t.Fatalf("%q becomes %q, want %q", &text, &got, want)
		}
	}
}

// A report of any size is not in memory twice.
func TestCommandEscaper_holdsALineAtMost(t *testing.T) {
	text := strings.Repeat(strings.Repeat("a", 99)+"\n", 10*most/100)
	var longest atMost
	e := NewCommandEscaper(&longest, EscapedSign)
	e.WriteString(text)
	e.Write([]byte(text))
	if err := e.Flush(); err != nil || int(longest) > most+100 || cap(e.line) > 2*most {
		t.Errorf("it wrote %d bytes at once, and holds %d: %v", longest, cap(e.line), err)
	}
}

// atMost is the longest text that was written.
type atMost int

func (a *atMost) Write(p []byte) (int, error) {
	*a = max(*a, atMost(len(p)))
	return len(p), nil
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestCommandEscaper_returnsTheErrorOfAWrite(t *testing.T) {
	for _, text := range []string{"a", "a\n"} {
		e := NewCommandEscaper(broken{}, EscapedSign)
		_, err := e.Write([]byte(text))
		if !errors.Is(errors.Join(err, e.Flush()), errBroken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
