package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"strings"
	"testing"
)

func TestOrientationIsApplied(t *testing.T) {
	// The picture has six blocks, a b c in the first row and d e f in the second, each with its own gray.
	spec := jpegSpec{width: 24, height: 16, frame: 0xc0, ids: []byte{1}, sampling: []byte{0x11}, sample: func(_, column, row int) byte {
		return byte(20 + 40*(3*row+column))
	}}
	letters := func(img image.Image) string {
		var rows []string
		for y := 4; y < img.Bounds().Dy(); y += 8 {
			row := ""
			for x := 4; x < img.Bounds().Dx(); x += 8 {
				light := color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y
				row += string(rune('a' + light/40))
			}
			rows = append(rows, row)
		}
		return strings.Join(rows, " ")
	}
	wants := []string{
		"abc def", // 0 is not an orientation
		"abc def",
		"cba fed",
		"fed cba",
		"def abc",
		"ad be cf",
		"da eb fc",
		"fc eb da",
		"cf be ad",
		"abc def", // 9 is not an EXIF orientation
	}
	colour := spec
	colour.ids, colour.sampling = []byte{1, 2, 3}, []byte{0x11, 0x11, 0x11}
	colour.sample = func(component, column, row int) byte {
		if component > 0 {
			return 128
		}
		return spec.sample(0, column, row)
	}
	for orientation, want := range wants {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, file := range [][]byte{spec.file(), colour.file()} {
				_, img := normalize(t, NewNormalizer(24, testBytes), inserted(file, afterSOI, exif(order, uint16(orientation))))
				if got := letters(img); got != want {
					t.Errorf("orientation %d in %v shows %q, want %q", orientation, order, got, want)
				}
			}
		}
	}
	// The bounds also hold for the sides of the turned picture.
	tall := jpegSpec{width: 240, height: 160, frame: 0xc0, ids: []byte{1}, sampling: []byte{0x11}}
	p, _ := normalize(t, NewNormalizer(24, testBytes), inserted(tall.file(), afterSOI, exif(binary.BigEndian, 6)))
	wantSize(t, p, "jpg", 16, 24)
}

func TestMalformedEXIFIsIgnored(t *testing.T) {
	file := jpegSpec{width: 24, height: 16, frame: 0xc0, ids: []byte{1}, sampling: []byte{0x11}}.file()
	sound := exif(binary.LittleEndian, 6)
	const tiffAt, entryAt = 10, 10 + 8 + 2 + 12 // offsets in the segment: of the TIFF file, and of its second entry
	changed := func(at int, b byte) []byte {
		s := bytes.Clone(sound)
		s[at] = b
		return s
	}
	wantHeight := func(name string, height int, segments ...[]byte) {
		t.Helper()
		p, err := NewNormalizer(24, testBytes).Normalize(t.Context(), inserted(file, afterSOI, segments...))
		if err != nil || p.Height != height {
			t.Errorf("%s: height %d, want %d (%v)", name, p.Height, height, err)
		}
	}
	wantHeight("sound", 24, sound)
	wantHeight("byte order", 16, changed(tiffAt, 'X'))
	wantHeight("directory beyond the end", 16, changed(tiffAt+7, 0xff))
	wantHeight("directory in the last byte", 16, changed(tiffAt+4, byte(len(sound)-tiffAt-1)))
	wantHeight("type of the value", 16, changed(entryAt+2, 4))
	wantHeight("two values", 16, changed(entryAt+4, 2))
	wantHeight("orientation of 262", 16, changed(entryAt+9, 1))
	wantHeight("fewer entries", 16, changed(tiffAt+8, 1))
	wantHeight("more entries", 24, changed(tiffAt+9, 0xff))
	for length := range entryAt + 12 - 4 {
		wantHeight("cut short", 16, segment(0xe1, sound[4:][:length]))
	}
	wantHeight("only the first counts", 16, exif(binary.LittleEndian, 1), sound)
	wantHeight("after another APP1", 24, segment(0xe1, []byte("http://ns.adobe.com/xap/1.0/\x00")), sound)
}
