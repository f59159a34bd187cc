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
	}
	golden.Compare(t, "testdata/found.txt", []byte(b.String()))
}
