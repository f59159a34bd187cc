package wire

import (
	"fmt"
	"testing"
)

// Of what is charged for an app's answers docs/probe-proxy.md says what it amounts to.
func TestTheLimitsAreTheDocumentedOnes(t *testing.T) {
	if got, want := fmt.Sprint(maxMetered, fieldCost, frameCost, dataWork, meterStep), "524288 128 256 128 16384"; got != want {
		t.Errorf("meter: %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(maxWindow, defaultWindow, maxFrame, largestFrameSize, maxMessage), "2147483647 65535 16384 16777215 32768"; got != want {
		t.Errorf("HTTP/2: %s, want %s", got, want)
	}
}
