package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// The test below kills every mutant of Abs but one, and knows nothing of Big.
	fixtureSource = `package small

import "errors"

// Tagged is here for its tag, which is no value.
type Tagged struct {
	N int ` + "`json:\"n\"`" + `
}

// Abs returns the amount of n.
func Abs(n int) (int, error) {
	if n > 0 {
		return n, nil
	}
	if n < -100 {
		return 0, errors.New("too small")
	}
	return -n, nil
}

// Big reports whether n is big.
func Big(n int) bool { return n >= 100 && n%2 == 0 }
`
	fixtureTest = `package small

import "testing"

func TestAbs(t *testing.T) {
	for in, want := range map[int]int{3: 3, 0: 0, -3: 3, -100: 100, -101: 0} {
		got, err := Abs(in)
		if got != want || (err != nil) != (in == -101) || err != nil && err.Error() != "too small" {
			t.Errorf("Abs(%d) = %d, %v", in, got, err)
		}
	}
}
`
)

// fixture writes a module of two packages; the tests of user link small too.
func fixture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example.com/fixture\n\ngo 1.24\n",
		"small/small.go":      fixtureSource,
		"small/small_test.go": fixtureTest,
		"user/user.go":        "package user\n\nimport \"example.com/fixture/small\"\n\nfunc Big() bool { return small.Big(200) }\n",
		"user/user_test.go":   "package user\n\nimport \"testing\"\n\nfunc TestBig(t *testing.T) {\n\tif !Big() {\n\t\tt.Error(\"200 is big\")\n\t}\n}\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// verdicts runs the command and returns its lines, its verdicts and its exit code.
func verdicts(t *testing.T, equivalents string, args ...string) (lines []string, alive []string, code int) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = run(args, &stdout, &stderr, equivalents)
	if code == 2 {
		return strings.Split(stderr.String(), "\n"), nil, code
	}
	lines = strings.Split(strings.TrimSpace(stdout.String()), "\n")
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "alive  "); ok {
			alive = append(alive, name)
		}
	}
	return lines, alive, code
}

func TestMutantsThatNoTestNoticesAreReported(t *testing.T) {
	dir := fixture(t)
	_, alive, code := verdicts(t, "", "-C", dir, "-n", "0", "-files", "small/small.go")
	if code != 1 {
		t.Errorf("exit code %d, want 1 where mutants stay alive", code)
	}
	got := strings.Join(alive, "\n")
	for _, want := range []string{
		"small/small.go:12: Abs rel: `n > 0` -> `n >= 0`",                                // equivalent: -0 is 0
		"small/small.go:22: Big const: `100` -> `(100+1)`",                               // a gap in the tests
		"small/small.go:22: Big logic: `n >= 100 && n%2 == 0` -> `n >= 100 || n%2 == 0`", // another
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s was not reported alive; alive are\n%s", want, got)
		}
	}
	for _, killed := range []string{
		"Abs dropif",         // by the package's own test
		"Big bool", "n%2 !=", // by the test of another package that links it
		"json", "conststr: `\"errors\"`", // no mutants at all
		"`-100` ->",
	} {
		if strings.Contains(got, killed) {
			t.Errorf("%s was reported alive:\n%s", killed, got)
		}
	}
	if source, err := os.ReadFile(filepath.Join(dir, "small/small.go")); err != nil || string(source) != fixtureSource {
		t.Errorf("the source was changed: %v\n%s", err, source)
	}
}

func TestAKnownEquivalentMutantIsNotTried(t *testing.T) {
	dir := fixture(t)
	known := "small/small.go Abs rel: `n > 0` -> `n >= 0`\n    -0 is 0.\n"
	lines, _, _ := verdicts(t, known, "-C", dir, "-n", "1", "-seed", "3", "-files", "small")
	if !strings.HasSuffix(lines[0], "mutants, 1 known to be equivalent; trying 1, seed 3") {
		t.Errorf("got %q, want one mutant known to be equivalent", lines[0])
	}
	for list, want := range map[string]string{
		"small/small.go Abs rel: `n > 7` -> `n >= 7`\n    Why.\n": "no such mutant any more",
		"small/small.go Abs rel: `n > 0` -> `n >= 0`\n":           "has no reason",
		"    Why.\n": "without a mutant",
		strings.Repeat("a x: `b` -> `c`\n  Why.\n", 2): "is listed twice",
	} {
		if lines, _, code := verdicts(t, list, "-C", dir, "-n", "1", "-files", "small"); code != 2 || !strings.Contains(lines[0], want) {
			t.Errorf("%q: exit code %d, %q; want 2 and %q", list, code, lines, want)
		}
	}
}

func TestWhatIsKnownToBeEquivalentIsInTheCode(t *testing.T) {
	m, err := loadModule("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := m.mutants([]string{"."})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, x := range all {
		found[x.id()] = true
	}
	known, err := parseEquivalents(knownEquivalents)
	if err != nil {
		t.Fatal(err)
	}
	for id := range known {
		if !found[id] {
			t.Errorf("equivalent.txt: no such mutant any more, which ends every run of its file: %s", id)
		}
	}
}

func TestASeedChoosesTheSameMutantsAgain(t *testing.T) {
	dir := fixture(t)
	args := []string{"-C", dir, "-n", "2", "-p", "1", "-files", "small", "-seed", "5"}
	first, _, _ := verdicts(t, "", args...)
	second, _, _ := verdicts(t, "", args...)
	if a, b := strings.Join(first, "\n"), strings.Join(second, "\n"); a != b || len(first) != 4 {
		t.Errorf("seed 5 chose\n%s\nand then\n%s", a, b)
	}
}

func TestTestsThatFailAnywayJudgeNothing(t *testing.T) {
	dir := fixture(t)
	broken := "package user\n\nimport \"testing\"\n\nfunc TestBig(t *testing.T) { t.Error(\"always\") }\n"
	if err := os.WriteFile(filepath.Join(dir, "user/user_test.go"), []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	if lines, _, code := verdicts(t, "", "-C", dir, "-files", "small"); code != 2 || !strings.Contains(lines[0], "fail without any change") {
		t.Errorf("exit code %d, %q", code, lines)
	}
	if lines, _, code := verdicts(t, "", "-C", dir, "-files", "smal"); code != 2 || !strings.Contains(lines[0], "no file matches -files smal") {
		t.Errorf("exit code %d, %q", code, lines)
	}
}

func TestEveryOperatorMakesItsChange(t *testing.T) {
	source := "package p\n\nfunc f(a []int, b bool) (n int) {\n" +
		"\tdefer g()\n\tfor i := 0; i < len(a); i++ {\n\t\tif b && a[i]+1 == 2 {\n\t\t\tcontinue\n\t\t}\n\t\tn = i\n\t}\n" +
		"\tswitch n {\n\tcase 1:\n\t\tg()\n\t}\n\tprintln(\"x\", true)\n\treturn n\n}\n"
	all, err := mutants("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range all {
		got[m.operator] += m.before + " -> " + m.after + "\n"
		if changed := string(m.apply([]byte(source))); changed == source {
			t.Errorf("%s changes nothing", m.id())
		}
	}
	for operator, want := range map[string]string{
		"rel": "i < len(a) -> i <= len(a)", "logic": "b && a[i]+1 == 2 -> b || a[i]+1 == 2", "operand": "b && a[i]+1 == 2 -> b", "arith": "a[i]+1 -> a[i]-1",
		"const": "2 -> (2+1)", "conststr": `"x" -> "xQ"`, "bool": "true -> false", "negate": "i < len(a) -> !(i < len(a))",
		"dropif": "if b && a[i]+1 == 2 { continue } -> nothing", "delcase": "case 1: g() -> nothing", "dropcall": "g() -> nothing",
		"dropdefer": "defer g() -> nothing", "dropassign": "n = i -> nothing", "branch": "continue -> break",
	} {
		if !strings.Contains(got[operator], want+"\n") {
			t.Errorf("%s makes %q, want %q among them", operator, got[operator], want)
		}
	}
}
