package soak

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Line is a line of a chart. A value that is not a number (NaN) leaves a gap in the line.
type Line struct {
	Name   string
	Values []float64 // one value for each time in Picture.Times
}

// Chart is one part of a picture. It contains up to MaxLines lines over the picture's times. Its axis of values begins at zero.
type Chart struct {
	Title string // name and unit of the values
	Lines []Line
}

// Picture is an SVG picture. Its charts are drawn one below the other, over the same times.
type Picture struct {
	Title  string
	Notes  []string  // lines of text below the title
	Times  []float64 // in seconds
	Charts []Chart
}

// MaxLines is the greatest number of lines in a chart; it is the number of line styles. maxPoints is the greatest number of
// points in a line. If a line has more values, the means of neighbouring values are drawn.
const (
	MaxLines  = 3
	maxPoints = 800
)

// Sizes in the units of the picture's view box.
const (
	width        = 860
	left, right  = 76, 20 // margins of a chart
	firstLine    = 30     // base line of the title
	lineHeight   = 18     // of a note
	chartTitle   = 34     // from a chart's top to its plot
	chartHeight  = 130    // height of a plot
	chartSpacing = 26     // below a plot, for the labels of the times
	plotWidth    = width - left - right
)

// style defines a light and a dark color scheme. The picture has its own background, because a page that shows the picture may
// use another color scheme than the system.
const style = `
svg{background:#fff}
.back{fill:#fff}
text{fill:#1f2328;font:13px system-ui,sans-serif}
.title{font-size:17px;font-weight:600}
.chart{font-weight:600}
.axis{fill:#59636e;font-size:12px}
.grid{stroke:#d1d9e0;stroke-width:1}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.a{stroke:#0a5cc2}
.b{stroke:#b34700;stroke-dasharray:7 5}
.c{stroke:#6e40c9;stroke-dasharray:1 5}
@media (prefers-color-scheme:dark){
svg{background:#0d1117}
.back{fill:#0d1117}
text{fill:#e6edf3}
.axis{fill:#9198a1}
.grid{stroke:#30363d}
.a{stroke:#6cb6ff}
.b{stroke:#f0883e}
.c{stroke:#b78af5}
}
`

// styles are the CSS classes of a chart's lines.
var styles = [MaxLines]string{"a", "b", "c"}

// SVG draws the picture.
func (p *Picture) SVG() ([]byte, error) {
	for i := range p.Charts {
		if n := len(p.Charts[i].Lines); n == 0 || n > MaxLines {
			return nil, fmt.Errorf("soak: a chart of %d lines", n)
		}
		for _, line := range p.Charts[i].Lines {
			if len(line.Values) != len(p.Times) {
				return nil, fmt.Errorf("soak: line %q has %d values at %d times", line.Name, len(line.Values), len(p.Times))
			}
		}
	}
	top := firstLine + lineHeight*len(p.Notes) + 8
	height := top + len(p.Charts)*(chartTitle+chartHeight+chartSpacing) + 8
	d := new(drawing)
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, escape(p.Title))
	d.add(`<title>%s</title>`, escape(p.Title))
	d.add(`<style>%s</style>`, style)
	d.add(`<rect class="back" width="%d" height="%d"/>`, width, height)
	d.text("title", 16, firstLine, "start", p.Title)
	for i, note := range p.Notes {
		d.text("axis", 16, firstLine+lineHeight*(i+1), "start", note)
	}
	for i := range p.Charts {
		p.chart(d, &p.Charts[i], top+i*(chartTitle+chartHeight+chartSpacing))
	}
	d.add(`</svg>`)
	return d.Bytes(), nil
}

// drawing is an SVG document that is being written.
type drawing struct{ bytes.Buffer }

// add adds a line of markup. Text among the arguments must be escaped.
func (d *drawing) add(format string, arguments ...any) {
	_, _ = fmt.Fprintf(d, format+"\n", arguments...)
}

func (d *drawing) text(class string, x, y int, anchor, text string) {
	d.add(`<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`, class, x, y, anchor, escape(text))
}

// escape escapes a text so that it can be used in markup, also inside quotes.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// chart draws a chart whose upper edge is at the height top. The title is drawn first.
func (p *Picture) chart(d *drawing, c *Chart, top int) {
	d.text("chart", left, top+16, "start", c.Title)
	if len(c.Lines) > 1 {
		d.legend(c.Lines, top)
	}
	plot := top + chartTitle
	largest := 0.0
	for _, line := range c.Lines {
		for _, v := range line.Values {
			if v > largest { // false for NaN
				largest = v
			}
		}
	}
	step := niceStep(largest / 5)
	ceiling := step * math.Max(1, math.Ceil(largest/step))
	y := func(v float64) float64 { return float64(plot) + chartHeight*(1-v/ceiling) }
	for v := 0.0; v <= ceiling*1.001; v += step {
		d.add(`<path class="grid" d="M%d %.1fH%d"/>`, left, y(v), width-right)
		d.text("axis", left-8, int(y(v))+4, "end", Number(v))
	}
	p.timeLabels(d, plot+chartHeight+17)
	for i, line := range c.Lines {
		d.add(`<path class="line %s" d="%s"/>`, styles[i], p.path(line.Values, y))
	}
}

// legend writes the names of a chart's lines on the right side, at the height of the chart's title. The estimated width of a
// name is at least its real width.
func (d *drawing) legend(lines []Line, top int) {
	x := width - right
	for i := len(lines) - 1; i >= 0; i-- {
		x -= 7 * len([]rune(lines[i].Name))
		d.text("axis", x, top+16, "start", lines[i].Name)
		d.add(`<path class="line %s" d="M%d %dh28"/>`, styles[i], x-36, top+12)
		x -= 54
	}
}

// timeLabels writes the labels of the time axis. The base line of the labels is at the height y.
func (p *Picture) timeLabels(d *drawing, y int) {
	unit, seconds := "s", 1.0
	switch last := p.lastTime(); {
	case last >= 5*3600:
		unit, seconds = "h", 3600
	case last >= 300:
		unit, seconds = "min", 60
	}
	last := p.lastTime() / seconds
	step := niceStep(last / 8)
	for t := 0.0; t <= last*1.001; t += step {
		label := Number(t)
		if t == 0 {
			label += " " + unit
		}
		d.text("axis", int(p.x(t*seconds)), y, "middle", label)
	}
}

// lastTime returns the time at the right end of the axis. If the picture has no times, it returns 1.
func (p *Picture) lastTime() float64 {
	if n := len(p.Times); n > 0 && p.Times[n-1] > 0 {
		return p.Times[n-1]
	}
	return 1
}

func (p *Picture) x(t float64) float64 { return left + plotWidth*t/p.lastTime() }

// path returns the SVG path of a line. The ends of a line are round, so a single value between two gaps is drawn as a dot.
func (p *Picture) path(values []float64, y func(float64) float64) string {
	group := max(1, (len(values)+maxPoints-1)/maxPoints)
	var b strings.Builder
	pen := "M"
	for from := 0; from < len(values); from += group {
		to := min(from+group, len(values))
		sum, t, n := 0.0, 0.0, 0
		for i := from; i < to; i++ {
			if !math.IsNaN(values[i]) {
				sum, t, n = sum+values[i], t+p.Times[i], n+1
			}
		}
		if n == 0 {
			pen = "M"
			continue
		}
		x, at := p.x(t/float64(n)), y(sum/float64(n))
		if pen == "M" {
			fmt.Fprintf(&b, "M%.1f %.1fh0", x, at)
		} else {
			fmt.Fprintf(&b, "L%.1f %.1f", x, at)
		}
		pen = "L"
	}
	return b.String()
}

// niceStep returns the distance between two labels of an axis. The distance is the smallest number that is at least "least" and
// is 1, 2 or 5 times a power of ten. If least is 0, the distance is 1.
func niceStep(least float64) float64 {
	if !(least > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least*0.999 {
			return factor * power
		}
	}
	return 10 * power
}

// Number formats a number for an axis label, for example 12,000 or 0.25.
func Number(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if rounded := strconv.FormatFloat(v, 'f', 3, 64); len(rounded) < len(text) { // for example 0.1 + 0.2, which has many digits
		text = strings.TrimRight(strings.TrimRight(rounded, "0"), ".")
	}
	integer, decimals, hasPoint := strings.Cut(text, ".")
	for i := len(integer) - 3; i > 0; i -= 3 {
		integer = integer[:i] + "," + integer[i:]
	}
	if hasPoint {
		return integer + "." + decimals
	}
	return integer
}
