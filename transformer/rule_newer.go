package transformer

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// findDropped adds a warning for each probe that no mesh captures, and that is left to a kubelet which may not
// make it.
func findDropped(d *decision) (found []Finding) {
	for _, r := range d.rulings {
		gate, drops := gateOf(r.site)
		if gate == "" || r.target != nil || !d.passesProbes() || d.in.Template.Spec.HostNetwork {
			continue
		}
		f := containerFinding(reason.NewerProbe, r.in(), r.container.Name, "this probe needs the feature gate %s, which is off by default", gate).
			Why("%s", drops)
		found = append(found, f)
	}
	return found
}

// findUnexpanded adds a warning for each header with what Kubernetes would replace in an env var or a command: in a probe or hook it
// sends the text as it is.
func findUnexpanded(d *decision) (found []Finding) {
	for _, s := range d.sites {
		if s.current.HTTPGet == nil {
			continue
		}
		for _, h := range s.current.HTTPGet.HTTPHeaders {
			_, rest, begins := strings.Cut(h.Value, "$(")
			name, _, ends := strings.Cut(rest, ")")
			if !begins || !ends || name == "" || strings.Trim(name, envNameLetters) != "" {
				continue
			}
			found = append(found, containerFinding(reason.Variable, s.path, s.container.Name,
				"Kubernetes replaces no `$(%s)` in the header %q", name, h.Name).
				Why("It sends the text as it is").
				Fix("Write the value, or read it in an `exec` probe"))
		}
	}
	return found
}

// envNameLetters are those of which names of env vars usually are.
const envNameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
