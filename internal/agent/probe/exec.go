package probe

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

// command returns the probe that runs a command: exit code 0 is healthy. At
// the timeout, the command's whole process group is killed.
func command(argv []string, timeout time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		var said opening
		cmd.Stdout = &said
		cmd.Stderr = &said
		cmd.WaitDelay = 100 * time.Millisecond // for children that still write
		ownGroup(cmd)
		err := cmd.Run()
		exit, isExit := errors.AsType[*exec.ExitError](err)
		switch {
		case err == nil || errors.Is(err, exec.ErrWaitDelay): // the command succeeded, and a child still writes
			return nil
		case ctx.Err() == context.DeadlineExceeded:
			err = fmt.Errorf("command did not end within %s", timeout)
		case isExit && exit.Exited():
			err = fmt.Errorf("command ended with exit code %d", exit.ExitCode())
		case isExit:
			err = fmt.Errorf("command was ended: %s", exit)
		}
		if line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n"); line != "" {
			return fmt.Errorf("%w: %s", err, kubelet.OneLine(strings.TrimSpace(line)))
		}
		return err
	}
}

// An opening is the beginning of a text that is written.
type opening []byte

func (o *opening) Write(p []byte) (int, error) {
	*o = append(*o, p[:min(len(p), 4<<10-len(*o))]...)
	return len(p), nil
}
