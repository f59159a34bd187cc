package release

import (
	"cmp"
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
	replaced := func(by *debug.Module) *debug.BuildInfo {
		info := main("example.com/operator", "v9.9.9")
		info.Deps = []*debug.Module{{Path: module, Version: "v1.4.0", Replace: by}}
		return info
	}
	for _, c := range []struct {
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		{"v1.2.3", main(module, "v1.0.0"), "v1.2.3"},
		{"", main(module, "v1.3.0"), "v1.3.0"},
		// What Go makes of the revision that a clone is at.
		{"", main(module, "v0.0.0-20260101000000-abcdef012345+dirty"), "v0.0.0-20260101000000-abcdef012345+dirty"},
		{"", imported, "v1.4.0"},
		{"", replaced(&debug.Module{Path: "../rewrite-probes"}), "dev"},
		{"", replaced(&debug.Module{Path: "example.com/fork", Version: "v1.5.0"}), "dev"},
		{"", replaced(&debug.Module{Path: module, Version: "v1.3.0"}), "v1.3.0"},
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
		"dev": false, "(devel)": false, "v0.0.0": false, "v0.0.0-rc.1": false, "1.2.3": false, "v1.2": false, "v1.2.3.4": false, "v1.2.x": false, "v1..3": false,
		"v1.2.3-4-gabcdef0": false, "v1.2.3-dirty": false, "v1.2.3+dirty": false, "v1.2.3+incompatible": false, "v1.2.3-rc.1+build.5": false, "v1.2.3-rc": false, "v1.2.3-x.1": false,
		"v0.0.0-20260101000000-abcdef012345": false, "v1.2.4-0.20260101000000-abcdef012345": false, "abcdef0": false,
	} {
		want := "ghcr.io/rewrite-probes/probe-proxy:" + next
		if released {
			want = "ghcr.io/rewrite-probes/probe-proxy:" + version
		}
		if image, ok := imageOf(version); ok != released || image != want {
			t.Errorf("%s: image %q, released %t", version, image, ok)
		}
	}
}

// The release to come is not in the changelog yet; at the commit that is tagged
// it is the newest there.
func TestTheNextReleaseIsToComeOrIsTagged(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := regexp.MustCompile(`(?m)^## \[?([^\]\s]+)`).FindAllStringSubmatch(string(text), -1)
	if !isRelease(next) || len(headings) == 0 {
		t.Fatalf("%q must be a release, and the changelog must have headings", next)
	}
	for i, h := range headings {
		if h[1] == next && i > 0 {
			t.Errorf("%s has been released: raise next", next)
		}
	}
	if first := headings[0][1]; first != "Unreleased" && first != next {
		t.Errorf("the changelog begins with %s, want Unreleased or %s", first, next)
	}
	if os.Getenv("GITHUB_REF_TYPE") == "tag" && os.Getenv("GITHUB_REF_NAME") != next {
		t.Errorf("the tag %s must be %s: builds that do not know their tag take that one's image", os.Getenv("GITHUB_REF_NAME"), next)
	}
}

// Other tests of this package do not ask for the version, which stays what it was at first.
func TestTheVersionOfThisBuildIsTheLinkersIfItHasOne(t *testing.T) {
	was := Linked
	defer func() { Linked = was }()
	Linked = "v7.8.9"
	if got := Version(); got != "v7.8.9" {
		t.Errorf("version %s", got)
	}
	if image, released := Image(); image != Registry+"/probe-proxy:v7.8.9" || !released {
		t.Errorf("image %s, released %t", image, released)
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{"v0.0.9", "v0.1.0-alpha.2", "v0.1.0-beta.1", "v0.1.0-rc.1", "v0.1.0-rc.10", "v0.1.0", "v0.2.0", "v0.10.0", "v1.0.0", "main"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := Compare(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
}
