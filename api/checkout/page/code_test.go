package page

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"rsc.io/qr"
)

// The picture draws each dark module of the QR code once, no other, and leaves a margin of four modules.
func TestQRCodeImageHasExactlyItsModules(t *testing.T) {
	for _, text := range []string{"", "x", "https://pay.example/simulator/challenge?reference=1&token=" + strings.Repeat("aB3-", 40), "ключ", strings.Repeat("x", 2300)} {
		want, err := qr.Encode(text, qr.M)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewCode(text)
		if err != nil || got.Side != want.Size+8 {
			t.Fatalf("side %d of %d, %v", got.Side, want.Size, err)
		}
		darkModules := make(map[[2]int]int)
		for run := range strings.SplitSeq(strings.TrimPrefix(got.Path, "M"), "M") {
			var x, y, width, widthBack int
			if _, err := fmt.Sscanf(run, "%d %dh%dv1h-%dz", &x, &y, &width, &widthBack); err != nil || width != widthBack || width < 1 {
				t.Fatalf("%q: %v", run, err)
			}
			for i := range width {
				darkModules[[2]int{x + i - 4, y - 4}]++
			}
		}
		for y := -4; y < want.Size+4; y++ {
			for x := -4; x < want.Size+4; x++ {
				if timesDrawn := darkModules[[2]int{x, y}]; timesDrawn > 1 || (timesDrawn == 1) != want.Black(x, y) {
					t.Errorf("%.20q: module %d %d is dark %d times", text, x, y, timesDrawn)
				}
			}
		}
	}
}

func TestTooLongTextHasNoQRCode(t *testing.T) {
	if c, err := NewCode(strings.Repeat("x", 4000)); err == nil || c != (Code{}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func BenchmarkLargestCodePNG(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		if _, err := CodePNG("https://pay.example/pay/l/4a09b41f-3384-4695-a100-7862f7d102ea", 2048); err != nil {
			b.Fatal(err)
		}
	}
}

// Package image/png reads the pictures, and each module of the code is at its place in the picture.
func TestCodePNGHasTheModulesOfTheCode(t *testing.T) {
	const text = "https://pay.example/pay/l/4a09b41f-3384-4695-a100-7862f7d102ea"
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{64, 65, 71, 100, 333, 512, 2047, 2048} {
		file, err := CodePNG(text, size)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(file))
		if err != nil || picture.Bounds() != image.Rect(0, 0, size, size) {
			t.Fatalf("%d: %v", size, err)
		}
		module := size / (code.Size + 2*quietZone)
		margin := (size - module*code.Size) / 2
		for y := range size {
			for x := range size {
				atX, atY := (x-margin)/module, (y-margin)/module
				want := x >= margin && y >= margin && atX < code.Size && atY < code.Size && code.Black(atX, atY)
				if r, _, _, _ := picture.At(x, y).RGBA(); (r == 0) != want {
					t.Fatalf("%d: the pixel at %d, %d is dark: %v, want %v", size, x, y, r == 0, want)
				}
			}
		}
	}
	if _, err := CodePNG(text, 20); err == nil {
		t.Error("a picture with less than a pixel a module")
	}
}
