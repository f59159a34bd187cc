package testutil

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestALogIsReadWhileTheProgramRuns(t *testing.T) {
	var also strings.Builder
	p, err := Start(exec.Command("sh", "-c", "echo out; echo err >&2; exec sleep 60"), &also)
	if err != nil {
		t.Fatal(err)
	}
	err = p.WaitLog("err\n", 1, time.Minute)
	if twice := p.WaitLog("err\n", 2, 0); twice == nil {
		t.Error("the log has a line twice that was written once")
	}
	p.Stop()
	if err != nil || p.Log() != "out\nerr\n" || also.String() != p.Log() {
		t.Errorf("the log is %q, the copy %q", p.Log(), also.String())
	}
	if p.Cmd.ProcessState == nil {
		t.Error("the program still runs")
	}
}

func TestTheErrorOfACommandHasWhatItWrote(t *testing.T) {
	out, err := Output(exec.Command("sh", "-c", "echo out; echo err >&2"))
	if err != nil || string(out) != "out\n" {
		t.Errorf("stdout is %q, %v", out, err)
	}
	_, err = Output(exec.Command("sh", "-c", "echo out; echo err >&2; exit 3"))
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasSuffix(err.Error(), "\nout\nerr\n") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheLastErrorIsReturnedWhenTheTimeIsOver(t *testing.T) {
	n, last := 0, error(nil)
	err := Eventually(0, func() error { n++; last = errors.New("no"); return last })
	if n == 0 || err != last {
		t.Errorf("tried %d times: %v", n, err)
	}
}

func TestAFreePortIsAPort(t *testing.T) {
	if port, err := FreePort(); err != nil || port < 1 || port > 65535 {
		t.Errorf("port %d, %v", port, err)
	}
}
