package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A program is a filter: what we measure, or measure ours against.
type program struct {
	name string
	argv []string
}

// A sample is what one run of a program cost.
type sample struct {
	cpu  time.Duration // user and system time of the process
	user time.Duration // of it, outside the kernel
	wall time.Duration
	peak int64 // bytes resident at most
}

// An output is what a run wrote, as far as it shows whether the work was done.
type output struct {
	bytes  int64
	probes int // lines that hold a rewritten path
}

// run sends the file input through the program, by pipes at both ends as
// kustomize and kpt do it, on one core. An exit status other than 0 is an
// error, which carries what the program wrote to stderr.
//
// The kernel counts the parent's pages in the peak of a child that was started
// with vfork, as Go starts them: this process must stay small (see forgetPeak),
// and hence never holds an input.
func (p program) run(input string, stdout io.Writer) (sample, error) {
	in, err := os.Open(input)
	if err != nil {
		return sample{}, err
	}
	defer in.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	var stderr tail
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return sample{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	if err := startPinned(cmd); err != nil {
		return sample{}, err
	}
	go func() {
		// A program that fails stops reading; its exit status says so.
		_, _ = copyPlainly(stdin, in)
		stdin.Close()
	}()
	_, copyErr := copyPlainly(stdout, out)
	err = errors.Join(cmd.Wait(), copyErr)
	s := sample{wall: time.Since(start)}
	if err != nil {
		return s, fmt.Errorf("%s < %s: %w: %s", p.name, input, err, bytes.TrimSpace(stderr.text))
	}
	s.cpu, s.peak = cost(cmd.ProcessState)
	s.user = cmd.ProcessState.UserTime()
	return s, nil
}

// forgetPeak makes this process small again and its peak what it is now. Where
// the kernel does not know how, a floor of some megabytes is in what small
// inputs show, to our disadvantage.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

func cost(state *os.ProcessState) (cpu time.Duration, peak int64) {
	usage := state.SysUsage().(*syscall.Rusage)
	return state.UserTime() + state.SystemTime(), usage.Maxrss * 1024
}

// copyPlainly copies through a buffer, never by splice or a whole-file map:
// the child's side of the pipe is what we measure.
func copyPlainly(w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 256<<10))
}

// startPinned starts the command on the last core this process may use: a
// child inherits the cores of the thread that starts it. A Go program on one
// core has GOMAXPROCS 1, so that all programs are alike in that.
func startPinned(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for cpu, left := 0, all.Count(); left > 0; cpu++ {
		if all.IsSet(cpu) {
			left--
			one.Zero()
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &all)
	return cmd.Start()
}

// writeItems runs the program once, unmeasured, and keeps the list that came
// out, without its results.
func (p program) writeItems(input, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		err := dropResults(f, r)
		r.CloseWithError(err)
		done <- err
	}()
	_, err = p.run(input, w)
	w.Close()
	return errors.Join(err, <-done, f.Close())
}

// dropResults copies a ResourceList in block style without the field results.
func dropResults(w io.Writer, r io.Reader) error {
	out := bufio.NewWriter(w)
	lines := bufio.NewReaderSize(r, 1<<20)
	dropped := false
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && line[0] != ' ' && line[0] != '-' {
			dropped = bytes.HasPrefix(line, []byte("results:"))
		}
		if !dropped {
			out.Write(line)
		}
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// inspect runs the program once, unmeasured, and says what came out.
func (p program) inspect(input string) (output, error) {
	r, w := io.Pipe()
	var o output
	done := make(chan error)
	go func() {
		err := o.count(r)
		r.CloseWithError(err)
		done <- err
	}()
	_, err := p.run(input, w)
	w.Close()
	return o, errors.Join(err, <-done)
}

// rewritten matches a line of a manifest, or an operation of a patch.
var rewritten = regexp.MustCompile(`path: ["']?/app-(health|lifecycle)/|^ *- \{"op":"(add|replace)".*"/app-(health|lifecycle)/`)

func (o *output) count(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		o.bytes += int64(len(line))
		if rewritten.Match(line) {
			o.probes++
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
	}
}

// A tail keeps the last kilobyte of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-1024):]
	return len(b), nil
}
