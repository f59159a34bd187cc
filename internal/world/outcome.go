package world

// An Outcome is what a probe, as it was read, does under strict mTLS.
type Outcome string

// The outcomes.
const (
	Fails         Outcome = "fails"
	FalselyPasses Outcome = "falsely passes" // passes even if nothing listens
	Unaffected    Outcome = "unaffected"     // does the same as without a mesh
)
