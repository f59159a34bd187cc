package delivery

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// maxSize is the limit of each image in bytes: every node pulls probe-proxy.
var maxSize = map[string]int64{
	"rewrite-probes": 15e6,
	"probe-proxy":    6e6,
	"probe-agent":    6.5e6,
}

// registry begins the names of the images.
const registry = "ghcr.io/rewrite-probes/"

type image struct {
	ID           string
	Digest       string
	Size         int64
	Architecture string
	Config       struct {
		User       string
		Entrypoint []string
		Labels     map[string]string
	}
}

func inspect(t *testing.T, h *harness, name string) image {
	t.Helper()
	out, err := h.run(h.dir, "podman", "image", "inspect", name)
	if err != nil {
		t.Fatal(err)
	}
	var images []image
	if err := json.Unmarshal([]byte(out), &images); err != nil || len(images) != 1 {
		t.Fatalf("podman image inspect: %v: %s", err, out)
	}
	return images[0]
}

func needPodman(t *testing.T) *harness {
	t.Helper()
	testutil.Need(t, "podman")
	h := setUp(t)
	if err := h.images(); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestImagesAreSmallAndSayWhatTheyAre(t *testing.T) {
	h := needPodman(t)
	for name, limit := range maxSize {
		i := inspect(t, h, registry+name+":"+version)
		t.Logf("%s: %d bytes, %s", name, i.Size, i.Digest)
		if i.Size > limit {
			t.Errorf("%s weighs %d bytes, at most %d are allowed", name, i.Size, limit)
		}
		if i.Config.User != "65532:65532" {
			t.Errorf("%s runs as %q, want a number, which runAsNonRoot can judge", name, i.Config.User)
		}
		for label, want := range map[string]string{
			"org.opencontainers.image.title": name, "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.created": "1970-01-01T00:00:00Z", // make images has SOURCE_DATE_EPOCH=0
		} {
			if got := i.Config.Labels[label]; got != want {
				t.Errorf("%s: label %s is %q, want %q", name, label, got, want)
			}
		}
		demandLabelsOfArtifactHub(t, h, name, i.Config.Labels)
	}
}

// demandLabelsOfArtifactHub demands what Artifact Hub needs to list an image
// (https://artifacthub.io/docs/topics/repositories/container-images).
func demandLabelsOfArtifactHub(t *testing.T, h *harness, image string, labels map[string]string) {
	t.Helper()
	if labels["org.opencontainers.image.description"] == "" {
		t.Errorf("%s has no description", image)
	}
	readme, found := strings.CutPrefix(labels["io.artifacthub.package.readme-url"], "https://raw.githubusercontent.com/rewrite-probes/rewrite-probes/"+version+"/")
	if _, err := os.Stat(filepath.Join(h.source, readme)); !found || err != nil || !strings.HasSuffix(readme, ".md") {
		t.Errorf("%s: the README is at %q (%v)", image, readme, err)
	}
}

// TestTwoBuildsGiveTheSameImages builds again, from a copy of the checkout at
// another place.
func TestTwoBuildsGiveTheSameImages(t *testing.T) {
	h := needPodman(t)
	again := filepath.Join(t.TempDir(), "somewhere", "else")
	if err := copyCheckout("../..", again); err != nil {
		t.Fatal(err)
	}
	first := map[string]image{}
	for name := range maxSize {
		first[name] = inspect(t, h, registry+name+":"+version)
	}
	// The same names: the second build takes the tags over.
	if _, err := h.run(again, "make", "images", "ENGINE=podman", "VERSION="+version, "SOURCE_DATE_EPOCH=0"); err != nil {
		t.Fatal(err)
	}
	for name := range maxSize {
		second := inspect(t, h, registry+name+":"+version)
		if f := first[name]; f.ID != second.ID || f.Digest != second.Digest {
			t.Errorf("%s: first %s, then %s", name, f.Digest, second.Digest)
		}
	}
}

func TestImagesAreMadeForArm64(t *testing.T) {
	h := needPodman(t)
	if _, err := h.run(h.source, "make", "images", "ENGINE=podman", "VERSION="+version+"-arm64", "ARCH=arm64"); err != nil {
		t.Fatal(err)
	}
	for name := range maxSize {
		tag := registry + name + ":" + version + "-arm64"
		if i := inspect(t, h, tag); i.Architecture != "arm64" {
			t.Errorf("%s is for %s", tag, i.Architecture)
		}
		// What is in it must be for arm64 as well.
		out := filepath.Join(t.TempDir(), name)
		id, err := h.run(h.dir, "podman", "create", "--network", "none", tag)
		if err != nil {
			t.Fatal(err)
		}
		id = strings.TrimSpace(id)
		if _, err := h.run(h.dir, "podman", "cp", id+":/"+name, out); err != nil {
			t.Fatal(err)
		}
		if _, err := h.run(h.dir, "podman", "rm", id); err != nil {
			t.Fatal(err)
		}
		if arch := elfMachine(t, out); arch != "EM_AARCH64" {
			t.Errorf("%s holds a program for %s", tag, arch)
		}
	}
}

func TestImagesArePushedForBothArchitecturesUnderOneName(t *testing.T) {
	h := setUp(t)
	log := filepath.Join(t.TempDir(), "log")
	engine := filepath.Join(filepath.Dir(log), "engine")
	if err := os.WriteFile(engine, []byte("#!/bin/sh\nfor last; do :; done\necho \"$1 $2 $last\" >>"+log+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := h.run(h.source, "make", "images", "ENGINE="+engine, "REGISTRY=example.com/mesh", "PUSH=1", "VERSION="+version); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for name := range maxSize {
		image := "example.com/mesh/" + name + ":" + version
		for _, line := range []string{"push " + image + "-amd64 ", "push " + image + "-arm64 ", "manifest create " + image + "-arm64\n", "manifest push " + image + "\n"} {
			if !strings.Contains(string(text), line) {
				t.Errorf("%q is not among the calls:\n%s", line, text)
			}
		}
	}
}

// elfMachine returns the processor that a program is for, and fails if it needs
// a dynamic linker, which an image made from scratch does not have.
func elfMachine(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s is linked dynamically", path)
		}
	}
	return f.Machine.String()
}
