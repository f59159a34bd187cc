package manifest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A textEdit turns the edited tree of an object into that of its text: an alias that is
// edited is written out, and so is one whose anchor gets another value or goes, and a
// mapping whose merged entries do.
type textEdit struct {
	t       *yaml.Tree
	read    map[int32]*editNode // what nodes read as now, if something in them is edited
	changed map[int32]bool      // nodes whose text reads differently now
	why     map[int32]string    // the nodes that are written out
}

// editText returns the edited tree of the text, and which nodes are written out.
func editText(t *yaml.Tree, root *editNode) (edited *editNode, why map[int32]string) {
	x := textEdit{t: t, read: map[int32]*editNode{}, changed: map[int32]bool{}, why: map[int32]string{}}
	x.note(root)
	edited = x.edited(root)
	x.change(edited)
	for _, n := range slices.Sorted(maps.Keys(t.Merges)) {
		if x.why[n] == "" && slices.ContainsFunc(t.Merges[n], func(source int32) bool { return x.changed[source] }) {
			x.writeOut(edited, n, "the mapping with the merge key (<<) was written out, because the anchor has another value now")
			x.change(edited) // anchors in it have gone
		}
	}
	for _, n := range t.Aliases {
		if x.changed[t.Source[n]] && x.why[n] == "" {
			x.writeOut(edited, n, fmt.Sprintf("the alias %s was written out, because its anchor has another value now", t.Text[t.Nodes[n].Start:t.Nodes[n].End]))
		}
	}
	return edited, x.why
}

func (x *textEdit) note(o *editNode) {
	x.read[o.node] = o
	for _, k := range o.children {
		x.note(k)
	}
}

func (x *textEdit) edited(o *editNode) *editNode {
	if !o.open || o.node == 0 {
		return o
	}
	out := *o
	if !o.differs() {
		out.open, out.children = false, nil
		return &out
	}
	v := &x.t.Nodes[o.node]
	if v.Marks&yaml.IsAlias != 0 {
		if !o.wasAlias() {
			x.why[o.node] = fmt.Sprintf("the alias %s was written out, because its value is edited", x.t.Text[v.Start:v.End])
		}
		out.assignWhole(o.value(x.t))
		return &out
	}
	if v.Marks&yaml.HasMergeKey == 0 {
		out.children = make([]*editNode, len(o.children))
		for i, k := range o.children {
			out.children[i] = x.edited(k)
		}
		return &out
	}
	if !x.editMerged(o, &out) {
		x.why[o.node] = "the mapping with the merge key (<<) was written out"
		out.assignWhole(o.value(x.t))
	}
	return &out
}

func (o *editNode) assignWhole(v field.Value) {
	o.set, o.val, o.open, o.children = true, v, false, nil
}

// editMerged sets the children that a mapping with a merge key has in the text, which are its
// own. ok is false if it has to be written out: if what the key brings is edited, or nothing else stays.
func (x *textEdit) editMerged(o, out *editNode) (ok bool) {
	out.children = nil
	stays := false
	for _, k := range o.children {
		isBrought := k.node != 0 && x.t.Nodes[k.node].Marks&yaml.IsMerged != 0
		switch {
		case k.deleted || isBrought && k.differs():
			return false
		case !isBrought:
			stays = stays || k.node != 0
			out.children = append(out.children, x.edited(k))
		}
	}
	return stays
}

// change notes the nodes that an edited tree changes.
func (x *textEdit) change(o *editNode) {
	if o.node == 0 || !o.differs() {
		return
	}
	x.changed[o.node] = true
	if o.set || o.deleted {
		x.changeAll(x.t.Nodes[o.node].Child)
	}
	for _, k := range o.children {
		x.change(k)
	}
}

func (x *textEdit) changeAll(n int32) {
	for ; n != 0; n = x.t.Nodes[n].Next {
		x.changed[n] = true
		x.changeAll(x.t.Nodes[n].Child)
	}
}

// writeOut has a node written out that no edit names, unless it is within one that is written anew already,
// or in the value of a merge key.
func (x *textEdit) writeOut(edited *editNode, n int32, why string) {
	path := x.t.Path(n)
	for _, step := range path {
		if edited.set || edited.deleted || x.t.Nodes[edited.node].Marks&yaml.IsAlias != 0 || edited.openAs(&original{Tree: x.t}, step) != nil {
			return
		}
		if edited = edited.find(step); edited == nil {
			return
		}
	}
	if edited.set || edited.deleted || len(path) == 0 {
		return
	}
	val := x.t.Raw(n)
	if o := x.read[n]; o != nil {
		val = o.value(x.t)
	}
	edited.assignWhole(val)
	x.why[n] = why
}
