package house

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rawReads are the functions that read labels, annotations or near objects past the types that note the
// question, and why that is no question of a plan.
var rawReads = map[string]string{
	// They note the question.
	"internal/surroundings.Of.in":                       doors,
	"internal/surroundings.facts.list":                  doors,
	"internal/surroundings.Pods.label":                  doors,
	"internal/surroundings.Surroundings.IsOpenShift":    doors,
	"internal/surroundings.Surroundings.OthersInjected": "it asks for the kind, and the planner's othersInjected for the keys",
	"transformer.template.pods":                         doors,

	"internal/surroundings.Pods.look":                       "it asks whether labels are known, which the kind of an object tells",
	"internal/surroundings.Pods.has":                        "it asks whether labels are known",
	"internal/surroundings.addServices":                     "it asks whether labels are known",
	"internal/surroundings.asked.podHas":                    "it asks whether labels are known",
	"internal/surroundings.facts.disagree":                  "two manifests of one Namespace are no base of a kustomization",
	"internal/surroundings.Surroundings.NamespaceElsewhere": judges,
	"internal/surroundings.Surroundings.Istio":              judges,
	"internal/surroundings.Surroundings.complete":           judges,
	"internal/surroundings.testimonyFor":                    judges,
	"internal/surroundings.injectedTemplate.complete":       judges,
	"transformer.installedIstio":                            judges,

	"transformer.view.checkMisplaced":        warns,
	"transformer.optOutSource.entries":       warns,
	"transformer.ownMistakes":                warns,
	"transformer.template.annotationFinding": "it tells people the value of what was asked",
	"transformer.template.namespaceLabel":    "it tells people the value of what was asked",
	"transformer.checkBareSpec":              "it tells people what would be written",
	"transformer.Obsolete":                   "it is no plan: it warns about a Service",

	"transformer.refineLinkerd":           writes,
	"transformer.annotationTexts":         writes,
	"transformer.draft.editAnnotations":   writes,
	"transformer.draft.noteEmptyMetadata": writes,
	"transformer.draft.recordFor":         writes,
	"internal/vm.builder.annotationEdits": writes,
	"internal/vm.builder.noteEmpty":       writes,
	"internal/vm.builder.texts":           writes,
	"internal/vm.AgentConfig":             "it is no plan: it prints the configuration of probe-agent",
	"internal/vm.readAgentConfig":         "it is no plan: it prints the configuration of probe-agent",
}

const (
	doors  = "it notes the question"
	judges = "it decides verdicts alone"
	warns  = "it only warns"
	writes = "it takes part in the writing of what a test of the patch covers: an old value, or an empty mapping"
)

// planning are the packages in which plans are made.
var planning = []string{"transformer", "internal/vm", "internal/inbound", "internal/authz", "internal/surroundings"}

// raw are the fields and methods that give what nobody notes, by their type.
var raw = map[string][]string{
	"internal/field.Metadata":            {"Labels", "Annotations"},
	"internal/field.Noted":               {"Unnoted"},
	"internal/surroundings.Pods":         {"Labels"},
	"internal/surroundings.Namespace":    {"Labels", "Annotations"},
	"internal/surroundings.facts":        {"source", "found", "list"},
	"internal/surroundings.Surroundings": {"source", "found", "list", "facts"},
}

// A plan reads labels, annotations, Namespaces and near objects only through the types that note what was
// asked: a patch tests what was noted. Whoever goes past them is in the list, with the reason.
func TestNoPlanReadsPastTheNotes(t *testing.T) {
	seen := make(map[string]bool)
	for _, pkg := range checkedPackages(t, planning) {
		for _, file := range pkg.files {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				name := pkg.path + "." + f.Name.Name
				if f.Recv != nil {
					name = typeName(pkg.info.Defs[f.Name].(*types.Func).Signature().Recv().Type()) + "." + f.Name.Name
				}
				ast.Inspect(f, func(n ast.Node) bool {
					s, ok := n.(*ast.SelectorExpr)
					if !ok || !isRaw(pkg.info, s) {
						return true
					}
					seen[name] = true
					if rawReads[name] == "" {
						t.Errorf("%s reads %s of %s: no patch tests that", name, s.Sel.Name, pkg.info.Selections[s].Recv())
					}
					return true
				})
			}
		}
	}
	for name := range rawReads {
		if !seen[name] {
			t.Errorf("%s reads nothing past the notes: take it off the list", name)
		}
	}
}

// isRaw reports whether a selector reads what nobody notes.
func isRaw(info *types.Info, s *ast.SelectorExpr) bool {
	selection := info.Selections[s]
	if selection == nil {
		return false
	}
	name := selection.Obj().Name()
	return slices.Contains(raw[ownerOf(selection)], name) || slices.Contains(raw[typeName(selection.Recv())], name)
}

// ownerOf returns the name of the type that declares what is selected, also through embedded fields.
func ownerOf(s *types.Selection) string {
	if f, ok := s.Obj().(*types.Func); ok {
		return typeName(f.Signature().Recv().Type())
	}
	of := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		of = under(of).(*types.Struct).Field(i).Type()
	}
	return typeName(of)
}

func under(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem().Underlying()
	}
	return t.Underlying()
}

func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return strings.TrimPrefix(n.Obj().Pkg().Path(), modulePath+"/") + "." + n.Obj().Name()
}

const modulePath = "github.com/rewrite-probes/rewrite-probes"

// A checkedPackage is a package of this module with its types.
type checkedPackage struct {
	path  string // below the module's
	files []*ast.File
	info  *types.Info
	types *types.Package
}

// checkedPackages reads packages of the module, without their tests.
func checkedPackages(t *testing.T, paths []string) (all []checkedPackage) {
	t.Helper()
	args := []string{"list", "-pgo=off", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	for _, p := range paths {
		args = append(args, modulePath+"/"+p)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	exports := make(map[string]listed)
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path].Export) }
	for _, path := range paths {
		p := exports[modulePath+"/"+path]
		fset := token.NewFileSet()
		c := checkedPackage{path: path, info: &types.Info{Selections: make(map[*ast.SelectorExpr]*types.Selection), Defs: make(map[*ast.Ident]types.Object)}}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.files = append(c.files, f)
		}
		conf := types.Config{Importer: importer.ForCompiler(fset, "gc", open)}
		if c.types, err = conf.Check(p.ImportPath, fset, c.files, c.info); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}
