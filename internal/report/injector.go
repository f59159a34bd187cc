package report

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

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
	if len(parts) > 0 {
		r.Messages = append(others, injectorUnknown(parts))
	}
}

// WarnOfInjector adds that message to a report with templates that nobody has judged.
func (r *Report) WarnOfInjector() {
	var parts []Message
	for i := range r.Templates {
		t := &r.Templates[i]
		for _, p := range t.Probes {
			onPurpose := p.State == transformer.LeftAlone && p.Reason.Doc().OnPurpose
			if p.If == world.InjectorAlone && !onPurpose {
				parts = append(parts, Message{Object: t.Object, Field: p.Field})
			}
		}
	}
	if len(parts) > 0 {
		m := injectorUnknown(parts)
		m.Severity = transformer.Warning // explain shows, and check judges
		r.Messages = append(r.Messages, m)
	}
}

// injectorUnknown returns the message that folds some.
func injectorUnknown(parts []Message) Message {
	work, them := "work", "them"
	if len(parts) == 1 {
		work, them = "works", "it"
	}
	m := NewMessage(reason.InjectorUnknown, reason.NewText(
		"%s %s only if Istio's injector rewrites %s, and nothing here says so", probesOf(parts), work, them))
	m.parts = parts
	return m
}

// probesOf words how many probes, hooks and objects some messages are about.
func probesOf(parts []Message) string {
	objects := make(map[Object]bool)
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
