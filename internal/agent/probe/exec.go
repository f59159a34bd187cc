package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		// The command gets the pipe itself. If Go copied its output, Wait would
		// wait for children that keep it open.
		cmd.Stdout, cmd.Stderr = w, w
		ownGroup(cmd)
		err = cmd.Start()
		_ = w.Close()
		if err != nil {
			return err
		}
		line := make(chan string, 1)
		go func() { line <- firstLine(r) }()
		err = cmd.Wait()
		switch {
		case ctx.Err() == context.DeadlineExceeded:
			err = fmt.Errorf("command did not end within %s", timeout)
		case err == nil:
			return nil
		}
		_ = r.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // for children that still write
		if said := <-line; said != "" {
			return fmt.Errorf("%w: %s", failure(err), said)
		}
		return failure(err)
	}
}

// failure words the end of a command.
func failure(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case !ok:
		return err
	case exit.Exited():
		return fmt.Errorf("command ended with exit code %d", exit.ExitCode())
	}
	return fmt.Errorf("command was ended: %s", exit)
}

// firstLine reads r to its end and returns the first line that is not blank.
func firstLine(r io.Reader) string {
	br := bufio.NewReader(r)
	first := ""
	for {
		line, err := br.ReadSlice('\n')
		if s := strings.TrimSpace(string(line)); first == "" && s != "" {
			first = kubelet.OneLine(s)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return first
		}
	}
}
