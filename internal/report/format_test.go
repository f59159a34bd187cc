package report

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The function of a new format cannot forget the commands of CI systems: Write escapes them, in pieces too.
func TestFormat_escapesCommandsOfItsFunction(t *testing.T) {
	for _, f := range slices.Concat(CheckFormats, ExplainFormats) {
		f.write = func(_ *Report, w io.Writer, _ Invocation) error {
			for _, piece := range []string{":", ":error::a\n ", "::add-mask::", "b\n#", "#[x]"} {
				if _, err := io.WriteString(w, piece); err != nil {
					return err
				}
			}
			return nil
		}
		var b strings.Builder
		if err := f.Write(&b, &Report{}, Invocation{}); err != nil {
			t.Fatal(err)
		}
		want := f.escape(':') + ":error::a\n " + f.escape(':') + ":add-mask::b\n#" + f.escape('#') + "[x]"
		if b.String() != want {
			t.Errorf("%s: %q, want %q", f.Name, &b, want)
		}
	}
}

// A reference is not read in the style and the script of the page, so neither may have what is escaped.
func TestThePageItselfHasNoCommand(t *testing.T) {
	if field.WithoutCommands(page, referenceTo) != page {
		t.Error("page.html has a command of a CI system")
	}
}
