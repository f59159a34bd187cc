package injector

import (
	"fmt"
	"os"
	"testing"
)

// notes are what the tests of this run found, for the proof.
var notes []struct {
	title string
	found fmt.Stringer
}

func note(title string, found fmt.Stringer) {
	notes = append(notes, struct {
		title string
		found fmt.Stringer
	}{title, found})
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, n := range notes {
		fmt.Printf("# %s\n%s\n", n.title, n.found)
	}
	os.Exit(code)
}
