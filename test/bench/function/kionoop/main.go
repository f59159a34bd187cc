// Command kionoop reads a ResourceList or a stream with kyaml's
// kio.ByteReadWriter and writes it back: what any function built on kyaml pays
// before its own work begins.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/kyaml/kio"
)

func main() {
	rw := &kio.ByteReadWriter{Reader: os.Stdin, Writer: os.Stdout, KeepReaderAnnotations: true}
	if err := (kio.Pipeline{Inputs: []kio.Reader{rw}, Outputs: []kio.Writer{rw}}).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
