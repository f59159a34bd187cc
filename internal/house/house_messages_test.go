package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unheard are messages that no test expects, each with the reason.
var unheard = map[string]string{
	"the output must be smaller than 2 GiB":                  "it takes as much memory",
	"manifest: an edit must not hold a":                      "only a planner that is wrong makes such an edit",
	"the change of the bytes":                                "only an editor that is wrong makes such a change",
	"lies outside of":                                        "the same",
	"nothing was written, please report this with the input": "only an editor that is wrong comes to it",
	"the results differ":                                     "only a writer of results that is wrong comes to it",
	"internal error: what was rewritten cannot be read":      "only an editor that is wrong comes to it",
	"json: unknown field":                                    "encoding/json says it, and it is replaced",
	"connection speaks TLS":                                  "it passes on a connection, and is not said",
	"Request Header Fields Too Large":                        "a test compares it with net/http",
	"Internal Server Error":                                  "the same",
	"HTTP Version Not Supported":                             "the same",
	"reading the cluster":                                    "only a terminal sees it, when a run takes long",
	"app in (istiod,kuma-control-plane":                      "it is a label selector, and no message",
	"reading the manifests":                                  "only a terminal sees it, when a run takes long",
}

// A message to people is part of the product: what no test expects may say anything. Each piece of three words or
// more in the shipped code is in what some test expects: in its source, or in a file that it compares.
func TestEveryMessage_isExpectedByATest(t *testing.T) {
	expected := expectations(t)
	for folder, names := range goFiles(t) {
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			path := filepath.Join(root, folder, name)
			for _, m := range messagesIn(t, path) {
				for _, piece := range pieces(m.text) {
					if unheard[piece] == "" && !strings.Contains(expected, plain(piece)) {
						t.Errorf("%s:%d: no test expects %q", path, m.line, piece)
					}
				}
			}
		}
	}
}

// A verb is where a message has a value. What it says is before, between and after them.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[0-9.]*[a-zA-Z%]|\$\w+|[^\p{L}\p{N} ,;:.'"` + "`" + `()/_=*-]`)

// pieces returns the pieces of a text between its values that have three words or more.
func pieces(text string) []string {
	var found []string
	for _, piece := range verb.Split(text, -1) {
		piece = strings.Trim(piece, " ,;:.()-") // a list in a help is another in a manual page
		if len(strings.Fields(piece)) > 2 {
			found = append(found, piece)
		}
	}
	return found
}

// plain returns a text as it is compared: in small letters, without line ends, quotes, and the escapes of Go, of regular
// expressions and of manual pages.
func plain(text string) string {
	text = strings.NewReplacer(`\fB`, "", `\fI`, "", `\fR`, "", `\fP`, "", `\(aq`, "", `\`, "", "'", "", "`", "", `"`, "", "\n+ ", " ", "\n- ", " ", "\n# ", " ").Replace(text)
	text = strings.ToLower(text)
	return strings.Join(strings.Fields(text), " ")
}

// expectations returns what the tests expect: the texts of their sources, and the files that they compare.
func expectations(t *testing.T) string {
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(path, "_test.go"):
			for _, m := range messagesIn(t, path) {
				all.WriteString(m.text + "\n")
			}
			return nil
		}
		for _, folder := range []string{"testdata", "docs", "examples"} {
			if !strings.Contains(filepath.ToSlash(path), "/"+folder+"/") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all.Write(append(text, '\n'))
			break
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plain(all.String())
}

type message struct {
	text string
	line int
}

// messagesIn returns the texts in a file of Go: its strings, but for tags and imports.
func messagesIn(t *testing.T, path string) []message {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []message
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			ast.Inspect(n.Type, func(ast.Node) bool { return true })
			return n.Tag == nil
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, message{text, files.Position(n.Pos()).Line})
			}
		}
		return true
	})
	return found
}
