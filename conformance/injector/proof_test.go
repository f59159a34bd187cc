package injector

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// notes are what the tests of this run found, for the proof.
var notes []struct {
	title string
	tally *tally
}

func note(title string, s *tally) {
	notes = append(notes, struct {
		title string
		tally *tally
	}{title, s})
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, n := range notes {
		fmt.Printf("# %s\n%s\n", n.title, n.tally)
	}
	_ = errors.New
	_ = strings.Join
	os.Exit(code)
}
