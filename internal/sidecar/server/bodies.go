package server

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

// Bodies says which of the app's bodies callers get. The kubelet judges by the status, and
// shows a body only in the event of a redirect to another host. That of a failure tells
// people what is wrong.
type Bodies string

// The values of [Bodies]; "" is AllBodies.
const (
	NoBodies      Bodies = "none"
	FailureBodies Bodies = "failures" // of status 400 and above
	AllBodies     Bodies = "all"
)

// Validate returns an error that says what is allowed if b is none of the values.
func (b Bodies) Validate() error {
	if b != NoBodies && b != FailureBodies && b != AllBodies {
		return fmt.Errorf("%q must be one of none, failures, all", b)
	}
	return nil
}

// shown returns the body of an answer that the caller gets: the app's if b says so, and
// always our own, which is the reason.
func (b Bodies) shown(a *kubelet.Answer) []byte {
	hidden := b == NoBodies || b == FailureBodies && a.Status < 400
	if hidden && string(a.Body) != "probe-proxy: "+a.Reason+"\n" {
		return nil
	}
	return a.Body
}
