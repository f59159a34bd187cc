package testutil

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

// Mutated returns a text with one to three small changes, which the seed chooses: one of the
// pieces more, a few bytes or a line less or twice, or a line indented.
func Mutated(text []byte, pieces []string, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(len(text))))
	for range 1 + r.IntN(3) {
		at := r.IntN(len(text) + 1)
		end := min(at+1+r.IntN(3), len(text))
		line := bytes.LastIndexByte(text[:at], '\n') + 1
		next := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		switch r.IntN(8) {
		case 0:
			text = slices.Concat(text[:at], text[end:])
		case 1:
			text = slices.Concat(text[:end], text[at:])
		case 2:
			text = slices.Concat(text[:line], text[next:])
		case 3:
			text = slices.Concat(text[:next], text[line:])
		case 4:
			text = slices.Concat(text[:line], []byte("  "), text[line:])
		default:
			text = slices.Concat(text[:at], []byte(pieces[r.IntN(len(pieces))]), text[at:])
		}
	}
	return text
}
