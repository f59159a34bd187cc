package manifest

import (
	"os"
	"testing"
)

func BenchmarkZRead(b *testing.B) {
	in, err := os.ReadFile(os.Getenv("ZIN"))
	if err != nil {
		b.Skip(err)
	}
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := Read("x", in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkZParse(b *testing.B) {
	in, err := os.ReadFile(os.Getenv("ZIN"))
	if err != nil {
		b.Skip(err)
	}
	s, err := Read("x", in)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	var t tree
	for b.Loop() {
		n = 0
		for _, o := range s.Objects() {
			if o.Kind() != "Deployment" {
				continue
			}
			if !t.parse(o.source(), o.col) {
				b.Fatal("no")
			}
			n += o.end - o.start
		}
	}
	b.SetBytes(int64(n))
}
