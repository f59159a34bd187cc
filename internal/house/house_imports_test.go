package house

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers are the packages, from the top down, with the packages of this module
// that each may import.
var layers = []struct {
	pkg     string
	imports string
}{
	{"cmd/rewrite-probes", "internal/cluster internal/config internal/field internal/kubectl internal/manifest internal/patches internal/pipeline internal/policy internal/reason internal/reason/example internal/release internal/render internal/report internal/spelling internal/surroundings internal/why internal/workload"},
	{"cmd/probe-proxy", "internal/field internal/kubelet internal/prober internal/release internal/sidecar"},
	{"cmd/probe-agent", "internal/agent/identity internal/agent/probe internal/agent/systemd internal/agent/xds internal/release internal/vmconfig"},
	{"fn/krm", "fn/internal/nodes internal/field internal/pipeline internal/report"},
	{"fn/kyaml", "fn/findings fn/internal/nodes internal/pipeline"},
	{"fn/internal/nodes", "internal/config internal/manifest internal/pipeline internal/report"},
	{"fn", "fn/findings internal/config internal/field internal/manifest internal/pipeline internal/report internal/workload internal/world transformer"},
	{"fn/findings", "internal/reason internal/report transformer"},
	{"internal/pipeline", "internal/certain internal/config internal/envoy internal/field internal/manifest internal/nearby internal/patches internal/pod internal/reason internal/release internal/report internal/spelling internal/surroundings internal/vm internal/vmconfig internal/workload internal/world transformer"},
	{"internal/render", "internal/field internal/manifest internal/patches internal/program internal/workload"},
	{"internal/patches", "internal/field internal/manifest internal/surroundings transformer"},
	{"internal/cluster", "internal/certain internal/field internal/kubectl internal/manifest internal/nearby internal/surroundings internal/workload"},
	{"internal/kubectl", "internal/program"},
	{"internal/why", "internal/prober"},
	{"internal/envoy", "internal/prober"},
	{"internal/nearby", "internal/field internal/manifest internal/surroundings"},
	{"internal/policy", "internal/config internal/field internal/manifest internal/pod internal/prober internal/reason internal/vm transformer"},
	{"internal/config", "internal/field internal/manifest internal/resources internal/spelling transformer"},
	{"internal/report", "internal/field internal/reason internal/world transformer"},
	{"internal/workload", "internal/field internal/manifest internal/pod internal/prober internal/spelling"},
	{"internal/vm", "internal/field internal/manifest internal/pod internal/prober internal/reason internal/surroundings internal/vmconfig internal/world transformer"},
	{"transformer", "internal/certain internal/field internal/inbound internal/pod internal/prober internal/reason internal/release internal/resources internal/spelling internal/surroundings internal/world"},
	{"internal/world", "internal/certain internal/inbound internal/surroundings"},
	{"internal/inbound", "internal/authz internal/certain internal/pod internal/prober internal/surroundings"},
	{"internal/testutil/fakekubectl", "internal/field internal/manifest"},
	{"internal/testutil/beside", "internal/field internal/surroundings"},
	{"internal/surroundings", "internal/authz internal/certain internal/field internal/pod internal/prober internal/resources internal/yaml"},
	{"internal/authz", "internal/certain internal/field"},
	{"internal/resources", "internal/field internal/pod"},
	{"internal/pod", "internal/field internal/prober internal/spelling"},
	{"internal/certain", ""},
	{"internal/manifest", "internal/field internal/yaml"},
	{"internal/yaml", "internal/field internal/spelling"},
	{"internal/sidecar", "internal/kubelet internal/prober internal/wire"},
	{"internal/agent/xds", "internal/agent internal/vmconfig internal/wire"},
	{"internal/agent/identity", "internal/agent internal/wire"},
	{"internal/agent/probe", "internal/kubelet internal/prober internal/vmconfig"},
	{"internal/agent/systemd", ""},
	{"internal/agent", ""},
	{"internal/kubelet", "internal/prober internal/wire"},
	{"internal/wire", ""},
	{"internal/vmconfig", "internal/field internal/prober"},
	{"internal/prober", "internal/field"},
	{"internal/reason/example", ""},
	{"internal/reason", ""},
	{"internal/release", ""},
	{"internal/program", ""},
	{"docs", ""},
	{"internal/house", ""},
	{"internal/testutil/jsonpatch", "internal/field"},
	{"internal/testutil/yamljudge", "internal/field"},
	{"internal/field", ""},
	{"internal/spelling", ""},
	{"internal/testutil", ""},
	{"internal/testutil/golden", ""},
}

// The map of docs/design.md: a package imports only packages that are below it.
func TestNoImportRunsUp(t *testing.T) {
	const module = "github.com/rewrite-probes/rewrite-probes/"
	out, err := exec.Command("go", "list", "-pgo=off", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	level := make(map[string]int)
	for i, l := range layers {
		level[l.pkg] = i
	}
	listed := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); listed++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module)
		at, ok := level[pkg]
		if !ok {
			t.Errorf("%s is not in the list of layers", pkg)
			continue
		}
		allowed := strings.Fields(layers[at].imports)
		for _, path := range p.Imports {
			below, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			if !slices.Contains(allowed, below) {
				t.Errorf("%s imports %s, which the list does not allow", pkg, below)
			}
		}
		for _, below := range allowed {
			if level[below] <= at {
				t.Errorf("the list lets %s import %s, which is not below it", pkg, below)
			}
			if !slices.Contains(p.Imports, module+below) {
				t.Errorf("the list lets %s import %s, which it does not", pkg, below)
			}
		}
	}
	if listed != len(layers) {
		t.Errorf("%d packages, and %d in the list", listed, len(layers))
	}
}

// Only one package that rewrite-probes links starts programs, so that SECURITY.md can say which commands do. The
// other makes exec probes for probe-agent.
func TestOnlyOnePackageStartsPrograms(t *testing.T) {
	const module = "github.com/rewrite-probes/rewrite-probes/"
	out, err := exec.Command("go", "list", "-pgo=off", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var starts []string
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module)
		if slices.Contains(p.Imports, "os/exec") && !strings.HasPrefix(pkg, "internal/testutil") {
			starts = append(starts, pkg)
		}
	}
	if !slices.Equal(starts, []string{"internal/agent/probe", "internal/program"}) {
		t.Errorf("%q start programs", starts)
	}
	for _, l := range layers {
		imports := strings.Fields(l.imports)
		for door, want := range map[string]bool{
			"internal/program": l.pkg == "internal/kubectl" || l.pkg == "internal/render",
			"internal/kubectl": l.pkg == "cmd/rewrite-probes" || l.pkg == "internal/cluster",
			"internal/render":  l.pkg == "cmd/rewrite-probes",
		} {
			if slices.Contains(imports, door) != want {
				t.Errorf("%s imports %s: %t", l.pkg, door, !want)
			}
		}
	}
}

// The commands start in a few milliseconds because they link none of the
// libraries that package fn is for (docs/design.md).
func TestTheCommandsLinkNoKubernetesLibraries(t *testing.T) {
	for _, command := range []string{"rewrite-probes", "probe-proxy", "probe-agent"} {
		out, err := exec.Command("go", "list", "-deps", "../../cmd/"+command).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for pkg := range strings.Lines(string(out)) {
			for _, forbidden := range []string{"k8s.io/", "sigs.k8s.io/", "github.com/kptdev/", "google.golang.org/grpc", "istio.io/", "go.yaml.in/", "gopkg.in/yaml"} {
				if strings.HasPrefix(pkg, forbidden) {
					t.Errorf("%s links %s", command, pkg)
				}
			}
		}
	}
}
