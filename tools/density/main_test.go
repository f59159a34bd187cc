package main

import (
	"slices"
	"strings"
	"testing"
)

func TestMeasure(t *testing.T) {
	source := strings.Join([]string{
		"package p // a comment",
		"",
		"var s = \"text\" + `raw",
		"text`; var t int",
		"\tx := f(\"ä\")",
	}, "\n")
	want := []line{
		{"p.go", 1, 2, len("package p ")},
		{"p.go", 3, 6, len("var s =  + ")},
		{"p.go", 4, 4, len("; var t int")},
		{"p.go", 5, 6, len("\tx := f()")},
	}
	if got := measure("p.go", []byte(source)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSum_problems(t *testing.T) {
	lines := []line{{tokens: 36, columns: 120}, {tokens: 35, columns: 121}, {tokens: 1}}
	for most, want := range map[limits]int{{1, 1}: 0, {0, 1}: 1, {1, 0}: 1, {}: 2} {
		if got := sumOf(lines).problems(most); len(got) != want {
			t.Errorf("limits %+v: %q, want %d problems", most, got, want)
		}
	}
}
