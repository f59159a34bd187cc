package figures_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/tools/figures"
)

func TestTheLengthOfABarIsItsValue(t *testing.T) {
	c := figures.Chart{
		Title: "CPU <of> a run", Series: []string{"ours", "theirs"},
		Groups: []figures.Group{{"small", []float64{5, 50}}, {"large", []float64{20, math.NaN()}}},
		Format: func(v float64) string { return fmt.Sprintf("%g ms", v) },
	}
	var bars []struct{ series, width string }
	var texts []string
	for _, e := range elements(t, c.SVG()) {
		switch {
		case e.XMLName.Local == "rect" && e.attr("x") == "190":
			bars = append(bars, struct{ series, width string }{e.attr("class"), e.attr("width")})
		case e.XMLName.Local == "text":
			texts = append(texts, e.Text)
		}
	}
	if got, want := fmt.Sprint(bars), "[{s0 45} {s1 450} {s0 180}]"; got != want {
		t.Errorf("bars are %s, want %s", got, want)
	}
	if got, want := strings.Join(texts, "|"), "CPU <of> a run|ours|theirs|small|5 ms|50 ms|large|20 ms"; got != want {
		t.Errorf("texts are %q, want %q", got, want)
	}
}

type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Inner   []element  `xml:",any"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// elements returns the elements of a picture, which must be well-formed XML.
func elements(t *testing.T, picture []byte) []element {
	t.Helper()
	var root element
	d := xml.NewDecoder(bytes.NewReader(picture))
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	return root.Inner
}

func TestEveryPictureOfTheDocumentationIsDrawnForLightAndDark(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "images", "*.svg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pictures: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		elements(t, b)
		if !bytes.Contains(b, []byte("@media (prefers-color-scheme: dark)")) {
			t.Errorf("%s has no colours for dark pages", file)
		}
		for _, outside := range []string{"<script", "xlink:href", "@import", "url(http"} {
			if bytes.Contains(b, []byte(outside)) {
				t.Errorf("%s has %q: a picture in a README may load nothing", file, outside)
			}
		}
	}
}
