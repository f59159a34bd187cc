package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAnEmptyPathIsCalledThat(t *testing.T) {
	if _, err := findFiles([]string{""}, nil); err == nil || err.Error() != "a PATH is empty, perhaps a variable that is not set" {
		t.Errorf("error is %v", err)
	}
}

// The error names the folder as every other names its file.
func TestAFolderThatCannotBeReadIsAnError(t *testing.T) {
	root := t.TempDir()
	locked := filepath.Join(root, "locked")
	if err := os.Mkdir(locked, 0o000); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadDir(locked); err == nil {
		t.Skip("this user may read every folder")
	}
	if _, err := findFiles([]string{root}, nil); err == nil || err.Error() != locked+": permission denied" {
		t.Errorf("error is %v", err)
	}
}
