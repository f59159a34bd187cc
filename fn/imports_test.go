package fn_test

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
	{"cmd/rewrite-probes", "internal/config internal/manifest internal/pipeline internal/policy internal/reason internal/release internal/report"},
	{"cmd/probe-proxy", "internal/kubelet internal/prober internal/release internal/sidecar/server"},
	{"cmd/probe-agent", "internal/agent/identity internal/agent/probe internal/agent/schedule internal/agent/systemd internal/agent/xds internal/release internal/vmconfig"},
	{"examples/go", "fn"},
	{"fn", "internal/config internal/field internal/manifest internal/pipeline internal/report internal/workload transformer"},
	{"internal/pipeline", "internal/config internal/field internal/manifest internal/reason internal/release internal/report internal/vm internal/vmconfig internal/workload transformer"},
	{"internal/policy", "internal/config internal/prober internal/vm transformer"},
	{"internal/config", "internal/field internal/manifest transformer"},
	{"internal/report", "internal/field internal/reason transformer"},
	{"internal/workload", "internal/field internal/manifest internal/prober transformer"},
	{"internal/vm", "internal/field internal/manifest internal/prober internal/vmconfig transformer"},
	{"transformer", "internal/field internal/prober internal/reason internal/release"},
	{"internal/manifest", "internal/field"},
	{"internal/sidecar/server", "internal/kubelet internal/prober internal/wire"},
	{"internal/agent/xds", "internal/agent/schedule internal/wire"},
	{"internal/agent/identity", "internal/wire"},
	{"internal/agent/schedule", "internal/vmconfig"},
	{"internal/agent/probe", "internal/kubelet internal/prober internal/vmconfig"},
	{"internal/agent/systemd", ""},
	{"internal/kubelet", "internal/prober internal/wire"},
	{"internal/wire", ""},
	{"internal/prober", ""},
	{"internal/vmconfig", "internal/field"},
	{"internal/reason", ""},
	{"internal/release", ""},
	{"internal/field", ""},
	{"internal/figures", ""},
	{"internal/mutate", ""},
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

// The commands start in a few milliseconds because they link none of the
// libraries that this package is for (docs/design.md).
func TestTheCommandsLinkNoKubernetesLibraries(t *testing.T) {
	for _, command := range []string{"rewrite-probes", "probe-proxy", "probe-agent"} {
		out, err := exec.Command("go", "list", "-deps", "../cmd/"+command).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for pkg := range strings.Lines(string(out)) {
			for _, forbidden := range []string{"k8s.io/", "sigs.k8s.io/", "github.com/kptdev/", "google.golang.org/grpc", "istio.io/"} {
				if strings.HasPrefix(pkg, forbidden) {
					t.Errorf("%s links %s", command, pkg)
				}
			}
		}
	}
}
