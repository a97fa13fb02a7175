package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"mizan/internal/picture/picturetest"
)

// newUploadNormalizer returns a normalizer with the bounds that the service has for uploaded images (ledger/storefront).
func newUploadNormalizer() *Normalizer {
	return NewNormalizer(2048, 720<<10, Bounds{960, 960, 240 << 10}, Bounds{960, 96, 48 << 10}, Bounds{192, 192, 32 << 10})
}

// allocated returns how many bytes f allocates, including those that become garbage.
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
		"plain":      {width: 16, height: 16, depth: 8, colorType: 6, excess: inflated},
		"interlaced": {width: 16, height: 16, depth: 8, colorType: 6, interlaced: true, excess: inflated},
	} {
		file := spec.file()
		var err error
		used := allocated(func() { _, err = NewNormalizer(16, testBytes).Normalize(t.Context(), file) })
		if !errors.Is(err, ErrFormat) || used > 1<<20 {
			t.Errorf("%s: %d bytes allocated, error %v", name, used, err)
		}
	}
	// A color profile, which is compressed, is never inflated.
	profile := pngSpec{width: 1, height: 1, depth: 8, colorType: 0, excess: inflated}.file()
	file := inserted(encodedPNG(t, filled(8, 8, grey(1))), afterIHDR, chunk("iCCP", append([]byte("p\x00\x00"), profile...)))
	if used := allocated(func() { normalize(t, NewNormalizer(16, testBytes), file) }); used > 4<<20 {
		t.Errorf("profile: %d bytes allocated", used)
	}
}

func TestScansAreLimited(t *testing.T) {
	spec := jpegSpec{width: 64, height: 64, frame: 0xc2, ids: []byte{1, 2, 3}, sampling: []byte{0x22, 0x11, 0x11}, moreScans: 19}
	normalize(t, NewNormalizer(64, testBytes), spec.file())
	spec.moreScans++
	wantRefused(t, spec.file(), ErrFormat)
	// If a JPEG is not progressive, each component may be in one scan only.
	sequential := jpegSpec{width: 64, height: 64, frame: 0xc0, ids: []byte{1, 2, 3}, sampling: []byte{0x22, 0x11, 0x11}, moreScans: 3}
	wantRefused(t, sequential.file(), ErrFormat)
	// Scans after the end of the picture do not count.
	spec.moreScans--
	normalize(t, NewNormalizer(64, testBytes), append(spec.file(), bytes.Repeat([]byte{0xff, 0xda}, 100)...))
}

// A file of 5 MiB consists almost only of headers (segments or chunks). It is refused before memory is allocated for the
// headers.
func TestHeadersCostNothing(t *testing.T) {
	const size, most = 5 << 20, 128 << 10
	plainJPEG, plainPNG := encodedJPEG(t, filled(8, 8, grey(1)), 90), encodedPNG(t, filled(8, 8, grey(1)))
	repeated := func(one []byte) []byte { return bytes.Repeat(one, size/len(one)) }
	for name, file := range map[string][]byte{
		"JPEG of comments":         inserted(plainJPEG, afterSOI, repeated(segment(markerCOM, nil))),
		"JPEG of tables":           inserted(plainJPEG, afterSOI, repeated(segment(markerDQT, nil))),
		"JPEG of scans":            inserted(plainJPEG, len(plainJPEG)-2, repeated(segment(markerSOS, nil))),
		"PNG of texts":             inserted(plainPNG, afterIHDR, repeated(chunk("tEXt", nil))),
		"PNG of data":              inserted(plainPNG, afterIHDR, repeated(chunk("IDAT", nil))),
		"PNG of texts before IHDR": inserted(plainPNG, 8, repeated(chunk("tEXt", nil))),
	} {
		var err error
		n := NewNormalizer(16, testBytes)
		if used := allocated(func() { _, err = n.Normalize(t.Context(), file) }); !errors.Is(err, ErrFormat) || used > most {
			t.Errorf("%s: %d bytes allocated, error %v", name, used, err)
		}
	}
	// Markers inside a scan's data are not segments; the decoder skips them.
	file := inserted(plainJPEG, len(plainJPEG)-2, repeated([]byte{0xff, markerRST0}))
	if used := allocated(func() { normalize(t, NewNormalizer(16, testBytes), file) }); used > 2*size {
		t.Errorf("restarts: %d bytes allocated", used)
	}
}

func TestSegmentsAndChunksAreLimited(t *testing.T) {
	plainJPEG, plainPNG := encodedJPEG(t, filled(8, 8, grey(1)), 90), encodedPNG(t, filled(8, 8, grey(1)))
	count := 0
	for at := afterSOI; ; count++ { // up to the first scan, which counts as a segment too
		isScan := plainJPEG[at+1] == markerSOS
		at += 2 + int(binary.BigEndian.Uint16(plainJPEG[at+2:]))
		if isScan {
			break
		}
	}
	comments := bytes.Repeat(segment(markerCOM, nil), 4096-count-1)
	normalize(t, NewNormalizer(16, testBytes), inserted(plainJPEG, afterSOI, comments))
	wantRefused(t, inserted(plainJPEG, afterSOI, comments, segment(markerCOM, nil)), ErrFormat)

	texts := bytes.Repeat(chunk("tEXt", nil), 4096-3) // 3: the PNG also has the chunks IHDR, IDAT and IEND
	normalize(t, NewNormalizer(16, testBytes), inserted(plainPNG, afterIHDR, texts))
	wantRefused(t, inserted(plainPNG, afterIHDR, texts, chunk("tEXt", nil)), ErrFormat)
	// Chunks after the end of the picture do not count.
	normalize(t, NewNormalizer(16, testBytes), inserted(plainPNG, len(plainPNG), bytes.Repeat(chunk("tEXt", nil), 9000)))
}

// Each file is close to the limit of its kind. A PNG that is scaled needs memory only for a few rows and the result. A common
// JPEG needs memory only for its reduced planes. A progressive or unusual JPEG, and a PNG that is not scaled, is decoded as a
// whole.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("decodes many pictures")
	}
	full, half := []byte{0x11, 0x11, 0x11}, []byte{0x22, 0x11, 0x11}
	ycc, four := []byte{1, 2, 3}, []byte{1, 2, 3, 4}
	palette := chunk("PLTE", make([]byte, 6))
	tests := []struct {
		name        string
		file        []byte
		least, most int // MiB
	}{
		{"PNG", pngSpec{width: 6000, height: 4000, depth: 8, colorType: 2}.file(), 16, 30},
		{"PNG with alpha", pngSpec{width: 4898, height: 4898, depth: 8, colorType: 6}.file(), 20, 40},
		{"PNG grey with a transparent one", pngSpec{width: 4898, height: 4898, depth: 8, chunks: chunk("tRNS", []byte{0, 7})}.file(), 20, 40},
		{"PNG of 16 bits with alpha", pngSpec{width: 4898, height: 4898, depth: 16, colorType: 6}.file(), 20, 40},
		{"PNG interlaced", pngSpec{width: 4898, height: 4898, depth: 8, colorType: 6, interlaced: true}.file(), 20, 40},
		{"PNG interlaced of 16 bits", pngSpec{width: 4898, height: 4898, depth: 16, colorType: 2, interlaced: true}.file(), 20, 40},
		{"PNG interlaced with a palette", pngSpec{width: 4898, height: 4898, depth: 8, colorType: 3, interlaced: true, chunks: palette}.file(), 20, 40},
		{"PNG wide", pngSpec{width: 100_000, height: 240, depth: 16, colorType: 6, interlaced: true}.file(), 1, 20},
		{"PNG not scaled", pngSpec{width: 2048, height: 2048, depth: 8, colorType: 6}.file(), 16, 36},
		{"PNG interlaced of 16 bits, not scaled", pngSpec{width: 2048, height: 2048, depth: 16, colorType: 6, interlaced: true}.file(), 64, 84},
		{"JPEG 4:4:4", jpegSpec{width: 6000, height: 4000, frame: 0xc0, ids: ycc, sampling: full}.file(), 20, 32},
		{"JPEG 4:2:0, hardly reduced", jpegSpec{width: 4094, height: 4094, frame: 0xc0, ids: ycc, sampling: half}.file(), 24, 48},
		{"JPEG 4:4:4, hardly reduced", jpegSpec{width: 4094, height: 4094, frame: 0xc0, ids: ycc, sampling: full}.file(), 48, 72},
		{"JPEG RGB", jpegSpec{width: 3712, height: 3712, frame: 0xc0, ids: []byte("RGB"), sampling: full}.file(), 90, 108},
		{"JPEG CMYK", jpegSpec{width: 3472, height: 3472, frame: 0xc0, ids: four, sampling: []byte{0x11, 0x11, 0x11, 0x11}, segments: adobeOfRGB}.file(), 90, 108},
		{"JPEG YCbCrK", jpegSpec{width: 3840, height: 3840, frame: 0xc0, ids: four, sampling: []byte{0x22, 0x11, 0x11, 0x22}, segments: adobeOfYCC}.file(), 90, 108},
		{"JPEG progressive", jpegSpec{width: 3584, height: 3584, frame: 0xc2, ids: ycc, sampling: half}.file(), 90, 110},
		{"JPEG progressive 4:4:4", jpegSpec{width: 2528, height: 2528, frame: 0xc2, ids: ycc, sampling: full}.file(), 90, 110},
		{"JPEG progressive grey", jpegSpec{width: 4392, height: 4392, frame: 0xc2, ids: []byte{1}, sampling: []byte{0x11}}.file(), 78, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			measure := func() int {
				return allocated(func() { _, err = newUploadNormalizer().Normalize(t.Context(), tt.file) })
			}
			used := measure()
			// If a garbage collection has emptied the pools of buffers, the buffers are allocated twice. Then measure again.
			for n := 0; used > tt.most<<20 && n < 2; n++ {
				used = measure()
			}
			if err != nil || used > tt.most<<20 || used < tt.least<<20 {
				t.Errorf("%d KiB allocated, at least %d MiB and at most %d MiB expected (%v)", used>>10, tt.least, tt.most, err)
			}
		})
	}
}

// BenchmarkUploads normalizes the pictures whose figures are in docs/benchmarks.md.
func BenchmarkUploads(b *testing.B) {
	for _, u := range picturetest.Uploads(b) {
		b.Run(u.Name, func(b *testing.B) { benchmark(b, u.File) })
	}
}

func benchmark(b *testing.B, file []byte) {
	b.Helper()
	n := newUploadNormalizer()
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Normalize(b.Context(), file); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorstJPEG normalizes the JPEG that takes longest: it has the maximum number of scans and of blocks, in a short
// file.
func BenchmarkWorstJPEG(b *testing.B) {
	benchmark(b, jpegSpec{width: 3584, height: 3584, frame: 0xc2, ids: []byte{1, 2, 3}, sampling: []byte{0x22, 0x11, 0x11}, moreScans: 19}.file())
}
