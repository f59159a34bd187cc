package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/tools/figures"
)

// The promises of probe-proxy.
const (
	maxSize    = 6_000_000 // bytes, stripped
	maxRSS     = 8.0       // MiB, after HTTP, TCP and gRPC probes
	maxBusyRSS = 12.0      // MiB, after HTTPS probes and at the peak
	maxCPU     = 0.7       // of Istio's status server
	maxLatency = 0.75      // of what Istio's status server adds
)

// promises collects the promises that are broken.
type promises struct{ broken []string }

// holds returns "yes" if a value is within the bound that is promised.
func (p *promises) holds(what string, value, bound float64) string {
	if value <= bound {
		return "yes"
	}
	p.broken = append(p.broken, fmt.Sprintf("%s: %.2f, at most %.2f", what, value, bound))
	return "**no**"
}

// render returns the table, and the promises that are broken.
func render(rows []*row, ours, istio int64, probes int, paced, peak time.Duration) (string, []string) {
	var b strings.Builder
	var p promises
	fmt.Fprintf(&b, "Measured by `make bench` on %d processors (%s): %d probes back to back, 50 a second for %s, a peak of %d callers for %s.\n\n", runtime.NumCPU(), runtime.Version(), probes, paced, callers, peak)
	fmt.Fprintf(&b, "Binary, stripped: probe-proxy %.2f MB (at most %.0f: %s), Istio's status server alone %.2f MB.\n\n", mega(ours), mega(maxSize), p.holds("size of the binary in MB", mega(ours), mega(maxSize)), mega(istio))
	b.WriteString("| probe | measure | direct | probe-proxy | Istio's status server | promise | holds |\n|---|---|---|---|---|---|---|\n")
	line := func(kind, measure, direct, ours, istio, promise string, value, bound float64) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", kind, measure, direct, ours, istio, promise, p.holds(kind+", "+measure, value, bound))
	}
	for _, r := range rows {
		kind := kindName(r.kind)
		for _, m := range []struct {
			name          string
			direct, us, i time.Duration
		}{{"median latency", r.direct, r.ours.latency, r.istio.latency}, {"median latency at 50/s", r.pacedDirect, r.ours.pacedLatency, r.istio.pacedLatency}} {
			ratio := float64(m.us-m.direct) / float64(m.i-m.direct)
			line(kind, m.name, us(m.direct), us(m.us), us(m.i), fmt.Sprintf("adds at most %.2f of what Istio's adds: %.2f", maxLatency, ratio), ratio, maxLatency)
		}
		for _, m := range []struct {
			name  string
			us, i time.Duration
		}{{"CPU per probe", r.ours.cpu, r.istio.cpu}, {"CPU per probe at 50/s", r.ours.pacedCPU, r.istio.pacedCPU}} {
			ratio := float64(m.us) / float64(m.i)
			line(kind, m.name, "", us(m.us), us(m.i), fmt.Sprintf("at most %.1f of Istio's: %.2f", maxCPU, ratio), ratio, maxCPU)
		}
		limit := maxRSS
		if r.kind == "https" {
			limit = maxBusyRSS
		}
		line(kind, "resident after the probes", "", mib(r.ours.rss), mib(r.istio.rss), "at most "+mib(limit), r.ours.rss, limit)
		line(kind, "highest resident at the peak", "", mib(r.ours.peak), mib(r.istio.peak), "at most "+mib(maxBusyRSS), r.ours.peak, maxBusyRSS)
		fmt.Fprintf(&b, "| %s | probes a second at the peak | | %.0f | %.0f | | |\n", kind, r.ours.rate, r.istio.rate)
	}
	return b.String(), p.broken
}

// brokenBy returns the promises that a row breaks.
func brokenBy(r *row) []string {
	_, broken := render([]*row{r}, 0, 0, 0, 0, 0)
	return broken
}

func us(d time.Duration) string { return fmt.Sprintf("%d µs", d.Microseconds()) }
func mib(v float64) string      { return fmt.Sprintf("%.1f MiB", v) }
func mega(n int64) float64      { return float64(n) / 1e6 }

// keep writes the table into a document, and the charts into images/ beside it.
func keep(document, table string, rows []*row) error {
	if err := testutil.ReplaceSection(document, "sidecar", table); err != nil {
		return err
	}
	for name, c := range charts(rows) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(document), "images", name), c.SVG(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// charts draws memory and latency by file name.
func charts(rows []*row) map[string]*figures.Chart {
	memory := &figures.Chart{
		Title:  "Resident memory after the probes",
		Series: []string{"probe-proxy", "Istio's status server"},
		Format: mib,
	}
	latency := &figures.Chart{
		Title:  "Median latency of a probe, as the kubelet sees it",
		Series: []string{"through probe-proxy", "through Istio's status server", "direct, without a mesh"},
		Format: func(v float64) string { return fmt.Sprintf("%.0f µs", v) },
	}
	for _, r := range rows {
		kind := kindName(r.kind)
		memory.Groups = append(memory.Groups, figures.Group{Name: kind, Values: []float64{
			r.ours.rss, r.istio.rss,
		}})
		micro := func(d time.Duration) float64 { return float64(d.Microseconds()) }
		latency.Groups = append(latency.Groups, figures.Group{Name: kind, Values: []float64{
			micro(r.ours.latency), micro(r.istio.latency), micro(r.direct),
		}})
	}
	return map[string]*figures.Chart{"sidecar-memory.svg": memory, "sidecar-latency.svg": latency}
}

func kindName(kind string) string {
	if kind == "grpc" {
		return "gRPC"
	}
	return strings.ToUpper(kind)
}
