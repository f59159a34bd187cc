// Package figures draws the bar charts of the documentation as SVG. The
// benchmarks use it.
package figures

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// A Chart has horizontal bars: a group of them for each case, one bar for each
// series. The first series is ours, and stands out by its colour.
type Chart struct {
	Title  string
	Series []string
	Groups []Group
	Format func(float64) string // words the value beside a bar; if nil, it has four digits
}

// A Group has one value for each series of its chart; NaN if there is none.
type Group struct {
	Name   string
	Values []float64
}

const (
	width     = 760
	labels    = 190 // where the bars start
	room      = 120 // for the values beside the bars
	barHeight = 16
	barStep   = 20
	groupGap  = 16
	head      = 74
)

// One picture serves light and dark pages: the reader's browser chooses. It has a background,
// since a light page may show it to a reader who prefers dark ones.
const style = `  <style>
    .page { fill: #fff }
    text { font: 13px -apple-system, "Segoe UI", "Helvetica Neue", Helvetica, Arial, sans-serif; fill: #1f2328 }
    .title { font-size: 16px; font-weight: 600 }
    .group { text-anchor: end }
    .axis { stroke: #d1d9e0; stroke-width: 1 }
    .s0 { fill: #0969da } .s1 { fill: #8c959f } .s2 { fill: #c8d1da }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 }
      text { fill: #f0f6fc }
      .axis { stroke: #3d444d }
      .s0 { fill: #4493f8 } .s1 { fill: #848d97 } .s2 { fill: #4d555e }
    }
  </style>
  <rect class="page" width="100%" height="100%"/>
`

// SVG draws the chart.
func (c *Chart) SVG() []byte {
	var b bytes.Buffer
	height := head
	for _, g := range c.Groups {
		height += len(g.Values)*barStep + groupGap
	}
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\">\n%s",
		width, height, width, height, escape(c.Title), style)
	text(&b, "title", 12, 26, c.Title)
	x := 12
	for i, name := range c.Series {
		rectangle(&b, i, x, 42, 12, 12)
		text(&b, "", x+18, 53, name)
		x += 18 + 8*len(name) + 24
	}
	y, longest := head, c.longest()
	for _, g := range c.Groups {
		text(&b, "group", labels-12, y+len(g.Values)*barStep/2+2, g.Name)
		for i, v := range g.Values {
			if !math.IsNaN(v) {
				w := max(1, int(math.Round(v/longest*(width-labels-room))))
				rectangle(&b, i, labels, y+i*barStep, w, barHeight)
				text(&b, "", labels+w+8, y+i*barStep+13, c.format(v))
			}
		}
		y += len(g.Values)*barStep + groupGap
	}
	fmt.Fprintf(&b, "  <path class=\"axis\" d=\"M%d,%d V%d\"/>\n</svg>\n", labels, head-6, height-groupGap+6)
	return b.Bytes()
}

func (c *Chart) longest() float64 {
	longest := 0.0
	for _, g := range c.Groups {
		for _, v := range g.Values {
			if v > longest {
				longest = v
			}
		}
	}
	return cmp.Or(longest, 1)
}

func (c *Chart) format(v float64) string {
	if c.Format == nil {
		return fmt.Sprintf("%.4g", v)
	}
	return c.Format(v)
}

func rectangle(b *bytes.Buffer, series, x, y, w, h int) {
	fmt.Fprintf(b, "  <rect class=\"s%d\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"/>\n", series, x, y, w, h)
}

func text(b *bytes.Buffer, class string, x, y int, s string) {
	if class != "" {
		class = fmt.Sprintf(" class=%q", class)
	}
	fmt.Fprintf(b, "  <text%s x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, escape(s))
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
