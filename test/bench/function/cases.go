package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
)

// A namedCase is what -run chooses from.
type namedCase struct {
	name    string
	measure func() ([]row, error)
}

// cases lists every case; their inputs are made when they are measured.
func (b *bench) cases() []namedCase {
	var cases []namedCase
	add := func(name string, measure func() ([]row, error)) {
		cases = append(cases, namedCase{name, measure})
	}
	add("one object", b.oneObject)
	for _, c := range b.corpora() {
		add(c.name, func() ([]row, error) { return b.realWorld(c) })
	}
	add("patches", b.patchesOfAll)
	add("lin1000", func() ([]row, error) {
		return b.generatedList("lin1000", generator{form: listing, objects: 1000}, 500,
			rival{program: b.sdk, cpu: atLeast(7), showPeak: true}, rival{program: b.kio, showPeak: true}, rival{program: b.cat})
	})
	add("mix1000", func() ([]row, error) {
		return b.generatedList("mix1000", generator{form: listing, objects: 1000, crds: true}, 450,
			rival{program: b.sdk}, rival{program: b.kio}, rival{program: b.cat})
	})
	add("unusual YAML", func() ([]row, error) {
		return b.generatedList("unusual", generator{form: listing, objects: 1000, unusual: true}, 450,
			rival{program: b.kio, cpu: atMost(0.7), peak: atMost(0.7)})
	})
	add("dense", b.dense)
	add("files", b.files)
	add("again", b.again)
	add("check", b.checkDense)
	add("growth", b.growth)
	add("pipe behind kustomize build", b.pipe)
	return cases
}

// A corpus is a file of manifests from a real project.
type corpus struct {
	name, file string
	probes     int     // that must at least be rewritten
	user       promise // of user CPU, beside the no-op on the kpt SDK
}

// corpora returns the real-world manifests, or, where they are not on this
// machine, the manifests of testdata/, about which nothing is promised.
func (b *bench) corpora() []corpus {
	all := []corpus{
		{name: "microservices-demo", file: "msdemo.yaml", probes: 20},
		{name: "argo-cd", file: "argocd.yaml", probes: 5, user: atLeast(20)},
		{name: "kube-prometheus", file: "kubeprom.yaml", probes: 3, user: atLeast(20)},
		{name: "kubeflow", file: "kubeflow.yaml", probes: 20, user: atLeast(20)},
	}
	if _, err := os.Stat(b.corpus); err == nil {
		for i := range all {
			all[i].file = filepath.Join(b.corpus, all[i].file)
		}
		return all
	}
	fmt.Fprintf(b.log, "bench: NO REAL-WORLD MANIFESTS in %s: argo-cd, kube-prometheus and kubeflow are NOT MEASURED; testdata/manifests stands in, with nothing promised\n", b.corpus)
	return []corpus{{name: "testdata", file: filepath.Join(b.bin, "..", "..", "testdata", "manifests", "helm.yaml"), probes: 1}}
}

// realWorld measures a corpus as kpt sends it, as kustomize sends it, and as
// the plain stream it is. kustomize and the stream meet one peer each: the
// others say nothing new there.
func (b *bench) realWorld(c corpus) ([]row, error) {
	rivals := map[envelope][]rival{
		kpt:       {{program: b.sdk, user: c.user, showPeak: true}, {program: b.kio, showPeak: true}, {program: b.cat}},
		kustomize: {{program: b.sdk, user: c.user}},
		plain:     {{program: b.kio}},
	}
	var rows []row
	for _, e := range []envelope{kpt, kustomize, plain} {
		file, err := b.sent(c.name, c.file, e)
		if err != nil {
			return rows, err
		}
		t := trial{name: c.name + ", " + string(e), input: file, ours: b.ours, probes: c.probes, rivals: rivals[e], runs: b.runs}
		if info, err := os.Stat(file); err == nil && info.Size() < 8e6 {
			t.runs = 3 * b.runs // of some ms each, which the kernel's ticks count badly
		}
		if e == plain {
			t.ours = b.oursOnStream
		}
		more, err := b.measure(t)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// patchesOfAll measures how much more than the function `rewrite-probes patches` costs, on what is
// real and on one object.
func (b *bench) patchesOfAll() ([]row, error) {
	one, err := b.generated("one stream", generator{form: stream, objects: 1})
	if err != nil {
		return nil, err
	}
	function := func(p promise) []rival { return []rival{{program: b.oursOnStream, cpu: p}} }
	trials := []trial{{name: "patches of one object", input: one, probes: 2, rivals: function(atMost(1.5)), runs: 8 * b.runs}}
	for _, c := range b.corpora() {
		bound := atMost(1.3)
		if info, err := os.Stat(c.file); err != nil || info.Size() < 100_000 {
			bound = promise{} // between the two: 1.45 of microservices-demo, all of which are workloads
		}
		trials = append(trials, trial{name: "patches of " + c.name, input: c.file, probes: c.probes, rivals: function(bound), runs: 3 * b.runs})
	}
	var rows []row
	for _, t := range trials {
		t.ours, t.part = b.patches, true
		more, err := b.measure(t)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *bench) generatedList(name string, g generator, probes int, rivals ...rival) ([]row, error) {
	file, err := b.generated(name, g)
	if err != nil {
		return nil, err
	}
	return b.measure(trial{name: name, input: file, ours: b.ours, probes: probes, rivals: rivals, runs: b.runs})
}

// denseDeployments are small, two probes each: all work, and an output three
// times the input.
var denseDeployments = generator{form: listing, objects: 20_000, dense: true}

func (b *bench) dense() ([]row, error) {
	return b.generatedList("dense", denseDeployments, 2*denseDeployments.objects, rival{program: b.sdk, cpu: atLeast(1.75), showPeak: true})
}

// files measures the memory of dense where no pipe is: read by a path, and written back.
func (b *bench) files() ([]row, error) {
	g := denseDeployments
	g.form = stream
	file, err := b.generated("dense stream", g)
	if err != nil {
		return nil, err
	}
	out, err := b.oursOnStream.inspect(file)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(b.inputs, "written.yaml")
	defer os.Remove(copied)
	ours := b.oursOnStream.argv[0]
	var rows []row
	for _, p := range []program{
		{"dense, by path", []string{ours, "--config", "none", file}},
		{"dense, -w", []string{"sh", "-c", `cp "$1" "$2" && exec "$0" --config none -w "$2"`, ours, file, copied}},
	} {
		forgetPeak()
		got, err := samples(os.DevNull, []program{p}, b.runs)
		if err != nil {
			return rows, err
		}
		rows = append(rows, memoryRow(row{name: p.name, input: size(info.Size())}, info.Size()+out.bytes, got[0]))
	}
	return rows, nil
}

// checkDense measures the memory of `rewrite-probes check`, with a finding for each of very many probes.
func (b *bench) checkDense() ([]row, error) {
	g := denseDeployments
	g.form = stream
	file, err := b.generated("dense stream", g)
	if err != nil {
		return nil, err
	}
	return b.measure(trial{name: "check of dense", input: file, ours: b.check, part: true, runs: b.runs, rivals: []rival{
		{program: b.oursOnStream, peak: atMost(1.1)},
	}})
}

// again measures the next run over the same package: its input is what ours
// made of dense, without the results, which nobody keeps.
func (b *bench) again() ([]row, error) {
	first, err := b.generated("dense", denseDeployments)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.inputs, "again.yaml")
	if err := b.ours.writeItems(first, file); err != nil {
		return nil, err
	}
	return b.measure(trial{name: "again", input: file, ours: b.ours, probes: 2 * denseDeployments.objects, runs: b.runs, rivals: []rival{
		// The kernel's part of the peer's gigabytes varies threefold with the kernel and its load.
		{program: b.sdk, user: atLeast(6), showPeak: true},
	}})
}

// oneObject is all about the start of the process, so it runs often.
func (b *bench) oneObject() ([]row, error) {
	file, err := b.generated("one", generator{form: listing, objects: 1})
	if err != nil {
		return nil, err
	}
	promised := atMost(1.2)
	return b.measure(trial{name: "one object", input: file, ours: b.ours, probes: 2, runs: 8 * b.runs, rivals: []rival{
		{program: b.sdk, cpu: promised, wall: promised},
		{program: b.kio},
		{program: b.cat},
	}})
}

// growth fits CPU ~ objects^e over three orders of magnitude. The peers sit
// this out: they would take minutes and gigabytes.
//
// The cost of the start, which would flatten the line, is taken off first.
func (b *bench) growth() ([]row, error) {
	start, _, err := b.ownCost("empty", 0, 3*b.runs)
	if err != nil {
		return nil, err
	}
	var rows []row
	var logObjects, logCPU []float64
	for _, step := range []struct{ objects, runs int }{{100, 6 * b.runs}, {1000, 3 * b.runs}, {10_000, b.runs}, {50_000, (b.runs + 1) / 2}} {
		cpu, memory, err := b.ownCost(fmt.Sprintf("grow%d", step.objects), step.objects, step.runs)
		if err != nil {
			return rows, err
		}
		logObjects = append(logObjects, math.Log(float64(step.objects)))
		logCPU = append(logCPU, math.Log(cpu-start))
		memory.ours += ", " + milliseconds(cpu)
		rows = append(rows, memory)
	}
	return append(rows, row{
		name: "growth", input: "100-50,000", measure: "exponent of CPU", value: slope(logObjects, logCPU),
		promise: atMost(1.05),
	}), nil
}

// ownCost returns the median CPU seconds of ours on a generated list, and the
// row of its memory.
func (b *bench) ownCost(name string, objects, runs int) (float64, row, error) {
	file, err := b.generated(name, generator{form: listing, objects: objects})
	if err != nil {
		return 0, row{}, err
	}
	// 50,000 objects are 120 MB, which need not stay.
	defer os.Remove(file)
	out, err := b.ours.inspect(file)
	if err != nil {
		return 0, row{}, err
	}
	forgetPeak()
	got, err := samples(file, []program{b.ours}, runs)
	if err != nil {
		return 0, row{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, row{}, err
	}
	cpu := make([]float64, len(got[0]))
	for i, s := range got[0] {
		cpu[i] = s.cpu.Seconds()
	}
	base := row{name: fmt.Sprintf("%d objects", objects), input: size(info.Size())}
	return median(cpu), memoryRow(base, info.Size()+out.bytes, got[0]), nil
}

// slope is that of the least-squares line through the points.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// pipe measures `kustomize build DIR | rewrite-probes -`: what ours adds to
// the build it stands behind, both in the same pipeline.
func (b *bench) pipe() ([]row, error) {
	all := b.corpora()
	largest := all[len(all)-1]
	dir, err := b.kustomization(largest.file)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var build, ours, shares []float64
	for range max(b.runs/3, 1) {
		x, y, err := b.pipeOnce(dir)
		if err != nil {
			return nil, err
		}
		build, ours, shares = append(build, x), append(ours, y), append(shares, 100*y/x)
	}
	info, err := os.Stat(largest.file)
	if err != nil {
		return nil, err
	}
	r := row{
		name: "kustomize build | rewrite-probes -, " + largest.name, input: size(info.Size()), measure: "CPU added",
		ours: milliseconds(median(ours)), peer: "kustomize build", theirs: milliseconds(median(build)),
		value: median(shares), unit: " %",
	}
	if largest.user.bound != 0 {
		r.promise = atMost(2)
	}
	return []row{r}, nil
}

// pipeOnce returns the CPU seconds of kustomize and of ours.
func (b *bench) pipeOnce(dir string) (build, ours float64, err error) {
	first := b.buildCommand(dir)
	second := exec.Command(b.oursOnStream.argv[0], b.oursOnStream.argv[1:]...)
	var stderr tail
	second.Stderr, second.Stdout = &stderr, io.Discard
	if second.Stdin, err = first.StdoutPipe(); err != nil {
		return 0, 0, err
	}
	if err := startPinned(second); err != nil {
		return 0, 0, err
	}
	if err := errors.Join(startPinned(first), first.Wait()); err != nil {
		return 0, 0, errors.Join(err, second.Wait())
	}
	if err := second.Wait(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, stderr.text)
	}
	x, _ := cost(first.ProcessState)
	y, _ := cost(second.ProcessState)
	return x.Seconds(), y.Seconds(), nil
}
