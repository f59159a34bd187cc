package wire

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What a call was granted is returned once, however often it forgets.
func TestWhatAHandshakeTookIsReturnedOnce(t *testing.T) {
	charged := 0
	m := &Meter{
		Handshake: func(_ context.Context, n int) bool { charged += n; return true },
		Release:   func(n int) { charged -= n },
	}
	for round := range 3 {
		for _, n := range []int{100, 1, 40} {
			if !m.handshake(t.Context(), n) {
				t.Fatal("there was room")
			}
		}
		if charged != 141 || m.Handshakes != 141 {
			t.Errorf("round %d: %d bytes are charged, and %d noted, want 141", round, charged, m.Handshakes)
		}
		m.Forget()
		m.Forget()
		if charged != 0 {
			t.Errorf("round %d: %d bytes are charged after all are returned", round, charged)
		}
	}
	m.Handshake = func(context.Context, int) bool { return false }
	if m.handshake(t.Context(), 7) || m.Handshakes != 0 {
		t.Errorf("what was refused is noted: %d", m.Handshakes)
	}
	new(Meter).Forget() // of a meter that charges nothing
}

// A call may take as much as documented, and not a byte more, whatever its parts.
func TestACallTakesAsMuchAsItMay(t *testing.T) {
	for _, part := range []int{1, 7, meterStep, maxMetered} {
		more := 0
		m := &Meter{More: func(n int) bool { more += n; return true }}
		taken := 0
		for ; taken+part <= maxMetered; taken += part {
			if err := m.take(part); err != nil {
				t.Fatalf("%d bytes after %d: %v", part, taken, err)
			}
		}
		if free := taken - meterStep; more < free || more >= free+meterStep {
			t.Errorf("%d bytes are granted for %d, of which %d are free", more, taken, meterStep)
		}
		if err := m.take(maxMetered - taken + 1); !errors.Is(err, errHeadTooBig) ||
			err.Error() != "response head is too large, or has too many fields or frames" {
			t.Errorf("a byte more than the limit: %v", err)
		}
	}
}

// A turn that a handshake got ends once, and a handshake that got none ends no other's.
func TestATurnEndsIfItWasGiven(t *testing.T) {
	given := func(yes bool) func(context.Context) bool {
		return func(context.Context) bool { return yes }
	}
	for name, test := range map[string]struct {
		turn func(context.Context) bool
		want int
	}{
		"there are no turns": {nil, 1},
		"given":              {given(true), 1},
		"not given":          {given(false), 0},
	} {
		ended := 0
		NewHandshake(t.Context(), nil, &Meter{Turn: test.turn, Worked: func(time.Duration) { ended++ }}).Done()
		if ended != test.want {
			t.Errorf("%s: %d turns ended, want %d", name, ended, test.want)
		}
	}
}
