package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// commented puts a comment above every line and after it.
func commented(text string) (in string, comments []string) {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		above, after := fmt.Sprintf("# above %d.", i), fmt.Sprintf("# after %d.", i)
		fmt.Fprintf(&b, "%s%s\n%s %s\n", indent, above, line, after)
		comments = append(comments, above, after)
	}
	return b.String(), comments
}

func TestCommentsInHandlersStay(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: a\n    image: i\n"
	for _, tt := range []struct {
		name, probe string
		gone        string // the comment that goes with its field
	}{
		{"httpGet", "    livenessProbe:\n      httpGet:\n        path: /a\n        port: 80\n        scheme: HTTPS\n      periodSeconds: 1\n", ""},
		{"tcpSocket", "    livenessProbe:\n      initialDelaySeconds: 1\n      tcpSocket:\n        port: 80\n      periodSeconds: 1\n", ""},
		{"grpc", "    readinessProbe:\n      grpc:\n        port: 80\n", ""},
		{"grpc with a service", "    readinessProbe:\n      grpc:\n        service: s\n        port: 80\n", "# after 10."},
		{"grpc, the service last", "    readinessProbe:\n      grpc:\n        port: 80\n        service: s\n", "# after 11."},
		{"hook", "    lifecycle:\n      preStop:\n        httpGet:\n          path: /a\n          port: 80\n", ""},
		{"grpc in flow style, the service last", "    readinessProbe:\n      grpc: { port: 80,\n        service: s }\n", "# after 10."},
		{"flow style over lines", "    livenessProbe: {\n        tcpSocket: {\n          port: 80\n        }\n      }\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, comments := commented(head + tt.probe)
			s, r := run(t, "in", []byte(in), pipeline.Rewrite)
			if report.Count(r.Messages, transformer.Error) > 0 || r.Changed != 1 {
				t.Fatalf("%d changed, %v\n%s", r.Changed, r.Messages, in)
			}
			once := written(t, s)
			s, _ = run(t, "in", once, pipeline.Restore)
			back := written(t, s)
			for _, c := range comments {
				if c == tt.gone {
					continue
				}
				if n := strings.Count(string(once), c); n != 1 {
					t.Errorf("%q is there %d times:\n%s", c, n, once)
				}
				if n := strings.Count(string(back), c); n != 1 {
					t.Errorf("after restore %q is there %d times:\n%s", c, n, back)
				}
			}
			if tt.gone == "" && string(back) != in {
				t.Errorf("restore gives\n%s\nwant\n%s", back, in)
			}
		})
	}
}
