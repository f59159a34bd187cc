package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// checkPaths refuses a template in which a probe that was not recognised has the
// path to which another probe is rewritten: the next run could not know to which
// of the two the original belongs.
func checkPaths(d *decision) (found []Finding) {
	for _, s := range d.sites {
		if !s.isDangling() {
			continue
		}
		i := slices.IndexFunc(
			d.toRewrite,
			func(c *site) bool {
				return c.key == s.current.HTTPGet.Path
			},
		)
		if i >= 0 {
			found = append(found, containerFinding(reason.OriginalsAmbiguous, s.path, s.container.Name,
				"it looks rewritten, and has the path of the %s of container %q", d.toRewrite[i].name.Field(), d.toRewrite[i].container.Name).
				Fix("Write its original back"))
		}
	}
	return found
}

// keepReplaced refuses the template if a probe has been given another handler by
// hand, and its original would be lost: only a probe that is rewritten in its turn
// takes the place of its original. The entry of a probe or a container that is no
// longer there goes.
func keepReplaced(d *decision) (found []Finding) {
	if d.failed() {
		return nil
	}
	for _, s := range d.rulings {
		if s.alreadyRewritten || s.target != nil {
			continue
		}
		if _, noted := d.record.Section(recordHandlers).Get(s.key); noted && s.isDangling() {
			found = append(found, containerFinding(reason.OriginalReplaced, s.path, s.container.Name,
				"it looks rewritten, but only the annotation `%s` has a part of its original", OriginalsAnnotation).
				Fix("Write its original back, or delete `%s`", OriginalsAnnotation))
			continue
		}
		for _, h := range d.holders {
			original, stored := h.originals[s.key]
			if stored && !h.claimed[s.key] && !s.has(original) {
				found = append(found, containerFinding(reason.OriginalReplaced, s.path, s.container.Name,
					"it became %s after the rewriting", s.current).
					Why("Its original, %s, would be lost", pod.HandlerOf(original, &pod.HTTPGet{})).
					Fix("Delete `%s` from %s, or write that path back", s.key, h.name()))
				break
			}
		}
	}
	return found
}
