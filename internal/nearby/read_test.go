package nearby_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// say writes an object that was found, and where.
func say(b *strings.Builder, kind string, at any, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte(err.Error())
	}
	fmt.Fprintf(b, "%s %v\n\t%s\n", kind, at, text)
}

// Whatever has the annotation does not reach a cluster, unless the value says that it does.
func TestOnlyFalseTakesAnObjectToTheCluster(t *testing.T) {
	for value, want := range map[string]bool{"": true, "false": true, "true": false, "yes": false, "False": false, "FALSE": false, "0": false} {
		s := of(t, "shop", "a.yaml", documents(web, ns("shop", "a: b", "  annotations: {config.kubernetes.io/local-config: \""+value+"\"}\n")))
		if (s.Namespace != nil) != want {
			t.Errorf("a Namespace with %q counts: %t", value, s.Namespace != nil)
		}
	}
}

// Everything that counts of the objects in testdata/objects.yaml, which has every field that is
// read, and objects that do not count, is compared with a file.
func TestWhatCountsIsReadWithAllItsFields(t *testing.T) {
	text, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, namespace := range []string{"shop", root, "absent", ""} {
		fmt.Fprintf(&b, "# namespace %q\n", namespace)
		s := of(t, namespace, "objects.yaml", string(text), "web.yaml", web)
		if s.Namespace != nil {
			say(&b, "Namespace", s.NamespaceAt, s.Namespace)
		}
		fmt.Fprintf(&b, "others injected: %t, OpenShift: %t\n", s.OthersInjected, s.OpenShift)
		for _, p := range s.PeerAuthentications {
			say(&b, "PeerAuthentication", p.At, p)
		}
		for _, p := range s.AuthorizationPolicies {
			say(&b, "AuthorizationPolicy", p.At, p)
		}
		for _, l := range s.LimitRanges {
			say(&b, "LimitRange", l.Name, l)
		}
		for _, q := range s.Quotas {
			say(&b, "ResourceQuota", q.Name, q)
		}
		for _, p := range s.Services() {
			say(&b, "Service", p.At, p)
		}
		for _, p := range s.Ingresses() {
			say(&b, "Ingress", p.At, p)
		}
		for _, p := range s.NetworkPolicies() {
			say(&b, "NetworkPolicy", p.At, p)
		}
		for _, p := range s.Sidecars() {
			say(&b, "Sidecar", p.At, p)
		}
		for _, p := range s.SidecarSets() {
			say(&b, "SidecarSet", p.At, p)
		}
		for _, p := range s.LinkerdServers() {
			say(&b, "Server", p.At, p)
		}
		for _, p := range s.HTTPRoutes() {
			say(&b, "HTTPRoute", p.At, p)
		}
	}
	golden.Compare(t, "testdata/found.txt", []byte(b.String()))
}
