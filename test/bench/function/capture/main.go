// Command capture is a function that changes nothing and keeps what it was
// sent in the file that $CAPTURE names: the exact bytes that kustomize and kpt
// hand to a function.
//
// With a folder as its argument it is the caller instead: it sends that
// package through kyaml's function runtime, which kpt uses too, to a capture
// of its own. That is for machines without kpt.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/runtime/exec"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		return send(args[0])
	}
	return keep(os.Getenv("CAPTURE"))
}

func keep(file string) error {
	if file == "" {
		return errors.New("$CAPTURE must name the file to write")
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.MultiWriter(f, os.Stdout), os.Stdin); err != nil {
		return err
	}
	return f.Close()
}

// functionInput is the functionConfig of `kpt fn eval` without arguments.
const functionInput = "metadata:\n  name: function-input\ndata: {}\nkind: ConfigMap\napiVersion: v1\n"

func send(pkg string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	filter := &exec.Filter{Path: self, WorkingDir: pkg}
	if filter.FunctionConfig, err = yaml.Parse(functionInput); err != nil {
		return err
	}
	return kio.Pipeline{
		Inputs:                []kio.Reader{kio.LocalPackageReader{PackagePath: pkg, PreserveSeqIndent: true, WrapBareSeqNode: true}},
		Filters:               []kio.Filter{filter},
		Outputs:               []kio.Writer{kio.ByteWriter{Writer: io.Discard}},
		ContinueOnEmptyResult: true,
	}.Execute()
}
