package nearby

import (
	"cmp"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A place is the file of an object and its folder: "" or with a slash at the end.
type place struct {
	file, folder string
	cluster      bool // the cluster itself, which has no file
}

// inCluster is the place of what a cluster has. Every object hears it, from farther than any folder.
var inCluster = place{folder: "/", cluster: true}

// placeOf returns the place of an object. The file of an item of a ResourceList is the
// one that a tool has noted on it.
func placeOf(o *manifest.Object) place {
	if o.Stream().FromCluster {
		return inCluster
	}
	file := path.Clean(filepath.ToSlash(cmp.Or(notedFile(o), o.Stream().Name())))
	return place{file: file, folder: file[:strings.LastIndexByte(file, '/')+1]}
}

// notedFile returns the file that a tool has noted on an item of a ResourceList; "" if
// none did.
func notedFile(o *manifest.Object) string {
	if !o.Stream().IsResourceList() {
		return ""
	}
	file, _ := o.File()
	return file
}

// An origin is where an object is, in words that are made when they are needed: to count
// lines takes time.
type origin struct {
	*manifest.Object
	words string
}

// String returns "file:line". If a tool has put the object into a ResourceList, the line
// in its own file is not known; "" if the file is not known either, as that of a Go value.
func (o *origin) String() string {
	if o.Stream().FromCluster {
		return "the API server"
	}
	if o.words == "" {
		o.words = notedFile(o.Object)
	}
	if s := o.Stream(); o.words == "" && s.Name() != "" && !s.IsResourceList() {
		o.words = s.Name() + ":" + strconv.Itoa(o.Line())
	}
	return o.words
}

// Created returns when the API server made the object, if that is in the manifest; "" if it is not.
func (o *origin) Created() string {
	var m struct {
		CreationTimestamp field.Value `json:"creationTimestamp"`
	}
	if _, err := o.Decode(field.NewPath("metadata"), &m); err != nil {
		return ""
	}
	t, _ := m.CreationTimestamp.(string)
	return t
}

// Changed returns when somebody last changed the object, but for its status, if that is in the manifest; "" if it is not.
func (o *origin) Changed() (last string) {
	var m struct {
		ManagedFields []struct {
			Time        field.Value `json:"time"`
			Subresource string      `json:"subresource"`
		} `json:"managedFields"`
	}
	if _, err := o.Decode(field.NewPath("metadata"), &m); err != nil {
		return ""
	}
	for _, f := range m.ManagedFields {
		if t, _ := f.Time.(string); f.Subresource == "" {
			last = max(last, t) // in UTC and of one form
		}
	}
	return last
}

// hears reports whether what an object at the other place says is certain for one at p: if
// it is in the same folder, as all of a stream is, or in a folder above.
func (p place) hears(other place) bool {
	return isAbove(other.folder, p.folder)
}

// isAbove reports whether one folder is another or contains it. The relative paths of a run
// begin in one folder, which is not known: how ../a/ and b/ lie is not known either.
func isAbove(upper, folder string) bool {
	ups := leadingUps(upper)
	switch {
	case upper == "/":
		return true
	case len(upper) == 3*ups: // the folder where relative paths begin, or one above it
		return !isAbsolute(folder) && ups >= leadingUps(folder)
	}
	return strings.HasPrefix(folder, upper)
}

// leadingUps returns how often a path goes up first.
func leadingUps(folder string) (n int) {
	for strings.HasPrefix(folder[3*n:], "../") {
		n++
	}
	return n
}

// distance returns 0 for the same file, and else one more than the number of folders to
// go up from p to a folder that contains both.
func (p place) distance(to place) int {
	switch {
	case p.file == to.file:
		return 0
	case isAbsolute(to.folder) && !isAbsolute(p.folder):
		return notKnown
	}
	d := 1
	for folder := p.folder; !isAbove(folder, to.folder); d++ {
		folder = upper(folder)
	}
	return d
}

func isAbsolute(folder string) bool { return strings.HasPrefix(folder, "/") }

// notKnown is the distance of an absolute path from a relative one, but that relative ones are nearer.
const notKnown = 1 << 10

// upper returns the folder above one.
func upper(folder string) string {
	if len(folder) == 3*leadingUps(folder) {
		return "../" + folder
	}
	return folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
}

// A located is what was made of an object, with its place and name.
type located struct {
	place
	name  string // with the kind and the namespace
	value any
}

// clusterRank is the rank of what the cluster has.
const clusterRank = otherBranch - 1

// otherBranch is added to the distance of an object that is not heard: it is farther than
// every folder above.
const otherBranch = 1 << 20

// rank returns how far away an object is; what is heard comes first.
func (p place) rank(to place) int {
	switch {
	case to.cluster:
		return clusterRank
	case p.hears(to):
		return p.distance(to)
	}
	return otherBranch + p.distance(to)
}

// around returns the objects of the nearest folder that has any.
func around(all []located, at place) []located {
	least := math.MaxInt
	for _, o := range all {
		least = min(least, at.rank(o.place))
	}
	isFarther := func(o located) bool {
		return at.rank(o.place) > max(1, least)
	}
	return slices.DeleteFunc(slices.Clone(all), isFarther)
}

// nearest returns those objects to which none of the same key is nearer; "" is no key.
func nearest(all []located, from place, key func(located) string) []located {
	if len(all) == 0 {
		return nil
	}
	best := make(map[string]int)
	for _, o := range all {
		d := from.rank(o.place)
		k := key(o)
		if b, seen := best[k]; k != "" && (!seen || d < b) {
			best[k] = d
		}
	}
	if len(best) == len(all) || len(best) == 0 { // each has its own, or none has any
		return all
	}
	isFarther := func(o located) bool {
		b, keyed := best[key(o)]
		return keyed && from.rank(o.place) > b
	}
	return slices.DeleteFunc(slices.Clone(all), isFarther)
}
