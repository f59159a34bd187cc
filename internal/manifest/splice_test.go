package manifest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

// faults are ways in which the splicer could go wrong at one change.
var faults = []func(c *splice){
	func(c *splice) { c.text = "" },
	func(c *splice) { c.text += c.text },
	func(c *splice) { c.text += "0" },
	func(c *splice) { c.text = "{" },
	func(c *splice) { c.text = " # " + c.text },
	func(c *splice) { c.end = max(c.start, c.end-1) },
	func(c *splice) { c.start = max(0, c.start-1) },
	func(c *splice) { c.start = c.end },
	func(c *splice) { c.text = strings.TrimRight(c.text, "\r\n") },
	func(c *splice) { c.start = max(0, c.start-4) }, // the neighbours are damaged
	func(c *splice) { c.end += 4 },
}

// editedValue returns the value that an object must have after the edits.
func editedValue(t *testing.T, in string, edits []field.Edit) field.Value {
	t.Helper()
	tr, err := mustRead(t, []byte(in)).Objects()[0].load()
	if err != nil {
		t.Fatal(err)
	}
	root, err := new(original).overlay(tr, edits)
	if err != nil {
		t.Fatal(err)
	}
	return root.value(tr)
}

func TestAWrongSpliceNeverReachesTheOutput(t *testing.T) {
	caught := 0
	for _, tt := range editTests {
		want := editedValue(t, tt.in, tt.edits)
		plain := mustRead(t, []byte(tt.in))
		if err := plain.Objects()[0].Apply(tt.edits); err != nil {
			t.Fatal(err)
		}
		normal := output(t, plain)
		for i := range 2 * len(tt.edits) {
			for _, fault := range faults {
				s := mustRead(t, []byte(tt.in))
				isDone := false
				s.scratch.fault = func(changes []splice) {
					if i < len(changes) && changes[len(changes)-1].end+4 < len(tt.in) {
						fault(&changes[i])
						isDone = true
					}
				}
				o := s.Objects()[0]
				err := o.Apply(tt.edits)
				out := output(t, s)
				if err != nil {
					if caught++; o.Changed() || string(out) != tt.in {
						t.Fatalf("%s: after the error %v the object is different:\n%s", tt.name, err, out)
					}
					continue
				}
				if !isDone || bytes.Equal(out, normal) {
					continue
				}
				root, err := yamljudge.Value(out, 0)
				if err != nil || !equalParsed(want, root) {
					t.Fatalf("%s: a wrong splice has reached the output:\n%s\nwant\n%s", tt.name, out, normal)
				}
			}
		}
	}
	if caught < 300 {
		t.Errorf("only %d faults were caught", caught)
	}
}
