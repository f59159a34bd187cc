package fn_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn/krm"
	"github.com/rewrite-probes/rewrite-probes/fn/kyaml"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

// throughKyaml returns the text that a pipeline of kyaml makes of another.
func throughKyaml(text []byte, filters ...kio.Filter) ([]byte, error) {
	var out bytes.Buffer
	err := kio.Pipeline{
		Inputs:  []kio.Reader{&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true}},
		Filters: filters,
		Outputs: []kio.Writer{kio.ByteWriter{Writer: &out}},
	}.Execute()
	return out.Bytes(), err
}

// throughSDK returns the text of the objects that a function of the SDK makes of those in another.
func throughSDK(text []byte, process sdk.ResourceListProcessorFunc) (out []byte, err error) {
	defer pipeline.Recover(&err) // the SDK panics at an alias that is a value of the root
	items, err := sdk.ParseKubeObjects(text)
	if err != nil {
		return nil, err
	}
	rl := &sdk.ResourceList{Items: items}
	ok, err := process(rl)
	if err != nil || !ok {
		return nil, fmt.Errorf("%v: %w", rl.Results, err)
	}
	for _, item := range rl.Items {
		out = append(out, item.Bytes()...)
	}
	return out, nil
}

// A library reads a text and writes it, through rewrite-probes or not.
type library struct {
	name    string
	through func(text []byte, rewrite bool) ([]byte, error)
}

var libraries = []library{
	{"kyaml", func(text []byte, rewrite bool) ([]byte, error) {
		if rewrite {
			return throughKyaml(text, kyaml.Filter{})
		}
		return throughKyaml(text)
	}},
	{"krm", func(text []byte, rewrite bool) ([]byte, error) {
		if rewrite {
			return throughSDK(text, krm.Process)
		}
		return throughSDK(text, func(*sdk.ResourceList) (bool, error) { return true, nil })
	}},
}

var note = regexp.MustCompile(`#[^\n]*`)

// keepsComments checks that a comment is there after rewriting if the library and the command
// keep it. It returns how many these are.
func (l *library) keepsComments(t *testing.T, text []byte) (kept int) {
	t.Helper()
	untouched, err := l.through(text, false)
	if err != nil {
		return 0 // its parser does not read everything
	}
	if _, err := manifest.Read("", untouched); err != nil {
		return 0 // kyaml does not indent an anchor below a comment
	}
	rewritten, err := l.through(text, true)
	byCommand, r := command(t, untouched, nil)
	if err != nil || r.Changed == 0 {
		return 0
	}
	for _, c := range note.FindAll(untouched, -1) {
		if bytes.Count(byCommand, c) != 1 {
			continue
		}
		kept++
		if n := bytes.Count(rewritten, c); n != 1 {
			t.Errorf("%s: %q is there %d times in\n%s\nuntouched it is\n%s", l.name, c, n, rewritten, untouched)
		}
	}
	return kept
}

// TestComments_styled rewrites Pods with comments wherever YAML has room for them.
func TestComments_styled(t *testing.T) {
	for _, l := range libraries {
		kept := 0
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 11))
			text := yamljudge.Styled(r, yamljudge.Pod(r))
			kept += l.keepsComments(t, append([]byte("# a license\n\n# the web server\n"), text...))
		}
		if kept < 150 {
			t.Errorf("%s: only %d comments were kept", l.name, kept)
		}
	}
}

// A list has the comments of its items where no object of a stream has any.
func TestComments_ofItems(t *testing.T) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n  # a license\n\n  # the web server\n- "
	for _, probe := range []string{"readinessProbe: {httpGet: {port: 80}}", "readinessProbe: &p {httpGet: {port: 80}}\n      livenessProbe: *p"} {
		list := []byte(head + "apiVersion: v1\n  kind: Pod\n  metadata: {name: web}\n  spec:\n    containers:\n    - name: web\n      image: web\n      " + probe + "\n  # the end\n")
		untouched, err := sdk.Run(sdk.ResourceListProcessorFunc(func(*sdk.ResourceList) (bool, error) { return true, nil }), list)
		if err != nil {
			t.Fatal(err)
		}
		rewritten, err := sdk.Run(sdk.ResourceListProcessorFunc(krm.Process), list)
		if err != nil {
			t.Fatal(err)
		}
		byKyaml, err := throughKyaml(list, kyaml.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range note.FindAll(untouched, -1) {
			if !bytes.Contains(rewritten, c) || !bytes.Contains(byKyaml, c) {
				t.Errorf("%q is lost in\n%s\nor\n%s\nuntouched it is\n%s", c, rewritten, byKyaml, untouched)
			}
		}
	}
}

// TestEntryPoints_panic: nodes that no parser makes are an error.
func TestEntryPoints_panic(t *testing.T) {
	if _, err := (kyaml.Filter{}).Filter([]*yaml.RNode{yaml.NewRNode(&yaml.Node{Kind: yaml.AliasNode})}); err == nil {
		t.Error("Filter takes an alias of nothing")
	}
	if _, err := krm.Process(&sdk.ResourceList{Items: sdk.KubeObjects{nil}}); err == nil {
		t.Error("Process takes no object")
	}
}
