package pipeline

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// reportUnreleased notes once that the image of probe-proxy may not exist yet:
// this build is no release, and the functionConfig names no image.
func (r *run) reportUnreleased() {
	_, released := release.Image()
	if released || !r.injects || r.mode == Restore || r.spec.ProbeProxy.Image != "" {
		return
	}
	r.out.Messages = append(r.out.Messages, report.NewMessage(ReasonUnreleased,
		fmt.Sprintf("this build (%s) is no release and has no image of probe-proxy: %s is that of the release to come; set `probeProxy.image` in the functionConfig", release.Version(), r.spec.Options().ProbeProxy.Image)))
}
