package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// reportMisspeltNames warns of what the functionConfig names and no object has, if it is nearly what
// one has. A shared functionConfig may name what this input lacks, so nothing else is reported.
func (r *run) reportMisspeltNames() {
	r.reportMisspeltIn("istio.injectedNamespaces", r.spec.Istio.InjectedNamespaces, namespaceOf)
	for _, s := range []struct {
		field string
		*config.Selector
	}{{"select", r.spec.Select}, {"exclude", r.spec.Exclude}} {
		if s.Selector != nil {
			r.reportMisspeltIn(s.field+".kinds", s.Kinds, (*manifest.Object).Kind)
			r.reportMisspeltIn(s.field+".namespaces", s.Namespaces, namespaceOf)
			r.reportMisspeltIn(s.field+".names", s.Names, (*manifest.Object).Name)
		}
	}
}

func namespaceOf(o *manifest.Object) string {
	if o.Kind() == "Namespace" {
		return o.Name()
	}
	return o.Namespace()
}

// reportMisspeltIn does that for the names in a field, of which an object has the one that of returns.
func (r *run) reportMisspeltIn(field string, names []string, of func(*manifest.Object) string) {
	if len(names) == 0 {
		return
	}
	var have []string
	isThere := make(map[string]bool)
	for o := range objectsOf(r.streams) {
		if name := of(o); !isThere[name] {
			isThere[name] = true
			have = append(have, name)
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
		meant := ""
		if i >= 0 {
			meant = have[i]
		} else if strings.HasSuffix(field, ".kinds") {
			meant = workload.KindNamed(name)
		}
		if meant != "" && !slices.Contains(names, meant) {
			text := reason.NewText("`spec.%s` of the functionConfig names %q, which is nowhere in the input", field, name)
			text.Fix = fmt.Sprintf("Write %q", meant)
			r.add(report.NewMessage(reason.ConfigMisspelt, text))
		}
	}
}

// matches reports whether a name is one of those that a pattern stands for.
func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}
