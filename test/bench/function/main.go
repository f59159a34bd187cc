// Command function measures what rewrite-probes costs a build, against peers
// in the same run: a function on the kpt SDK and one on kyaml, both of which
// change nothing, and cat.
//
// CPU is user and system time of the process, memory its resident peak. The
// programs take turns on one core, stdin and stdout are pipes, and a ratio is
// the median of the ratios of neighbouring runs, which a busy machine bends
// less than any time in milliseconds.
//
// `make bench-function` builds what is needed and runs it.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("function", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		root   = flags.String("root", ".", "the repository: bin/ holds the programs")
		corpus = flags.String("corpus", "", "folder of argocd.yaml, kubeprom.yaml, kubeflow.yaml, msdemo.yaml (default $"+testutil.CorpusEnv+", or ROOT/../shared/corpus)")
		runs   = flags.Int("runs", 7, "how often each program runs on each input")
		only   = flags.String("run", "", "measure only the cases whose name matches this expression")
		out    = flags.String("o", "", "document to keep the tables in, between their markers; the charts go to images/ beside it")
		gate   = flags.Bool("gate", false, "measure only what is promised, a case whose promise is broken again, longer, and exit 1 where it is broken still")
	)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(stderr, "bench: -run:", err)
		return 2
	}
	b, err := newBench(*root, *corpus, *runs, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	b.gate = *gate
	rows, err := b.all(match)
	print(stdout, rows)
	if err == nil && *out != "" {
		err = keep(*out, rows)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	if *gate && anyBroken(rows) {
		fmt.Fprintln(stderr, "bench: a promise is broken")
		return 1
	}
	return 0
}

// A bench knows the programs and where the inputs are.
type bench struct {
	workshop
	corpus string
	runs   int
	gate   bool
	log    io.Writer

	ours, oursOnStream, patches, check, sdk, kio, cat program
}

// newBench returns a bench that is yet to measure. Where the env var CI is set, it must
// not measure less because the real-world manifests are missing.
func newBench(root, corpus string, runs int, log io.Writer) (*bench, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	corpus = cmp.Or(corpus, testutil.CorpusFolder(root))
	if _, err := os.Stat(corpus); err != nil && corpus != "none" && os.Getenv("CI") != "" {
		return nil, fmt.Errorf("there are no real-world manifests: %w (make corpus fetches them)", err)
	}
	bin := filepath.Join(root, "bin")
	b := &bench{
		workshop:     workshop{bin: filepath.Join(bin, "bench"), inputs: filepath.Join(bin, "bench", "inputs")},
		corpus:       corpus,
		runs:         max(runs, 1),
		log:          log,
		ours:         program{"rewrite-probes", []string{filepath.Join(bin, "rewrite-probes")}},
		oursOnStream: program{"rewrite-probes", []string{filepath.Join(bin, "rewrite-probes"), "-"}},
		patches:      program{"rewrite-probes patches", []string{filepath.Join(bin, "rewrite-probes"), "patches", "--config", "none", "-o", "argocd", "-"}},
		check:        program{"rewrite-probes check", []string{filepath.Join(bin, "rewrite-probes"), "check", "--config", "none", "-o", "sarif", "-"}},
		sdk:          program{"kpt SDK no-op", []string{filepath.Join(bin, "bench", "sdknoop")}},
		kio:          program{"kyaml no-op", []string{filepath.Join(bin, "bench", "kionoop")}},
		cat:          program{"cat", []string{"/bin/cat"}},
	}
	return b, os.MkdirAll(b.inputs, 0o755)
}

// A trial is one input and the programs that take turns on it.
type trial struct {
	name   string
	input  string
	ours   program
	probes int  // paths that ours must have rewritten, else the run is worth nothing
	part   bool // ours does not write all of the input
	rivals []rival
	runs   int
}

// A rival is a peer and what is promised against it.
type rival struct {
	program
	cpu promise // ratio of CPU: theirs / ours for a lower bound, ours / theirs for an upper one
	// user, wall and peak are promised for few rivals only.
	user, wall, peak promise
	showPeak         bool // give the peak also where nothing is promised
}

// all measures the cases that match. If one fails, it returns the rows so far
// with the error.
func (b *bench) all(match *regexp.Regexp) ([]row, error) {
	var rows []row
	for _, c := range b.cases() {
		if !match.MatchString(c.name) {
			continue
		}
		start := time.Now()
		fmt.Fprintf(b.log, "bench: %s ... ", c.name)
		more, err := b.measureForGate(c)
		rows = append(rows, more...)
		if err != nil {
			fmt.Fprintln(b.log)
			return rows, fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(b.log, "%.1f s\n", time.Since(start).Seconds())
	}
	return rows, nil
}

// measureForGate measures a case and, for the gate, where a promise is broken, once
// more with three times as many runs: a machine that was busy for a moment
// breaks no promise, and the longer run counts.
func (b *bench) measureForGate(c namedCase) ([]row, error) {
	rows, err := c.measure()
	if err != nil || !b.gate || !anyBroken(rows) {
		return rows, err
	}
	fmt.Fprint(b.log, "a promise is broken, measuring longer ... ")
	defer func(runs int) { b.runs = runs }(b.runs)
	b.runs *= 3
	return c.measure()
}

func anyBroken(rows []row) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.promise.verdictOn(r.value) == broken })
}

// samples runs the programs in turns, each time beginning with another one.
func samples(input string, programs []program, runs int) ([][]sample, error) {
	got := make([][]sample, len(programs))
	for turn := range runs {
		for i := range programs {
			at := (turn + i) % len(programs)
			s, err := programs[at].run(input, io.Discard)
			if err != nil {
				return nil, err
			}
			got[at] = append(got[at], s)
		}
	}
	return got, nil
}

// measure runs the trial and returns a row for every rival, and one for memory. The gate
// needs no rival against which nothing is promised.
func (b *bench) measure(t trial) ([]row, error) {
	if b.gate {
		t.rivals = slices.DeleteFunc(t.rivals, func(r rival) bool { return r.promisesNothing() })
	}
	info, err := os.Stat(t.input)
	if err != nil {
		return nil, err
	}
	out, err := t.ours.inspect(t.input)
	if err != nil {
		return nil, err
	}
	least := info.Size() / 2
	if t.part {
		least = 0
	}
	if out.probes < t.probes || out.bytes < least {
		return nil, fmt.Errorf("rewrite-probes wrote %d rewritten paths and %d bytes; at least %d and %d were due",
			out.probes, out.bytes, t.probes, least)
	}
	forgetPeak()
	programs := []program{t.ours}
	for _, r := range t.rivals {
		programs = append(programs, r.program)
	}
	got, err := samples(t.input, programs, t.runs)
	if err != nil {
		return nil, err
	}
	base := row{name: t.name, input: size(info.Size())}
	var rows []row
	for i, r := range t.rivals {
		rows = append(rows, r.rows(base, got[0], got[i+1])...)
	}
	return append(rows, memoryRow(base, info.Size()+out.bytes, got[0])), nil
}

// promisesNothing reports whether the rival is shown only for comparison.
func (r rival) promisesNothing() bool {
	return r.cpu.bound == 0 && r.user.bound == 0 && r.wall.bound == 0 && r.peak.bound == 0
}

func (r rival) rows(base row, ours, theirs []sample) []row {
	cpu := func(s sample) float64 { return s.cpu.Seconds() }
	wall := func(s sample) float64 { return s.wall.Seconds() }
	peak := func(s sample) float64 { return float64(s.peak) }
	rows := []row{compare(base, "CPU", milliseconds, cpu, r.name, ours, theirs, r.cpu)}
	if r.user.bound != 0 {
		rows = append(rows, compareUser(base, r.name, ours, theirs, r.user))
	}
	if r.wall.bound != 0 {
		rows = append(rows, compare(base, "wall", milliseconds, wall, r.name, ours, theirs, r.wall))
	}
	if r.peak.bound != 0 || r.showPeak {
		rows = append(rows, compare(base, "peak memory", megabytes, peak, r.name, ours, theirs, r.peak))
	}
	return rows
}

func compare(base row, measure string, show func(float64) string, of func(sample) float64, peer string, ours, theirs []sample, p promise) row {
	ratios := make([]float64, len(ours))
	a, b := make([]float64, len(ours)), make([]float64, len(ours))
	for i := range ours {
		a[i], b[i] = of(ours[i]), of(theirs[i])
		ratios[i] = b[i] / a[i]
		if p.atMost {
			ratios[i] = a[i] / b[i]
		}
	}
	base.measure, base.peer, base.promise, base.unit = measure, peer, p, "x"
	base.ours, base.theirs, base.value = show(median(a)), show(median(b)), median(ratios)
	base.numbers = [2]float64{median(a), median(b)}
	return base
}

// compareUser compares the sums of all runs: the kernel counts user time in ticks of milliseconds,
// so that the median of runs that take a few ticks says little.
func compareUser(base row, peer string, ours, theirs []sample, p promise) row {
	var a, b time.Duration
	for i := range ours {
		a += ours[i].user
		b += theirs[i].user
	}
	mean := func(sum time.Duration) float64 { return sum.Seconds() / float64(len(ours)) }
	base.measure, base.peer, base.promise, base.unit = "user CPU", peer, p, "x"
	base.ours, base.theirs = milliseconds(mean(a)), milliseconds(mean(b))
	base.numbers = [2]float64{mean(a), mean(b)}
	base.value = mean(b) / mean(a)
	if p.atMost {
		base.value = mean(a) / mean(b)
	}
	return base
}

// memoryRow holds the peak of ours against what it reads and writes, in bytes.
func memoryRow(base row, inputAndOutput int64, ours []sample) row {
	peaks := make([]float64, len(ours))
	for i, s := range ours {
		peaks[i] = float64(s.peak)
	}
	base.measure, base.unit = "peak memory", " MB"
	base.ours, base.value = megabytes(median(peaks)), median(peaks)/mega
	base.promise = atMost(float64(inputAndOutput)/mega + 48)
	return base
}

const mega = 1e6

func milliseconds(s float64) string { return fmt.Sprintf("%.4g ms", s*1e3) }
func megabytes(b float64) string    { return fmt.Sprintf("%.4g MB", b/mega) }

func size(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.3g kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.3g MB", float64(n)/mega)
}

// median returns NaN for no values.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
