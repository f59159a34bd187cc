package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// parts are what a container of a crowd may have: N is its number.
var parts = []string{
	"livenessProbe: {httpGet: {port: 80}}",
	"readinessProbe: {tcpSocket: {port: pN}}",
	"startupProbe:\n  grpc:\n    port: 80 # why\n    service: \"a.B\" # why",
	"ports: [{name: pN, containerPort: 9}]",
	"image: app",
	"lifecycle: {postStart: {httpGet: {port: 80}}, preStop: {httpGet: {port: nosuch}}}",
	"env: [{name: A, value: b}]",
	"resources: {limits: {cpu: 1}}",
}

// crowd returns a Deployment with n containers that have some of the parts.
func crowd(n int, chosen []string) string {
	var b strings.Builder
	b.WriteString("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n")
	for i := range n {
		number := strings.NewReplacer("pN", fmt.Sprintf("p%d", i), "\n", "\n        ")
		fmt.Fprintf(&b, "      - name: c%d\n", i)
		for _, part := range chosen {
			b.WriteString("        " + number.Replace(part) + "\n")
		}
	}
	return b.String()
}

// ways are what is done with a file, and with stdin where a dash is its name.
var ways = [][]string{
	{"-"}, {"FILE"}, {"-d", "FILE"}, {"check", "FILE"}, {"check", "-o", "sarif", "FILE"}, {"explain", "FILE"},
	{"explain", "-o", "html", "FILE"}, {"explain", "-o", "markdown", "FILE"}, {"patches", "--resource", "../base", "-"},
}

func on(way []string, file string) []string {
	return strings.Split(strings.ReplaceAll(strings.Join(way, "\n"), "FILE", file), "\n")
}

// allocated returns how many bytes a command line allocates in sum.
func allocated(t *testing.T, stdin string, args ...string) float64 {
	t.Helper()
	var before, after runtime.MemStats
	var stderr bytes.Buffer
	runtime.ReadMemStats(&before)
	code := run(append([]string{"--config", "none"}, args...), strings.NewReader(stdin), io.Discard, &stderr)
	runtime.ReadMemStats(&after)
	if code >= exitUsage {
		t.Fatalf("%v: exit code %d, %s", args, code, &stderr)
	}
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// What a run allocates in sum grows with the containers of a pod template, not with their square, whatever
// the containers have and whatever is done with them.
func TestMemoryGrowsWithTheContainers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		chosen := []string{parts[0]}
		for _, part := range parts[1:] {
			if random.IntN(2) == 0 {
				chosen = append(chosen, part)
			}
		}
		file := func(n int) (path, text, rewritten string) {
			text = crowd(n, chosen)
			path = filepath.Join(t.TempDir(), "crowd.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			run([]string{"--config", "none", "-"}, strings.NewReader(text), &out, io.Discard)
			return path, text, out.String()
		}
		few, fewText, fewRewritten := file(200)
		many, manyText, manyRewritten := file(800)
		for _, way := range ways {
			before := allocated(t, fewText, on(way, few)...)
			after := allocated(t, manyText, on(way, many)...)
			if after > 5*before { // 4 times the containers; their square is 16 times
				t.Errorf("%q, %q: %.0f bytes for 200 containers, %.0f for 800", way, chosen, before, after)
			}
		}
		for _, way := range [][]string{{"restore", "-"}, {"-"}, {"check", "-"}} {
			before, after := allocated(t, fewRewritten, way...), allocated(t, manyRewritten, way...)
			if after > 5*before {
				t.Errorf("%q of rewritten, %q: %.0f bytes for 200 containers, %.0f for 800", way, chosen, before, after)
			}
		}
	}
}
