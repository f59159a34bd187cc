package pipeline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// BenchmarkRewrite rewrites the files that match the pattern MANIFESTS, or those
// of testdata, from text to text. `make profile` makes the compiler's profile
// of it.
func BenchmarkRewrite(b *testing.B) {
	pattern := os.Getenv("MANIFESTS")
	if pattern == "" {
		pattern = filepath.Join("..", "..", "testdata", "manifests", "*.yaml")
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		b.Fatalf("MANIFESTS=%q must match files: %v", pattern, err)
	}
	for _, file := range files {
		b.Run(filepath.Base(file), func(b *testing.B) {
			in, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				rewrite(b, in, &out)
			}
		})
	}
}

func rewrite(b *testing.B, in []byte, out *bytes.Buffer) {
	s, err := manifest.Read("<stdin>", in)
	if err != nil {
		b.Fatal(err)
	}
	r := pipeline.Run([]*manifest.Stream{s}, config.Default(), pipeline.Rewrite)
	if s.IsResourceList() {
		err = s.AddResults(r.Results())
	}
	if err == nil {
		var text []byte
		if text, err = s.Text(); err == nil {
			_, err = manifest.WriteOutput(out, text)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
}
