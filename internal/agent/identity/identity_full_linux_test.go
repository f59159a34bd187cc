package identity

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAFullDiskLeavesTheFileAsItWas: no file may have more than 4 bytes.
func TestAFullDiskLeavesTheFileAsItWas(t *testing.T) {
	name := filepath.Join(t.TempDir(), stateFile)
	if err := writeFile(name, []byte("kept")); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var had syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &had); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4, Max: had.Max}); err != nil {
		t.Fatal(err)
	}
	err := writeFile(name, []byte("more than fits"))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &had); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("the error is %v", err)
	}
	text, _ := os.ReadFile(name)
	if files, _ := os.ReadDir(filepath.Dir(name)); string(text) != "kept" || len(files) != 1 {
		t.Errorf("there are %v, and the file has %q", files, text)
	}
}
