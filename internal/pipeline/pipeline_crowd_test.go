package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// parts are what a container of a crowd may have: %[1]d is its number.
var parts = []string{
	"livenessProbe: {httpGet: {port: 80}}", "livenessProbe:\n    httpGet: {path: \"/x\", port: \"p%[1]d\"}", "ports: [{name: p%[1]d, containerPort: %[2]d}]",
	"readinessProbe: {tcpSocket: {port: 80}}", "startupProbe:\n    grpc:\n      port: 80 # why\n      service: \"a.B\" # why", "image: app",
	"lifecycle: {postStart: {httpGet: {port: 80}}, preStop: {httpGet: {port: nosuch}}}", "env: [{name: A, value: b}]", "resources: {limits: {cpu: 1}}",
}

// crowd returns a Deployment with n containers that have some of the parts.
func crowd(n int, chosen []string) string {
	var b strings.Builder
	b.WriteString("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n")
	for i := range n {
		fmt.Fprintf(&b, "      - name: c%d\n", i)
		for _, part := range chosen {
			part = strings.NewReplacer("%[1]d", fmt.Sprint(i), "%[2]d", fmt.Sprint(1+i%60000)).Replace(part)
			b.WriteString("        " + strings.ReplaceAll(part, "\n", "\n    ") + "\n")
		}
	}
	return b.String()
}

func runCrowd(t testing.TB, text string, mode pipeline.Mode) string {
	t.Helper()
	s, err := manifest.Read("crowd.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	pipeline.Run([]*manifest.Stream{s}, config.Default(), mode)
	out, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What a run allocates in sum grows with the containers of a pod template, not with their square.
func TestMemoryGrowsWithTheContainers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		var chosen []string
		for i, part := range parts {
			if i != 1 || len(chosen) == 0 { // one livenessProbe
				if random.IntN(2) == 0 {
					chosen = append(chosen, part)
				}
			}
		}
		allocated := func(n int, mode pipeline.Mode) float64 {
			text := crowd(n, chosen)
			if mode == pipeline.Restore {
				text = runCrowd(t, text, pipeline.Rewrite)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			runCrowd(t, text, mode)
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		for _, mode := range []pipeline.Mode{pipeline.Rewrite, pipeline.Restore, pipeline.Judge, pipeline.Inspect} {
			few, many := allocated(500, mode), allocated(2000, mode)
			if many > 6*few { // 4 times the containers; their square is 16 times
				t.Errorf("mode %v, %q: %.0f bytes for 500 containers, %.0f for 2000", mode, chosen, few, many)
			}
		}
	}
}

// BenchmarkContainers reports the time for each container of one pod template.
func BenchmarkContainers(b *testing.B) {
	for _, n := range []int{500, 8000} {
		text := crowd(n, parts[1:])
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				runCrowd(b, text, pipeline.Rewrite)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/container")
		})
	}
}
