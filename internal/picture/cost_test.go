package picture

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
)

// allocated returns how many bytes f allocates, garbage included.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

func TestBombCostsNoMoreThanItsPixels(t *testing.T) {
	const inflated = 16 << 20
	for name, spec := range map[string]pngSpec{
		"plain":      {width: 16, height: 16, depth: 8, colourType: 6, excess: inflated},
		"interlaced": {width: 16, height: 16, depth: 8, colourType: 6, interlaced: true, excess: inflated},
	} {
		file := spec.file()
		var err error
		used := allocated(func() { _, err = NewNormalizer(16, testBytes).Normalize(t.Context(), file) })
		if !errors.Is(err, ErrFormat) || used > 1<<20 {
			t.Errorf("%s: %d bytes allocated, error %v", name, used, err)
		}
	}
	// A compressed profile is never inflated.
	profile := pngSpec{width: 1, height: 1, depth: 8, colourType: 0, excess: inflated}.file()
	file := inserted(encodedPNG(t, filled(8, 8, grey(1))), afterIHDR, chunk("iCCP", append([]byte("p\x00\x00"), profile...)))
	if used := allocated(func() { normalize(t, NewNormalizer(16, testBytes), file) }); used > 4<<20 {
		t.Errorf("profile: %d bytes allocated", used)
	}
}

func TestScansAreLimited(t *testing.T) {
	spec := jpegSpec{width: 64, height: 64, frame: 0xc2, ids: []byte{1, 2, 3}, sampling: []byte{0x22, 0x11, 0x11}, moreScans: 63}
	normalize(t, NewNormalizer(64, testBytes), spec.file())
	spec.moreScans++
	wantRefused(t, spec.file(), ErrFormat)
	// What follows the picture does not count.
	spec.moreScans--
	normalize(t, NewNormalizer(64, testBytes), append(spec.file(), bytes.Repeat([]byte{0xff, 0xda}, 100)...))
}

// Each file is close to the limit of its kind.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("decodes hundreds of megabytes")
	}
	const most = 100 << 20
	full, half := []byte{0x11, 0x11, 0x11}, []byte{0x22, 0x11, 0x11}
	ycc, four := []byte{1, 2, 3}, []byte{1, 2, 3, 4}
	palette := chunk("PLTE", make([]byte, 6))
	tests := []struct {
		name  string
		file  []byte
		least int // so that the file is a hard case
	}{
		{"PNG", pngSpec{width: 6000, height: 4000, depth: 8, colourType: 2}.file(), 90 << 20},
		{"PNG with alpha", pngSpec{width: 4898, height: 4898, depth: 8, colourType: 6}.file(), 90 << 20},
		{"PNG grey with a transparent one", pngSpec{width: 4898, height: 4898, depth: 8, chunks: chunk("tRNS", []byte{0, 7})}.file(), 90 << 20},
		{"PNG of 16 bits", pngSpec{width: 3472, height: 3472, depth: 16, colourType: 6}.file(), 90 << 20},
		{"PNG of 16 bits grey with a transparent one", pngSpec{width: 3472, height: 3472, depth: 16, chunks: chunk("tRNS", []byte{0, 7})}.file(), 90 << 20},
		{"PNG interlaced", pngSpec{width: 3472, height: 3472, depth: 8, colourType: 6, interlaced: true}.file(), 90 << 20},
		{"PNG interlaced of 16 bits", pngSpec{width: 2455, height: 2455, depth: 16, colourType: 2, interlaced: true}.file(), 90 << 20},
		{"PNG interlaced with a palette", pngSpec{width: 4898, height: 4898, depth: 8, colourType: 3, interlaced: true, chunks: palette}.file(), 45 << 20},
		{"PNG wide", pngSpec{width: 100_000, height: 240, depth: 8, colourType: 6}.file(), 90 << 20},
		{"JPEG 4:4:4", jpegSpec{width: 6000, height: 4000, frame: 0xc0, ids: ycc, sampling: full}.file(), 65 << 20},
		{"JPEG RGB", jpegSpec{width: 3712, height: 3712, frame: 0xc0, ids: []byte("RGB"), sampling: full}.file(), 90 << 20},
		{"JPEG CMYK", jpegSpec{width: 3472, height: 3472, frame: 0xc0, ids: four, sampling: []byte{0x11, 0x11, 0x11, 0x11}, segments: adobeRGB}.file(), 90 << 20},
		{"JPEG YCbCrK", jpegSpec{width: 3840, height: 3840, frame: 0xc0, ids: four, sampling: []byte{0x22, 0x11, 0x11, 0x22}, segments: adobeYCC}.file(), 90 << 20},
		{"JPEG progressive", jpegSpec{width: 3584, height: 3584, frame: 0xc2, ids: ycc, sampling: half}.file(), 90 << 20},
		{"JPEG progressive 4:4:4", jpegSpec{width: 2528, height: 2528, frame: 0xc2, ids: ycc, sampling: full}.file(), 90 << 20},
		{"JPEG progressive grey", jpegSpec{width: 4392, height: 4392, frame: 0xc2, ids: []byte{1}, sampling: []byte{0x11}}.file(), 90 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			used := allocated(func() { _, err = NewNormalizer(1024, 1<<20).Normalize(t.Context(), tt.file) })
			if err != nil || used > most || used < tt.least {
				t.Errorf("%d MiB and %d bytes allocated, at least %d MiB and at most %d MiB expected (%v)", used>>20, used&(1<<20-1), tt.least>>20, most>>20, err)
			}
		})
	}
}

func benchmark(b *testing.B, file []byte) {
	b.Helper()
	n := NewNormalizer(1024, 400_000)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Normalize(b.Context(), file); err != nil {
			b.Fatal(err)
		}
	}
}

// About 5 MiB of 12 million pixels.
func BenchmarkJPEG(b *testing.B) { benchmark(b, encodedJPEG(b, photo(4000, 3000, 40), 90)) }

// About 5 MiB: a photo of 4 million pixels, and one of 12 million with less grain.
func BenchmarkPNG(b *testing.B) {
	b.Run("4 million", func(b *testing.B) { benchmark(b, encodedPNG(b, photo(2400, 1700, 60))) })
	b.Run("12 million", func(b *testing.B) { benchmark(b, encodedPNG(b, photo(4000, 3000, 3))) })
}

// The most scans over the most blocks, in a file of a few bytes per scan.
func BenchmarkWorstJPEG(b *testing.B) {
	benchmark(b, jpegSpec{width: 3584, height: 3584, frame: 0xc2, ids: []byte{1, 2, 3}, sampling: []byte{0x22, 0x11, 0x11}, moreScans: 63}.file())
}
