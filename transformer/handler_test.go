package transformer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Another form of rewritten probes may say something in headers.
func TestHeadersOfARewrittenProbeAreWrittenAndTakenBack(t *testing.T) {
	path := field.NewPath("livenessProbe")
	tcp := &Handler{TCPSocket: &TCPSocket{Port: field.IntOrString{Int: 5}, Host: "h"}}
	bare := &Handler{HTTPGet: &HTTPGet{Path: "/x", Port: field.IntOrString{Int: 6}}}
	full := &Handler{HTTPGet: &HTTPGet{Path: "/x", Port: field.IntOrString{Int: 6}, Scheme: "HTTP", HTTPHeaders: []HTTPHeader{{Name: "Port", Value: "5"}}}}
	headers := field.List{field.Map{{Key: "name", Value: "Port"}, {Key: "value", Value: "5"}}}
	for _, c := range []struct {
		have, want *Handler
		edits      []field.Edit
	}{
		{tcp, full, []field.Edit{{Op: field.Rename, Path: path.Key("tcpSocket"), NewKey: "httpGet", Value: field.Map{
			{Key: "path", Value: "/x"}, {Key: "port", Value: 6}, {Key: "scheme", Value: "HTTP"}, {Key: "httpHeaders", Value: headers}}}}},
		{full, tcp, []field.Edit{{Op: field.Rename, Path: path.Key("httpGet"), NewKey: "tcpSocket", Value: field.Map{{Key: "port", Value: 5}, {Key: "host", Value: "h"}}}}},
		{bare, full, []field.Edit{
			{Op: field.Set, Path: path.Key("httpGet", "scheme"), Value: "HTTP"},
			{Op: field.Set, Path: path.Key("httpGet", "httpHeaders"), Value: headers}}},
		{full, bare, []field.Edit{{Op: field.Delete, Path: path.Key("httpGet", "httpHeaders")}}},
		{tcp, tcp, nil},
	} {
		if d := cmp.Diff(c.edits, HandlerEdits(path, c.have, c.want, nil)); d != "" {
			t.Errorf("%s to %s: -want +got\n%s", c.have, c.want, d)
		}
	}
}
