package manifest

import (
	"errors"
	"io"
	"math"
	"os"
)

// usualPipe is how many bytes a pipe mostly holds.
const usualPipe = 64 << 10

// ownsProcess reports whether the process has one input only, which ReadInput
// has read. Only there may texts lie outside of the Go heap, where they stay
// until the process ends, and may all of the heap be collected at once.
var ownsProcess bool

// ReadInput reads all of r, the one input of a process: on Linux the memory of
// a large one lies outside the Go heap and is never given back. So the garbage
// collector does not take it as a reason to let the heap grow as much again,
// and nothing is copied while the input grows.
func ReadInput(r io.Reader) ([]byte, error) {
	ownsProcess = true
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && st.Size() < math.MaxInt32 {
			return readInto(r, make([]byte, st.Size()+1), 0)
		}
	}
	b := make([]byte, usualPipe)
	n, err := io.ReadFull(r, b)
	if err != nil {
		return ended(b[:n], err)
	}
	widenPipe(r)
	if region := reserve(); region != nil {
		return readInto(r, region, copy(region, b))
	}
	return readInto(r, b, n)
}

// readInto reads the rest of r into b, whose first n bytes are read, and
// moves to larger memory where b is not enough.
func readInto(r io.Reader, b []byte, n int) ([]byte, error) {
	for {
		m, err := io.ReadFull(r, b[n:])
		if n += m; err != nil {
			release(b[n:])
			return ended(b[:n:n], err)
		}
		larger := make([]byte, 2*len(b))
		copy(larger, b)
		b = larger
	}
}

func ended(b []byte, err error) ([]byte, error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b, nil
	}
	return nil, err
}
