package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// sourceIgnore is the name of the files that say what Flux leaves out of a source, in the format of a .gitignore. Each is about the
// folder that it is in (source-controller, docs/spec/v1/gitrepositories.md, "Excluding files").
const sourceIgnore = ".sourceignore"

// A left is what leaves files out of a source. The last rule that matches decides.
type left []ignoreRule

// An ignoreRule is a line of a .sourceignore.
type ignoreRule struct {
	folder   string   // of the file; "" stands for any
	pattern  []string // the steps of the path; one step matches at any depth unless isRooted
	isRooted bool
	isFolder bool // it matches no file
	keeps    bool // what it matches is not left out
}

// notSent is what Flux leaves out of every source, as far as it is YAML (fluxcd/pkg/sourceignore).
func notSent() (all left) {
	for _, name := range []string{
		".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml",
		"codeship-steps.yml", ".goreleaser.yml", ".sops.yaml", ".flux.yaml",
	} {
		all = append(all, ignoreRule{pattern: []string{name}})
	}
	return all
}

// leftOutAbove returns what is left out of a folder of a git repository by the rules for every source, and for the folders above it.
func leftOutAbove(folder string, may func(real string) error) (left, error) {
	var above []string
	for at := folder; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			break
		}
		next := filepath.Dir(at)
		if next == at || may(next) != nil { // it is no git repository
			above = nil
			break
		}
		at = next
		above = append(above, at)
	}
	all := notSent()
	for _, at := range slices.Backward(above) {
		var err error
		if all, err = all.with(at, may); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// with returns the rules with those of the file in a folder, if there is one.
func (l left) with(folder string, may func(real string) error) (left, error) {
	name := filepath.Join(folder, sourceIgnore)
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = may(real)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, err := os.ReadFile(real)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if rule, is := ruleOf(strings.TrimRight(line, "\r\n")); is {
			rule.folder = folder
			l = append(l, rule)
		}
	}
	return l, nil
}

// ruleOf returns the rule of a line; is is false of an empty one, and of a comment.
func ruleOf(line string) (r ignoreRule, is bool) {
	if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
		return r, false
	}
	line, r.keeps = strings.CutPrefix(line, "!")
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " ")
	}
	line, r.isFolder = strings.CutSuffix(line, "/")
	r.isRooted = strings.Contains(line, "/")
	r.pattern = strings.Split(strings.TrimPrefix(line, "/"), "/")
	return r, true
}

// has reports whether a file is left out, by its path.
func (l left) has(file string) bool {
	for _, r := range slices.Backward(l) {
		if r.matches(file) {
			return !r.keeps
		}
	}
	return false
}

// matches reports whether the rule is about a file, or about a folder that the file is in.
func (r *ignoreRule) matches(file string) bool {
	if r.folder == "" {
		return filepath.Base(file) == r.pattern[0]
	}
	rel, err := filepath.Rel(r.folder, file)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	steps := strings.Split(filepath.ToSlash(rel), "/")
	if r.isRooted {
		return r.fits(r.pattern, steps)
	}
	for i := range steps {
		if r.fits(r.pattern, steps[i:]) {
			return true
		}
	}
	return false
}

// fits reports whether a pattern matches the first steps of a path to a file. Steps that are left are in the folder that matches.
func (r *ignoreRule) fits(pattern, steps []string) bool {
	switch {
	case len(pattern) == 0:
		return len(steps) > 0 || !r.isFolder
	case len(steps) == 0:
		return false
	case pattern[0] == "**" && len(pattern) == 1:
		return true
	case pattern[0] == "**":
		return r.fits(pattern[1:], steps) || r.fits(pattern, steps[1:])
	}
	is, err := path.Match(pattern[0], steps[0])
	return err == nil && is && r.fits(pattern[1:], steps[1:])
}
