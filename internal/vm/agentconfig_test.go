package vm

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func TestTheConfigurationOfTheAgentIsRead(t *testing.T) {
	const env = `{proxyMetadata: {ISTIO_KUBE_APP_PROBERS: "x"}}`
	for _, tt := range []struct {
		name            string
		group, entries  string // the two annotations; "none" if one is not there
		port            int
		env, entriesEnv string
		errAt, errStart string
	}{
		{name: "without annotations the port is Istio's", group: "none", entries: "none", port: 15020},
		{name: "a blank annotation is none", group: " \n", entries: "", port: 15020},
		{name: "a port", group: "statusPort: 15031", entries: "none", port: 15031},
		{name: "a port in quotes", group: "statusPort: '15031'", entries: "none", port: 15031},
		{name: "0, which is the same as unset", group: "statusPort: 0", entries: "none", port: 15020},
		{name: "the first port", group: "statusPort: 1", entries: "none", port: 1},
		{name: "the last port", group: "statusPort: 65535", entries: "none", port: 65535},
		{name: "the port of the entries goes over that of the group", group: "statusPort: 15031", entries: "statusPort: 15032", port: 15032},
		{name: "entries without a port leave that of the group", group: "statusPort: 15031", entries: "concurrency: 2", port: 15031},
		{name: "the env var of the group", group: env, entries: "none", port: 15020, env: "x"},
		{name: "the env var of the entries", group: "none", entries: env, port: 15020, entriesEnv: "x"},
		{name: "a port beyond the last", group: "statusPort: 65536", entries: "none", errAt: "metadata", errStart: "`statusPort`: \"65536\" must be a port from 1 to 65535"},
		{name: "a negative port", group: "statusPort: -1", entries: "none", errAt: "metadata", errStart: "`statusPort`: \"-1\" must be"},
		{name: "a port that is no number", group: "none", entries: "statusPort: a", errAt: "spec", errStart: "`statusPort`: \"a\" must be"},
		{name: "no YAML", group: "a: b\n c: [", entries: "none", errAt: "metadata", errStart: "must be YAML that Istio's agent can read: line 2 of its value: "},
		{name: "no YAML for the entries", group: "none", entries: "[", errAt: "spec", errStart: "must be YAML that Istio's agent can read: line 1 of its value: "},
		{name: "two documents", group: "a: b\n---\nc: d", entries: "none", errAt: "metadata", errStart: "must be YAML that Istio's agent can read: must be one mapping"},
		{name: "a value that is no string", group: "proxyMetadata: {A: 1}", entries: "none", errAt: "metadata", errStart: "must be YAML that Istio's agent can read: line 1 of its value: `proxyMetadata.A`: must be a string"},
	} {
		g := &Group{}
		if tt.group != "none" {
			g.Metadata.Annotations = field.KeyValues{{Key: ConfigAnnotation, Value: tt.group}}
		}
		if tt.entries != "none" {
			g.Spec.Metadata.Annotations = field.KeyValues{{Key: ConfigAnnotation, Value: tt.entries}}
		}
		c, path, err := readAgentConfig(g)
		if tt.errAt != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.errStart) || path[0].Key != tt.errAt || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v at %s, want %s", tt.name, err, path, tt.errStart)
			}
			continue
		}
		if err != nil || c.statusPort != tt.port || c.group.ProxyMetadata.Get(prober.EnvName) != tt.env || c.entries.ProxyMetadata.Get(prober.EnvName) != tt.entriesEnv || (c.text != nil) != (tt.group != "none") {
			t.Errorf("%s: %v, %+v", tt.name, err, c)
		}
	}
}

func TestOnlyOneReadinessProbeAloneIsAnOriginal(t *testing.T) {
	for _, tt := range []struct{ name, env, key string }{
		{"an httpGet", `{"/app-health/a/readyz":{"httpGet":{"port":1}}}`, "/app-health/a/readyz"},
		{"a grpc", `{"/app-health/a/readyz":{"grpc":{"port":1,"service":""}}}`, "/app-health/a/readyz"},
		{"a tcpSocket, which no group has rewritten", `{"/app-health/a/readyz":{"tcpSocket":{"port":1}}}`, ""},
		{"another probe", `{"/app-health/a/livez":{"httpGet":{"port":1}}}`, ""},
		{"two probes", `{"/app-health/a/readyz":{"httpGet":{"port":1}},"/app-health/b/readyz":{"httpGet":{"port":1}}}`, ""},
		{"none", `{}`, ""},
		{"no JSON", `{`, ""},
		{"an entry that is wrong, beside a good one", `{"/app-health/a/readyz":{"httpGet":{"port":1}},"/app-health/b/readyz":{"httpGet":{"port":0}}}`, ""},
	} {
		c := agentConfig{group: fragment{ProxyMetadata: field.KeyValues{{Key: prober.EnvName, Value: tt.env}}}}
		c.readEnv()
		if c.key != tt.key || (c.entry != nil) != (tt.key != "") {
			t.Errorf("%s: %q, %v", tt.name, c.key, c.entry)
		}
	}
	c := agentConfig{}
	if c.readEnv(); c.entry != nil {
		t.Errorf("an env var that is not set has %v", c.entry)
	}
}

// TestTheEnvVarsAreAddedAndRemoved has values of the annotation of which each is
// what withoutEnv makes of the next.
func TestTheEnvVarsAreAddedAndRemoved(t *testing.T) {
	const vars, both = "ISTIO_KUBE_APP_PROBERS: \"{it's}\"\n", "ISTIO_KUBE_APP_PROBERS: \"{it's}\"\n  REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"true\"\n"
	none := "none"
	for _, tt := range []struct {
		name, before string
		localhost    bool
		after        string
		back         string // none if nothing is left
	}{
		{"no annotation", none, false, "proxyMetadata:\n  " + vars, none},
		{"no annotation, to localhost", none, true, "proxyMetadata:\n  " + both, none},
		{"a blank annotation", " ", true, "proxyMetadata:\n  " + both, none},
		{"another field", "concurrency: 2\n", false, "concurrency: 2\nproxyMetadata:\n  ISTIO_KUBE_APP_PROBERS: \"{it's}\"\n", "concurrency: 2\n"},
		{"no newline at the end", "concurrency: 2", false, "concurrency: 2\nproxyMetadata:\n  ISTIO_KUBE_APP_PROBERS: \"{it's}\"", "concurrency: 2"},
		{"another field, to localhost", "concurrency: 2\n", true, "concurrency: 2\nproxyMetadata:\n  ISTIO_KUBE_APP_PROBERS: \"{it's}\"\n  REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"true\"\n", "concurrency: 2\n"},
		{"another variable", "proxyMetadata: {A: b}\n", true, "proxyMetadata: {A: b, ISTIO_KUBE_APP_PROBERS: \"{it's}\", REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"true\"}\n", "proxyMetadata: {A: b}\n"},
		{"localhost already", "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: T}\n", true, "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"true\", ISTIO_KUBE_APP_PROBERS: \"{it's}\"}\n", none},
		{"not localhost, for a probe that does not ask there", "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"0\"}\n", false, "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"0\", ISTIO_KUBE_APP_PROBERS: \"{it's}\"}\n", "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"0\"}\n"},
		{"not localhost", "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"0\"}\n", true, "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"true\", ISTIO_KUBE_APP_PROBERS: \"{it's}\"}\n", none},
	} {
		var base *string
		if tt.before != none {
			base = &tt.before
		}
		vars := field.KeyValues{{Key: prober.EnvName, Value: "{it's}"}}
		if tt.localhost {
			vars = vars.With(localhostEnv, "true")
		}
		after, err := withEnv(base, vars)
		if err != nil || after != tt.after {
			t.Errorf("%s: %v\n%swant\n%s", tt.name, err, after, tt.after)
		}
		back, err := withoutEnv(after, vars, nil)
		got := none
		if back != nil {
			got = *back
		}
		if err != nil || got != tt.back {
			t.Errorf("%s: %v, without it is\n%swant\n%s", tt.name, err, got, tt.back)
		}
	}
}

func TestWhatWasNotedComesBack(t *testing.T) {
	const env = "ISTIO_KUBE_APP_PROBERS: a"
	vars := field.KeyValues{{Key: prober.EnvName}, {Key: localhostEnv}}
	for _, tt := range []struct {
		name, text, before, want string
	}{
		{"the value of localhost", "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"true\", " + env + "}", "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"no\"}",
			"proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"no\"}"},
		{"a value that was edited since", "{a: b, proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: x, " + env + "}}", "proxyMetadata: {A: b}", "{a: b}"},
		{"a variable that was removed since", "proxyMetadata: {A: b, " + env + "}", "concurrency: 2", "proxyMetadata: {A: b}"},
		{"an empty proxyMetadata", "proxyMetadata: {" + env + "}", "proxyMetadata: {}", "proxyMetadata: {}"},
		{"an empty proxyMetadata, of two variables", "proxyMetadata: {" + env + ", REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: \"true\"}", "proxyMetadata: {}", "proxyMetadata: {}"},
		{"no empty proxyMetadata if it has more by now", "proxyMetadata: {A: b, " + env + "}", "proxyMetadata: {}", "proxyMetadata: {A: b}"},
	} {
		got, err := withoutEnv(tt.text, vars, &tt.before)
		if err != nil || got == nil || *got != tt.want {
			t.Errorf("%s: %v, %v, want %s", tt.name, err, got, tt.want)
		}
	}
}

func TestAConfigurationThatIsNoYAMLIsNotEdited(t *testing.T) {
	text := "["
	if got, err := withEnv(&text, nil); err == nil {
		t.Errorf("with the env var: %q", got)
	}
	if got, err := withoutEnv(text, nil, &text); err == nil {
		t.Errorf("without it: %v", got)
	}
}
