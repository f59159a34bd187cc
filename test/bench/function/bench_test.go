package main

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/kio"
)

// If this failed, the generated lists would measure something nobody sends.
func TestAGeneratedListIsInTheFormThatKyamlWrites(t *testing.T) {
	for _, crds := range []bool{false, true} {
		var in, out bytes.Buffer
		generator{form: listing, objects: 60, crds: crds}.writeTo(&in)
		rw := &kio.ByteReadWriter{Reader: bytes.NewReader(in.Bytes()), Writer: &out, KeepReaderAnnotations: true}
		if err := (kio.Pipeline{Inputs: []kio.Reader{rw}, Outputs: []kio.Writer{rw}}).Execute(); err != nil {
			t.Fatal(err)
		}
		want, got := strings.Split(in.String(), "\n"), strings.Split(out.String(), "\n")
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Fatalf("crds %v: line %d is %q, and kyaml writes %q", crds, i+1, want[i], got[i])
			}
		}
		if len(want) != len(got) {
			t.Fatalf("crds %v: %d lines, and kyaml writes %d", crds, len(want), len(got))
		}
	}
}

func TestALongerListContinuesAShorterOne(t *testing.T) {
	var short, long strings.Builder
	generator{objects: 10}.writeTo(&short)
	generator{objects: 40}.writeTo(&long)
	if !strings.HasPrefix(long.String(), short.String()) {
		t.Error("the first 10 of 40 objects must be those of a list of 10")
	}
}

func TestAPackageIsSentAsKptSendsIt(t *testing.T) {
	kpt, err := exec.LookPath("kpt")
	if err != nil {
		t.Skip("kpt is not installed")
	}
	dir := t.TempDir()
	pkg, capture := filepath.Join(dir, "pkg"), filepath.Join(dir, "capture")
	if out, err := exec.Command("go", "build", "-o", capture, "./capture").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Mkdir(pkg, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (generator{objects: 12}).write(filepath.Join(pkg, "manifests.yaml")); err != nil {
		t.Fatal(err)
	}
	send := func(file string, argv ...string) string {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "CAPTURE="+file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := send(filepath.Join(dir, "kpt.yaml"), kpt, "fn", "eval", pkg, "--exec", capture)
	if got := send(filepath.Join(dir, "library.yaml"), capture, pkg); got != want {
		t.Errorf("kpt sent\n%s\nand the library\n%s", want, got)
	}
}

func TestAFunctionThatFailsIsNotMeasured(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(input, []byte("kind: List\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	failing := program{"failing", []string{"/bin/sh", "-c", "echo no items >&2; exit 1"}}
	if _, err := (trial{input: input, ours: failing, runs: 1}).measure(); err == nil || !strings.Contains(err.Error(), "no items") {
		t.Errorf("got error %v, want one with the message of the program", err)
	}
	idle := program{"idle", []string{"/bin/cat"}}
	if _, err := (trial{input: input, ours: idle, runs: 1, probes: 1}).measure(); err == nil {
		t.Error("a function that rewrites nothing must not be measured")
	}
}

func TestTheGateForgivesAThird(t *testing.T) {
	for _, test := range []struct {
		promise promise
		value   float64
		want    verdict
	}{
		{promise{}, 0, noPromise},
		{atLeast(30, 50), 50, stretched},
		{atLeast(30, 50), 30, kept},
		{atLeast(30, 50), 20.1, missed},
		{atLeast(30, 50), 19.9, broken},
		{atMost(1.5, 1), 0.9, stretched},
		{atMost(1.5, 1), 1.5, kept},
		{atMost(1.5, 1), 1.9, missed},
		{atMost(1.5, 1), 2.1, broken},
		{promise{bound: 1.05, atMost: true, slack: 0.1}, 1.2, broken},
		{atLeast(30, 50), math.NaN(), broken},
	} {
		if got := test.promise.judge(test.value); got != test.want {
			t.Errorf("%s: %v is judged %v, want %v", row{promise: test.promise}.promised(), test.value, got, test.want)
		}
	}
}

func TestTheSlopeOfQuadraticGrowthIsTwo(t *testing.T) {
	var x, y []float64
	for _, n := range []float64{100, 1000, 50_000} {
		x, y = append(x, math.Log(n)), append(y, math.Log(3*n*n))
	}
	if got := slope(x, y); math.Abs(got-2) > 1e-9 {
		t.Errorf("got %v, want 2", got)
	}
}
