package yamljudge

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
)

// Seeds are the texts from which fuzzing of the reader starts: all forms, by themselves and as
// an item, pairs in brackets, and documents that mix all styles.
func Seeds() [][]byte {
	var all [][]byte
	for _, s := range Forms {
		all = append(all, []byte(s), []byte("kind: X\nitems:\n- "+strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ")+"\n"))
	}
	all = append(all, []byte("k: [a\n\tb, c]\n"))
	for _, key := range []string{"!0 a", "!!str 1", "!!int a", "&b c", "*x ", "<<", "'<<'", "!!str <<"} { // of a pair in brackets
		all = append(all, []byte("k: &x {a: 1}\nl: [0, "+key+": *x, 2]\n"), []byte("k: &x a\nl: ["+key+": *x]\n"))
	}
	for _, s := range Numbered {
		all = append(all, []byte(s))
	}
	return append(all, StyledSeeds()...)
}

// StyledSeeds are some documents as [Styled] writes them.
func StyledSeeds() (all [][]byte) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		all = append(all, Styled(r, Tangled(r)))
	}
	return all
}

// OneDocument returns a text, from its start on, with the line feed at its end that a reader
// adds; ok is false if it may have several documents.
func OneDocument(in []byte) (document []byte, ok bool) {
	if bytes.Contains(in, []byte("\n---")) || bytes.Contains(in, []byte("\n...")) || bytes.HasPrefix(in, []byte("...")) {
		return nil, false
	}
	if !bytes.HasSuffix(in, []byte("\n")) {
		in = append(slices.Clone(in), '\n')
	}
	return in, true
}
