package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"testing"
)

// The two JPEG decoders, jpegn and image/jpeg, differ in rounding only. If jpegn reduces a picture, each pixel is compared
// with the mean of the pixels that image/jpeg decodes.
func TestReducedJPEGIsThatOfImageJPEG(t *testing.T) {
	source := photo(333, 251, 30)
	spec := jpegSpec{
		width: 333, height: 251, frame: 0xc0, ids: []byte{1, 2, 3}, sampling: []byte{0x11, 0x11, 0x11}, segments: jfif,
		sample: func(component, column, row int) byte {
			return byte(100 + 20*min(component, 1) + (40*component+7*column+5*row)%16*(4-3*min(component, 1)))
		},
	}
	for _, tt := range []struct {
		name string
		file []byte
	}{
		{"grey", encodedJPEG(t, toGray(source), 90)},
		{"4:2:0", encodedJPEG(t, source, 90)},
		{"in three scans", spec.separated()},
	} {
		for _, maxSide := range []int{400, 300, 160, 80, 40, 16} {
			t.Run(fmt.Sprintf("%s to %d", tt.name, maxSide), func(t *testing.T) {
				h, err := readHeader(tt.file, maxSide)
				if err != nil || !h.isCommon {
					t.Fatal(h, err)
				}
				width, height := fit(h.width, h.height, maxSide)
				got, err := decode(h, tt.file, width, height)
				if err != nil {
					t.Fatal(err)
				}
				whole, err := jpeg.Decode(bytes.NewReader(tt.file))
				if err != nil {
					t.Fatal(err)
				}
				want := scale(toRGBA(whole), width, height).(*image.RGBA)
				shown, total := toRGBA(got), 0
				for i, level := range shown.Pix {
					difference := int(level) - int(want.Pix[i])
					total += max(difference, -difference)
				}
				if mean := float64(total) / float64(len(want.Pix)); mean > 3 {
					t.Errorf("pixels differ by %.1f on average", mean)
				}
			})
		}
	}
}
