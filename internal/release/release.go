// Package release knows the version of this build and the image of probe-proxy
// that belongs to it.
package release

import (
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const module = "github.com/rewrite-probes/rewrite-probes"

// Registry is where the images of releases are.
const Registry = "ghcr.io/rewrite-probes"

// next is the release that this tree is or leads to. The commit that a release
// is tagged at still has its own version here, for builds that do not know their
// tag (a shallow clone, an archive of the source); the commit after it raises it.
const next = "v0.1.0"

// Linked is the version of this build as the linker sets it (-X .../internal/release.Linked=v1.2.3),
// and tests that want to be a release.
var Linked string

// Version returns the version of this build: what the linker was told, or else
// what `go install` or a program that imports this module knows of it, such as
// "v1.2.3"; "dev" if nothing is known.
var Version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(Linked, info)
})

func versionOf(linked string, info *debug.BuildInfo) string {
	v := linked
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace // a folder, or another module, whose version says nothing
		}
		if v == "" && m.Path == module {
			v = m.Version
		}
	}
	if v == "" || v == "(devel)" {
		return "dev"
	}
	return v
}

// Image returns the image of probe-proxy of this version. A build between
// releases has none: it gets that of the release to come, and released is
// false.
func Image() (image string, released bool) { return imageOf(Version()) }

func imageOf(version string) (image string, released bool) {
	released = isRelease(version)
	if !released {
		version = next
	}
	return Registry + "/probe-proxy:" + version, released
}

// Compare returns -1, 0 or 1 if version a comes before b, is it, or comes after it. A version that
// is no release comes after all that are.
func Compare(a, b string) int {
	switch aIs, bIs := isRelease(a), isRelease(b); {
	case a == b:
		return 0
	case !aIs:
		return 1
	case !bIs:
		return -1
	}
	return slices.Compare(numbersOf(a), numbersOf(b))
}

// numbersOf returns what orders releases: their numbers, then their stage (a release has the last),
// then the number of the stage.
func numbersOf(version string) []int {
	core, pre, isPre := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	word, number, _ := strings.Cut(pre, ".")
	var numbers []int
	for part := range strings.SplitSeq(core, ".") {
		n, _ := strconv.Atoi(part)
		numbers = append(numbers, n)
	}
	stages := []string{"alpha", "beta", "rc"}
	stage := slices.Index(stages, word)
	if !isPre {
		stage = len(stages)
	}
	n, _ := strconv.Atoi(number)
	return append(numbers, stage, n)
}

// isRelease reports whether a version is that of a release, v1.2.3 or
// v1.2.3-rc.1: not a commit after one (v1.2.3-4-gabcdef), nor a pseudo-version
// of Go's, nor a tree with changes, nor v0.0.0, which stands for none.
func isRelease(v string) bool {
	core, pre, isPre := strings.Cut(strings.TrimPrefix(v, "v"), "-")
	if !strings.HasPrefix(v, "v") ||
		core == "0.0.0" ||
		strings.Contains(v, "+") ||
		!areNumbers(core, 3) {
		return false
	}
	word, number, _ := strings.Cut(pre, ".")
	return !isPre ||
		(word == "alpha" || word == "beta" || word == "rc") && areNumbers(number, 1)
}

// areNumbers reports whether s is n decimal numbers with dots between them.
func areNumbers(s string, n int) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return len(parts) == n
}
