package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestADamagedManifestIsNeverGreen damages a manifest in a folder line by line, in the ways of a
// slip of the hand. Its probes are not rewritten, so a strict check that has seen them fails. One
// that passes has skipped the file.
func TestADamagedManifestIsNeverGreen(t *testing.T) {
	manifests, err := filepath.Glob("../../examples/app/*.yaml")
	if err != nil || len(manifests) == 0 {
		t.Fatal(err, manifests)
	}
	one, _, _ := strings.Cut(webManifest, "        livenessProbe:")
	_, other, _ := strings.Cut(webManifest, "port: http}\n")
	texts := []string{webManifest, one + other}
	for _, name := range manifests {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			if probeKey().MatchString(document) {
				texts = append(texts, document)
			}
		}
	}
	for _, text := range texts {
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			for slip, damaged := range slips(line) {
				dir := t.TempDir()
				bad := strings.Join(lines[:i], "") + damaged + strings.Join(lines[i+1:], "")
				if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte(bad), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "good.yaml"), []byte(goodManifest), 0o600); err != nil {
					t.Fatal(err)
				}
				if got := output(t, "", "check", "--strict", dir); strings.Contains(got, "exit 0") {
					t.Errorf("%s in line %d, %q:\n%s", slip, i+1, line, got)
				}
			}
		}
	}
}

// slips returns a line with slips of the hand, each by its name.
func slips(line string) map[string]string {
	key := regexp.MustCompile(`^([ -]*)(\w+):(.*)`)
	if !key.MatchString(line) {
		return nil
	}
	return map[string]string{
		"no colon":         key.ReplaceAllString(line, "$1$2$3"),
		"equals sign":      key.ReplaceAllString(line, "$1$2 =$3"),
		"space before it":  key.ReplaceAllString(line, "$1$2 :$3"),
		"a tab":            "\t" + line,
		"one space more":   " " + line,
		"one space less":   strings.TrimPrefix(line, " "),
		"two spaces less":  strings.TrimPrefix(line, "  "),
		"an open quote":    key.ReplaceAllString(line, `$1$2: "$3`),
		"an open bracket":  key.ReplaceAllString(line, "$1$2: {$3"),
		"a capital letter": key.ReplaceAllStringFunc(line, capitalKey),
	}
}

// capitalKey returns a line with a capital letter at the beginning of its key.
func capitalKey(line string) string {
	at := len(line) - len(strings.TrimLeft(line, " -"))
	return line[:at] + strings.ToUpper(line[at:at+1]) + line[at+1:]
}

const goodManifest = `apiVersion: v1
kind: Pod
metadata: {name: exec}
spec:
  containers:
  - name: a
    image: b
    livenessProbe:
      exec: {command: [ls]}
`

const webManifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx
        ports:
        - {name: http, containerPort: 8080}
        livenessProbe:
          httpGet: {path: /healthz, port: http}
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
`
