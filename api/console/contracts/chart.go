package contracts

import (
	"fmt"
	"html/template"
	"strings"

	"mizan/api/console/view"
	"mizan/api/web/locale"
)

// bar is a row of a bar chart.
type bar struct {
	Label string
	Count int
}

// Sizes of the parts of a chart, in SVG units.
const (
	chartWidth = 320
	barHeight  = 14
	rowHeight  = 38
	labelRoom  = 16
)

// chartStyle is the address of the style sheet for charts.
var chartStyle = view.AddAsset("charts.css", []byte(`.chart { max-inline-size: 22rem; }
.chart svg { display: block; inline-size: 100%; block-size: auto; }
.chart text { fill: currentColor; font-size: 13px; }
.chart .track { fill: color-mix(in srgb, currentColor 8%, transparent); }
.chart .bar { fill: var(--accent); }
.chart .paid { fill: var(--good); }
.chart .late { fill: var(--bad); }
.scroll th .button, .scroll th button, .scroll td .button { white-space: nowrap; }
.chart .open { fill: color-mix(in srgb, currentColor 25%, transparent); }
`))

// barChart returns a chart as SVG. Each row is a bar whose length is proportional to Count. If the language is written from
// right to left, the bars begin at the right. The page also shows the numbers in a table.
func barChart(l *locale.Locale, title string, bars []bar) template.HTML {
	most := 1
	for _, b := range bars {
		most = max(most, b.Count)
	}
	var out strings.Builder
	openSVG(&out, title, rowHeight*len(bars))
	isLTR := l.Direction() != "rtl"
	for i, b := range bars {
		top, width := i*rowHeight, chartWidth*b.Count/most
		if b.Count > 0 {
			width = max(width, 2)
		}
		left, start, end := 0, 0, chartWidth
		if !isLTR {
			left, start, end = chartWidth-width, chartWidth, 0
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="start">%s</text>`, start, top+labelRoom-3, template.HTMLEscapeString(b.Label))
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%s</text>`, end, top+labelRoom-3, template.HTMLEscapeString(l.Number(b.Count)))
		fmt.Fprintf(&out, `<rect class="track" x="0" y="%d" width="%d" height="%d" rx="3"/>`, top+labelRoom+2, chartWidth, barHeight)
		fmt.Fprintf(&out, `<rect class="bar" x="%d" y="%d" width="%d" height="%d" rx="3"/>`, left, top+labelRoom+2, width, barHeight)
	}
	out.WriteString(`</svg></figure>`)
	return template.HTML(out.String())
}

// part is a part of a whole. Class is the CSS class that gives the part its colour.
type part struct {
	Class string
	Count int
}

// partsChart returns one bar as SVG, which is divided into parts.
func partsChart(l *locale.Locale, title string, parts []part) template.HTML {
	total := 0
	for _, p := range parts {
		total += p.Count
	}
	var out strings.Builder
	openSVG(&out, title, barHeight)
	for i, done := 0, 0; i < len(parts) && total > 0; i++ {
		from, to := chartWidth*done/total, chartWidth*(done+parts[i].Count)/total
		if done += parts[i].Count; l.Direction() == "rtl" {
			from, to = chartWidth-to, chartWidth-from
		}
		fmt.Fprintf(&out, `<rect class="%s" x="%d" y="0" width="%d" height="%d"/>`, parts[i].Class, from, to-from, barHeight)
	}
	out.WriteString(`</svg></figure>`)
	return template.HTML(out.String())
}

// openSVG writes the opening tags of a chart.
func openSVG(out *strings.Builder, title string, height int) {
	fmt.Fprintf(out, `<figure class="chart"><svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, height, template.HTMLEscapeString(title))
}
