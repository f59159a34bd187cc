package fn

import (
	"github.com/rewrite-probes/rewrite-probes/fn/findings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A State says what becomes of a probe.
type State = transformer.State

// The states. [Explain] says what would be done; where [Mutate] has done it, the probe
// is rewritten or restored.
const (
	Rewritten    = transformer.Rewritten
	WouldRewrite = transformer.WouldRewrite
	WouldRestore = transformer.WouldRestore
	Restored     = State("restored")
	LeftAlone    = transformer.LeftAlone
	Refused      = transformer.Refused
)

// An Outcome says what a probe, as it was given, does under strict mTLS.
type Outcome = world.Outcome

// The outcomes.
const (
	Fails         = world.Fails
	FalselyPasses = world.FalselyPasses
	Unaffected    = world.Unaffected
)

// A Probe is one probe or hook of a pod template, and what becomes of it.
type Probe struct {
	Container string
	Init      bool   // the container is one of the init containers
	Field     string // its path, ending in its name, such as livenessProbe
	// Before is the original in a few words, and After where it goes if it is
	// rewritten; of a probe that is restored, the rewritten one and the
	// original.
	Before, After string
	State         State
	Reason        string // a key of docs/reasons.md; "" if it is rewritten
	StrictTLS     Outcome
	Why           string // what the mesh does to it, if it is not unaffected
	If            string // what StrictTLS depends on, if that is not known
}

// A Report says what was found in a pod template.
type Report struct {
	Findings []findings.Finding
	Probes   []Probe
	// Changed is set if the template was changed, or by [Explain], if it would
	// be.
	Changed bool
}
