package browser_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"
	"strings"
	"testing"
)

// boundsOf returns the smallest rectangle of a screenshot that contains all pixels whose color isWanted accepts.
func boundsOf(t testing.TB, content []byte, isWanted func(color.RGBA) bool) (bounds image.Rectangle) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			if isWanted(rgba(picture, x, y)) {
				bounds = bounds.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return bounds
}

// isOfTheLeaf tells whether a color belongs to the picture that picturePNG returns: one of its two greens, or a mixture of them.
func isOfTheLeaf(c color.RGBA) bool {
	return int(c.G) > int(c.R)+10 && int(c.G) > int(c.B)+10 && c.G > 100
}

// drawnCode is the QR code on a page. Left, Top and Width are in pixels, Side is the number of modules in a row, and Path is the
// SVG path of the dark modules.
type drawnCode struct {
	Left, Top, Width float64
	Side             int
	Path             string
}

const findCode = `(() => { const code = document.querySelector("svg.qr"); if (!code) return "{}";
	const box = code.getBoundingClientRect();
	return JSON.stringify({Left: box.left + scrollX, Top: box.top + scrollY, Width: box.width, Side: code.viewBox.baseVal.width, Path: code.querySelector("path").getAttribute("d")}); })()`

// dark returns a row of values for each row of the QR code, with true for a dark module.
func (c *drawnCode) dark(t testing.TB) [][]bool {
	t.Helper()
	rows := make([][]bool, c.Side)
	for y := range rows {
		rows[y] = make([]bool, c.Side)
	}
	for run := range strings.SplitSeq(strings.TrimPrefix(c.Path, "M"), "M") {
		var x, y, width int
		if _, err := fmt.Sscanf(run, "%d %dh%d", &x, &y, &width); err != nil {
			t.Fatalf("the path of the code: %q: %v", run, err)
		}
		for i := range width {
			rows[y][x+i] = true
		}
	}
	return rows
}

// codeFindings checks in a screenshot that a scanner can read the page's QR code: the dark modules must be almost black, and the
// other modules and the margin almost white.
func (tb *tab) codeFindings(content []byte, c *drawnCode) (list []finding) {
	tb.t.Helper()
	if c.Side == 0 {
		return nil
	}
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		tb.fatal(err)
	}
	const black, white = 0x30, 0xe0
	module := c.Width / float64(c.Side)
	for y, row := range c.dark(tb.t) {
		for x, isDark := range row {
			if isCorner := x%(c.Side-1) == 0 && y%(c.Side-1) == 0; isCorner { // the margin has round corners
				continue
			}
			at := func(start float64, i int) int { return int(math.Floor(start + (float64(i)+0.5)*module)) }
			shade := color.GrayModel.Convert(picture.At(at(c.Left, x), at(c.Top, y))).(color.Gray).Y
			if isDark && shade > black || !isDark && shade < white {
				return []finding{{ruleCode, "the module " + strconv.Itoa(x) + " " + strconv.Itoa(y) + " of the QR code has the shade " + strconv.Itoa(int(shade))}}
			}
		}
	}
	return nil
}
