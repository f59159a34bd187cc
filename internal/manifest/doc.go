// Package manifest reads Kubernetes manifests and writes them back with edits
// applied: ResourceLists, bare streams of documents, Lists, YAML and JSON.
// It knows nothing of kinds and of probes.
//
// What is not edited comes back byte for byte. An edit is spliced into the
// text of its object; the result is parsed again and compared with the edited
// tree. If the two differ, the edit is refused and the object stays as it is.
// [Object.Notices] names the lines that an edit had to change besides its own.
// The whole output is read again, too, before any of it is written.
//
// # How an edit becomes text
//
// [Object.Apply] does it in three steps. A bug is in one of them, and the files of each begin with its name.
//
//  1. The edited tree (edit_) says what the object is to be. An editNode stands for an entry or an item: as it was,
//     deleted, set to a value, or open, with children of its own. edit_tree.go makes the tree of the values. The tree
//     of the text may differ: an alias cannot stay if its value is edited, nor a merge key if what it brings is.
//     edit_text.go derives the one from the other, and notes what it writes out.
//  2. The splices (splice) say where the text changes. They replace the smallest parts of the old text that
//     make it the tree of step 1: keys, values, lines of a block collection, entries in braces.
//  3. The layout (layout) says how new text looks: like what is around it. layout_learned.go reads from the
//     old text how lists are indented and braces are spaced; layout.go writes values in that way.
//
// Then the new text is read, and compared with the tree of the values.
//
// A text of [field.Edit.Texts] takes the place of what the layout would write: an entry as its author wrote it before an
// earlier edit. [Object.Texts] finds the texts that are worth keeping, those that the layout would write in another way.
// It makes both edits, there and back, in its head (texts.go). Apply uses the texts that fit, and no others (apply.go).
//
// A symptom tells the step:
//
//   - The object has a wrong value after the edit: edit_tree.go. The other files cannot cause that, since the new text is compared.
//   - The edit is refused as too unusual, and no form is named: the new text reads as something else. edit_text.go, the
//     splices or the layout wrote it. If a form is named, or an anchor: canBeEdited (apply.go).
//   - Too many lines change, or old text stays, such as a comma: splice_block.go or splice_flow.go, by the style around the edit.
//   - The new text looks foreign: the layout. If its quotes or lines are wrong, layout_string.go; if its indentation or
//     spaces are, layout_learned.go.
//   - A line changes besides the edited one, and no notice says so: edit_text.go notes it, and splice.go words it.
//   - After restore, a text is not as its author wrote it: texts.go, and attempt in apply.go.
//   - The object was read wrongly before the edit: package yaml, whose doc.go goes on.
package manifest
