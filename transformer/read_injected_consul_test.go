package transformer_test

import (
	"strings"
	"testing"
)

// Consul keeps the pod as it was, with all its containers: an original is that of the container and the type, wherever it is.
func TestConsulsOriginalIsThatOfTheContainer(t *testing.T) {
	const kept = `{"spec":{"initContainers":[{"name":"app","livenessProbe":{"httpGet":{"port":1}}}],"containers":[` +
		`{"name":"b","livenessProbe":{"httpGet":{"port":81}},"readinessProbe":{"httpGet":{"port":82}}},` +
		`{"name":"app","livenessProbe":{"httpGet":{"port":83}},"readinessProbe":{"tcpSocket":{"port":84}},"startupProbe":{"httpGet":{"port":85}}}]}}`
	metadata := "annotations:\n  consul.hashicorp.com/connect-inject: \"true\"\n  consul.hashicorp.com/original-pod: '" + kept + "'\n"
	for _, c := range []struct{ spec, want string }{
		{app("livenessProbe: {httpGet: {path: /x, port: 20301}}"), `"port":83,`},
		{app("startupProbe: {httpGet: {path: /x, port: 20501}}"), `"port":85,`},
		{app("startupProbe: {httpGet: {path: /x, port: 20599}}"), `"port":85,`},
		{app("startupProbe: {httpGet: {path: /x, port: 20600}}"), `"port":20600,`}, // of no range
		{app("startupProbe: {httpGet: {path: /x, port: 20499}}"), `"port":20499,`},
		{strings.Replace(app("livenessProbe: {httpGet: {path: /x, port: 20300}}"), "name: app", "name: b", 1), `"port":81,`},
		{"initContainers:\n- name: b\n  image: b\n  restartPolicy: Always\n  livenessProbe: {httpGet: {path: /x, port: 20300}}\n" + app(""), `"port":20300,`}, // Consul rewrites none there
	} {
		if r := plan(t, podOf(metadata, c.spec)); !strings.Contains(r.env(), c.want) {
			t.Errorf("%s: %v, env %s", c.spec, r.Findings, r.env())
		}
	}
	// Without an original of the same kind, or of the container, it is not known.
	for _, spec := range []string{app("readinessProbe: {httpGet: {path: /x, port: 20401}}"), strings.Replace(app("livenessProbe: {httpGet: {path: /x, port: 20301}}"), "name: app", "name: c", 1)} {
		wantReason(t, plan(t, podOf(metadata, spec)), "dangling")
	}
}
