package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// If this failed, the generated lists would measure something nobody sends.
func TestAGeneratedListIsInTheFormThatKyamlWrites(t *testing.T) {
	for _, g := range []generator{{}, {crds: true}, {dense: true}} {
		g.form, g.objects = listing, 60
		var in, out bytes.Buffer
		g.writeTo(&in)
		rw := &kio.ByteReadWriter{Reader: bytes.NewReader(in.Bytes()), Writer: &out, KeepReaderAnnotations: true}
		if err := (kio.Pipeline{Inputs: []kio.Reader{rw}, Outputs: []kio.Writer{rw}}).Execute(); err != nil {
			t.Fatal(err)
		}
		want, got := strings.Split(in.String(), "\n"), strings.Split(out.String(), "\n")
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Fatalf("%+v: line %d is %q, and kyaml writes %q", g, i+1, want[i], got[i])
			}
		}
		if len(want) != len(got) {
			t.Fatalf("%+v: %d lines, and kyaml writes %d", g, len(want), len(got))
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

func TestInCITheRealWorldManifestsMustBeThereOrBeLeftOut(t *testing.T) {
	root := t.TempDir()
	t.Setenv("CI", "true")
	for folder, found := range map[string]bool{"": false, "nowhere": false, "none": true, t.TempDir(): true} {
		t.Setenv(testutil.CorpusEnv, folder)
		b, err := newBench(root, "", 1, io.Discard)
		if found != (err == nil) || found && b.corpus != folder {
			t.Errorf("%s=%s: the error is %v, and the bench is %+v", testutil.CorpusEnv, folder, err, b)
		}
	}
	t.Setenv("CI", "")
	t.Setenv(testutil.CorpusEnv, "")
	if b, err := newBench(root, "", 1, io.Discard); err != nil || b.corpus != filepath.Join(root, "..", "shared", "corpus") {
		t.Errorf("outside CI: the error is %v, and the bench is %+v", err, b)
	}
}

func TestAFunctionThatFailsIsNotMeasured(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(input, []byte("kind: List\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	failing := program{"failing", []string{"/bin/sh", "-c", "echo no items >&2; exit 1"}}
	if _, err := new(bench).measure(trial{input: input, ours: failing, runs: 1}); err == nil || !strings.Contains(err.Error(), "no items") {
		t.Errorf("got error %v, want one with the message of the program", err)
	}
	idle := program{"idle", []string{"/bin/cat"}}
	if _, err := new(bench).measure(trial{input: input, ours: idle, runs: 1, probes: 1}); err == nil {
		t.Error("a function that rewrites nothing must not be measured")
	}
}

func TestAValueOnTheWrongSideOfItsPromiseBreaksIt(t *testing.T) {
	for _, test := range []struct {
		promise promise
		value   float64
		want    verdict
	}{
		{promise{}, 0, noPromise},
		{atLeast(30), 30, kept},
		{atLeast(30), 29.9, broken},
		{atMost(1.5), 1.5, kept},
		{atMost(1.5), 1.6, broken},
		{atLeast(30), math.NaN(), broken},
		{atMost(1.5), math.NaN(), broken},
	} {
		if got := test.promise.verdictOn(test.value); got != test.want {
			t.Errorf("%s: %v is %v, want %v", row{promise: test.promise}.promised(), test.value, got, test.want)
		}
	}
}

func TestTheGateJudgesABrokenPromiseByALongerRun(t *testing.T) {
	b := &bench{runs: 3, gate: true, log: io.Discard}
	for name, later := range map[string]float64{"a busy moment": 31, "too slow": 29} {
		var runs []int
		c := namedCase{name, func() ([]row, error) {
			runs = append(runs, b.runs)
			if b.runs > 3 {
				return []row{{promise: atLeast(30), value: later}}, nil
			}
			return []row{{promise: atLeast(30), value: 20}}, nil
		}}
		rows, err := b.measureForGate(c)
		if err != nil || len(rows) != 1 || rows[0].value != later || !slices.Equal(runs, []int{3, 9}) || b.runs != 3 {
			t.Errorf("%s: got %v, %v after runs of %v, want what a run three times as long measures", name, rows, err, runs)
		}
		if anyBroken(rows) != (later < 30) {
			t.Errorf("%s: broken %v", name, anyBroken(rows))
		}
	}
}

func TestResultsAreDropped(t *testing.T) {
	var out strings.Builder
	in := "kind: ResourceList\nitems:\n- kind: Pod\nresults:\n- message: m\n  severity: info\nfunctionConfig:\n  data: {}\n"
	if err := dropResults(&out, strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	if want := "kind: ResourceList\nitems:\n- kind: Pod\nfunctionConfig:\n  data: {}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestTablesAndChartsAreKept(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, "performance.md")
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	const empty = "# T\n<!-- begin summary -->\n<!-- end summary -->\n<!-- begin all cases -->\nold\n<!-- end all cases -->\n"
	if err := os.WriteFile(document, []byte(empty), 0o644); err != nil {
		t.Fatal(err)
	}
	measured := func(name, measure, peer string, ours, theirs float64) row {
		show := map[string]func(float64) string{"CPU": milliseconds, "peak memory": megabytes}[measure]
		return row{name: name, input: "2 MB", measure: measure, peer: peer, ours: show(ours), theirs: show(theirs),
			numbers: [2]float64{ours, theirs}, value: theirs / ours, unit: "x"}
	}
	rows := []row{
		measured("argo-cd, kpt", "CPU", "kpt SDK no-op", 0.007, 0.28), measured("argo-cd, kpt", "CPU", "kyaml no-op", 0.007, 0.4),
		measured("lin1000", "peak memory", "kpt SDK no-op", 12e6, 300e6),
	}
	if err := keep(document, rows); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"performance.md":             {"| argo-cd, 2 MB | 7 ms | 280 ms | 40x |\n<!-- end", "CASE ", "lin1000 "},
		"images/function-cpu.svg":    {">argo-cd, 2 MB<", ">7 ms<", ">280 ms<", ">400 ms<"},
		"images/function-memory.svg": {">lin1000, 2 MB<", ">12 MB<", ">300 MB<"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s lacks %q:\n%s", file, w, text)
			}
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
