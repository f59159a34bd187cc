package report

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// declareInjector is the fix where nobody but the user can say whether Istio's injector rewrites.
const declareInjector = "Run rewrite-probes. Or set `istio.injectorRewrites`"

// FoldInjector puts one message without a place instead of all about probes that only Istio's injector
// decides: that is one fact of the mesh, and nobody has to hear of it for each probe.
func (r *Report) FoldInjector() {
	var parts, others []Message
	for _, m := range r.Messages {
		if m.Reason == reason.InjectorUnknown {
			parts = append(parts, m)
		} else {
			others = append(others, m)
		}
	}
	r.Messages = append(others, r.injectorUnknown(parts)...)
}

// WarnOfInjector adds that message to a report with templates that nobody has judged.
func (r *Report) WarnOfInjector() {
	var parts []Message
	for i := range r.Templates {
		t := &r.Templates[i]
		for _, p := range t.Probes {
			onPurpose := p.State == transformer.LeftAlone && p.Reason.Doc().OnPurpose
			if p.If == world.InjectorAlone && !onPurpose {
				doubt := &Doubt{If: p.If, Elsewhere: p.RewrittenElsewhere, Disputed: p.RewritesDisputed}
				parts = append(parts, Message{Object: t.Object, Field: p.Field, Doubt: doubt})
			}
		}
	}
	for _, m := range r.injectorUnknown(parts) {
		m.Severity = transformer.Warning // explain shows, and check judges
		r.Messages = append(r.Messages, m)
	}
}

// injectorUnknown returns the messages that fold some: errors about those of which nothing says that the
// injector rewrites them, or two objects contradict each other, and a warning about those of which an installation in
// another folder says so.
func (r *Report) injectorUnknown(parts []Message) (all []Message) {
	var unsaid, disputed, elsewhere []Message
	for _, m := range parts {
		switch {
		case m.doubt().Elsewhere != "":
			elsewhere = append(elsewhere, m)
		case m.doubt().Disputed != "":
			disputed = append(disputed, m)
		default:
			unsaid = append(unsaid, m)
		}
	}
	if len(unsaid) > 0 {
		m := asOne(unsaid, "which nothing here shows")
		if r.AskedCluster {
			m.Text.Fix = declareInjector
		}
		all = append(all, m)
	}
	if len(disputed) > 0 {
		m := asOne(disputed, "and the input contradicts itself")
		m.Text.Why, m.Text.Fix = disputed[0].Doubt.Disputed, declareInjector
		all = append(all, m)
	}
	if len(elsewhere) > 0 {
		m := asOne(elsewhere, "which only another folder shows")
		m.Severity = transformer.Warning
		m.Text.Why, m.Text.Fix = elsewhere[0].Doubt.Elsewhere+" may be about another cluster", declareInjector
		all = append(all, m)
	}
	return all
}

// OfFilters returns one message for the whole run about probes that a filter may refuse, each named in the
// Doubt of a message; none without.
func OfFilters(parts []Message) (all []Message) {
	if len(parts) == 0 {
		return nil
	}
	m := NewMessage(reason.FilterUnknown, reason.NewText("%s may have Envoy refuse %s", parts[0].Doubt.If, probesOf(parts)))
	m.Text.Why = "check does not evaluate filters"
	return append(all, m)
}

// asOne returns one message about some probes.
func asOne(parts []Message, says string) Message {
	work, them := "work", "them"
	if len(parts) == 1 {
		work, them = "works", "it"
	}
	m := NewMessage(reason.InjectorUnknown, reason.NewText(
		"%s %s only if Istio's injector rewrites %s, %s", probesOf(parts), work, them, says))
	m.parts = &parts
	return m
}

// probesOf words how many probes, hooks and objects some messages are about.
func probesOf(parts []Message) string {
	objects := make(map[ObjectRef]bool)
	hooks := 0
	for i := range parts {
		objects[parts[i].about()] = true
		if isHook(parts[i].Field) {
			hooks++
		}
	}
	var nouns []string
	if n := len(parts) - hooks; n > 0 {
		nouns = append(nouns, Plural(n, "probe"))
	}
	if hooks > 0 {
		nouns = append(nouns, Plural(hooks, "hook"))
	}
	return strings.Join(nouns, " and ") + " of " + Plural(len(objects), "object")
}

// isHook reports whether a field is a lifecycle hook.
func isHook(path field.Path) bool {
	return len(path) > 1 && path[len(path)-2].Key == "lifecycle"
}
