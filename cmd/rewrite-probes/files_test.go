package main

import (
	"bytes"
	"os"
	"path/filepath"
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
