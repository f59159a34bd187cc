package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnEmptyPathIsCalledThat(t *testing.T) {
	if _, err := findFiles([]string{""}, nil); err == nil || err.Error() != "a PATH is empty, perhaps a variable that is not set" {
		t.Errorf("error is %v", err)
	}
}

// The other files are rewritten. Even root cannot read a folder whose path is too long.
func TestAFolderThatCannotBeReadIsAnErrorOfThatFolder(t *testing.T) {
	pod := podFile(t, 0o644)
	name := strings.Repeat("d", 200)
	at, err := os.OpenRoot(filepath.Dir(pod))
	for range 25 {
		if err == nil {
			err = at.Mkdir(name, 0o755)
		}
		if err == nil {
			at, err = at.OpenRoot(name)
		}
	}
	if err != nil {
		t.Skip(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"-w", filepath.Dir(pod)}, nil, &out, &errs)
	first, rest, _ := strings.Cut(errs.String(), "\n")
	if code != exitUnreadable || !strings.HasPrefix(first, "error: "+filepath.Dir(pod)) || !strings.HasSuffix(first, name+": File name too long. Correct the file, or skip it with `--ignore`. [unreadable]") ||
		rest != "rewrite-probes: 1 pod template, 1 object changed; 1 probe rewritten; 1 error, 0 warnings\n" {
		t.Errorf("exit %d, stderr %q, stdout %q", code, &errs, &out)
	}
}

// What is no text says so, even with the braces of a template, and whether it was walked to or named.
func TestAFileThatIsNoTextIsNoTemplate(t *testing.T) {
	for name, text := range map[string]string{
		"Latin-1": "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ x }}}\n# caf\xe9\n", "UTF-16": "\xff\xfek\x00:\x00{\x00{\x00",
		"binary": "kind: {{ x }}\n\x00", "gzip": "\x1f\x8b{{ x }}",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "odd.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, given := range []string{dir, path} {
			got := output(t, "", "-v", "-l", given)
			saysText := strings.Contains(got, "odd.yaml: Not checked: this is not a text in UTF-8") || strings.Contains(got, "ust be UTF-8 text")
			if !saysText || strings.Contains(got, "a template") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// A file is read once by whatever names the command line gives, and counts as named if one of them is its own.
func TestAFileIsNamedInWhateverOrderItIs(t *testing.T) {
	path := podFile(t, 0o644)
	dir := filepath.Dir(path)
	for _, names := range [][]string{{dir}, {path}, {dir, path}, {path, dir}, {dir, dir}, {dir, path, dir}, {path, path}, {path, dir, path}, {dir, dir, path}} {
		g, err := findFiles(names, nil)
		if err != nil || len(g.files) != 1 || g.files[0].path != path || g.files[0].walked == slices.Contains(names, path) {
			t.Errorf("%q: %v, %+v", names, err, g)
		}
	}
}

// A plainFinder finds files as findFiles does, as plainly as can be.
type plainFinder struct {
	ignore string
	files  []file
	links  []string // to folders
}

func (p *plainFinder) add(path, link string, walked bool) {
	f := file{path: path, real: realPath(path), walked: walked, link: link}
	for i := range p.files {
		if p.files[i].real == f.real {
			p.files[i].walked = p.files[i].walked && walked
			return
		}
	}
	p.files = append(p.files, f)
}

func (p *plainFinder) walk(root, dir string) {
	entries, _ := os.ReadDir(dir) // sorted by their names
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // of what a link leads to
		isFolder := err == nil && info.IsDir()
		isLink := e.Type()&os.ModeSymlink != 0
		rel, _ := filepath.Rel(root, path)
		named := strings.TrimSuffix(p.ignore, "/")
		ignored := (named == e.Name() || named == rel) && (isFolder || named == p.ignore)
		ext := strings.ToLower(filepath.Ext(e.Name()))
		switch {
		case ignored, isFolder && (e.Name()[0] == '.' || e.Name() == "node_modules"):
		case isFolder && isLink:
			p.links = append(p.links, path)
		case isFolder:
			p.walk(root, path)
		case ext != ".yaml" && ext != ".yml" && ext != ".json":
		case isLink && err == nil:
			target, _ := filepath.EvalSymlinks(path)
			p.add(target, path, true)
			if f := &p.files[len(p.files)-1]; f.link == path {
				f.path = target
			}
		default:
			p.add(path, "", true)
		}
	}
}

// TestFilesOfATreeAreThoseOfAPlainWalk draws folders, with links in and out of them, and what is given of them.
func TestFilesOfATreeAreThoseOfAPlainWalk(t *testing.T) {
	names := []string{"a.yaml", "b.YML", "c.json", "d.txt", ".e.yaml", "f"}
	folders := []string{"sub", ".hidden", "node_modules", "g.yaml"}
	ignores := []string{"", "sub", "sub/", "a.yaml", "sub/a.yaml", "g.yaml/", "sub/sub"}
	outside, inLinks, several := 0, 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 5))
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var made, dirs []string
		var fill func(dir string, depth int)
		fill = func(dir string, depth int) {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			dirs = append(dirs, dir)
			for _, name := range names {
				if path := filepath.Join(dir, name); r.IntN(3) == 0 {
					_ = os.WriteFile(path, nil, 0o600)
					made = append(made, path)
				}
			}
			for _, name := range folders {
				if depth > 0 && r.IntN(3) == 0 {
					fill(filepath.Join(dir, name), depth-1)
				}
			}
		}
		fill(filepath.Join(base, "in"), 2)
		fill(filepath.Join(base, "out"), 1)
		targets := append(slices.Clone(made), dirs...)
		targets = append(targets, filepath.Join(base, "nowhere.yaml"))
		for i := range r.IntN(6) {
			name := []string{"l0.yaml", "l1.yaml", "l2.yml", "l3", ".l4", "l5.json"}[i]
			_ = os.Symlink(targets[r.IntN(len(targets))], filepath.Join(dirs[r.IntN(len(dirs))], name))
		}
		given := []string{filepath.Join(base, "in")}
		for range r.IntN(3) {
			given = append(given, append(slices.Clone(made), dirs...)[r.IntN(len(made)+len(dirs))])
		}
		r.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
		p := &plainFinder{ignore: ignores[r.IntN(len(ignores))]}
		var roots []string
		for _, path := range given {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				roots = append(roots, path)
				p.walk(path, path)
			} else {
				p.add(path, "", false)
			}
		}
		for i := range p.files {
			f := &p.files[i]
			isIn := func(root string) bool { return strings.HasPrefix(f.real, root+"/") }
			if f.link != "" && slices.ContainsFunc(roots, isIn) {
				f.link = ""
				inLinks++
			}
			if f.link != "" {
				outside++
			}
		}
		p.links = slices.DeleteFunc(p.links, func(link string) bool {
			return slices.ContainsFunc(p.files, func(f file) bool { return strings.HasPrefix(f.real, realPath(link)+"/") })
		})
		var ignore []string
		if p.ignore != "" {
			ignore = []string{p.ignore}
		}
		g, err := findFiles(given, ignore)
		if err != nil {
			if !strings.Contains(err.Error(), "and holds none") {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue // a folder without files is refused
		}
		if !slices.Equal(g.files, p.files) || !slices.Equal(g.folders, p.links) {
			t.Fatalf("seed %d: %q without %q:\n%+v, links %q; want\n%+v, links %q", seed, given, p.ignore, g.files, g.folders, p.files, p.links)
		}
		several += len(given) - 1
	}
	if outside < 5 || inLinks < 5 || several < 30 {
		t.Errorf("%d links out of the folders, %d in them; %d more paths", outside, inLinks, several)
	}
}
