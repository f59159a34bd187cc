package sidecar

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLinesAreFairAndBounded draws connections, of which one entry has most.
func TestLinesAreFairAndBounded(t *testing.T) {
	entries := []*entry{nil, {key: "attacked"}, {key: "b"}, {key: "c"}}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		queues := make(map[*entry][]int) // the same, as plainly as can be
		var dropped, want []int
		l := newLines(maxInLines, func(socket int) { dropped = append(dropped, socket) })
		for socket := range 3000 {
			e := entries[1]
			if r.IntN(10) == 0 {
				e = entries[r.IntN(len(entries))]
			}
			if l.len == maxInLines {
				// Two lines as long as each other are equally right, but hardly come up here.
				from := slices.MaxFunc(entries, func(a, b *entry) int { return len(queues[a]) - len(queues[b]) })
				want = append(want, queues[from][0])
				queues[from] = queues[from][1:]
			}
			l.add(e, inLine{socket: socket})
			queues[e] = append(queues[e], socket)
			if r.IntN(40) > 0 {
				continue
			}
			served := make(map[int]bool)
			l.serve(func(c inLine) { served[c.socket] = true })
			n := 0
			for e, queue := range queues {
				first := queue[:min(ofLine, len(queue))]
				n += len(first)
				if slices.ContainsFunc(first, func(socket int) bool { return !served[socket] }) {
					t.Fatalf("seed %d: served %v, want %v among them", seed, served, first)
				}
				queues[e] = queue[len(first):]
			}
			if len(served) != n {
				t.Fatalf("seed %d: %d served, want %d", seed, len(served), n)
			}
		}
		if len(dropped) == 0 || !slices.Equal(dropped, want) {
			t.Errorf("seed %d: dropped %v, want %v", seed, dropped, want)
		}
	}
}
