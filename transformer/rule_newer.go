package transformer

import "github.com/rewrite-probes/rewrite-probes/internal/reason"

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
