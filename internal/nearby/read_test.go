package nearby_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// Whatever has the annotation does not reach a cluster, unless the value says that it does.
func TestOnlyFalseTakesAnObjectToTheCluster(t *testing.T) {
	for value, want := range map[string]bool{"": true, "false": true, "true": false, "yes": false, "False": false, "FALSE": false, "0": false} {
		s := of(t, "shop", "a.yaml", documents(web, ns("shop", "a: b", "  annotations: {config.kubernetes.io/local-config: \""+value+"\"}\n")))
		if (s.Namespace() != nil) != want {
			t.Errorf("a Namespace with %q counts: %t", value, s.Namespace() != nil)
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
		fmt.Fprintf(&b, "others injected: %t, OpenShift: %t\n", s.others(), s.IsOpenShift())
		for _, k := range surroundings.Rows() {
			if k.Scope == surroundings.Mark {
				continue
			}
			for _, f := range s.Find(k, false) {
				spec, err := json.Marshal(f.Value)
				if err != nil {
					t.Fatal(err)
				}
				about := reflect.ValueOf(f.Value).Elem().FieldByName("Neighbour").Interface()
				fmt.Fprintf(&b, "%+v\n\t%s\n", about, spec)
			}
		}
	}
	golden.Compare(t, "testdata/found.txt", []byte(b.String()))
}
