package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// noteAssumed notes a namespace in which the answerer was assumed.
func (r *run) noteAssumed(namespace string, a transformer.Answer) {
	if !a.Assumed || r.mode == Restore || slices.Contains(r.assumed[a.By], namespace) {
		return
	}
	if r.assumed == nil {
		r.assumed = make(map[string][]string)
	}
	r.assumed[a.By] = append(r.assumed[a.By], namespace)
}

// assumptions words what was assumed, by answerer.
var assumptions = map[string]string{
	transformer.AnsweredByProbeProxy: "probe-proxy answers on port %d, where that sidecar would listen too",
	transformer.AnsweredByIstioProxy: "istio-proxy answers on port %d as before",
}

// reportAssumed warns once of what was assumed, however many objects there are.
func (r *run) reportAssumed() {
	for _, by := range []string{transformer.AnsweredByProbeProxy, transformer.AnsweredByIstioProxy} {
		if len(r.assumed[by]) == 0 {
			continue
		}
		r.out.Messages = append(r.out.Messages, report.NewMessage(ReasonAssumed,
			fmt.Sprintf("it is not known whether Istio injects its sidecar into %s; "+assumptions[by]+"; set `answeredBy`, `istio.injectedNamespaces` or another `mesh` in the functionConfig",
				namespaceWords(r.assumed[by]), r.spec.Port)))
	}
}

// reportUnreleased notes once that the image of probe-proxy may not exist yet:
// this build is no release, and the functionConfig names no image.
func (r *run) reportUnreleased() {
	image, released := release.Image()
	if released || !r.injects || r.mode == Restore || r.spec.ProbeProxy.Image != "" {
		return
	}
	r.out.Messages = append(r.out.Messages, report.NewMessage(ReasonUnreleased,
		fmt.Sprintf("this build (%s) is no release and has no image of probe-proxy: %s is that of the release to come; set `probeProxy.image` in the functionConfig", release.Version(), image)))
}

// namespaceWords names a few namespaces.
func namespaceWords(names []string) string {
	const most = 3
	var words []string
	for i, name := range names {
		switch {
		case i == most:
			return strings.Join(words, ", ") + fmt.Sprintf(" and %d more", len(names)-most)
		case name == "":
			words = append(words, "objects without a namespace")
		default:
			words = append(words, fmt.Sprintf("namespace %q", name))
		}
	}
	return strings.Join(words, ", ")
}
