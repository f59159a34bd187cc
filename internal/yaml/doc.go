// Package yaml reads YAML as the parser of the API server does: block and flow collections, JSON,
// scalars of all styles, anchors, aliases, merge keys and tags. What it refuses is an error. (A fuzz test
// compares it with a full parser.)
//
// A [Checked] is taken apart into [Documents], and a part of it is read into a [Tree]: compact nodes with
// their places in the text, in which aliases and merge keys have the values that they stand for. A
// tree is decoded into Go variables ([Tree.Decode]) and compared with values ([Tree.EqualValue]).
// Of Kubernetes the package knows only the keys that tell the objects of a document apart ([Tree.IsHidden]).
package yaml
