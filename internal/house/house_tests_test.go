package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// conventions are names of test files that say by themselves what is in them.
var conventions = []string{"main", "export", "example"}

// A reader finds the tests of a source file beside it: their name begins with that of the source file, or with that
// of the package if they are about all of it.
func TestTestFiles_besideTheirSource(t *testing.T) {
	for folder, names := range goFiles(t) {
		sources := append(slices.Clone(conventions), filepath.Base(folder))
		for _, name := range names {
			if base, is := strings.CutSuffix(name, ".go"); is && !strings.HasSuffix(base, "_test") {
				sources = append(sources, base)
			}
		}
		for _, name := range names {
			base, is := strings.CutSuffix(name, "_test.go")
			begins := func(source string) bool { return base == source || strings.HasPrefix(base, source+"_") }
			if is && !slices.ContainsFunc(sources, begins) {
				t.Errorf("%s/%s begins with the name of no file beside it, nor with that of the package", folder, name)
			}
		}
	}
}

// The name of a test is read in a list of failures: what it does not say is in its messages.
func TestTestNames_areShort(t *testing.T) {
	const most = 50 // letters after Test
	for folder, names := range goFiles(t) {
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, folder, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, isFunc := d.(*ast.FuncDecl)
				if isFunc && len(f.Name.Name) > len("Test")+most {
					t.Errorf("%s/%s: %s has over %d letters", folder, name, f.Name.Name, most)
				}
			}
		}
	}
}

// goFiles returns the names of the Go files of each folder of this module, but for what only tests have.
func goFiles(t *testing.T) map[string][]string {
	files := map[string][]string{}
	for _, top := range []string{"cmd", "fn", "internal", "transformer"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"testdata", "testutil"}, d.Name()):
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go"):
				folder := filepath.ToSlash(filepath.Dir(path))[len(root+"/"):]
				files[folder] = append(files[folder], filepath.Base(path))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
