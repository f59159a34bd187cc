//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNamesCannotWriteToATerminalOrALog: anyone who sends a change chooses the names of
// objects and files. They must not begin a line, which the log of a CI job may take for a
// command, nor write control characters to a terminal.
func TestNamesCannotWriteToATerminalOrALog(t *testing.T) {
	const hostile = "a\n::error::b\r\x1b[2Jc\x7f\u009b\u2028\u202e\x00"
	quoted := strconv.QuoteToASCII(hostile)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"deployment\n::error::b\x1b[2J\xff.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME, namespace: NAME}\nspec: {template: {spec: {containers: [{name: web, image: a, livenessProbe: {httpGet: {path: NAME, port: NAME}}, readinessProbe: {tcpSocket: {port: 80}}}, {name: NAME, image: a, readinessProbe: {tcpSocket: {port: 80}}}, {name: NAME, image: a, readinessProbe: {tcpSocket: {port: 80}}}]}}}\n",
		"kind\n::x.yaml":                         "apiVersion: example.org/v1\nkind: NAME\nmetadata: {name: NAME}\nspec: {containers: [{livenessProbe: {httpGet: {port: 80}}}]}\n",
		"bad\n::x\x1b.yaml":                      "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, name: NAME}\n",
		"group\n::x.yaml":                        "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: NAME, annotations: {rewrite-probes.io/probe-from: NAME}}\nspec: {template: {}, probe: {grpc: {port: 80}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "NAME", quoted)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range append(inEveryFormat(), [][]string{
		{"check", "-v"}, {"check"}, {"explain"}, {"restore", "-v", "-w"}, {"-v", "-w"}, {"vm", "--group", "a\n::b"},
	}...) {
		got := output(t, "", append(args, dir)...)
		if !strings.Contains(got, "exit ") || !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8:\n%q", args, got)
		}
		control := "\x1b\r\x00"
		if args[len(args)-1] != "json" { // which is data, and whose strings have the values themselves
			control += "\x7f\u009b\u202e"
		}
		for line := range strings.Lines(got) {
			if s := strings.TrimSuffix(line, "\n"); strings.HasPrefix(strings.TrimSpace(s), "::") || strings.ContainsAny(s, control) {
				t.Errorf("%q writes the line %q", args, line)
			}
		}
	}
	missing := filepath.Join(dir, "missing"+strings.TrimSuffix(hostile, "\x00"))
	if got := output(t, "", missing); strings.Contains(got, "\n::") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
