package release

import (
	"os"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestTheVersionIsTheLinkersOrThatOfTheBuild(t *testing.T) {
	main := func(path, version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: path, Version: version}}
	}
	imported := main("example.com/operator", "v9.9.9")
	imported.Deps = []*debug.Module{{Path: "example.com/other", Version: "v8.8.8"}, {Path: module, Version: "v1.4.0"}}
	for _, c := range []struct {
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		{"v1.2.3", main(module, "v1.0.0"), "v1.2.3"},
		{"", main(module, "v1.3.0"), "v1.3.0"},
		{"", imported, "v1.4.0"},
		{"", main(module, "(devel)"), "dev"},
		{"", main(module, ""), "dev"},
		{"", main("example.com/operator", "v9.9.9"), "dev"},
	} {
		if got := versionOf(c.linked, c.info); got != c.want {
			t.Errorf("linked %q, main %v: version %q, want %q", c.linked, c.info.Main, got, c.want)
		}
	}
}

func TestOnlyAReleaseHasAnImageOfItsOwn(t *testing.T) {
	for version, released := range map[string]bool{
		"v1.2.3": true, "v0.10.0-rc.1": true, "v1.0.0-beta.12": true,
		"dev": false, "1.2.3": false, "v1.2": false, "v1.2.3.4": false, "v1.2.x": false, "v1..3": false,
		"v1.2.3-4-gabcdef0": false, "v1.2.3-dirty": false, "v1.2.3+dirty": false, "v1.2.3-rc": false, "v1.2.3-x.1": false,
		"v0.0.0-20260101000000-abcdef012345": false, "v1.2.4-0.20260101000000-abcdef012345": false, "abcdef0": false,
	} {
		want := "rewrite-probes/probe-proxy:" + next
		if released {
			want = "rewrite-probes/probe-proxy:" + version
		}
		if image, ok := imageOf(version); ok != released || image != want {
			t.Errorf("%s: image %q, released %t", version, image, ok)
		}
	}
}

// The release to come is not in the changelog yet.
func TestTheNextReleaseIsToCome(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if !isRelease(next) || regexp.MustCompile(`(?m)^## \[?`+regexp.QuoteMeta(next)+`\b`).Match(text) {
		t.Errorf("%s is no release to come: raise it", next)
	}
}
