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
	x := textEdit{
		t:       t,
		read:    map[int32]*editNode{},
		changed: map[int32]bool{},
		why:     map[int32]string{},
	}
	x.note(root)
	edited = x.edited(root)
	x.change(edited)
	for _, n := range slices.Sorted(maps.Keys(t.Merges)) {
		isChanged := func(source int32) bool { return x.changed[source] }
		if x.why[n] == "" && slices.ContainsFunc(t.Merges[n], isChanged) {
			x.writeOut(edited, n, "the merge key (<<) was written out, since its anchor's value changed")
			x.change(edited) // anchors in it have gone
		}
	}
	for _, n := range t.Aliases {
		if x.changed[t.Source[n]] && x.why[n] == "" {
			v := &t.Nodes[n]
			x.writeOut(
				edited,
				n,
				fmt.Sprintf("the alias %s was written out, since its anchor's value changed", t.Text[v.Start:v.End]),
			)
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
		out.open = false
		out.children = nil
		return &out
	}
	v := &x.t.Nodes[o.node]
	if v.Marks&yaml.IsAlias != 0 {
		if !o.wasLinked() {
			x.why[o.node] = fmt.Sprintf(
				"the alias %s was written out, because its value is edited",
				x.t.Text[v.Start:v.End],
			)
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
	if o.wasLinked() {
		out.assignWhole(o.value(x.t))
		return &out
	}
	if !o.keepsMergeKeys(x.t) {
		x.why[o.node] = "the merge key (<<) was written out"
		out.assignWhole(o.value(x.t))
		return &out
	}
	x.editOwn(o, &out)
	return &out
}

func (o *editNode) assignWhole(v field.Value) {
	o.set = true
	o.val = v
	o.open = false
	o.children = nil
}

// keepsMergeKeys reports whether a mapping with merge keys stays one. It has to be written out if what
// the keys bring is edited, or would come back, or nothing else stays.
func (o *editNode) keepsMergeKeys(t *yaml.Tree) bool {
	stays := false
	for _, k := range o.children {
		marks := t.Nodes[k.node].Marks // none for a new entry
		isBrought := marks&yaml.IsMerged != 0
		comesBack := k.key != k.was && marks&yaml.Overrides != 0
		switch {
		case isBrought && k.differs(), k.deleted && !o.canLose(t, k), comesBack:
			return false
		case k.node != 0 && !isBrought && !k.deleted:
			stays = true
		}
	}
	return stays
}

// canLose reports whether an entry of a mapping with merge keys can be deleted alone: no merge key is
// between the entry and what moves to its place, and none brings it back.
func (o *editNode) canLose(t *yaml.Tree, k *editNode) bool {
	mapping := &t.Nodes[o.node]
	entry := &t.Nodes[k.node]
	isFirst := entry.Key == mapping.Start
	return mapping.Style == yaml.Block &&
		!isFirst &&
		entry.Marks&(yaml.IsMerged|yaml.Overrides) == 0
}

// editOwn sets the children that a mapping with merge keys has in the text, which are its own.
func (x *textEdit) editOwn(o, out *editNode) {
	out.children = nil
	for _, k := range o.children {
		if k.node == 0 ||
			x.t.Nodes[k.node].Marks&yaml.IsMerged == 0 {
			out.children = append(out.children, x.edited(k))
		}
	}
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
		isAlias := x.t.Nodes[edited.node].Marks&yaml.IsAlias != 0
		if edited.set || edited.deleted || isAlias {
			return
		}
		if edited.openAs(&original{Tree: x.t}, step) != nil {
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
