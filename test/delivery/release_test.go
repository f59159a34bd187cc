package delivery

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const modulePath = "github.com/rewrite-probes/rewrite-probes"

// commit makes dir a repository that holds what is in it, tagged as a release.
func (h *harness) commit(dir string) error {
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message", "Release"},
		{"remote", "add", "origin", "https://" + modulePath},
		{"tag", version},
	} {
		if _, err := h.run(dir, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// makeRelease runs goreleaser as the workflow does, for this machine's processor
// alone, without what only the workflow can do: images are built by buildx, and
// signatures are made with the workflow's identity.
func (h *harness) makeRelease(root string) error {
	if _, err := h.run(root, "make", "bin/goreleaser"); err != nil {
		return err
	}
	dir := filepath.Join(h.dir, "release")
	if err := os.CopyFS(dir, os.DirFS(h.source)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "bin")); err != nil {
		return err
	}
	config := filepath.Join(dir, ".goreleaser.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	less := strings.ReplaceAll(string(text), "goarch: [amd64, arm64]", "goarch: ["+runtime.GOARCH+"]")
	less = strings.ReplaceAll(less, "goos: [linux, darwin, windows]", "goos: [linux]")
	if strings.Contains(less, "windows]") || strings.Contains(less, "arm64]") && runtime.GOARCH != "arm64" {
		return fmt.Errorf("the platforms of .goreleaser.yaml are written in another way")
	}
	if err := os.WriteFile(config, []byte(less), 0o666); err != nil {
		return err
	}
	if err := h.commit(dir); err != nil {
		return err
	}
	if _, err = h.run(dir, filepath.Join(root, "bin", "goreleaser"), "release", "--clean", "--skip=publish,docker,sign,sbom"); err != nil {
		return err
	}
	// What the documentation downloads comes from here.
	curl := "#!/bin/sh\nfor url; do :; done\ncp '" + filepath.Join(dir, "dist") + "/'\"${url##*/}\" .\n"
	return os.WriteFile(filepath.Join(h.bin, "curl"), []byte(curl), 0o777)
}

// makeProxy makes a module proxy that has the checkout as version.
func (h *harness) makeProxy() error {
	dir := filepath.Join(h.dir, "proxy", modulePath, "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(h.source, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": version})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{version + ".mod": mod, version + ".info": info, "list": []byte(version + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(f, module.Version{Path: modulePath, Version: version}, h.source); err != nil {
		return err
	}
	return f.Close()
}

// proxyEnv returns the environment in which the go command takes this module from
// the module proxy, and all others from where it has them. What it unpacks and
// installs stays in h.dir.
func (h *harness) proxyEnv() ([]string, error) {
	if err := h.proxy(); err != nil {
		return nil, err
	}
	modules, err := h.run(h.dir, "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	proxy, err := h.run(h.dir, "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	return []string{
		"GOPROXY=file://" + filepath.Join(h.dir, "proxy") + ",file://" + filepath.Join(strings.TrimSpace(modules), "cache", "download") + "," + strings.TrimSpace(proxy),
		"GONOSUMDB=" + modulePath,
		"GOMODCACHE=" + filepath.Join(h.dir, "modules"),
		"GOFLAGS=-modcacherw",
		"GOBIN=" + filepath.Join(h.dir, "installed"),
	}, nil
}

func TestGoInstallKnowsItsVersion(t *testing.T) {
	h := setUp(t)
	env, err := h.proxyEnv()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"rewrite-probes", "probe-proxy"} {
		if _, err := h.runWith(env, h.dir, "go", "install", modulePath+"/cmd/"+program+"@"+version); err != nil {
			t.Fatal(err)
		}
		out, err := h.run(h.dir, filepath.Join(h.dir, "installed", program), "version")
		if err != nil || strings.TrimSpace(out) != program+" "+version {
			t.Errorf("version prints %q (%v), want %s %s", out, err, program, version)
		}
	}
	out, err := h.run(h.dir, filepath.Join(h.dir, "installed", "rewrite-probes"), filepath.Join(h.source, "examples", "app", "deploy"))
	if err != nil || !strings.Contains(out, "ghcr.io/rewrite-probes/probe-proxy:"+version+"\n") {
		t.Errorf("it writes %s (%v), want the image of %s", out, err, version)
	}
}

func TestAReleaseHasWhatItsUsersInstall(t *testing.T) {
	h := setUp(t)
	if err := h.release(); err != nil {
		t.Fatal(err)
	}
	dist := filepath.Join(h.dir, "release", "dist")
	archive := "rewrite-probes_" + strings.TrimPrefix(version, "v") + "_linux_" + runtime.GOARCH + ".tar.gz"
	files := unpacked(t, filepath.Join(dist, archive))
	pages, err := filepath.Glob(filepath.Join(h.source, "docs", "man", "*.1"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no man pages: %v", err)
	}
	want := []string{"LICENSE", "README.md", "CHANGELOG.md", "rewrite-probes", "completions/_rewrite-probes", "completions/rewrite-probes.bash", "completions/rewrite-probes.fish"}
	for _, p := range pages {
		want = append(want, "man/"+filepath.Base(p))
	}
	slices.Sort(want)
	if !slices.Equal(files, want) {
		t.Errorf("the archive holds\n%q, want\n%q", files, want)
	}

	for program, want := range map[string][]string{
		"probe-proxy": {"LICENSE", "probe-proxy"},
		"probe-agent": {"LICENSE", "examples/vm/env", "examples/vm/probe-agent.service", "probe-agent"},
	} {
		archive := strings.Replace(archive, "rewrite-probes", program, 1)
		if files := unpacked(t, filepath.Join(dist, archive)); !slices.Equal(files, want) {
			t.Errorf("%s holds %q", archive, files)
		}
	}

	// Both manifests name the archive of the release, by its sum.
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	sum := regexp.MustCompile(`(?m)^([0-9a-f]{64})  ` + regexp.QuoteMeta(archive) + `$`).FindStringSubmatch(string(sums))
	if sum == nil {
		t.Fatalf("SHA256SUMS must have %s:\n%s", archive, sums)
	}
	for _, file := range []string{"policy.yaml", "playground.tar.gz"} {
		if !strings.Contains(string(sums), "  "+file+"\n") {
			t.Errorf("SHA256SUMS must have %s:\n%s", file, sums)
		}
	}
	made := filepath.Join(h.dir, "release", "bin", "release")
	policy, err := h.run(h.dir, filepath.Join(h.bin, "rewrite-probes"), "policy", "--config", "none")
	if err != nil || policy != string(readFile(t, filepath.Join(made, "policy.yaml"))) {
		t.Errorf("policy.yaml must be what the program prints (%v)", err)
	}
	page := []string{"index.html", "offline.js", "page.css", "page.js", "rewrite-probes.wasm.gz", "run.js", "wasm_exec.js"}
	files = slices.DeleteFunc(unpacked(t, filepath.Join(made, "playground.tar.gz")), func(name string) bool { return strings.HasSuffix(name, "/") })
	for i, name := range files {
		files[i] = strings.TrimPrefix(name, "playground/")
	}
	if !slices.Equal(files, page) {
		t.Errorf("the playground has %q, want %q", files, page)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	krew := filepath.Join(dist, "krew", "rewrite-probes.yaml")
	if _, err := h.run(filepath.Join(root, "test"), "go", "tool", "validate-krew-manifest", "-skip-install", "-manifest", krew); err != nil {
		t.Error(err) // krew's index takes what this program of krew's takes
	}
	var plugin struct {
		Spec struct {
			Version   string
			Platforms []struct{ Bin, URI, SHA256 string }
		}
	}
	if err := yaml.Unmarshal(readFile(t, krew), &plugin); err != nil {
		t.Fatal(err)
	}
	url := "https://" + modulePath + "/releases/download/" + version + "/" + archive
	if p := plugin.Spec.Platforms; plugin.Spec.Version != version || len(p) != 1 || p[0].URI != url || p[0].SHA256 != sum[1] || p[0].Bin != "rewrite-probes" {
		t.Errorf("the krew manifest names %+v, want %s with %s", plugin.Spec, url, sum[1])
	}
	cask := string(readFile(t, filepath.Join(dist, "homebrew", "Casks", "rewrite-probes.rb")))
	for _, want := range []string{
		strings.ReplaceAll(url, strings.TrimPrefix(version, "v"), "#{version}"), sum[1],
		`manpage "man/rewrite-probes-check.1"`, `bash_completion "completions/rewrite-probes.bash"`, `zsh_completion "completions/_rewrite-probes"`,
		`fish_completion "completions/rewrite-probes.fish"`, `binary "rewrite-probes"`,
	} {
		if !strings.Contains(cask, want) {
			t.Errorf("the cask must hold %s:\n%s", want, cask)
		}
	}
}

func TestTheReleaseConfigIsGood(t *testing.T) {
	h := setUp(t)
	if err := h.release(); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.run(h.source, filepath.Join(root, "bin", "goreleaser"), "check"); err != nil {
		t.Error(err)
	}
	// The workflow takes the goreleaser that is under test.
	workflow := string(readFile(t, filepath.Join(h.source, ".github", "workflows", "release.yaml")))
	pinned := regexp.MustCompile(`github.com/goreleaser/goreleaser/v2 (v\S+)`).FindSubmatch(readFile(t, filepath.Join(root, "test", "go.mod")))
	if pinned == nil || !strings.Contains(workflow, "version: "+string(pinned[1])+" ") {
		t.Errorf("release.yaml must run goreleaser %s", pinned)
	}
}

// unpacked lists the files of an archive.
func unpacked(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if err == io.EOF {
			slices.Sort(names)
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestImagesGetTheirSBOMs runs the script of the workflow with a syft and a
// cosign that note how they are called.
func TestImagesGetTheirSBOMs(t *testing.T) {
	h := setUp(t)
	tools, digest := t.TempDir(), strings.Repeat("ab", 32)
	note := "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>'" + filepath.Join(tools, "log") + "'\n"
	for name, script := range map[string]string{"syft": note + "echo '{}' >\"${4#spdx-json=}\"\n", "cosign": note + "test -s \"$6\"\n"} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	digests := filepath.Join(tools, "digests.txt")
	if err := os.WriteFile(digests, []byte(digest+"  ghcr.io/rewrite-probes/probe-proxy:v1.2.3\n"+digest+"  ghcr.io/rewrite-probes/probe-proxy:v1.2.3-arm64\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	path := []string{"PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH")}
	if _, err := h.runWith(path, h.dir, filepath.Join(h.source, "build", "attest-images.sh"), digests); err != nil {
		t.Fatal(err)
	}
	image := registry + "probe-proxy@sha256:" + digest
	each := "syft scan registry:" + image + " -o spdx-json=FILE\ncosign attest --yes --type spdxjson --predicate FILE " + image + "\n"
	got := regexp.MustCompile(`/\S*tmp\.\w+`).ReplaceAllString(string(readFile(t, filepath.Join(tools, "log"))), "FILE")
	if got != each+each {
		t.Errorf("the script runs\n%swant\n%s", got, each+each)
	}
}
