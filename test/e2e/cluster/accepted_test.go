package cluster

import "testing"

// TestEnvoyAcceptsEverythingThatIstiodSends has pods of both istiods run meanwhile.
func TestEnvoyAcceptsEverythingThatIstiodSends(t *testing.T) {
	t.Parallel()
	for _, v := range []variant{istioRewrites, asItIs} {
		namespace, name := start(t, "tcp", "accepts", v)
		defer remove(t, namespace, name)
	}
	if err := everythingAccepted(); err != nil {
		t.Error(err)
	}
	note(t, "no refusal in istiod's /debug/syncz", "no refusal")
}
