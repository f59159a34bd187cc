package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/tools/figures"
)

// keep writes the tables into a document, and the charts into images/ beside it.
func keep(document string, rows []row) error {
	var full strings.Builder
	full.WriteString("```\n")
	print(&full, rows)
	full.WriteString("```\n")
	if err := testutil.ReplaceSection(document, "all cases", full.String()); err != nil {
		return err
	}
	if err := testutil.ReplaceSection(document, "summary", summary(rows)); err != nil {
		return err
	}
	for name, c := range charts(rows) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(document), "images", name), c.SVG(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// summary is the short table at the head of the document.
func summary(rows []row) string {
	var b strings.Builder
	b.WriteString("| input | rewrite-probes | no-op on the kpt SDK | factor |\n|---|---|---|---|\n")
	for _, show := range []struct{ name, words string }{
		{"argo-cd, kpt", "argo-cd"}, {"kubeflow, kpt", "kubeflow"},
		{"lin1000", "1,000 generated objects, a quarter of them workloads"},
		{"dense", "20,000 small Deployments with two probes each"},
		{"again", "the same, rewritten before"},
	} {
		if r, ok := find(rows, show.name, "CPU", "kpt SDK no-op"); ok {
			fmt.Fprintf(&b, "| %s, %s | %s | %s | %.2gx |\n", show.words, r.input, r.ours, r.theirs, r.value)
		}
	}
	return b.String()
}

// charts draws CPU time and peak memory against both peers, by file name.
func charts(rows []row) map[string]*figures.Chart {
	series := []string{"rewrite-probes", "no-op on the kpt SDK", "no-op on kyaml"}
	cpu := &figures.Chart{Title: "CPU time of one run", Series: series, Format: func(v float64) string { return fmt.Sprintf("%.0f ms", v*1e3) }}
	memory := &figures.Chart{Title: "Peak memory of one run", Series: series, Format: func(v float64) string { return fmt.Sprintf("%.0f MB", v/mega) }}
	for _, name := range []string{"argo-cd, kpt", "kube-prometheus, kpt", "kubeflow, kpt", "lin1000"} {
		cpu.Groups = append(cpu.Groups, group(rows, name, "CPU")...)
		memory.Groups = append(memory.Groups, group(rows, name, "peak memory")...)
	}
	return map[string]*figures.Chart{"function-cpu.svg": cpu, "function-memory.svg": memory}
}

// group returns the bars of a case; none where the case was not measured.
func group(rows []row, name, measure string) []figures.Group {
	g := figures.Group{Values: []float64{math.NaN(), math.NaN(), math.NaN()}}
	for i, peer := range []string{"kpt SDK no-op", "kyaml no-op"} {
		if r, ok := find(rows, name, measure, peer); ok {
			title, _, _ := strings.Cut(name, ",")
			g.Name = title + ", " + r.input
			g.Values[0], g.Values[i+1] = r.numbers[0], r.numbers[1]
		}
	}
	if g.Name == "" {
		return nil
	}
	return []figures.Group{g}
}

func find(rows []row, name, measure, peer string) (row, bool) {
	for _, r := range rows {
		if r.name == name && r.measure == measure && r.peer == peer {
			return r, true
		}
	}
	return row{}, false
}
