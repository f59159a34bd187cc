package surroundings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestAProxyConfigIsReadAsYAML(t *testing.T) {
	at := ProxyConfig{StatusPort: 15030}
	for config, want := range map[string]ProxyConfig{
		"statusPort: 15030":                                  at,
		"  statusPort:   15030  \n":                          at,
		"tracing: {}\nstatusPort: 15030 # why\nother: 1":     at,
		"{statusPort: 15030, other: 1}":                      at,
		`{"other":1,"statusPort":15030}`:                     at,
		`{"statusPort" : "15030"}`:                           at,
		"'statusPort': '15030'":                              at,
		"status_port: 15030":                                 at,
		"statusPort: 1\nstatusPort: 15030":                   at,
		"x: &p 15030\nstatusPort: *p":                        at,
		"<<: {statusPort: 15030}":                            at,
		"---\nstatusPort: 15030\n---\nstatusPort: 1":         at,
		"statusPorts: 1\nstatusPort: 15030":                  at,
		"myStatusPort: 1\nxstatusPort: 2\nstatusPort: 15030": at,
		"# statusPort: 2\nstatusPort: 15030":                 at,
		"tracing:\n  statusPort: 2\nstatusPort: 15030":       at,
		"x: |\n  statusPort: 2\nstatusPort: 15030":           at,
		"tracing:\n  statusPort: 2":                          {},
		"x: |\n  statusPort: 2":                              {},
		"statusPort: 0":                                      {},
		"statusPort: 65536":                                  {},
		"statusPort: ${PORT}":                                {},
		"xstatusPort: 2":                                     {},
		"#\tstatusPort: 2":                                   {},
		"other: 1 # or statusPort: 2":                        {},
		"  # statusPort: 2\nother: 1":                        {},
		"other: statusPort":                                  {},
		"":                                                   {},
		"statusPort:":                                        {},
		"- statusPort: 2":                                    {},
		"proxyMetadata:\n  statusPort: '2'\n":                {Metadata: field.Map{{Key: "statusPort", Value: "2"}}},
		"interceptionMode: NONE":                             {Interception: "NONE"},
		"interceptionMode: 1":                                {Interception: "TPROXY"},
		"interceptionMode: 3":                                {},
		"interceptionMode: none":                             {},
		"holdApplicationUntilProxyStarts: true":              {Holds: certain.Always},
		"holdApplicationUntilProxyStarts: yes":               {Holds: certain.Always},
		"hold_application_until_proxy_starts: false":         {Holds: certain.Never},
		"holdApplicationUntilProxyStarts: 1":                 {},
		"holdApplicationUntilProxyStarts: TRUE":              {Holds: certain.Always},
	} {
		got, _ := ReadProxyConfig(config)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: -want +got\n%s", config, d)
		}
	}
	for _, bad := range []string{"\tstatusPort: 15030", "statusPort: {", "x: a\n{statusPort: 1}", "just a text", "- statusPort: 2"} {
		if got, err := ReadProxyConfig(bad); err == nil || got.StatusPort != 0 {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}
