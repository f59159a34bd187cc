// Package reason is the registry of reasons: what a message is about, how severe it is, and
// what to do. Each reason has a key and one row, which has all that depends on it.
package reason

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Severity is one of the severities of a KRM function's results.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// ranked are the severities, the worst first.
var ranked = []Severity{Error, Warning, Info}

// Rank orders severities, the worst first.
func (s Severity) Rank() int { return slices.Index(ranked, s) }

// A Key is the number of a reason's row, such as [PortTaken]. It is not a text, so that a mistyped
// one does not compile. The zero Key is [None].
type Key uint8

// String returns the key as users see it, such as port-taken; "" for [None].
func (k Key) String() string { return k.Doc().Name }

// Doc returns the row of the key.
func (k Key) Doc() *Doc { return &docs[k] }

// Severity returns the severity of the reason; "" for no reason.
func (k Key) Severity() Severity { return k.Doc().Severity }

// A Scope says what a reason is about.
type Scope string

// The scopes.
const (
	Plan  Scope = "plan"  // a finding of the plan for a pod template
	Group Scope = "group" // a finding of the plan for a WorkloadGroup
	Run   Scope = "run"   // a message of a whole run
)

// An Extent says how much of a pod an info of a plan leaves as it is.
type Extent uint8

// The extents. The zero Extent is that of every other reason.
const (
	_ Extent = iota
	NoProbe
	OneProbe // a probe or a hook. Others of the pod may be rewritten
	// WholePod: the policies for a cluster leave such a pod alone too. internal/policy/reasons.cel has its condition.
	WholePod
)

// A Doc is the row of a reason.
type Doc struct {
	Name     string // of the key, as users see it
	Of       Scope
	Severity Severity
	Leaves   Extent // of an info of scope [Plan]
	Cause    string // in full sentences
	// Fix is what to do, in full sentences; "" if there is nothing to do. A message that names
	// no fix of its own has this one.
	Fix string
	// Words are for the table of explain; "" if the first sentence of Cause will do.
	Words string

	// OnPurpose: somebody asked to leave the probe as it is, so check does not report it.
	OnPurpose bool
	// LetThrough: the whole pod is left as it is, and the kubelet's probes reach it.
	LetThrough bool
	// SameFix: there can be very many such messages, and the first says it all.
	SameFix bool
	// Always: it is printed although it is an info, since it says how far the run's result holds.
	Always bool
	// MayBeBuilt: the message is about a probe as it is before the build of a kustomization, which
	// may rewrite it.
	MayBeBuilt bool
	// Gate is the reason under which check and explain report this one, since they must not
	// pass if they did not look; [None] if it is the same.
	Gate Key
}

// InWords says for a table why a probe is not rewritten: in the middle of a sentence, without its full stop.
func (d *Doc) InWords() string {
	if d.Words != "" {
		return d.Words
	}
	first, _, _ := strings.Cut(d.Cause, ". ")
	word, rest, _ := strings.Cut(strings.TrimSuffix(first, "."), " ")
	if slices.Contains([]string{"A", "An", "By", "Nothing", "The", "This"}, word) {
		word = strings.ToLower(word)
	}
	return strings.TrimSpace(word + " " + rest)
}

// FixOrNothing returns the fix for people who asked for it.
func (d *Doc) FixOrNothing() string {
	return cmp.Or(d.Fix, "Nothing to do.")
}

// All returns the rows of all reasons, sorted by name.
func All() []Doc {
	return slices.Clone(docs[None+1:])
}

// Of returns the rows of a scope, sorted by name.
func Of(s Scope) []Doc {
	return slices.DeleteFunc(All(), func(d Doc) bool {
		return d.Of != s
	})
}

// Parse returns the key with a name, and reports whether there is one.
func Parse(name string) (Key, bool) {
	i := slices.IndexFunc(docs[:], func(d Doc) bool {
		return d.Name == name
	})
	return Key(max(i, 0)), i > 0
}

// A Text is what a message says, in three parts without the full stop at their end. The
// place, the object and the field are beside it, so no part repeats them.
type Text struct {
	What string // happens to the user's probe
	Why  string // "" if What shows it
	Fix  string // an imperative; "" if there is nothing to do
}

// NewText returns a text that says what happens.
func NewText(format string, args ...any) Text {
	return Text{What: fmt.Sprintf(format, args...)}
}

// Complete returns a text with the fix of the reason, unless it has one of its own.
func (k Key) Complete(t Text) Text {
	t.Fix = cmp.Or(t.Fix, k.Doc().Fix)
	return t
}

// String returns the text in one line.
func (t Text) String() string {
	return string(t.AppendTo(nil))
}

// AppendTo appends the text in one line.
func (t *Text) AppendTo(b []byte) []byte {
	b = append(b, t.What...)
	if t.Why == "" && t.Fix == "" {
		return b
	}
	for _, part := range []string{t.Why, t.Fix} {
		if part != "" {
			b = append(appendStop(b), ' ')
			b = append(b, part...)
		}
	}
	return appendStop(b)
}

// Capital returns words as the beginning of a sentence. Names of programs stay as they are.
func Capital(words string) string {
	isProgram := func(name string) bool { return strings.HasPrefix(words, name) }
	if words == "" || slices.ContainsFunc([]string{"probe-proxy", "istio-proxy", "rewrite-probes"}, isProgram) {
		return words
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// Sentence returns a part with its full stop.
func Sentence(part string) string {
	return string(appendStop([]byte(part)))
}

// appendStop ends a sentence, unless it has an end.
func appendStop(b []byte) []byte {
	if len(b) == 0 ||
		strings.IndexByte(".?!:", b[len(b)-1]) >= 0 {
		return b
	}
	return append(b, '.')
}
