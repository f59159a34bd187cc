package injector

import (
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// proxyName is the container that rewrite-probes adds, and ownPort the port
// it is given where it runs beside Istio's sidecar.
const (
	proxyName = "probe-proxy"
	ownPort   = 15099
)

// certain says what Istio is as far as it decides whether istio-proxy can answer, so
// that whatever it may answer is compared with what the injector makes of it.
var certain = rewriting.Settings{"injectorRewrites": false, "nativeSidecars": false, "holdApplicationUntilProxyStarts": true}

// rewrite sends manifests through rewrite-probes. The report has the pod
// templates as they were before, which a rewriting run does not keep.
func rewrite(input []byte, spec rewriting.Settings) (output []byte, r *report.Report, err error) {
	c, err := rewriting.Config(spec)
	if err != nil {
		return nil, nil, err
	}
	_, inspection, err := rewriting.Run(input, c, pipeline.Inspect)
	if err != nil {
		return nil, nil, err
	}
	output, r, err = rewriting.Run(input, c, pipeline.Rewrite)
	if err != nil {
		return nil, nil, err
	}
	r.Templates = inspection.Templates
	return output, r, nil
}

// reasons returns the reason keys of the messages of one severity.
func reasons(messages []report.Message, severity transformer.Severity) []string {
	var keys []string
	for _, m := range messages {
		if m.Severity == severity {
			keys = append(keys, m.Reason.String())
		}
	}
	return keys
}
