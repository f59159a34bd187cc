package manifest

import (
	"runtime"
	"runtime/debug"
	"unsafe"
)

// parts are the texts of changes, one after the other. If there are many, and
// the process is ours, they are outside of the Go heap, in chunks that go back to
// the system as soon as all their texts are in the output: what the output is made
// from must shrink while the output grows.
type parts struct {
	chunks []chunk
	last   int // the index of the chunk from which a text was dropped last
}

// hugePage is the size of a huge page.
const hugePage = 2 << 20

// A chunk is memory for texts.
type chunk struct {
	text []byte // those that it holds; its capacity is fixed
	left int    // how many bytes of them are not in the output yet
	isMapped
}

// isMapped is true of memory outside of the Go heap.
type isMapped bool

// part returns memory to append the text of a change to. keep returns that text
// as a string, which later calls do not change.
func (p *parts) part() []byte {
	const small, large = 2 << 10, 64 << 10
	if n := len(p.chunks); n == 0 || cap(p.chunks[n-1].text)-len(p.chunks[n-1].text) < small {
		size := 2 * small
		if n > 0 {
			size = min(2*cap(p.chunks[n-1].text), large)
		}
		var c chunk
		if n > 24 { // all in all, more than a megabyte
			c.text, c.isMapped = mappedChunk()
		}
		if c.text == nil {
			c.text = make([]byte, 0, size)
		}
		p.chunks = append(p.chunks, c)
	}
	text := p.chunks[len(p.chunks)-1].text
	return text[len(text):]
}

func (p *parts) keep(part []byte) string {
	if len(part) == 0 || len(p.chunks) == 0 {
		return ""
	}
	c := &p.chunks[len(p.chunks)-1]
	if n := len(c.text); len(part) <= cap(c.text)-n && &part[0] == &c.text[:n+1][n] {
		c.text = c.text[:n+len(part)]
		c.left += len(part)
	}
	return view(part)
}

// drop returns the memory of a text that is in the output now and is read nowhere
// else.
func (p *parts) drop(text string) {
	if len(text) == 0 {
		return
	}
	for range p.chunks {
		c := &p.chunks[p.last]
		if c.holds(text) {
			if c.left -= len(text); c.left == 0 {
				c.text = c.text[:0]
				if c.isMapped {
					giveBack(c.text)
				}
			}
			return
		}
		p.last = (p.last + 1) % len(p.chunks)
	}
}

func (c *chunk) holds(text string) bool {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(c.text)))
	at := uintptr(unsafe.Pointer(unsafe.StringData(text)))
	return at >= start && at < start+uintptr(len(c.text))
}

// shed returns the heap's garbage to the system if the heap takes more than
// some bytes: a large output needs the memory.
func shed(output, most int) {
	const large = 16 << 20
	if !ownsProcess || output < large {
		return
	}
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapSys-m.HeapReleased > uint64(most) {
		debug.FreeOSMemory()
	}
}
