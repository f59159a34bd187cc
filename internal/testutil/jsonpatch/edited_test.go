package jsonpatch_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
)

// A drawnList is a list of texts and lists, with what edits make of it. Its indexes are those before all edits.
type drawnList struct {
	items   []any // string or *drawnList
	before  map[int][]field.Value
	deleted map[int]bool
}

func drawList(random *rand.Rand, depth int) *drawnList {
	l := &drawnList{before: map[int][]field.Value{}, deleted: map[int]bool{}}
	for i := range random.IntN(4) {
		if depth > 0 && random.IntN(2) == 0 {
			l.items = append(l.items, drawList(random, depth-1))
		} else {
			l.items = append(l.items, string(rune('a'+i)))
		}
	}
	return l
}

// edits draws the edits of a list and of those in it, in any order of places.
func (l *drawnList) edits(random *rand.Rand, path field.Path) (all []field.Edit) {
	for i := range len(l.items) + 1 {
		for n := range random.IntN(3) {
			text := "new" + string(rune('0'+n))
			l.before[i] = append(l.before[i], text)
			all = append(all, field.Edit{Op: field.Insert, Path: path.Index(i), Value: text})
		}
		if i == len(l.items) {
			break
		}
		if inner, is := l.items[i].(*drawnList); is && random.IntN(3) > 0 {
			all = append(all, inner.edits(random, path.Index(i))...)
		} else if random.IntN(3) == 0 {
			l.deleted[i] = true
			all = append(all, field.Edit{Op: field.Delete, Path: path.Index(i)})
		}
	}
	return all
}

// value returns the list before or after its edits.
func (l *drawnList) value(edited bool) field.List {
	list := field.List{}
	for i := range len(l.items) + 1 {
		if edited {
			list = append(list, l.before[i]...)
		}
		if i == len(l.items) || edited && l.deleted[i] {
			continue
		}
		switch item := l.items[i].(type) {
		case string:
			list = append(list, item)
		case *drawnList:
			list = append(list, item.value(edited))
		}
	}
	return list
}

// shuffled returns edits in another order, in which those that insert at one place keep theirs.
func shuffled(random *rand.Rand, edits []field.Edit) []field.Edit {
	byPlace := map[string][]field.Edit{}
	var places []string
	for _, e := range edits {
		place := e.Path.String() + string(rune('0'+e.Op))
		byPlace[place] = append(byPlace[place], e)
		places = append(places, place)
	}
	random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	var all []field.Edit
	for _, place := range places {
		all = append(all, byPlace[place][0])
		byPlace[place] = byPlace[place][1:]
	}
	return all
}

// Whatever is inserted and deleted in lists, and in lists in them, each index is that before all edits.
func TestShiftsOfDrawnListsAreMade(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	l := field.NewPath("l")
	for range 3000 {
		drawn := drawList(random, 2)
		before := field.Map{{Key: "l", Value: drawn.value(false)}}
		edits := shuffled(random, drawn.edits(random, l))
		want := field.Map{{Key: "l", Value: drawn.value(true)}}
		after, err := jsonpatch.Edited(before, edits)
		if err != nil {
			t.Fatal(err)
		}
		if !field.Equal(after, want) {
			t.Fatalf("%s\nwith %v\nbecomes %s,\nmust be %s", field.AppendJSON(nil, before), edits, field.AppendJSON(nil, after), field.AppendJSON(nil, want))
		}
	}
}
