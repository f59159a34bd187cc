// Package yaml reads YAML as the parser of the API server does: block and flow collections, JSON,
// scalars of all styles, anchors, aliases, merge keys and tags. What it refuses is an error. (A fuzz test
// compares it with a full parser.)
//
// A [Checked] is taken apart into [Documents], and a part of it is read into a [Tree]: compact nodes with
// their places in the text, in which aliases and merge keys have the values that they stand for. A
// tree is decoded into Go variables ([Tree.Decode]) and compared with values ([Tree.EqualValue]).
// Of Kubernetes the package knows only the keys that tell the objects of a document apart ([Tree.IsHidden]).
//
// # How a text becomes values
//
// A text goes through five steps. A bug is in one of them. [Parser.Parse] runs 1, 3 and 4, [Checked.Parse] 3 and 4.
//
//  1. Bytes (text.go). [Check] looks at every byte once. It marks line breaks that are neither LF nor CRLF ([Checked]).
//  2. Documents (documents.go). [Documents] finds where each starts and ends. Of a document it reads only
//     what tells objects apart: the rest is dropped as soon as it has been scanned (Parser.drop).
//  3. Nodes. parser.go reads the root. scanner.go reads block style line by line (blockScan, with a frame for each
//     collection that is open), and the ends of scalars. flow.go reads braces and brackets. Each [Node] has places in the text,
//     and no value. The first part of alias.go, up to splitProperties, finds anchors, tags and aliases.
//  4. Aliases, tags and merge keys (alias.go, resolver). This step runs only if step 3 has set [Tree.Special].
//  5. Values. tree.go finds a node and reads its text when somebody asks: quotes, folds, types. decode.go puts it
//     into Go variables, and reports wrong types and repeated keys. compare.go compares two trees, or a tree and a value.
//
// A symptom tells the step:
//
//   - A text is refused, wrongly: search for the message. It is in the file of the step, 1 to 4, and there where
//     a [Refusal] is made. Messages that name a field come from decode.go.
//   - A text is read, and YAML forbids it: 1 for a character, 2 for a marker or a directive, 5 (decode.go)
//     for a repeated key, 4 for what a tag or a merge key must not have, else 3.
//   - The error has the wrong place: 1 if the text has odd line breaks, else the step of its message.
//   - A document is missing, or there is one too many: 2. An item of a List: stream.go of package manifest.
//   - An entry or item is missing, or is below the wrong key: 3. If Special is set, perhaps 4.
//   - A value is wrong: compare it with the text between the Start and the End of its [Node]. If that is not the whole
//     value, look at 3. If it is, look at 5. If the node has [IsAlias] or [IsMerged], look at 4.
//   - It is wrong only in a document with several objects, or in an object that has been written: 2, and
//     the objects that are stepped over ([Verified]).
package yaml
