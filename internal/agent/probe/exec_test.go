package probe

import (
	"bytes"
	"strings"
	"testing"
)

// A command may write without end: of that, 4 KiB are kept.
func TestOnlyTheBeginningOfWhatACommandWritesIsKept(t *testing.T) {
	text := []byte(strings.Repeat("0123456789", 2000))
	for _, part := range []int{1, 7, 1000, 4095, 4096, 4097, len(text)} {
		var o opening
		for rest := text; len(rest) > 0; {
			p := rest[:min(part, len(rest))]
			if n, err := o.Write(p); n != len(p) || err != nil {
				t.Fatalf("parts of %d bytes: %d, %v", part, n, err)
			}
			rest = rest[len(p):]
		}
		if !bytes.Equal(o, text[:4096]) {
			t.Errorf("parts of %d bytes: %d bytes are kept", part, len(o))
		}
	}
}
