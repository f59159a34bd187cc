package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// An editNode is a node of the edited tree, which shows the original tree with
// the edits made. If it is neither set nor open, everything below it is
// unchanged.
type editNode struct {
	node     int32 // the original entry or item; 0 if it is new
	deleted  bool
	set      bool      // has the value val
	open     bool      // children say what it holds
	kind     yaml.Kind // mapping or sequence, where it is open
	key      string    // its key now
	was      string    // its key before
	text     string    // the entry as its author once wrote it; "" if that is not known
	val      field.Value
	children []*editNode
	moved    bool // there are new items among the children
}

// An original is the tree of an object that is edited, with the memory of its edited tree,
// which the next object uses again.
type original struct {
	*yaml.Tree
	nodes []editNode
	lists []*editNode
}

// overlay returns the tree with edits made, in the memory of the one before.
func (t *original) overlay(of *yaml.Tree, edits []field.Edit) (*editNode, error) {
	clear(t.nodes)
	t.Tree, t.nodes, t.lists = of, t.nodes[:0], t.lists[:0]
	root := t.node(editNode{node: 1})
	for _, e := range edits {
		if err := root.edit(t, e); err != nil {
			return nil, fmt.Errorf("`%s`: cannot be edited: %w", e.Path, err)
		}
	}
	return root, root.checkDuplicateKeys()
}

func (o *editNode) edit(t *original, e field.Edit) error {
	if len(e.Path) == 0 {
		return fmt.Errorf("the whole object cannot be replaced")
	}
	at := o
	last := len(e.Path) - 1
	for i, step := range e.Path {
		if err := at.openAs(t, step); err != nil {
			return err
		}
		if i == last {
			return at.applyLastStep(t, e, step)
		}
		child := at.find(step)
		switch {
		case child != nil && child.deleted:
			return fmt.Errorf("an edit deletes what another changes")
		case child != nil:
		case step.IsIndex ||
			e.Op == field.Rename ||
			e.Op == field.Delete:
			return fmt.Errorf("`%s` does not exist", e.Path[:i+1])
		default:
			child = t.newEntry(step.Key, nil)
			before := ""
			if i == last-1 && e.Op == field.Insert {
				before = e.Before
			}
			at.add(child, before)
		}
		at = child
		at.text = cmp.Or(e.Texts.Get(at.key), at.text)
	}
	return nil
}

// openAs prepares the node's children for edits. A new or null node becomes an
// empty collection.
func (o *editNode) openAs(t *original, step field.Step) error {
	want := yaml.Mapping
	if step.IsIndex {
		want = yaml.Sequence
	}
	if o.open {
		if o.kind != want {
			return fmt.Errorf("it is not %s", want)
		}
		return nil
	}
	switch {
	case o.set && o.val != nil:
		return fmt.Errorf("an edit changes what another sets")
	case o.set || t.IsNull(o.node):
		o.set = true
		o.children = take(&t.lists, 4)[:0]
	case t.Nodes[o.node].Kind != want:
		return fmt.Errorf("must be %s, not %s", want, t.Describe(o.node))
	default:
		o.children = o.originals(t)
	}
	o.open = true
	o.kind = want
	return nil
}

func (o *editNode) originals(t *original) []*editNode {
	n := t.Length(o.node)
	nodes, children := take(&t.nodes, n), take(&t.lists, n+4)[:0] // an entry or two are added
	for c := t.Nodes[o.node].Child; c != 0; c = t.Nodes[c].Next {
		k := &nodes[len(children)]
		children = append(children, k)
		k.node = c
		if t.Nodes[o.node].Kind == yaml.Mapping {
			k.key = t.KeyOf(c)
			k.was = k.key
		}
	}
	return children
}

// newEntry returns a new entry of a mapping.
func (t *original) newEntry(key string, v field.Value) *editNode {
	return t.node(editNode{key: key, was: key, set: true, val: v})
}

func (t *original) node(k editNode) *editNode {
	n := &take(&t.nodes, 1)[0]
	*n = k
	return n
}

// take returns n elements of a memory; what it gave before stays where it is.
func take[T any](memory *[]T, n int) []T {
	used := len(*memory)
	if used+n > cap(*memory) {
		*memory, used = make([]T, max(2*cap(*memory), n, 128)), 0
	}
	*memory = (*memory)[:used+n]
	return (*memory)[used : used+n : used+n]
}

func (o *editNode) find(step field.Step) *editNode {
	if i := o.indexOf(step); i < len(o.children) {
		return o.children[i]
	}
	return nil
}

// indexOf returns the current index of the child to which the step led before the edits, or how many
// children there are.
func (o *editNode) indexOf(step field.Step) int {
	if step.IsIndex && step.Index >= 0 && !o.moved {
		return min(int(step.Index), len(o.children))
	}
	before := step.Index // items
	for i, k := range o.children {
		switch {
		case !step.IsIndex:
			if k.was == step.Key {
				return i
			}
		case k.node == 0:
		case before > 0:
			before--
		default:
			return i
		}
	}
	return len(o.children)
}

// add inserts a new child before the key, or at the end.
func (o *editNode) add(child *editNode, before string) {
	i := len(o.children)
	if before != "" {
		i = o.indexOf(field.Step{Key: before})
	}
	o.children = slices.Insert(o.children, i, child)
}

// applyLastStep makes the edit in the open collection; step is the last one of its
// path.
func (o *editNode) applyLastStep(t *original, e field.Edit, step field.Step) error {
	if e.Op == field.Insert {
		return o.insert(t, step, e.Value)
	}
	child := o.find(step)
	if child == nil {
		if e.Op != field.Set || step.IsIndex {
			return fmt.Errorf("it does not exist")
		}
		added := t.newEntry(step.Key, e.Value)
		added.text = e.Texts.Get(step.Key)
		o.add(added, e.Before)
		return nil
	}
	if child.deleted || child.open {
		return fmt.Errorf("another edit changes it too")
	}
	switch e.Op {
	case field.Delete:
		child.deleted = true
	case field.Rename:
		if step.IsIndex {
			return fmt.Errorf("a list item has no key to rename")
		}
		o.rename(t, child, e)
	case field.Set:
		child.assign(t, e.Value)
		child.writeAs(e.Texts.Get(step.Key))
	default:
		return fmt.Errorf("unknown operation %d", e.Op)
	}
	return nil
}

// insert puts a new item in front of the one that had the index of the step.
func (o *editNode) insert(t *original, step field.Step, v field.Value) error {
	if !step.IsIndex ||
		step.Index < 0 ||
		int(step.Index) > t.Length(o.node) {
		return fmt.Errorf("index %d is outside of the list", step.Index)
	}
	o.children = slices.Insert(o.children, o.indexOf(step), t.node(editNode{set: true, val: v}))
	o.moved = true
	return nil
}

func (o *editNode) rename(t *original, child *editNode, e field.Edit) {
	child.key = e.NewKey
	child.assign(t, e.Value)
	child.writeAs(e.Texts.Get(e.NewKey))
	for _, k := range child.children {
		k.writeAs(e.Texts.Get(k.key))
	}
	// A field that is there as null counts as absent. It gets the old key, so
	// that the opposite edit brings back both as they were.
	null := o.find(field.Step{Key: e.NewKey})
	if null != nil &&
		!null.differs() &&
		t.IsNull(null.node) {
		null.key = child.was
	}
}

// assign sets the value, unless the node has it already. In a mapping it
// changes only the entries that differ, so that the comments of the others
// stay.
func (o *editNode) assign(t *original, v field.Value) {
	if m, isMap := v.(field.Map); isMap && o.hasAnyOf(t, m) {
		o.assignEntries(t, m)
		return
	}
	o.set = o.node == 0 || !t.EqualValue(o.node, v)
	o.val = v
}

// hasAnyOf reports whether the node is a mapping that has a key of another.
func (o *editNode) hasAnyOf(t *original, m field.Map) bool {
	if o.node == 0 || t.Nodes[o.node].Kind != yaml.Mapping {
		return false
	}
	return slices.ContainsFunc(
		m,
		func(e field.Entry) bool {
			return t.Get(o.node, e.Key) != 0
		},
	)
}

// writeAs has a node written as its author once wrote it, also if it has its value
// already.
func (o *editNode) writeAs(text string) {
	o.text = text
	o.set = o.set || text != "" && !o.open && !o.deleted
}

// assignEntries changes the entries of a mapping until they are those of m.
func (o *editNode) assignEntries(t *original, m field.Map) {
	o.open = true
	o.kind = yaml.Mapping
	o.children = o.originals(t)
	for _, c := range o.children {
		c.deleted = true
	}
	before := "" // the original that follows in m
	for _, e := range slices.Backward(m) {
		child := o.find(field.Step{Key: e.Key})
		if child == nil {
			o.add(t.newEntry(e.Key, e.Value), before)
			before = e.Key
			continue
		}
		child.deleted = false
		child.assign(t, e.Value)
		before = e.Key
	}
}

// checkDuplicateKeys checks that no edit has added a key that is there already.
func (o *editNode) checkDuplicateKeys() error {
	for _, k := range o.children {
		if k.deleted {
			continue
		}
		// Only new keys are checked: a duplicate in the input was refused
		// before, or is in a part that is not decoded.
		isNew := o.kind == yaml.Mapping &&
			(k.node == 0 || k.key != k.was)
		isSame := func(other *editNode) bool {
			return other != k && !other.deleted && other.key == k.key
		}
		if isNew && slices.ContainsFunc(o.children, isSame) {
			return fmt.Errorf("key %q would be twice in its mapping", k.key)
		}
		if err := k.checkDuplicateKeys(); err != nil {
			return err
		}
	}
	return nil
}

func (o *editNode) differs() bool {
	return o.set ||
		o.deleted ||
		o.key != o.was ||
		slices.ContainsFunc(o.children, (*editNode).differs)
}

// value returns the whole edited value, in which plain scalars that are unchanged are as they
// were read.
func (o *editNode) value(t *yaml.Tree) field.Value {
	return o.valueWith(t, t.Raw)
}

// valueWith returns the whole edited value, in which read returns what is unchanged.
func (o *editNode) valueWith(t *yaml.Tree, read func(int32) field.Value) field.Value {
	switch {
	case o.open && o.kind == yaml.Mapping:
		m := make(field.Map, 0, len(o.children))
		for _, k := range o.children {
			if !k.deleted {
				m = append(m, field.Entry{Key: k.key, Value: k.valueWith(t, read)})
			}
		}
		return m
	case o.open:
		l := make(field.List, 0, len(o.children))
		for _, k := range o.children {
			if !k.deleted {
				l = append(l, k.valueWith(t, read))
			}
		}
		return l
	case o.set:
		return o.val
	}
	return read(o.node)
}

// isIn reports whether a node of another tree has the edited value of one of the tree t.
func (o *editNode) isIn(u *yaml.Tree, n int32, t *yaml.Tree) bool {
	switch {
	case !o.open && o.set:
		return u.EqualValue(n, o.val)
	case !o.open:
		return t.Equal(o.node, u, n)
	case u.Nodes[n].Kind != o.kind:
		return false
	}
	c := u.Nodes[n].Child
	left := u.Length(n)
	for _, k := range o.children {
		if k.deleted {
			continue
		}
		if o.kind == yaml.Mapping {
			c = u.EntryAt(n, c, k.key)
		}
		if !k.isIn(u, c, t) {
			return false
		}
		c = u.Nodes[c].Next
		left--
	}
	return left == 0
}
