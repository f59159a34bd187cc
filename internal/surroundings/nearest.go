package surroundings

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A place is the file of an object and its folder: "" or with a slash at the end.
type place struct{ file, folder string }

// placeOf returns the place of an object. The file of an item of a ResourceList is the
// one that a tool has noted on it.
func placeOf(o *manifest.Object) place {
	file := path.Clean(filepath.ToSlash(cmp.Or(notedFile(o), o.Stream().Name())))
	return place{file, file[:strings.LastIndexByte(file, '/')+1]}
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
	if o.words == "" {
		if o.words = notedFile(o.Object); o.words == "" && o.Stream().Name() != "" && !o.Stream().IsResourceList() {
			o.words = o.Stream().Name() + ":" + strconv.Itoa(o.Line())
		}
	}
	return o.words
}

// distance returns 0 for the same file, and else one more than the number of folders to
// go up from p to a folder that contains both.
func (p place) distance(to place) int {
	if p.file == to.file {
		return 0
	}
	d := 1
	for folder := p.folder; !strings.HasPrefix(to.folder, folder); d++ {
		folder = folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
	}
	return d
}

// objects are objects of one kind and namespace.
type objects[T any] struct {
	places []place
	names  []string
	values []T

	asked  place // where they were last asked for,
	answer []T   // and the answer
}

func (o *objects[T]) add(at place, name string, v T) {
	o.places, o.names, o.values = append(o.places, at), append(o.names, name), append(o.values, v)
}

// around returns the objects that count in the namespace of a question.
func (o *objects[T]) around(q question) *objects[T] {
	if q.namespace != "" {
		return o
	}
	least := q.distance(o.places[0])
	for _, at := range o.places {
		least = min(least, q.distance(at))
	}
	return o.filter(func(i int) bool { return q.distance(o.places[i]) <= max(1, least) })
}

// nearest returns those objects to which none of the same name is nearer.
func (o *objects[T]) nearest(from place) *objects[T] { return o.nearestOf(o.names, from) }

// nearestOf returns those objects to which none of the same key is nearer.
func (o *objects[T]) nearestOf(keys []string, from place) *objects[T] {
	best := make(map[string]int)
	for i, k := range keys {
		d := from.distance(o.places[i])
		if b, known := best[k]; !known || d < b {
			best[k] = d
		}
	}
	return o.filter(func(i int) bool { return from.distance(o.places[i]) == best[keys[i]] })
}

// filter returns the objects that are kept; o itself if that is all of them.
func (o *objects[T]) filter(keep func(i int) bool) *objects[T] {
	kept := o
	for i := range o.values {
		switch ok := keep(i); {
		case !ok && kept == o:
			kept = &objects[T]{places: slices.Clone(o.places[:i]), names: slices.Clone(o.names[:i]), values: slices.Clone(o.values[:i])}
		case ok && kept != o:
			kept.add(o.places[i], o.names[i], o.values[i])
		}
	}
	return kept
}
