// Package certain has the three values of what manifests say: it holds, it does not, or nothing
// says it.
package certain

// A Certainty says whether something holds: min is "and", max is "or", and - is "not".
type Certainty int

const (
	Never Certainty = iota - 1
	Maybe           // nothing says it
	Always
)

// Of returns the certainty of what is known.
func Of(holds bool) Certainty {
	if holds {
		return Always
	}
	return Never
}
