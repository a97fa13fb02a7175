package picture

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/bits"
	"slices"
	"testing"
	"time"
)

const testBytes = 200_000 // maxBytes in tests that do not depend on it

// normalize normalizes a file and decodes the result. It checks that the decoded picture has the format and the sides that
// Normalize reports, and that nothing follows the end of the picture.
func normalize(t *testing.T, n *Normalizer, file []byte) (Picture, image.Image) {
	t.Helper()
	p, err := n.Normalize(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return p, wantSound(t, n, p)
}

func wantSound(t *testing.T, n *Normalizer, p Picture) image.Image {
	t.Helper()
	decodeResult, end := png.Decode, "\x00\x00\x00\x00IEND\xae\x42\x60\x82"
	if p.Format == "jpg" {
		decodeResult, end = jpeg.Decode, "\xff\xd9"
	}
	img, err := decodeResult(bytes.NewReader(p.Content))
	if err != nil {
		t.Fatalf("the result as %q: %v", p.Format, err)
	}
	if !bytes.HasSuffix(p.Content, []byte(end)) {
		t.Errorf("the result ends with %q", p.Content[max(0, len(p.Content)-12):])
	}
	if size := img.Bounds().Size(); size != (image.Point{p.Width, p.Height}) {
		t.Errorf("the result is %v, and says %d×%d", size, p.Width, p.Height)
	}
	if max(p.Width, p.Height) > n.maxSide || min(p.Width, p.Height) < 1 || len(p.Content) > n.maxBytes {
		t.Errorf("the result has %d×%d pixels and %d bytes", p.Width, p.Height, len(p.Content))
	}
	return img
}

func wantSize(t *testing.T, p Picture, format string, width, height int) {
	t.Helper()
	if p.Format != format || p.Width != width || p.Height != height {
		t.Errorf("%s of %d×%d, want %s of %d×%d", p.Format, p.Width, p.Height, format, width, height)
	}
}

// wantColor checks a pixel's color. Each channel may differ from want by the tolerance.
func wantColor(t *testing.T, img image.Image, x, y int, want color.NRGBA, tolerance int) {
	t.Helper()
	got := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
	for i, channel := range []uint8{got.R, got.G, got.B, got.A} {
		if difference := int(channel) - int([]uint8{want.R, want.G, want.B, want.A}[i]); max(difference, -difference) > tolerance {
			t.Errorf("pixel %d,%d is %v, want %v", x, y, got, want)
			return
		}
	}
}

func wantRefused(t *testing.T, file []byte, want error) {
	t.Helper()
	if p, err := NewNormalizer(largest, testBytes).Normalize(t.Context(), file); !errors.Is(err, want) {
		t.Errorf("%s and error %v, want %v", p.Format, err, want)
	}
}

func grey(light uint8) color.NRGBA { return color.NRGBA{light, light, light, 0xff} }

func TestEveryKindOfPNGWorks(t *testing.T) {
	red, blue := color.NRGBA{0xff, 0, 0, 0xff}, color.NRGBA{0, 0, 0xff, 0xff}
	palette := chunk("PLTE", []byte{0xff, 0, 0, 0, 0, 0xff})
	tests := []struct {
		name             string
		depth, colorType byte
		left, right      uint64 // bits of a pixel in the left and in the right half
		chunks           []byte
		wantLeft, want   color.NRGBA
	}{
		{"grey 1", 1, 0, 0, 1, nil, grey(0), grey(255)},
		{"grey 2", 2, 0, 1, 2, nil, grey(0x55), grey(0xaa)},
		{"grey 4", 4, 0, 1, 0xe, nil, grey(0x11), grey(0xee)},
		{"grey 8", 8, 0, 0x20, 0xc0, nil, grey(0x20), grey(0xc0)},
		{"grey 16", 16, 0, 0x2034, 0xc056, nil, grey(0x20), grey(0xc0)},
		{"grey 8 with a transparent one", 8, 0, 0x20, 0xc0, chunk("tRNS", []byte{0, 0x20}), color.NRGBA{}, grey(0xc0)},
		{"grey 16 with a transparent one", 16, 0, 0x2034, 0xc056, chunk("tRNS", []byte{0x20, 0x34}), color.NRGBA{}, grey(0xc0)},
		{"colour 8", 8, 2, 0xff0000, 0x0000ff, nil, red, blue},
		{"colour 8 with a transparent one", 8, 2, 0xff0000, 0x0000ff, chunk("tRNS", []byte{0, 0xff, 0, 0, 0, 0}), color.NRGBA{}, blue},
		{"colour 16", 16, 2, 0xff12_0034_0056, 0x0000_0000_ff99, nil, red, blue},
		{"palette 1", 1, 3, 0, 1, palette, red, blue},
		{"palette 2", 2, 3, 0, 1, palette, red, blue},
		{"palette 4", 4, 3, 0, 1, palette, red, blue},
		{"palette 8", 8, 3, 0, 1, palette, red, blue},
		{"palette with alpha", 8, 3, 0, 1, slices.Concat(palette, chunk("tRNS", []byte{0})), color.NRGBA{}, blue},
		{"grey and alpha 8", 8, 4, 0x2000, 0xc0ff, nil, color.NRGBA{}, grey(0xc0)},
		{"grey and alpha 16", 16, 4, 0x2000_0000, 0xc000_ffff, nil, color.NRGBA{}, grey(0xc0)},
		{"colour and alpha 8", 8, 6, 0xff000000, 0x0000ffff, nil, color.NRGBA{}, blue},
		{"colour and alpha 16", 16, 6, 0xffff_0000_0000_0000, 0x0000_0000_ffff_ffff, nil, color.NRGBA{}, blue},
	}
	for _, tt := range tests {
		for _, interlaced := range []bool{false, true} {
			for _, side := range []int{16, 48, 100} { // not scaled; in whole boxes; with incomplete boxes at the edges
				spec := pngSpec{
					width: side, height: side, depth: tt.depth, colorType: tt.colorType, interlaced: interlaced, chunks: tt.chunks,
					pixel: func(x, _ int) uint64 {
						if x < side/2 {
							return tt.left
						}
						return tt.right
					},
				}
				p, img := normalize(t, NewNormalizer(16, testBytes), spec.file())
				wantSize(t, p, "png", 16, 16)
				for y := range 16 {
					wantColor(t, img, 2, y, tt.wantLeft, 0)
					wantColor(t, img, 13, y, tt.want, 0)
				}
				if t.Failed() {
					t.Fatal(tt.name, interlaced, side)
				}
			}
		}
	}
}

func TestEveryKindOfJPEGWorks(t *testing.T) {
	grey180 := []byte{180, 128, 128, 0}
	tests := []struct {
		name          string
		ids, sampling string
		segments      []byte
		samples       []byte
		want          color.NRGBA
	}{
		{"grey", "\x01", "\x11", jfif, []byte{180}, grey(180)},
		{"4:4:4", "\x01\x02\x03", "\x11\x11\x11", jfif, grey180, grey(180)},
		{"4:4:0", "\x01\x02\x03", "\x12\x11\x11", jfif, grey180, grey(180)},
		{"4:2:2", "\x01\x02\x03", "\x21\x11\x11", jfif, grey180, grey(180)},
		{"4:2:0", "\x01\x02\x03", "\x22\x11\x11", jfif, grey180, grey(180)},
		{"4:1:1", "\x01\x02\x03", "\x41\x11\x11", jfif, grey180, grey(180)},
		{"4:1:0", "\x01\x02\x03", "\x42\x11\x11", jfif, grey180, grey(180)},
		{"red in YCbCr", "\x01\x02\x03", "\x22\x11\x11", jfif, []byte{76, 85, 255}, color.NRGBA{254, 0, 0, 255}},
		{"RGB by name", "RGB", "\x11\x11\x11", nil, []byte{200, 100, 50}, color.NRGBA{200, 100, 50, 255}},
		{"RGB by Adobe", "\x01\x02\x03", "\x11\x11\x11", adobeOfRGB, []byte{200, 100, 50}, color.NRGBA{200, 100, 50, 255}},
		{"CMYK", "\x01\x02\x03\x04", "\x11\x11\x11\x11", adobeOfRGB, []byte{200, 100, 50, 255}, color.NRGBA{200, 100, 50, 255}},
		{"CMYK, half black", "\x01\x02\x03\x04", "\x11\x11\x11\x11", adobeOfRGB, []byte{200, 100, 50, 127}, color.NRGBA{100, 50, 25, 255}},
		{"YCbCrK", "\x01\x02\x03\x04", "\x22\x11\x11\x22", adobeOfYCC, []byte{180, 128, 128, 255}, grey(75)},
	}
	for _, tt := range tests {
		for _, frame := range []byte{0xc0, 0xc2} {
			for _, side := range []int{32, 64, 100} {
				spec := jpegSpec{
					width: side, height: side, frame: frame, restart: side / 50, ids: []byte(tt.ids), sampling: []byte(tt.sampling), segments: tt.segments,
					sample: func(component, _, _ int) byte { return tt.samples[component] },
				}
				p, img := normalize(t, NewNormalizer(32, testBytes), spec.file())
				wantSize(t, p, "jpg", 32, 32)
				for i := range 32 {
					wantColor(t, img, i, i, tt.want, 6)
				}
				if t.Failed() {
					t.Fatalf("%s, frame %x, side %d", tt.name, frame, side)
				}
			}
		}
	}
}

func TestLongAndThinPicturesWork(t *testing.T) {
	n := NewNormalizer(1000, testBytes)
	p, _ := normalize(t, n, pngSpec{width: 100_000, height: 1, depth: 8, colorType: 2}.file())
	wantSize(t, p, "png", 1000, 1)
	p, _ = normalize(t, n, pngSpec{width: 1, height: 100_000, depth: 8, colorType: 6}.file())
	wantSize(t, p, "png", 1, 1000)
	p, _ = normalize(t, n, jpegSpec{width: 65_000, height: 3, frame: 0xc0, ids: []byte{1}, sampling: []byte{0x11}}.file())
	wantSize(t, p, "jpg", 1000, 1)
}

func TestSidesKeepTheirRatio(t *testing.T) {
	for _, tt := range []struct{ width, height, wantWidth, wantHeight int }{
		{100, 50, 100, 50},
		{101, 50, 100, 50},
		{3000, 1500, 100, 50},
		{1500, 3000, 50, 100},
		{640, 479, 100, 75},
		{10_000, 49, 100, 1}, // the shorter side would be 0.49 pixels; it is at least 1
		{10_000, 151, 100, 2},
	} {
		width, height := fit(tt.width, tt.height, 100)
		if width != tt.wantWidth || height != tt.wantHeight {
			t.Errorf("%d×%d becomes %d×%d, want %d×%d", tt.width, tt.height, width, height, tt.wantWidth, tt.wantHeight)
		}
	}
}

// The columns are black and white in turn. If a column of the result is pure black or white, scaling has
// left out a neighbouring column.
func TestInterpolationLeavesNoPixelOut(t *testing.T) {
	stripes := pngSpec{width: 24, height: 24, depth: 1, pixel: func(x, _ int) uint64 { return uint64(x % 2) }}
	p, img := normalize(t, NewNormalizer(16, testBytes), stripes.file())
	wantSize(t, p, "png", 16, 16)
	for x := range 16 {
		if light := color.GrayModel.Convert(img.At(x, 8)).(color.Gray).Y; light < 50 || light > 205 {
			t.Errorf("column %d is %d", x, light)
		}
	}
}

// One column of ten is white, so every pixel of the result must have a tenth of white's brightness.
func TestAllPixelsCountInMuchSmallerPictures(t *testing.T) {
	for colorType, white := range map[byte]uint64{0: 0xff, 2: 0xffffff, 3: 1, 6: 0xffffff} {
		stripes := pngSpec{width: 160, height: 160, depth: 8, colorType: colorType, pixel: func(x, _ int) uint64 {
			black := uint64(0)
			if colorType == 6 { // all pixels are opaque
				black = 0xff
			}
			if x%10 == 0 {
				return white<<bits.Len64(black) | black
			}
			return black
		}}
		if colorType == 3 {
			stripes.chunks = chunk("PLTE", []byte{0, 0, 0, 0xff, 0xff, 0xff})
		}
		_, img := normalize(t, NewNormalizer(16, testBytes), stripes.file())
		for x := range 16 {
			wantColor(t, img, x, 8, grey(26), 1)
		}
	}
}

func TestTransparentPixelsDoNotColourTheirNeighbours(t *testing.T) {
	img := filled(64, 64, color.NRGBA{0xff, 0, 0, 0xff})
	for i := 0; i < len(img.Pix); i += 8 { // every other column is transparent green, and the others are red
		copy(img.Pix[i:], []byte{0, 0xff, 0, 0})
	}
	_, got := normalize(t, NewNormalizer(16, testBytes), encodedPNG(t, img))
	wantColor(t, got, 7, 7, color.NRGBA{0xff, 0, 0, 0x80}, 1)
}

func TestAlphaIsKept(t *testing.T) {
	half := color.NRGBA{0x10, 0x80, 0xf0, 0x80}
	for _, side := range []int{20, 100} {
		p, img := normalize(t, NewNormalizer(20, testBytes), encodedPNG(t, filled(side, side, half)))
		wantSize(t, p, "png", 20, 20)
		wantColor(t, img, 10, 10, half, 1)
	}
}

func TestPictureFitsItsBytes(t *testing.T) {
	opaque, transparent := noise(t, 300, 200, true), noise(t, 300, 200, false)
	soft := photo(300, 200, 20)
	tests := []struct {
		name          string
		file          []byte
		maxBytes      int
		format        string
		width, height int // of the result; zero: the result must be smaller than the file's picture
	}{
		{"opaque PNG that fits", encodedPNG(t, filled(300, 200, grey(9))), 4096, "png", 300, 200},
		{"opaque PNG that fits only as JPEG", encodedPNG(t, soft), 20_000, "jpg", 300, 200},
		{"opaque PNG with a channel of alpha", encodedPNG(t, opaque), 100_000, "jpg", 300, 200},
		{"opaque PNG that does not fit as JPEG", encodedPNG(t, opaque), 20_000, "jpg", 0, 0},
		{"grey PNG that fits only as JPEG", encodedPNG(t, toGray(soft)), 15_000, "jpg", 300, 200},
		{"PNG with transparency", encodedPNG(t, transparent), 20_000, "png", 0, 0},
		{"PNG with transparency, very small", encodedPNG(t, transparent), 4096, "png", 0, 0},
		{"JPEG that fits", encodedJPEG(t, soft, 95), 20_000, "jpg", 300, 200},
		{"JPEG that does not fit", encodedJPEG(t, opaque, 95), 20_000, "jpg", 0, 0},
		{"JPEG that does not fit, very small", encodedJPEG(t, opaque, 95), 4096, "jpg", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, img := normalize(t, NewNormalizer(512, tt.maxBytes), tt.file)
			if tt.width > 0 {
				wantSize(t, p, tt.format, tt.width, tt.height)
				return
			}
			if p.Format != tt.format || p.Width >= 300 || p.Width*200 < 295*p.Height || p.Width*200 > 305*p.Height {
				t.Errorf("%s of %d×%d, want a smaller %s of 3:2", p.Format, p.Width, p.Height, tt.format)
			}
			if len(p.Content) < tt.maxBytes/2 {
				t.Errorf("%d bytes, and %d are allowed", len(p.Content), tt.maxBytes)
			}
			if isOpaque(img) != (tt.format == "jpg") {
				t.Error("the alpha is lost")
			}
		})
	}
}

// The first quantizer of the result shows its JPEG quality: it is 5 at quality 85, 8 at quality 75, and 13 at quality 60.
func TestQualityIsLoweredBeforeTheSize(t *testing.T) {
	file := encodedJPEG(t, photo(300, 200, 60), 95)
	seen := make(map[byte]bool)
	for maxBytes := 40_000; maxBytes > 6000; maxBytes -= 1000 {
		p, _ := normalize(t, NewNormalizer(300, maxBytes), file)
		quantizer := p.Content[bytes.Index(p.Content, []byte{0xff, 0xdb})+5]
		seen[quantizer] = true
		if p.Width < 300 && quantizer != 13 {
			t.Errorf("with %d bytes the picture is smaller at quantizer %d", maxBytes, quantizer)
		}
	}
	if len(seen) != 3 || !seen[5] || !seen[8] || !seen[13] {
		t.Errorf("quantizers %v", seen)
	}
}

func TestResultIsAlwaysTheSame(t *testing.T) {
	source := photo(700, 500, 30)
	for name, file := range map[string][]byte{
		"JPEG": encodedJPEG(t, source, 90), "PNG": encodedPNG(t, source), "noise": encodedPNG(t, noise(t, 200, 200, false)),
	} {
		n := NewNormalizer(300, 20_000)
		first, _ := normalize(t, n, file)
		second, _ := normalize(t, n, file)
		if !bytes.Equal(first.Content, second.Content) {
			t.Errorf("%s: two results of one file differ", name)
		}
	}
}

func TestOnePictureAtATime(t *testing.T) {
	n := NewNormalizer(64, testBytes)
	file := encodedPNG(t, filled(8, 8, grey(1)))
	n.place <- struct{}{} // as if another caller's picture were being decoded
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := n.Normalize(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller that waited gets %v", err)
	}
	// Not even the headers of a file are read before its turn.
	if _, err := n.Normalize(ctx, []byte("GIF89a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a file that is no picture gets %v", err)
	}
	<-n.place
	normalize(t, n, file)
	normalize(t, n, file) // works only if the place is free again
	if _, err := n.Normalize(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller that is gone gets %v", err)
	}
	wantRefusedPlaceIsFree(t, n, file)
}

// wantRefusedPlaceIsFree checks that the normalizer refuses the file and is then free for the next picture.
func wantRefusedPlaceIsFree(t *testing.T, n *Normalizer, file []byte) {
	t.Helper()
	if _, err := n.Normalize(t.Context(), file[:len(file)-1]); !errors.Is(err, ErrFormat) {
		t.Errorf("a truncated file gets %v", err)
	}
	normalize(t, n, file)
}

func TestCallersShareANormalizer(t *testing.T) {
	n := NewNormalizer(32, testBytes)
	file := encodedJPEG(t, photo(100, 100, 10), 80)
	want, _ := normalize(t, n, file)
	results := make(chan Picture)
	for range 8 {
		go func() {
			p, _ := n.Normalize(t.Context(), file)
			results <- p
		}()
	}
	for range 8 {
		if p := <-results; !bytes.Equal(p.Content, want.Content) {
			t.Error("callers at the same time get other pictures")
		}
	}
}
