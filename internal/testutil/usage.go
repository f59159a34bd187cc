package testutil

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPUTime returns how long the threads of a process have run, on Linux.
func CPUTime(pid int) time.Duration {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	total := time.Duration(0)
	for _, file := range files {
		text, _ := os.ReadFile(file)
		first, _, _ := bytes.Cut(text, []byte(" "))
		n, _ := strconv.ParseInt(string(first), 10, 64)
		total += time.Duration(n)
	}
	return total
}

// Memory returns a figure of /proc/PID/status in bytes, such as that of VmRSS;
// 0 if there is none.
func Memory(pid int, name string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name+":" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
