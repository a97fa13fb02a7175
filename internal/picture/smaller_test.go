package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"testing"
)

// wantForm fails the test unless smaller form i of the picture is a complete picture with the sides that it reports, is
// within the bounds, and has the ratio of p.
func wantForm(t *testing.T, p Picture, i int, b Bounds) {
	t.Helper()
	form := p.Smaller[i]
	if form == nil {
		if len(p.Content) > b.Bytes {
			t.Errorf("form %d: none, and the picture has %d bytes", i, len(p.Content))
		}
		return
	}
	img, format, err := image.Decode(bytes.NewReader(form.Content))
	if format == "jpeg" {
		format = formatJPEG
	}
	if err != nil || format != form.Format || img.Bounds().Size() != (image.Point{form.Width, form.Height}) {
		t.Fatalf("form %d: %s of %d×%d: %v", i, form.Format, form.Width, form.Height, err)
	}
	if len(form.Content) > b.Bytes || form.Width > b.Width || form.Height > b.Height || form.Width > p.Width || form.Height > p.Height {
		t.Errorf("form %d: %d×%d and %d bytes, of a picture of %d×%d", i, form.Width, form.Height, len(form.Content), p.Width, p.Height)
	}
	if skew := form.Width*p.Height - form.Height*p.Width; max(skew, -skew) > 2*max(p.Width, p.Height) {
		t.Errorf("form %d: %d×%d of %d×%d", i, form.Width, form.Height, p.Width, p.Height)
	}
	if p.Format == formatPNG && !isOpaque(img) != (form.Format == formatPNG && !isOpaque(mustDecode(t, p))) {
		t.Errorf("form %d: the alpha is lost", i)
	}
}

func mustDecode(t *testing.T, p Picture) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(p.Content))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestSmallerFormsFitTheirBounds(t *testing.T) {
	bounds := []Bounds{{200, 200, 20_000}, {200, 20, 5_000}, {40, 40, 4_096}}
	for name, file := range map[string][]byte{
		"photo":                  encodedJPEG(t, photo(500, 375, 20), 90),
		"tall photo":             encodedJPEG(t, photo(300, 500, 20), 90),
		"noise":                  encodedJPEG(t, noise(t, 400, 300, true), 95),
		"grey":                   encodedJPEG(t, toGray(photo(500, 375, 20)), 90),
		"opaque PNG":             encodedPNG(t, photo(500, 375, 20)),
		"transparent PNG":        encodedPNG(t, noise(t, 500, 375, false)),
		"line":                   encodedPNG(t, noise(t, 500, 1, false)),
		"column":                 encodedJPEG(t, photo(1, 500, 20), 90),
		"within all sides":       encodedPNG(t, noise(t, 40, 20, false)),
		"within the first sides": encodedPNG(t, noise(t, 190, 200, false)),
		"turned":                 inserted(encodedJPEG(t, photo(500, 250, 20), 90), afterSOI, exif(binary.BigEndian, 6)),
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := normalize(t, NewNormalizer(512, 1<<20, bounds...), file)
			if len(p.Smaller) != len(bounds) {
				t.Fatalf("%d forms", len(p.Smaller))
			}
			for i, b := range bounds {
				wantForm(t, p, i, b)
			}
			without, _ := normalize(t, NewNormalizer(512, 1<<20), file)
			if len(without.Smaller) != 0 || !bytes.Equal(without.Content, p.Content) {
				t.Error("the forms change the picture")
			}
			again, _ := normalize(t, NewNormalizer(512, 1<<20, bounds...), file)
			for i, form := range again.Smaller {
				if (form == nil) != (p.Smaller[i] == nil) || form != nil && !bytes.Equal(form.Content, p.Smaller[i].Content) {
					t.Errorf("form %d differs the next time", i)
				}
			}
		})
	}
}

// A form is nil if the picture itself can be shown: because the picture is small, or because the form would have more bytes.
func TestFormsThatSaveNothingAreNotMade(t *testing.T) {
	small := encodedPNG(t, filled(16, 16, grey(7)))
	p, _ := normalize(t, NewNormalizer(512, 1<<20, Bounds{32, 32, 4096}), small)
	if p.Smaller[0] != nil {
		t.Error("a small picture has a form")
	}
	stripes := image.NewPaletted(image.Rect(0, 0, 501, 501), color.Palette{color.Black, color.White})
	for i := range stripes.Pix {
		stripes.Pix[i] = uint8(i % 501 / 3 % 2)
	}
	p, _ = normalize(t, NewNormalizer(512, 1<<20, Bounds{400, 400, 8192}), encodedPNG(t, stripes))
	if len(p.Content) > 8192 {
		t.Fatalf("the stripes have %d bytes", len(p.Content))
	}
	if form := p.Smaller[0]; form != nil && len(form.Content) >= len(p.Content) {
		t.Errorf("the form has %d bytes, the picture %d", len(form.Content), len(p.Content))
	}
}

// The pixels of a form have the colors of the picture at the same places.
func TestFormsLookLikeThePicture(t *testing.T) {
	halves := filled(500, 300, color.NRGBA{0xff, 0, 0, 0xff})
	for y := range 300 {
		for x := 250; x < 500; x++ {
			halves.SetNRGBA(x, y, color.NRGBA{0, 0, 0xff, 0x80})
		}
	}
	p, _ := normalize(t, NewNormalizer(512, 1<<20, Bounds{100, 100, 4096}, Bounds{50, 20, 4096}), encodedPNG(t, halves))
	for i, want := range []image.Point{{100, 60}, {33, 20}} {
		form := p.Smaller[i]
		if form == nil {
			t.Fatalf("there is no form %d", i)
		}
		img := mustDecode(t, *form)
		if img.Bounds().Size() != want {
			t.Errorf("form %d is of %v", i, img.Bounds().Size())
		}
		wantColor(t, img, want.X/4, want.Y/2, color.NRGBA{0xff, 0, 0, 0xff}, 2)
		wantColor(t, img, want.X*3/4, want.Y/2, color.NRGBA{0, 0, 0xff, 0x80}, 2)
	}
}
