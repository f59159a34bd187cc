package manifest

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// F_GETPIPE_SZ of linux/fcntl.h.
const getPipeSize = 1032

func capacity(t *testing.T, end *os.File) int {
	t.Helper()
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, end.Fd(), getPipeSize, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return int(n)
}

func TestPipesAreWidenedForLargeStreamsOnly(t *testing.T) {
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: |\n" + strings.Repeat("    text\n", usualPipe/8)
	fresh, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	defer end.Close()
	for _, c := range []struct {
		name, input string
		want        int
	}{
		{"small", manifest[:60], capacity(t, fresh)},
		{"large", manifest, widestPipe},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				_, _ = writer.WriteString(c.input)
				writer.Close()
			}()
			got, err := ReadInput(in)
			if err != nil || string(got) != c.input {
				t.Fatalf("%d bytes came in, want %d: %v", len(got), len(c.input), err)
			}
			if n := capacity(t, in); n != c.want {
				t.Errorf("the pipe that is read holds %d bytes, want %d", n, c.want)
			}
			in.Close()

			s, err := Read("<stdin>", got)
			if err != nil {
				t.Fatal(err)
			}
			reader, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			written := make(chan error)
			go func() {
				text, err := s.Text()
				if err == nil {
					_, err = WriteOutput(out, text)
				}
				written <- err
			}()
			back := make([]byte, len(got))
			for n := 0; n < len(back); {
				m, err := reader.Read(back[n:])
				if err != nil {
					t.Fatal(err)
				}
				n += m
			}
			if err := <-written; err != nil || string(back) != c.input {
				t.Fatalf("what came out is not what went in: %v", err)
			}
			if n := capacity(t, out); n != c.want {
				t.Errorf("the pipe that is written holds %d bytes, want %d", n, c.want)
			}
			out.Close()
			reader.Close()
		})
	}
}

// A large output is at the start of a huge page if the process is ours, and a small one on the heap.
func TestALargeOutputStartsAHugePage(t *testing.T) {
	defer func(before bool) { ownsProcess = before }(ownsProcess)
	ownsProcess = true
	for _, n := range []int{hugePage / 2, hugePage, 3 * hugePage} {
		b := outputMemory(n)
		if len(b) != 0 || cap(b)%hugePage != 0 || cap(b) < n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%hugePage != 0 {
			t.Errorf("%d bytes: %d of %d at %p", n, len(b), cap(b), unsafe.SliceData(b))
		}
	}
	if b := outputMemory(hugePage/2 - 1); len(b) != 0 || cap(b) != hugePage/2-1 {
		t.Errorf("a small output has %d of %d bytes", len(b), cap(b))
	}
}
