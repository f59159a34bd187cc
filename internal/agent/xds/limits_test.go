package xds

import (
	"fmt"
	"testing"
)

// The other tests see most of these times on a clock of their own.
func TestTheTimesAreTheDocumentedOnes(t *testing.T) {
	got := fmt.Sprint(pingEvery, silence, writeTimeout, settle, stable, firstWait, maxWait, linger, closing)
	if want := "30s 45s 10s 2s 10s 250ms 10s 500ms 400ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
