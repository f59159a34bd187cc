package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// soundWorld are the files that every mistake starts from: one workload and a functionConfig, about
// which nothing is to be said.
var soundWorld = map[string]string{
	"web.yaml": `apiVersion: apps/v1
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
          tcpSocket: {port: 8080}
`,
	"rewrite-probes.yaml": `apiVersion: rewrite-probes.io/v1alpha1
kind: RewriteProbes
spec:
  probeProxy: {image: example.com/probe-proxy:v1}
  istio: {injectorRewrites: true}
`,
}

// A mistake is one that people make, what they must be told, and how they then mend it.
type mistake struct {
	name string
	do   []string // what is wrong in the files
	runs string   // the command line that they run
	says []string // what must be in its output
	fix  []string // what the message tells them to change in the files
	then string   // the command line that the message tells them to run; "" if it is the same
}

// TestMistakes makes the mistakes of testdata/mistakes. Each must be answered with the words that
// the file expects. Then it does what the answer says: the finding must be gone, and no error may
// come up. In a file, `$` is a command line, with `<FILE` as its stdin. `!` is a part of the answer,
// `fix` changes a file and `fix $` the command line.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "mistakes", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no mistakes: %v", err)
	}
	all := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range readMistakes(t, string(text)) {
			all++
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+m.name, func(t *testing.T) { makeMistake(t, m) })
		}
	}
	if all < 194 {
		t.Errorf("%d mistakes, want 194", all)
	}
}

func readMistakes(t *testing.T, text string) (all []mistake) {
	var steps *[]string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "#" || line == "" {
			continue
		}
		if verb == "##" {
			all = append(all, mistake{name: rest})
			continue
		}
		m := &all[len(all)-1]
		switch verb {
		case "$":
			m.runs = " " + rest
		case "!":
			m.says = append(m.says, rest)
		case "fix":
			if command, ok := strings.CutPrefix(rest, "$"); ok {
				m.then = command
				continue
			}
			m.fix = append(m.fix, rest)
			steps = &m.fix
		case "|":
			(*steps)[len(*steps)-1] += rest + "\n"
		case "file", "edit", "link", "gzip", "utf16", "folder", "remove", "many":
			m.do = append(m.do, line)
			steps = &m.do
		default:
			t.Fatalf("%q is no line of a mistake", line)
		}
		if (verb == "file" || strings.HasPrefix(rest, "file ")) && steps != nil {
			(*steps)[len(*steps)-1] += "\n"
		}
	}
	return all
}

func makeMistake(t *testing.T, m mistake) {
	t.Chdir(t.TempDir())
	for name, text := range soundWorld {
		writeInto(t, name, text)
	}
	for _, step := range m.do {
		change(t, step)
	}
	said, _ := answer(m.runs)
	if len(m.says) == 0 {
		t.Errorf("it expects no words; said\n%s", said)
	}
	unwrapped := strings.Join(strings.Fields(said), " ")
	for _, want := range m.says {
		if !strings.Contains(unwrapped, want) {
			t.Errorf("%s: said\n%s\nwithout %q", m.runs, head(said), want)
		}
	}
	if len(m.fix) == 0 && m.then == "" {
		t.Fatalf("nobody mends it; said\n%s", said)
	}
	for _, step := range m.fix {
		change(t, step)
	}
	if m.then == "" {
		m.then = m.runs
	}
	now, code := answer(m.then)
	if code != exitOK || strings.Contains("\n"+now, "\nerror:") {
		t.Errorf("%s: after the fix it ends with %d, and says\n%s\nbefore the fix:\n%s", m.then, code, head(now), head(said))
	}
	for _, key := range keys.FindAllString(strings.Join(m.says, "\n"), -1) {
		if strings.Contains(now, key) {
			t.Errorf("%s: %s is still there:\n%s", m.then, key, head(now))
		}
	}
}

var keys = regexp.MustCompile(`\[[a-z-]+\]`)

// answer runs a command line and returns what it prints.
func answer(command string) (said string, code int) {
	line, file, _ := strings.Cut(command, " <")
	stdin, _ := os.ReadFile(file)
	var out, errs bytes.Buffer
	args := strings.Fields(line)
	for i, a := range args {
		args[i] = strings.Trim(a, "'")
	}
	code = run(args, bytes.NewReader(stdin), &out, &errs)
	return errs.String() + out.String(), code
}

// head returns the beginning of an answer, for the message about it.
func head(said string) string { return said[:min(len(said), 1500)] }

// change changes a file as a step says: `file NAME` and its text, `edit NAME "OLD" "NEW"`, `link
// NAME TARGET`, `gzip NAME`, `utf16 NAME`, `folder NAME`, `remove NAME`, `many NAME COUNT`.
func change(t *testing.T, step string) {
	first, text, _ := strings.Cut(step, "\n")
	words := strings.SplitN(first, " ", 3)
	name := words[1]
	switch words[0] {
	case "file":
		writeInto(t, name, text)
	case "edit":
		before, after := twoQuoted(t, words[2])
		old := textOf(t, name)
		if !strings.Contains(old, before) {
			t.Fatalf("%s has no %q:\n%s", name, before, old)
		}
		writeInto(t, name, strings.ReplaceAll(old, before, after))
	case "link":
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.Symlink(words[2], name))
	case "gzip":
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write([]byte(textOf(t, name)))
		must(t, err)
		must(t, w.Close())
		writeInto(t, name, packed.String())
	case "utf16":
		wide := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(textOf(t, name))) {
			wide = append(wide, byte(unit), byte(unit>>8))
		}
		writeInto(t, name, string(wide))
	case "folder":
		must(t, os.MkdirAll(name, 0o700))
	case "remove":
		must(t, os.RemoveAll(name))
	case "many":
		before, after := twoQuoted(t, words[2])
		n, err := strconv.Atoi(after)
		must(t, err)
		writeInto(t, name, strings.Repeat(before, n))
	default:
		t.Fatalf("%q is no step", step)
	}
}

func twoQuoted(t *testing.T, text string) (one, two string) {
	quoted, err := strconv.QuotedPrefix(text)
	must(t, err)
	one, err = strconv.Unquote(quoted)
	must(t, err)
	two, err = strconv.Unquote(strings.TrimSpace(text[len(quoted):]))
	must(t, err)
	return one, two
}

func textOf(t *testing.T, name string) string {
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

func writeInto(t *testing.T, name, text string) {
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
