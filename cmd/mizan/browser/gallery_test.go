package browser_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	committedScreenshots = "testdata/screenshots"
	galleryFile          = "../../../docs/gallery.md"
	maxScreenshotsBytes  = 6 << 20 // size of all committed screenshots together
)

// screenshotFolder returns the folder into which screenshots are written. With -update it is the folder of the committed
// screenshots, otherwise a temporary folder.
func screenshotFolder(t *testing.T) string {
	t.Helper()
	if !*update {
		return t.TempDir()
	}
	if err := os.MkdirAll(committedScreenshots, 0o755); err != nil {
		t.Fatal(err)
	}
	return committedScreenshots
}

// screenshot takes a picture of the whole page. It returns an error if the page leaves for another page meanwhile.
func (tb *tab) screenshot() ([]byte, error) {
	tb.t.Helper()
	height, err := run[float64](tb, `(document.activeElement?.blur(), Math.max(innerHeight, document.documentElement.scrollHeight))`)
	if err != nil {
		return nil, err
	}
	// The screen becomes as high as the page, because a capture beyond a lower screen would shift pages that are written from
	// right to left.
	yes := true
	tb.setScreen(int64(math.Ceil(height)))
	captured, err := chromedp.Call(tb.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{OptimizeForSpeed: &yes})
	tb.setScreen(heights[tb.view.width])
	return captured.Data, err
}

// marginsOf returns how many columns of pixels at the left and at the right of a screenshot show only the background.
func marginsOf(picture image.Image) (left, right int) {
	b := picture.Bounds()
	left, right = b.Dx(), b.Dx()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		leftmost, rightmost := picture.At(b.Min.X, y), picture.At(b.Max.X-1, y)
		for x := range left {
			if picture.At(b.Min.X+x, y) != leftmost {
				left = x
				break
			}
		}
		for x := range right {
			if picture.At(b.Max.X-1-x, y) != rightmost {
				right = x
				break
			}
		}
	}
	return left, right
}

// saveScreenshot checks that a screenshot has this width and that the page's content is in its middle. Then it writes the
// screenshot. With -update it reduces the number of colors, which makes the committed file small.
func saveScreenshot(t *testing.T, folder, name string, content []byte, width int) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil || picture.Bounds().Dx() != width {
		t.Fatalf("the screenshot is not %d pixels wide (%v)", width, err)
	}
	if left, right := marginsOf(picture); left != right || left == width {
		t.Errorf("the column has %d pixels at its left and %d at its right", left, right)
	}
	if *update {
		var small bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&small, withFewColors(picture)); err != nil {
			t.Fatal(err)
		}
		content = small.Bytes()
	}
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// galleryText returns the text that docs/gallery.md must have.
func galleryText() string {
	var text strings.Builder
	text.WriteString("# What payers see\n\nThe pages of payers in English, Arabic and Russian, on screens of 1280, 768 and 320 pixels.\n" +
		"`make browser UPDATE=-update` takes these pictures and writes this page.\n\n")
	for _, p := range shownPages {
		fmt.Fprintf(&text, "- [%s](#%[1]s)\n", p.name)
	}
	for _, p := range shownPages {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n| |", p.name, p.text)
		for _, width := range triedWidths {
			fmt.Fprintf(&text, " %d |", width)
		}
		text.WriteString("\n|---|" + strings.Repeat("---|", len(triedWidths)) + "\n")
		for _, lang := range triedLanguages {
			fmt.Fprintf(&text, "| %s |", lang)
			for _, width := range triedWidths {
				text.WriteString(" " + p.imageOf(view{lang: lang, width: width}) + " |")
			}
			text.WriteString("\n")
		}
		if p.inDark {
			dark := view{lang: "en", width: triedWidths[len(triedWidths)-1], isDark: true}
			text.WriteString("| en, dark |" + strings.Repeat(" |", len(triedWidths)-1) + " " + p.imageOf(dark) + " |\n")
		}
	}
	return text.String()
}

func (p *shownPage) imageOf(v view) string {
	return fmt.Sprintf("![%s, %s, %d pixels](../cmd/mizan/browser/%s/%s)", p.name, v.lang, v.width, committedScreenshots, p.screenshotName(v))
}

// The gallery and the committed screenshots show exactly the pages that the tests visit. This test needs no browser.
func TestGalleryShowsEveryPage(t *testing.T) {
	if *update {
		if err := os.WriteFile(galleryFile, []byte(galleryText()), 0o644); err != nil {
			t.Fatal(err)
		}
		return // TestEveryPageIsSound checks the screenshots when it has taken them
	}
	content, err := os.ReadFile(galleryFile)
	if err != nil || string(content) != galleryText() {
		t.Errorf("docs/gallery.md is old (%v): run make browser UPDATE=-update", err)
	}
	checkScreenshots(t)
}

// checkScreenshots checks the names, widths and sizes of the committed screenshots. With -update it removes those of pages
// that are gone.
func checkScreenshots(t *testing.T) {
	t.Helper()
	expected := make(map[string]int64)
	for _, p := range shownPages {
		for _, v := range p.views() {
			expected[p.screenshotName(v)] = v.width
		}
	}
	files, err := filepath.Glob(filepath.Join(committedScreenshots, "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, file := range files {
		name := filepath.Base(file)
		if _, isExpected := expected[name]; !isExpected && *update {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		size, width := sizeAndWidth(t, file)
		if total += size; int64(width) != expected[name] {
			t.Errorf("%s is %d pixels wide, want %d", name, width, expected[name])
		}
		delete(expected, name)
	}
	if total > maxScreenshotsBytes {
		t.Errorf("the screenshots have %d bytes, at most %d", total, maxScreenshotsBytes)
	}
	for name := range expected {
		t.Errorf("%s is missing", name)
	}
}

func sizeAndWidth(t *testing.T, file string) (size int64, width int) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || format != "png" {
		t.Fatalf("%s: %s %v", file, format, err)
	}
	return int64(len(content)), config.Width
}
