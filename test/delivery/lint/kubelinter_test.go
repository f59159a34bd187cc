package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A container is what the checks of kube-linter read that are on by default and about the ports of probes.
type container struct {
	Name  string
	Ports []struct {
		Name, Protocol string
		ContainerPort  int
	}
	LivenessProbe, ReadinessProbe, StartupProbe *probe
}

type probe struct {
	HTTPGet, TCPSocket *struct{ Port any }
	GRPC               *struct{ Port int }
}

// portChecks returns which of liveness-port, readiness-port and startup-port find something: the probe's port is
// none of its container's. It stands in for CheckProbePort in kube-linter's pkg/templates/util/check_probe_port.go
// (commit 8986a34eda55).
func portChecks(t *testing.T, manifests []byte) (found []string) {
	t.Helper()
	for doc := range strings.SplitSeq(string(manifests), "\n---\n") {
		var o struct {
			Spec struct {
				Template struct {
					Spec struct{ InitContainers, Containers []container }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(o.Spec.Template.Spec.InitContainers, o.Spec.Template.Spec.Containers) {
			for check, p := range map[string]*probe{
				"liveness-port": c.LivenessProbe, "readiness-port": c.ReadinessProbe, "startup-port": c.StartupProbe,
			} {
				if p != nil && !c.declares(p) {
					found = append(found, check+" of "+c.Name)
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

func (c *container) declares(p *probe) bool {
	var port any
	switch {
	case p.HTTPGet != nil:
		port = p.HTTPGet.Port
	case p.TCPSocket != nil:
		port = p.TCPSocket.Port
	case p.GRPC != nil:
		port = float64(p.GRPC.Port)
	default:
		return true
	}
	for _, d := range c.Ports {
		isTCP := d.Protocol == "" || d.Protocol == "TCP"
		if isTCP && (port == float64(d.ContainerPort) || port == d.Name) {
			return true
		}
	}
	return false
}

func TestKubeLinterIsRunBeforeTheRewriting(t *testing.T) {
	before, err := os.ReadFile("testdata/ports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if found := portChecks(t, before); len(found) > 0 {
		t.Errorf("before it: %q", found)
	}
	after := portChecks(t, rewrite(t, "testdata/ports.yaml"))
	want := []string{"liveness-port of web", "readiness-port of api", "readiness-port of web", "startup-port of web"}
	if !slices.Equal(after, want) {
		t.Errorf("after it: %q, want %q", after, want)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range after {
		if check, _, _ := strings.Cut(f, " "); !strings.Contains(string(page), check) {
			t.Errorf("docs/operations.md does not have %q", check)
		}
	}
	if !strings.Contains(string(page), "exclude: [liveness-port, readiness-port, startup-port]") {
		t.Error("docs/operations.md does not exclude them")
	}
}
