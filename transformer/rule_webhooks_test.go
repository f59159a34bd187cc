package transformer_test

import "testing"

// Dapr's injector reads a few words in any case (utils.IsTruthy in dapr/kit).
func TestDaprIsAskedForByWordsInAnyCase(t *testing.T) {
	for value, on := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "yes": true, "Y": true, "on": true, "1": true, "t": true,
		"": false, "false": false, "no": false, "off": false, "0": false, "enabled": false,
	} {
		before := podOf("annotations: {dapr.io/enabled: \""+value+"\"}\nlabels: {sidecar.istio.io/inject: \"true\"}", app(httpProbe))
		r := plan(t, before)
		if _, needed := r.has("rewriter-needed"); needed != on || (r.text == before) != on {
			t.Errorf("%q: %v in\n%s", value, r.Findings, r.text)
		}
	}
}
