package transformer

import "slices"

// probesMadeElsewhere leaves alone the probes of a template whose controller makes others of them.
func probesMadeElsewhere(k *knowledge, s *handlerSite) leave {
	if k.in.Shape.ProbesMadeBy == "" || s.isDangling() {
		return leave{}
	}
	return leave{reason: k.off.Reason}
}

// optedOut leaves alone all probes of a template that has opted out; [decision.reportOptOut] says
// so once.
func optedOut(k *knowledge, s *handlerSite) leave {
	if k.off == nil {
		return leave{}
	}
	return leave{reason: k.off.Reason}
}

func inSkippedContainer(k *knowledge, s *handlerSite) leave {
	name := s.container.Name
	if !slices.Contains(k.skipped, name) {
		return leave{}
	}
	return skip(s, "skipped-container", s.path, "container %q is named by the annotation `%s`", name, ownSkipContainers)
}

// reportOptOut reports the reason to leave the whole template alone, if it is that of a probe.
func (b *decision) reportOptOut() {
	if b.off == nil || !slices.ContainsFunc(b.rulings, func(r ruling) bool { return r.reason == b.off.Reason }) {
		return
	}
	verb := "left alone"
	if b.hasOurs() {
		verb = "restored"
	}
	off := *b.off
	off.Message += "; its probes are " + verb
	b.addFinding(off)
}
