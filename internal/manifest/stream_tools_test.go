package manifest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The files are what kustomize v5.8.2 and kpt v1.0.0-beta.56 hand to a
// function for the same two objects: `tee` was the function.
func TestWhatToolsSendIsReadAndEditedInPlace(t *testing.T) {
	for _, tt := range []struct {
		file    string
		objects int
		notices int
		config  string
	}{
		{"kustomize.yaml", 2, 0, "RewriteProbes r"},
		// kpt keeps anchors: the edit takes one away, so that its alias is written out.
		{"kpt.yaml", 3, 1, "ConfigMap function-input"},
	} {
		in, err := os.ReadFile(filepath.Join("testdata", tt.file))
		if err != nil {
			t.Fatal(err)
		}
		s := mustRead(t, in)
		if len(s.Objects()) != tt.objects || s.FunctionConfig().String() != tt.config {
			t.Errorf("%s: %d objects, functionConfig %v", tt.file, len(s.Objects()), s.FunctionConfig())
		}
		if !bytes.Equal(output(t, s), in) {
			t.Errorf("%s does not come back byte for byte", tt.file)
		}
		notices := 0
		for _, o := range s.Objects() {
			if path := templateOf(t, o); path != nil {
				if err := o.Apply(workloadEdits(path)); err != nil {
					t.Error(err)
				}
				notices += len(o.Notices())
			}
		}
		if notices != tt.notices {
			t.Errorf("%s: lines were changed %d times that no edit names, want %d", tt.file, notices, tt.notices)
		}
		mustRead(t, output(t, s))
	}
}
