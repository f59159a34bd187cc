package transformer

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A port is added behind what is there, as a person would write it.
func TestAPortIsAddedBehindTheOthers(t *testing.T) {
	l := portList{key: "k", ranges: true}
	for list, want := range map[string]string{
		"": "9", " ": "9", "\t ": "9", "80": "80,9", "80,": "80,9", "80, ": "80, 9", " 80 ": " 80 ,9", ",": ",9", "x": "x,9", "80,81": "80,81,9", "9": "9", "80, 9 ": "80, 9 ", "8-10": "8-10", "90": "90,9", "10-8": "10-8,9",
	} {
		if got := l.with(field.KeyValues{{Key: "k", Value: list}}.Note(nil), 9).Get("k"); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
	if got := l.with(field.Noted{}, 9).Get("k"); got != "9" {
		t.Errorf("without a list: %q", got)
	}
	// An empty list that somebody wrote comes back as one, and a list of ours alone goes.
	empty := field.KeyValues{{Key: "k", Value: ""}}
	if back := l.without(l.with(empty.Note(nil), 9), empty, 9).Unnoted(); len(back) != 1 || back[0] != empty[0] {
		t.Errorf("%v", back)
	}
	if back := l.without(l.with(field.Noted{}, 9), nil, 9).Unnoted(); len(back) != 0 {
		t.Errorf("%v", back)
	}
	two := l.with(l.with(field.Noted{}, 9), 10)
	if got := l.without(two, nil, 9, 10).Unnoted(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := l.without(field.KeyValues{{Key: "k", Value: "9, 10 ,11"}}.Note(nil), nil, 10, 9).Get("k"); got != "11" {
		t.Errorf("%q", got)
	}
}

func TestWhichTextsArePorts(t *testing.T) {
	for _, text := range []string{"1", "80", "65535", "0", "65536", "70000", "-1", "", " 80", "x", "80x", "8080808080808080808080"} {
		port, ok := portIn(text)
		n, err := strconv.ParseUint(text, 10, 16)
		if want := err == nil && n > 0; ok != want || ok && port != field.Number(int(n)) {
			t.Errorf("%q: %v, %t", text, port, ok)
		}
	}
}

func TestTheTagOfAnImageIsBehindItsName(t *testing.T) {
	for image, want := range map[string]string{
		"a": "a|", "a:1": "a|1", "localhost:5000/a": "localhost:5000/a|", "localhost:5000/a:1": "localhost:5000/a|1", "example/b/a:v1.2.3": "example/b/a|v1.2.3", "a:": "a|", "localhost:5000/b/a": "localhost:5000/b/a|",
	} {
		if name, tag := splitImage(image); name+"|"+tag != want {
			t.Errorf("%q: %q %q", image, name, tag)
		}
	}
}

// In a mesh that has the port for probe-proxy, none may be given but the default, which says nothing.
func TestAMeshThatHasThePortTakesNoOther(t *testing.T) {
	for _, mesh := range []string{"osm", "fsm"} {
		for port, refused := range map[int]bool{15099: false, 15904: true, 15901: true, 80: true} {
			o := Defaults()
			o.Mesh, o.Port = mesh, port
			_, err := New(o)
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), "must not be given: in this mesh it is always 15904") {
				t.Errorf("%s, port %d: %v", mesh, port, err)
			}
		}
	}
}
