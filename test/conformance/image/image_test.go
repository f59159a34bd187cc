// Package image compares the names of images that the functionConfig accepts with
// those that container runtimes accept.
package image

import (
	_ "crypto/sha512" // runtimes know its digests
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// parts are what names are put together from, good and bad.
var parts = []string{
	"a", "auto", "example.com", "localhost", "Upper", "10.0.0.1", "[::1]", "[fe80::1", ":5000", ":", "/", "/", "/", "//", "istio", "proxy-v2", "a__b", "a___b", "a--b", "a..b", "_a", "a_",
	":v1", ":1.31.1-distroless", ":_x", ":-x", ":" + strings.Repeat("t", 128), ":" + strings.Repeat("t", 129), "@", "@sha256:", "@sha256:" + strings.Repeat("0af9", 16), "@sha256:" + strings.Repeat("0AF9", 16),
	"@sha256:" + strings.Repeat("0", 63), "@sha512:" + strings.Repeat("0af9", 32), "@md5:" + strings.Repeat("0af9", 8), strings.Repeat("n", 255), " ", "é", "$(X)",
}

// TestTheImagesOfTheConfigAreThoseOfContainerRuntimes has the parser of containerd
// and Docker judge random names, with the digests that they know.
func TestTheImagesOfTheConfigAreThoseOfContainerRuntimes(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 1))
	taken := 0
	for range 30_000 {
		var name strings.Builder
		for range 1 + g.IntN(6) {
			name.WriteString(parts[g.IntN(len(parts))])
		}
		want := runtimeTakes(name.String())
		if want {
			taken++
		}
		if got := configTakes(t, name.String()); got != want {
			t.Errorf("%q: the config takes it: %t; the runtimes: %t", name.String(), got, want)
		}
	}
	if taken < 2_000 {
		t.Errorf("only %d of the names are good", taken)
	}
}

func runtimeTakes(name string) bool {
	r, err := reference.Parse(name)
	if err != nil {
		return false
	}
	if d, ok := r.(reference.Digested); ok {
		return d.Digest().Validate() == nil && d.Digest().Algorithm() != digest.SHA384
	}
	_, named := r.(reference.Named)
	return named
}

func configTakes(t *testing.T, image string) bool {
	t.Helper()
	text := fmt.Sprintf("{apiVersion: %s, kind: %s, spec: {probeProxy: {image: %q}}}", config.APIVersion, config.Kind, image)
	s, err := manifest.Read("config.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	_, err = config.Decode(s.Objects()[0])
	if err != nil && !strings.Contains(err.Error(), "must be an image") {
		t.Fatal(err)
	}
	return err == nil
}
