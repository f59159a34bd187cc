package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// probesMadeElsewhere leaves alone the probes of a template whose controller makes others of them.
func probesMadeElsewhere(a *answering, s *site) leave {
	if a.in.Shape.ProbesMadeBy == "" && !a.in.Shape.IsPatch || s.isDangling() {
		return leave{}
	}
	return leave{reason: a.off.Reason}
}

// optedOut leaves alone all probes of a template that has opted out; [decision.reportOptOut] says
// so once.
func optedOut(a *answering, s *site) leave {
	if a.off == nil {
		return leave{}
	}
	return leave{reason: a.off.Reason}
}

func inSkippedContainer(a *answering, s *site) leave {
	name := s.container.Name
	if !slices.Contains(a.skipped, name) {
		return leave{}
	}
	return skip(s, reason.SkippedContainer, s.path, "the annotation `%s` names container %q", ownSkipContainers, name)
}

// reportOptOut reports the reason to leave the whole template alone, if it is that of a probe.
func (d *decision) reportOptOut() {
	isIt := func(r ruling) bool { return r.reason == d.off.Reason }
	if d.off == nil || !slices.ContainsFunc(d.rulings, isIt) {
		return
	}
	verb := "not rewritten"
	if d.hasOurs() {
		verb = "restored"
	}
	off := *d.off
	off.Text.What += ". Probes " + verb
	d.addFinding(off)
}
