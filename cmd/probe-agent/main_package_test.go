package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../.."

// unit returns the values of a key in the systemd unit.
func unit(t *testing.T, key string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples/vm/probe-agent.service"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

func TestTheUnitStartsTheProgramProperly(t *testing.T) {
	state := t.TempDir()
	command := strings.NewReplacer("${ISTIOD}", "istiod.istio-system.svc:15012", "${CREDENTIALS_DIRECTORY}", "/run/credentials/probe-agent.service",
		"$PROBE_AGENT_FLAGS", "--server-name other", "/var/lib/probe-agent", state).Replace(strings.Join(unit(t, "ExecStart"), ""))
	args := strings.Fields(command)
	o, err := parse("", args[1:])
	if err != nil {
		t.Fatal(err)
	}
	if args[0] != "/usr/bin/probe-agent" || o.enrolment.Token != "/run/credentials/probe-agent.service/token" || o.istiod.ServerName != "other" || o.enrolment.State != state {
		t.Errorf("%+v", o)
	}
	if code, _, stderr := execute("check", filepath.Join(root, "examples/vm/config.json")); code != exitOK {
		t.Error(stderr)
	}

	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	text, err := os.ReadFile(filepath.Join(root, "examples/vm/probe-agent.service"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(state, "probe-agent.service")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "/usr/bin/probe-agent", "/bin/true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The packages put the files where the unit looks for them.
func TestThePackagesHoldWhatTheUnitNeeds(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Nfpms []struct {
			IDs      []string
			Formats  []string
			Bindir   string
			Contents []struct{ Src, Dst string }
			Scripts  map[string]string
		}
	}
	if err := yaml.Unmarshal(text, &release); err != nil || len(release.Nfpms) != 1 {
		t.Fatalf("%v, %d", err, len(release.Nfpms))
	}
	p := release.Nfpms[0]
	if strings.Join(p.IDs, " ") != "probe-agent" || strings.Join(p.Formats, " ") != "deb rpm" || p.Bindir != "/usr/bin" {
		t.Errorf("%+v", p)
	}
	placed := make(map[string]bool)
	for _, c := range p.Contents {
		placed[c.Dst] = true
		if _, err := os.Stat(filepath.Join(root, c.Src)); err != nil {
			t.Error(err)
		}
	}
	for _, dst := range append(unit(t, "EnvironmentFile"), "/usr/lib/systemd/system/probe-agent.service") {
		if !placed[dst] {
			t.Errorf("the packages lack %s", dst)
		}
	}
	for name, script := range p.Scripts {
		if out, err := exec.Command("sh", "-n", filepath.Join(root, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
