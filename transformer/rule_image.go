package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
)

// keptImage returns the image of the template's probe-proxy if it stays: somebody has pinned or
// moved it, and the options name none. "" if it is replaced, or is the one of this version.
func (a *answering) keptImage() string {
	h := a.existingProbeProxy(a.opts)
	if h == nil ||
		h.container.Image == "" ||
		!a.answeredByUs() {
		return ""
	}
	if have := h.container.Image; !a.opts.ProbeProxy.replaces(have) {
		return have
	}
	return ""
}

// checkImage says that the image of probe-proxy stays as it is.
func checkImage(d *decision) []Finding {
	image := d.keptImage()
	if image == "" {
		return nil
	}
	h := d.existingProbeProxy(d.opts)
	return []Finding{containerFinding(reason.ImageKept, h.path.Key("image"), h.container.Name,
		"%q stays: it is not the image of this or an earlier version", image)}
}

// replaces reports whether an image of probe-proxy in a manifest is replaced by that of the
// options: they name one, or the manifest has the default one of this or an earlier version.
func (p *ProbeProxy) replaces(have string) bool {
	want := p.ImageToRun()
	if p.Image != "" || have == want {
		return true
	}
	haveName, haveTag := splitImage(have)
	wantName, wantTag := splitImage(want)
	defaultName, _ := splitImage((&ProbeProxy{}).ImageToRun())
	if haveName != wantName && haveName != defaultName {
		return false
	}
	return release.Compare(haveTag, wantTag) <= 0
}
