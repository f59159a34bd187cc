package transformer

import (
	"strings"
	"testing"
)

func TestAFieldOfAProxyConfigIsReadInYAMLAndJSON(t *testing.T) {
	for config, want := range map[string]string{
		"statusPort: 15030":                                  "15030",
		"  statusPort:   15030  \n":                          "15030",
		"tracing: {}\nstatusPort: 15030 # why\nother: 1":     "15030",
		"{statusPort: 15030, other: 1}":                      "15030",
		`{"other":1,"statusPort":15030}`:                     "15030",
		`{"statusPort" : "15030"}`:                           "15030",
		"'statusPort': '15030'":                              "15030",
		"\tstatusPort: 15030":                                "15030",
		"statusPorts: 1\nstatusPort: 15030":                  "15030",
		"myStatusPort: 1\nxstatusPort: 2\nstatusPort: 15030": "15030",
		"xstatusPort: 2":                                     "",
		"statusPorts: 2":                                     "",
		"# statusPort: 2\nstatusPort: 15030":                 "15030",
		"x: a#b\n{other: a#b, statusPort: 15030}":            "15030",
		"#\tstatusPort: 2":                                   "",
		"other: 1 # or statusPort: 2":                        "",
		"other: 1\t# statusPort: 2":                          "",
		"  # statusPort: 2\nother: 1":                        "",
		"other: statusPort":                                  "",
		"":                                                   "",
		"statusPort:":                                        "",
	} {
		if got := istioConfigField(config, "statusPort"); got != want {
			t.Errorf("%q has %q, want %q", config, got, want)
		}
	}
	for _, next := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./" {
		longer := "statusPort" + string(next)
		if got := istioConfigField(longer+": 1\nstatusPort: 15030", "statusPort"); got != "15030" {
			t.Errorf("beside %s it is %q", longer, got)
		}
	}
	if got := istioConfigField(strings.Repeat("statusPort ", 1000), "statusPort"); got != "" {
		t.Errorf("got %q", got)
	}
}
