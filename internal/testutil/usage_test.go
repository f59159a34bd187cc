package testutil

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestTheUsageOfAProcessIsRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	before := CPUTime(os.Getpid())
	for began := time.Now(); CPUTime(os.Getpid()) < before+5*time.Millisecond; {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the CPU time does not grow")
		}
	}
	resident, highest := Memory(os.Getpid(), "VmRSS"), Memory(os.Getpid(), "VmHWM")
	if resident < 1<<20 || highest < resident {
		t.Errorf("resident are %d bytes, at most %d", resident, highest)
	}
	if Memory(os.Getpid(), "VmNone") != 0 || CPUTime(0) != 0 {
		t.Error("what is not there is not 0")
	}
}
