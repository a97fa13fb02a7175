package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image/color"
	"testing"
)

// FuzzNormalize checks that Normalize either refuses a file with ErrFormat or ErrTooManyPixels, or returns a sound picture
// within the bounds.
func FuzzNormalize(f *testing.F) {
	source := photo(40, 30, 20)
	plainJPEG, plainPNG := encodedJPEG(f, source, 80), encodedPNG(f, source)
	f.Add([]byte(""))
	f.Add([]byte("GIF89a\x01\x00\x01\x00"))
	f.Add([]byte("<svg/>"))
	f.Add(plainJPEG)
	f.Add(plainPNG)
	f.Add(plainJPEG[:len(plainJPEG)/2])
	f.Add(plainPNG[:len(plainPNG)/2])
	f.Add(append(plainPNG[:len(plainPNG):len(plainPNG)], "PK\x03\x04"...))
	f.Add(encodedPNG(f, noise(f, 30, 40, false)))
	f.Add(encodedPNG(f, filled(9, 9, color.NRGBA{1, 2, 3, 4})))
	for orientation := range uint16(10) {
		f.Add(inserted(plainJPEG, afterSOI, exif(binary.LittleEndian, orientation)))
	}
	for colorType := range channelsOfPNG {
		for _, depth := range []byte{8, 16} {
			for _, interlaced := range []bool{false, true} {
				spec := pngSpec{width: 33, height: 17, depth: depth, colorType: colorType, interlaced: interlaced}
				if colorType == 3 {
					spec.chunks = chunk("PLTE", make([]byte, 6))
				}
				f.Add(spec.file())
			}
		}
	}
	for _, frame := range []byte{0xc0, 0xc1, 0xc2} {
		for _, sampling := range []string{"\x11", "\x22", "\x11\x11\x11", "\x22\x11\x11", "\x41\x11\x11", "\x42\x11\x11", "\x11\x11\x11\x11", "\x22\x11\x11\x22"} {
			ids := []byte{1, 2, 3, 4}[:len(sampling)]
			f.Add(jpegSpec{width: 33, height: 17, frame: frame, ids: ids, sampling: []byte(sampling), segments: adobeOfRGB, moreScans: 2}.file())
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		n := NewNormalizer(16, 4096)
		for _, content := range [][]byte{file, withChecksums(file)} {
			p, err := n.Normalize(t.Context(), content)
			switch {
			case err == nil:
				wantSound(t, n, p)
				wantOnlyPixels(t, "any file", p)
			case !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTooManyPixels):
				t.Errorf("error %v", err)
			}
		}
	})
}

// withChecksums returns the PNG with correct checksums in all chunks, so that a file that the fuzzer has changed is not
// refused for its checksums.
func withChecksums(file []byte) []byte {
	fixed := bytes.Clone(file)
	for at := 8; at+12 <= len(fixed); {
		end := uint64(at) + 8 + uint64(binary.BigEndian.Uint32(fixed[at:]))
		if end+4 > uint64(len(fixed)) {
			break
		}
		binary.BigEndian.PutUint32(fixed[end:], crc32.ChecksumIEEE(fixed[at+4:end]))
		at = int(end) + 4
	}
	return fixed
}
