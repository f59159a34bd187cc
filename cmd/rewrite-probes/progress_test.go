package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestLongWorkSaysWhatItDoesAndErasesThatAtTheEnd(t *testing.T) {
	for took, want := range map[time.Duration]string{
		time.Second:     "",
		3 * time.Second: "rewrite-probes: planning ..." + eraseLine,
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			done := sayLater(&out, "planning", patience)
			time.Sleep(took)
			synctest.Wait()
			done()
			time.Sleep(time.Minute)
			synctest.Wait()
			if out.String() != want {
				t.Errorf("after %s: %q, want %q", took, &out, want)
			}
		})
	}
}

func TestNobodyIsToldOfProgressButATerminal(t *testing.T) {
	var out bytes.Buffer
	done := (&tool{streams: streams{err: &out}}).progress("planning")
	time.Sleep(10 * time.Millisecond) // as if it had run for long: the tool's start is not set
	done()
	if out.Len() > 0 {
		t.Errorf("%q", &out)
	}
}
