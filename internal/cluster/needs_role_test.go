package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/fakekubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// role returns a ClusterRole that lets a run list each kind that it may read, and of ConfigMaps only those with names of
// control planes.
func role() string {
	resources := make(map[string][]string)
	for _, n := range (&reader{}).wanted() {
		if n.GroupKind != configMap {
			resources[n.Group] = append(resources[n.Group], fakekubectl.Plural(n.Kind))
		}
	}
	var b strings.Builder
	b.WriteString("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: rewrite-probes-check\nrules:\n")
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		all := slices.Compact(slices.Sorted(slices.Values(resources[group])))
		fmt.Fprintf(&b, "- apiGroups: [%s]\n  resources: [%s]\n  verbs: [list]\n", cmp.Or(group, `""`), strings.Join(all, ", "))
	}
	var names []string
	for _, patterns := range configured {
		for _, p := range patterns {
			names = append(names, strings.TrimSuffix(p, "*"))
		}
	}
	slices.Sort(names)
	fmt.Fprintf(&b, "- apiGroups: [%q]\n  resources: [configmaps]\n", "")
	fmt.Fprintf(&b, "  resourceNames: [%s]   # with -REVISION, one each\n", strings.Join(names, ", "))
	b.WriteString("  verbs: [list]\n")
	return b.String()
}

// The page's role has the kinds that a run reads, no more and no fewer.
func TestThePageHasTheRole(t *testing.T) {
	const page = "../../docs/guides/cluster.md"
	want := "```yaml\n" + role() + "```\n"
	if *golden.Update {
		if err := testutil.ReplaceSection(page, "role", want); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := testutil.Section(page, "role"); err != nil || got != want {
		t.Errorf("%s has another role (%v): go test ./internal/cluster -update", page, err)
	}
}
