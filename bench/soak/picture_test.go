package soak

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func draw(t *testing.T, p *Picture) string {
	t.Helper()
	svg, err := p.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return string(svg)
}

// texts parses an SVG, and returns the content of its text elements.
func texts(t *testing.T, svg string) (list []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				list = append(list, string(token))
			}
		}
	}
}

func examplePicture() *Picture {
	return &Picture{
		Title: "A run", Notes: []string{"2 cores"}, Times: []float64{60, 120, 180, 240, 300},
		Charts: []Chart{
			{Title: "payments a second", Lines: []Line{{Values: []float64{4000, 4200, 100, 3900, 4100}}}},
			{Title: "GB", Lines: []Line{{Name: "on disk", Values: []float64{0.1, 0.2, 0.3, 0.4, 0.5}}, {Name: "written", Values: []float64{0.3, 0.6, 1, 1.2, 1.6}}}},
		},
	}
}

func TestPictureNamesItsChartsLinesAndAxes(t *testing.T) {
	got := texts(t, draw(t, examplePicture()))
	for _, want := range []string{"A run", "2 cores", "payments a second", "GB", "on disk", "written", "0 min", "5", "5,000", "4,000", "0.5", "1.5", "2"} {
		if !slices.Contains(got, want) {
			t.Errorf("no text %q in %q", want, got)
		}
	}
	if slices.Contains(got, "0.30000000000000004") {
		t.Error("a label with an error of rounding")
	}
}

func TestTextIsEscaped(t *testing.T) {
	p := examplePicture()
	const hostile = `"><script>alert(1)</script>&amp; 'x' <!-- ]]>`
	p.Title, p.Notes[0], p.Charts[0].Title, p.Charts[1].Lines[1].Name = hostile, hostile, hostile, hostile
	svg := draw(t, p)
	if got := texts(t, svg); !slices.Contains(got, hostile) {
		t.Errorf("the text is not shown as it is: %q", got)
	}
	if strings.Contains(svg, "<script") || strings.Contains(svg, "<!--") {
		t.Errorf("markup came out of a text:\n%s", svg)
	}
}

// externalReference matches markup that would make a viewer load or run something.
var externalReference = regexp.MustCompile(`(?i)href|url\(|@import|@font-face|<(script|image|use|foreignObject|a|iframe)\b|\son\w+=|://`)

func TestPictureLoadsAndRunsNothing(t *testing.T) {
	svg := strings.Replace(draw(t, examplePicture()), `xmlns="http://www.w3.org/2000/svg"`, "", 1)
	if found := externalReference.FindString(svg); found != "" {
		t.Errorf("%q in\n%s", found, svg)
	}
}

// luminance computes the relative luminance of a color #rgb or #rrggbb (WCAG 2.2).
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	hex := strings.TrimPrefix(color, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		part := 0
		for _, digit := range hex[2*i : 2*i+2] {
			part = part*16 + strings.IndexRune("0123456789abcdef", digit)
		}
		c := float64(part) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// Text needs a contrast of 4.5 to its background, and lines one of 3 (WCAG 2.2, 1.4.3 and 1.4.11).
func TestBothSchemesAreReadable(t *testing.T) {
	light, dark, found := strings.Cut(style, "@media (prefers-color-scheme:dark)")
	if !found {
		t.Fatal("there is no dark scheme")
	}
	for name, scheme := range map[string]string{"light": light, "dark": dark} {
		color := func(selector, property string) float64 {
			m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(selector) + `\{[^}]*` + property + `:(#[0-9a-f]+)`).FindStringSubmatch(scheme)
			if m == nil {
				t.Fatalf("%s: %s has no %s", name, selector, property)
			}
			return luminance(t, m[1])
		}
		background := color(".back", "fill")
		for _, c := range []struct {
			selector, property string
			least              float64
		}{{"text", "fill", 4.5}, {".axis", "fill", 4.5}, {".a", "stroke", 3}, {".b", "stroke", 3}, {".c", "stroke", 3}} {
			l := color(c.selector, c.property)
			if contrast := (max(l, background) + 0.05) / (min(l, background) + 0.05); contrast < c.least {
				t.Errorf("%s: %s has a contrast of %.2f, want %v", name, c.selector, contrast, c.least)
			}
		}
	}
}

func TestSizeOfAPictureIsBounded(t *testing.T) {
	p := &Picture{Charts: []Chart{{Title: "x", Lines: []Line{{}}}}}
	for i := range 100_000 {
		p.Times = append(p.Times, float64(i))
		p.Charts[0].Lines[0].Values = append(p.Charts[0].Lines[0].Values, float64(i%7))
	}
	svg := draw(t, p)
	if points := strings.Count(svg, "L"); points > maxPoints || points < maxPoints/2 {
		t.Errorf("%d points", points)
	}
}

// Two gaps divide the line into three parts, of which the last is a single value.
func TestGapsInterruptALine(t *testing.T) {
	nan := math.NaN()
	p := &Picture{Title: "x", Times: []float64{1, 2, 3, 4, 5, 6, 7}, Charts: []Chart{{Title: "x", Lines: []Line{{Values: []float64{nan, 1, 2, nan, 3, nan, 4}}}}}}
	svg := draw(t, p)
	path := regexp.MustCompile(`class="line a" d="([^"]*)"`).FindStringSubmatch(svg)[1]
	if strings.Count(path, "M") != 3 || strings.Count(path, "L") != 1 || strings.Contains(svg, "NaN") {
		t.Errorf("%s", path)
	}
}

func TestPicturesWithoutValuesAreDrawn(t *testing.T) {
	for name, values := range map[string][]float64{"nothing": nil, "one zero": {0}, "one value": {5}} {
		p := &Picture{Title: name, Times: make([]float64, len(values)), Charts: []Chart{{Title: "x", Lines: []Line{{Values: values}}}}}
		svg := draw(t, p)
		if texts(t, svg); bytes.Contains([]byte(svg), []byte("NaN")) || strings.Contains(svg, "Inf") {
			t.Errorf("%s:\n%s", name, svg)
		}
	}
}

func TestChartsThatCannotBeDrawnAreRefused(t *testing.T) {
	for name, charts := range map[string][]Chart{
		"no line":        {{Title: "x"}},
		"a line more":    {{Title: "x", Lines: make([]Line, MaxLines+1)}},
		"another length": {{Title: "x", Lines: []Line{{Values: []float64{1}}}}},
	} {
		if _, err := (&Picture{Charts: charts}).SVG(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestStepsAreOneTwoAndFive(t *testing.T) {
	for least, want := range map[float64]float64{0: 1, 0.011: 0.02, 1: 1, 1.1: 2, 3: 5, 7: 10, 1200: 2000} {
		if got := niceStep(least); math.Abs(got-want) > want/1e9 {
			t.Errorf("%v: %v, want %v", least, got, want)
		}
	}
}
