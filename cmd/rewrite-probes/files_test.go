package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnEmptyPathIsCalledThat(t *testing.T) {
	if _, err := findFiles([]string{""}, nil); err == nil || err.Error() != "a PATH is empty, perhaps a variable that is not set" {
		t.Errorf("error is %v", err)
	}
}

// The other files are rewritten. Even root cannot read a folder whose path is too long.
func TestAFolderThatCannotBeReadIsAnErrorOfThatFolder(t *testing.T) {
	pod := podFile(t, 0o644)
	name := strings.Repeat("d", 200)
	at, err := os.OpenRoot(filepath.Dir(pod))
	for range 25 {
		if err == nil {
			err = at.Mkdir(name, 0o755)
		}
		if err == nil {
			at, err = at.OpenRoot(name)
		}
	}
	if err != nil {
		t.Skip(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"-w", filepath.Dir(pod)}, nil, &out, &errs)
	first, rest, _ := strings.Cut(errs.String(), "\n")
	if code != exitUnreadable || !strings.HasPrefix(first, "error: "+filepath.Dir(pod)) || !strings.HasSuffix(first, name+": File name too long. Correct the file, or skip it with `--ignore`. [unreadable]") ||
		rest != "rewrite-probes: 1 pod template, 1 object changed; 1 probe rewritten; 1 error, 0 warnings\n" {
		t.Errorf("exit %d, stderr %q, stdout %q", code, &errs, &out)
	}
}

// What is no text says so, even with the braces of a template, and whether it was walked to or named.
func TestAFileThatIsNoTextIsNoTemplate(t *testing.T) {
	for name, text := range map[string]string{
		"Latin-1": "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ x }}}\n# caf\xe9\n", "UTF-16": "\xff\xfek\x00:\x00{\x00{\x00",
		"binary": "kind: {{ x }}\n\x00", "gzip": "\x1f\x8b{{ x }}",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "odd.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, given := range []string{dir, path} {
			got := output(t, "", "-v", "-l", given)
			saysText := strings.Contains(got, "odd.yaml: Not checked: this is not a text in UTF-8") || strings.Contains(got, "ust be UTF-8 text")
			if !saysText || strings.Contains(got, "a template") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// A file is read once by whatever names the command line gives, and counts as named if one of them is its own.
func TestAFileIsNamedInWhateverOrderItIs(t *testing.T) {
	path := podFile(t, 0o644)
	dir := filepath.Dir(path)
	for _, names := range [][]string{{dir}, {path}, {dir, path}, {path, dir}, {dir, dir}, {dir, path, dir}, {path, path}, {path, dir, path}, {dir, dir, path}} {
		g, err := findFiles(names, nil)
		if err != nil || len(g.files) != 1 || g.files[0].path != path || g.files[0].walked == slices.Contains(names, path) {
			t.Errorf("%q: %v, %+v", names, err, g)
		}
	}
}
