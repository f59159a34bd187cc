package nearby_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A lain is an object that the model knows: where it lies, and what it is.
type lain struct {
	id, file        string
	inCluster       bool
	kind            string
	namespace, name string
	scope           string // of a PeerAuthentication, whom it selects
}

// folders returns the folders of a file from the root. The folder where relative paths begin is not known: it and those above have
// names that no other has.
func folders(file string) []string {
	steps := strings.Split(file, "/")
	at := []string{"unknown 3", "unknown 2", "unknown 1"}
	if steps[0] == "" {
		at, steps = nil, steps[1:]
	}
	for _, s := range steps[:len(steps)-1] {
		if s == ".." {
			at = at[:len(at)-1]
			continue
		}
		at = append(slices.Clone(at), s)
	}
	return at
}

// ups returns how many folders to go up from one file to see another, and whether that one lies in the same folder or one above.
func ups(from, to string) (n int, hears bool) {
	a, b := folders(from), folders(to)
	if from[0] != '/' && to[0] == '/' { // how they lie is not known
		return 1000, len(b) == 0
	}
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	if from != to {
		n = 1 + len(a) - common
	}
	return n, common == len(b)
}

// rank is by what the nearer of two objects is chosen: what is heard comes before the cluster, and that before other branches.
func (o *lain) rank(from string) [2]int {
	n, hears := ups(from, o.file)
	switch {
	case o.inCluster:
		return [2]int{1, 0}
	case hears:
		return [2]int{0, n}
	}
	return [2]int{2, n}
}

// nearestOf returns those objects to which none of the same key is nearer.
func nearestOf(all []*lain, from string, key func(*lain) string) (kept []*lain) {
	for _, o := range all {
		isNearer := func(p *lain) bool {
			a, b := p.rank(from), o.rank(from)
			return key(o) != "" && key(p) == key(o) && slices.Compare(a[:], b[:]) < 0
		}
		if !slices.ContainsFunc(all, isNearer) {
			kept = append(kept, o)
		}
	}
	return kept
}

// found returns what an object in a file and a namespace has around it of the kinds: the ids, sorted, "far" and "disputed" behind them.
func found(all []*lain, from, namespace string, kinds ...string) string {
	var mine []*lain
	for _, o := range all {
		of := o.namespace == namespace
		switch o.kind {
		case "PeerAuthentication", "AuthorizationPolicy":
			of = of || o.namespace == root
		case "Namespace":
			of = o.name == namespace
		case "SidecarSet":
			of = true
		}
		if of && slices.Contains(kinds, o.kind) {
			mine = append(mine, o)
		}
	}
	if namespace == "" && kinds[0] != "SidecarSet" { // those of the file and its folder, else of the nearest place
		var kept []*lain
		for _, o := range mine {
			isNearer := func(p *lain) bool {
				a, b := max(p.rank(from)[0]*10_000+p.rank(from)[1], 1), max(o.rank(from)[0]*10_000+o.rank(from)[1], 1)
				return p.namespace == o.namespace && a < b
			}
			if o.namespace != "" || !slices.ContainsFunc(mine, isNearer) {
				kept = append(kept, o)
			}
		}
		mine = kept
	}
	name := func(o *lain) string { return o.kind + " " + o.namespace + "/" + o.name }
	mine = nearestOf(mine, from, name)
	mine = nearestOf(mine, from, func(o *lain) string {
		if o.scope == "" {
			return ""
		}
		return o.namespace + " " + o.scope
	})
	var words []string
	for _, o := range mine {
		word := o.id
		if o.rank(from)[0] == 2 {
			word += " far"
		}
		if n := len(slices.DeleteFunc(slices.Clone(mine), func(p *lain) bool { return name(p) != name(o) })); n > 1 {
			word += " disputed"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// manifest returns the object as YAML.
func (o *lain) manifest() string {
	namespace := ""
	if o.namespace != "" {
		namespace = ", namespace: " + o.namespace
	}
	head := "metadata: {name: " + o.name + namespace + ", labels: {id: " + o.id + "}}\n"
	switch o.kind {
	case "Namespace":
		return "apiVersion: v1\nkind: Namespace\n" + head
	case "Service":
		return "apiVersion: v1\nkind: Service\n" + head + "spec: {selector: {app: web}, ports: [{port: 80}]}\n"
	case "ServiceEntry":
		return "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\n" + head + "spec: {workloadSelector: {labels: {app: web}}, ports: [{number: 80}]}\n"
	case "SidecarSet":
		return "apiVersion: apps.kruise.io/v1beta1\nkind: SidecarSet\n" + head + "spec: {containers: [{name: istio-proxy}]}\n"
	case "PeerAuthentication":
		selector := map[string]string{"all": "{}", "web": "{selector: {matchLabels: {app: web}}}"}[o.scope]
		return "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\n" + head + "spec: " + selector + "\n"
	}
	return "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\n" + head + "spec: {action: DENY}\n"
}

// Over random trees of files, absolute and relative, as files, as a list that another tool has read, and with a cluster: what is around
// an object is what the rule of the nearest says.
func TestWhatIsAroundAnObjectIsTheNearestOfATree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 11))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	seen := map[string]int{}
	for round := range 4000 {
		file := func() string {
			if round%2 == 0 {
				return one("", "a/", "a/b/", "ab/", "c/") + one("x.yaml", "y.yaml")
			}
			return one("", "a/", "a/b/", "../", "../a/", "../../", "../../c/", "/", "/srv/", "/srv/a/") + one("x.yaml", "y.yaml")
		}
		kind := one("Service", "Service", "ServiceEntry", "Namespace", "PeerAuthentication", "AuthorizationPolicy", "SidecarSet")
		var all []*lain
		for i := range 1 + rnd.IntN(6) {
			o := &lain{id: fmt.Sprint("o", i), file: file(), kind: kind, namespace: one("shop", "shop", "", root, "other"), name: one("a", "a", "b")}
			switch kind {
			case "Namespace":
				o.namespace, o.name = "", one("shop", "shop", "other")
			case "SidecarSet":
				o.namespace = ""
			case "Service", "ServiceEntry":
				o.kind = one("Service", "Service", "ServiceEntry")
			case "PeerAuthentication":
				o.scope = one("all", "web")
			}
			o.inCluster = rnd.IntN(8) == 0
			all = append(all, o)
		}
		at, namespace := file(), one("shop", "shop", "shop", "", root)
		x, web := treeOf(t, all, at, rnd.IntN(3) == 0)
		row, kinds := rowOf(kind)
		source := x.Source(web, namespace)
		want := found(all, at, namespace, kinds...)
		if got := idsOf(source.Find(row, false)); got != want {
			t.Fatalf("%s of %s in %q: %q, want %q, of\n%s", kind, at, namespace, got, want, listed(all))
		}
		wantUnplaced := ""
		if namespace != "" && kind == "Service" {
			wantUnplaced = found(all, at, "", kinds...)
		}
		if got := idsOf(source.Find(row, true)); kind == "Service" && got != wantUnplaced {
			t.Fatalf("unplaced %s of %s in %q: %q, want %q, of\n%s", kind, at, namespace, got, wantUnplaced, listed(all))
		}
		hears := slices.ContainsFunc(all, func(o *lain) bool { return o.rank(at)[0] < 2 && o.name == "a" && slices.Contains(kinds, o.kind) })
		isA := func(v any) bool { return nameOf(v) == "a" }
		if got := source.Hears(row, isA); got != hears {
			t.Fatalf("%s hears %s a: %t, of\n%s", at, kind, got, listed(all))
		}
		for _, word := range []string{"far", "disputed", ","} {
			if strings.Contains(want, word) {
				seen[word]++
			}
		}
	}
	for _, word := range []string{"far", "disputed", ","} {
		if seen[word] < 300 {
			t.Errorf("%q: only %d", word, seen[word])
		}
	}
}

// treeOf returns an index of the objects and of a Deployment at a place. The files are read one by one, or all as the items of a list.
func treeOf(t *testing.T, all []*lain, at string, isList bool) (*nearby.Index, *manifest.Object) {
	t.Helper()
	texts, inCluster := map[string][]string{at: {web}}, []string(nil)
	var items []string
	for _, o := range all {
		if o.inCluster {
			inCluster = append(inCluster, o.manifest())
			continue
		}
		texts[o.file] = append(texts[o.file], o.manifest())
		items = append(items, noted(o.file, o.manifest()))
	}
	if isList {
		texts = map[string][]string{"<stdin>": {resourceList(append(items, noted(at, web))...)}}
	}
	var streams []*manifest.Stream
	read := func(name string, documents []string) *manifest.Stream {
		s, err := manifest.Read(name, []byte(strings.Join(documents, "---\n")))
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
		return s
	}
	for name, documents := range texts {
		read(name, documents)
	}
	if inCluster != nil {
		read("", inCluster).FromCluster = true
	}
	for _, s := range streams {
		for _, o := range s.Objects() {
			if o.Kind() == "Deployment" {
				return nearby.Collect(streams, root), o
			}
		}
	}
	t.Fatal("no Deployment")
	return nil, nil
}

// noted returns an item of a list with the file that a tool has read it from.
func noted(file, object string) string {
	note := "annotations: {internal.config.kubernetes.io/path: " + file + "}"
	if strings.Contains(object, "metadata: {") {
		object = strings.Replace(object, "metadata: {", "metadata: {"+note+", ", 1)
	} else {
		object = strings.Replace(object, "metadata:\n", "metadata:\n  "+note+"\n", 1)
	}
	return "- " + strings.ReplaceAll(strings.TrimSpace(object), "\n", "\n  ") + "\n"
}

func rowOf(kind string) (*surroundings.Kind, []string) {
	switch kind {
	case "Namespace":
		return surroundings.Namespaces.Kind, []string{kind}
	case "PeerAuthentication":
		return surroundings.PeerAuthentications.Kind, []string{kind}
	case "AuthorizationPolicy":
		return surroundings.AuthorizationPolicies.Kind, []string{kind}
	case "SidecarSet":
		return surroundings.SidecarSets.Kind, []string{kind}
	}
	return surroundings.Services.Kind, []string{"Service", "ServiceEntry"}
}

func objectOf(v any) surroundings.Neighbour {
	switch v := v.(type) {
	case *surroundings.Namespace:
		return v.Neighbour
	case *surroundings.PeerAuthentication:
		return v.Neighbour
	case *surroundings.AuthorizationPolicy:
		return v.Neighbour
	case *surroundings.SidecarSet:
		return v.Neighbour
	case *surroundings.Service:
		return v.Neighbour
	}
	panic(fmt.Sprintf("%T", v))
}

func nameOf(v any) string { return objectOf(v).Name }

func idsOf(all []surroundings.Found) string {
	var words []string
	for _, f := range all {
		word := objectOf(f.Value).Labels.Get("id")
		if f.Far {
			word += " far"
		}
		if f.Disputed {
			word += " disputed"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func listed(all []*lain) string {
	var b strings.Builder
	for _, o := range all {
		fmt.Fprintf(&b, "%+v\n", *o)
	}
	return b.String()
}

// Somebody changed an object when the last of its managers did, but for those that only wrote a part such as its status.
func TestAnObjectChangedWhenTheLastOfItsManagersDid(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 12))
	for range 500 {
		want, fields := "", ""
		for range rnd.IntN(4) {
			at, part := fmt.Sprintf("2026-11-%02dT10:00:00Z", 1+rnd.IntN(28)), []string{"", "", "status", "scale"}[rnd.IntN(4)]
			fields += "\n  - {manager: a, time: \"" + at + "\""
			if part != "" {
				fields += ", subresource: " + part
			} else {
				want = max(want, at)
			}
			fields += "}"
		}
		if fields != "" {
			fields = "  managedFields:" + fields + "\n"
		}
		s := of(t, "shop", "a.yaml", documents(web, ns("shop", "a: b", fields)))
		at := s.Find(surroundings.Namespaces.Kind, false)[0].Value.(*surroundings.Namespace).At.(interface{ Changed() string })
		if got := at.Changed(); got != want {
			t.Fatalf("%q, want %q, of\n%s", got, want, fields)
		}
	}
}
