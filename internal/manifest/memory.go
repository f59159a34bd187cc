package manifest

import (
	"unsafe"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

const hugePage = 2 << 20

// outputMemory returns an empty slice with room for n bytes. A large one lies
// outside the Go heap, like a large input, on huge pages if the system has them:
// they save a page fault for every 4 KiB.
func outputMemory(n int) []byte {
	if n >= hugePage/2 {
		if b := mapped(n); b != nil {
			return b[:0]
		}
	}
	return make([]byte, 0, n)
}

// A textMemory holds the texts of changes until they are in the output. If there are many,
// and the process is ours, they are outside of the Go heap, in chunks that go back to the
// system as soon as all their texts are in the output.
type textMemory struct {
	chunks []chunk
	last   int // the index of the chunk that had the text that was released last
}

type chunk struct {
	text     []byte // its capacity is fixed
	left     int    // how many bytes of it are not in the output yet
	isMapped bool
}

func (c *chunk) room() int {
	return cap(c.text) - len(c.text)
}

func (m *textMemory) keep(text string) string {
	const size, most = 64 << 10, 24 // more than a megabyte is outside of the heap
	if len(text) == 0 {
		return ""
	}
	n := len(m.chunks)
	if n == 0 || m.chunks[n-1].room() < len(text) {
		var c chunk
		if n >= most && len(text) <= hugePage {
			c.text = mapped(hugePage)[:0]
			c.isMapped = c.text != nil
		}
		if c.text == nil {
			c.text = make([]byte, 0, max(len(text), size))
		}
		m.chunks = append(m.chunks, c)
		n++
	}
	c := &m.chunks[n-1]
	at := len(c.text)
	c.text = append(c.text, text...)
	c.left += len(text)
	return yaml.View(c.text[at:])
}

// extend keeps a text behind the one that was kept last, and returns both as one; ok is false if they cannot be
// neighbours, and then nothing is kept.
func (m *textMemory) extend(last, text string) (both string, ok bool) {
	if last == "" || len(m.chunks) == 0 {
		return "", false
	}
	c := &m.chunks[len(m.chunks)-1]
	at := len(c.text) - len(last)
	if at < 0 || c.room() < len(text) || &c.text[at] != unsafe.StringData(last) {
		return "", false
	}
	c.text = append(c.text, text...)
	c.left += len(text)
	return yaml.View(c.text[at:]), true
}

// release frees the memory of a text that is in the output now.
func (m *textMemory) release(text string) {
	for range m.chunks {
		c := &m.chunks[m.last]
		start := uintptr(unsafe.Pointer(unsafe.SliceData(c.text)))
		at := uintptr(unsafe.Pointer(unsafe.StringData(text)))
		if len(text) > 0 &&
			at >= start &&
			at < start+uintptr(len(c.text)) {
			if c.left -= len(text); c.left == 0 && c.isMapped {
				giveBack(c.text[:cap(c.text)])
				c.text = c.text[:0]
			}
			return
		}
		m.last = (m.last + 1) % len(m.chunks)
	}
}
