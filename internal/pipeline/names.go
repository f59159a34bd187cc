package pipeline

import (
	"fmt"
	"path"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
)

// reportMisspeltNames warns of what the functionConfig names and no object has, if it is nearly what
// one has. A shared functionConfig may name what this input lacks, so nothing else is reported.
func (r *run) reportMisspeltNames() {
	kind := func(o *manifest.Object) []string { return []string{o.Kind()} }
	name := func(o *manifest.Object) []string { return []string{o.Name()} }
	r.reportMisspeltIn("istio.injectedNamespaces", r.spec.Istio.InjectedNamespaces, namespacesOf)
	for _, s := range []struct {
		field string
		*config.Selector
	}{{"select", r.spec.Select}, {"exclude", r.spec.Exclude}} {
		if s.Selector != nil {
			r.reportMisspeltIn(s.field+".kinds", s.Kinds, kind)
			r.reportMisspeltIn(s.field+".namespaces", s.Namespaces, namespacesOf)
			r.reportMisspeltIn(s.field+".names", s.Names, name)
		}
	}
}

func namespacesOf(o *manifest.Object) []string {
	if o.Kind() == "Namespace" {
		return []string{o.Name()}
	}
	return []string{o.Namespace()}
}

// reportMisspeltIn does that for the names in a field, which are those that of returns for objects.
func (r *run) reportMisspeltIn(field string, names []string, of func(*manifest.Object) []string) {
	if len(names) == 0 {
		return
	}
	var have []string
	for _, s := range r.streams {
		for _, o := range s.Objects() {
			for _, name := range of(o) {
				if !slices.Contains(have, name) {
					have = append(have, name)
				}
			}
		}
	}
	for _, name := range names {
		if slices.ContainsFunc(have, func(h string) bool { return matches(name, h) }) {
			continue
		}
		i := slices.IndexFunc(have, func(h string) bool {
			isNamed := func(n string) bool { return matches(n, h) }
			return spelling.IsSlip(name, h) && !slices.ContainsFunc(names, isNamed)
		})
		if i >= 0 {
			text := reason.NewText("`spec.%s` of the functionConfig names %q, which is nowhere in the input", field, name)
			text.Fix = fmt.Sprintf("Write %q", have[i])
			r.out.Messages = append(r.out.Messages, report.NewMessage(reason.ConfigMisspelt, text))
		}
	}
}

// matches reports whether a name is one of those that a pattern stands for.
func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}
