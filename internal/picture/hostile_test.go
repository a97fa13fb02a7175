package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

func TestOtherFormatsAreRefused(t *testing.T) {
	for name, file := range map[string]string{
		"empty":          "",
		"text":           "a picture.png of me",
		"SVG":            `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`,
		"XML":            `<?xml version="1.0"?><svg onload="alert(1)"/>`,
		"GIF":            "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
		"WebP":           "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00",
		"BMP":            "BM\x1e\x00\x00\x00\x00\x00\x00\x00\x1a\x00\x00\x00",
		"PDF":            "%PDF-1.7\n",
		"PNG signature":  "\x89PNG\r\n\x1a\n",
		"JPEG signature": "\xff\xd8",
		"JPEG end":       "\xff\xd8\xff\xd9",
		"space, PNG":     " " + string(pngSpec{width: 1, height: 1, depth: 8}.file()),
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, []byte(file), ErrFormat) })
	}
}

func TestTruncatedAndCorruptFilesAreRefused(t *testing.T) {
	source := photo(200, 120, 20)
	files := map[string][]byte{"PNG": encodedPNG(t, source), "JPEG": encodedJPEG(t, source, 90)}
	files["progressive JPEG"] = jpegSpec{width: 400, height: 300, frame: 0xc2, ids: []byte{1, 2, 3}, sampling: []byte{0x22, 0x11, 0x11}, moreScans: 3}.file()
	files["interlaced PNG"] = pngSpec{width: 64, height: 64, depth: 16, colorType: 6, interlaced: true, pixel: func(x, y int) uint64 { return uint64(x*y) * 0x9e3779b97f4a7c15 }}.file()
	for name, file := range files {
		normalize(t, NewNormalizer(64, testBytes), file)
		for end := 0; end < len(file); end += 97 {
			if _, err := NewNormalizer(64, testBytes).Normalize(t.Context(), file[:end]); !errors.Is(err, ErrFormat) {
				t.Errorf("%s cut at %d of %d: %v", name, end, len(file), err)
			}
		}
		wantRefused(t, file[:len(file)-1], ErrFormat)
	}
	corrupt := bytes.Clone(files["PNG"])
	corrupt[len(corrupt)/2] ^= 1
	wantRefused(t, corrupt, ErrFormat)
	wantRefused(t, inserted(files["PNG"], 8, chunk("tEXt", []byte("before the header"))), ErrFormat)
	wantRefused(t, append(bytes.Clone(files["JPEG"][:len(files["JPEG"])-2]), "no end"...), ErrFormat)
}

// The files have headers but no pixels. So they can only be refused before pixels are read.
func TestPixelsAreLimitedByTheHeader(t *testing.T) {
	pngOf := func(width, height int, depth, colorType byte, interlaced bool) []byte {
		spec := pngSpec{width: 1, height: 1, depth: depth, colorType: colorType, interlaced: interlaced}
		if colorType == 3 {
			spec.chunks = chunk("PLTE", make([]byte, 3))
		}
		file := spec.file()
		binary.BigEndian.PutUint32(file[16:], uint32(width))
		binary.BigEndian.PutUint32(file[20:], uint32(height))
		return slices.Concat(file[:8], chunk("IHDR", file[16:29]), file[afterIHDR:])
	}
	jpegOf := func(width, height int, frame byte, ids, sampling string, segments []byte) []byte {
		file := jpegSpec{width: 1, height: 1, frame: frame, ids: []byte(ids), sampling: []byte(sampling), segments: segments}.file()
		at := bytes.Index(file, []byte{0xff, frame, 0}) + 5
		binary.BigEndian.PutUint16(file[at:], uint16(height))
		binary.BigEndian.PutUint16(file[at+2:], uint16(width))
		return file
	}
	const ycc, full, half = "\x01\x02\x03", "\x11\x11\x11", "\x22\x11\x11"
	tests := []struct {
		name string
		file []byte
		want error // that readHeader returns; nil: the header is accepted
	}{
		{"24 million", pngOf(6000, 4000, 8, 6, false), nil},
		{"one row more", pngOf(6000, 4001, 8, 6, false), ErrTooManyPixels},
		{"one row more with a palette", pngOf(6000, 4001, 1, 3, false), ErrTooManyPixels},
		{"100,000 wide", pngOf(100_000, 1, 8, 2, false), nil},
		{"100,000 high", pngOf(1, 100_000, 8, 2, false), nil},
		{"100,001 wide", pngOf(100_001, 1, 8, 2, false), ErrTooManyPixels},
		{"100,001 high", pngOf(1, 100_001, 8, 2, false), ErrTooManyPixels},
		{"1 billion a side", pngOf(1<<30, 1<<29, 8, 2, false), ErrTooManyPixels},
		{"2 billion a side", pngOf(1<<31-1, 1<<31-1, 8, 2, false), ErrFormat}, // the product of the sides overflows
		{"negative", pngOf(1<<31, 1, 8, 2, false), ErrFormat},
		{"no width", pngOf(0, 5, 8, 2, false), ErrFormat},
		{"no height", pngOf(5, 0, 8, 2, false), ErrFormat},
		{"16 bits, 12 million", pngOf(5000, 2400, 16, 2, false), nil},
		{"16 bits, 12.1 million", pngOf(5000, 2420, 16, 2, false), nil},
		{"16 bits grey, 12.1 million", pngOf(5000, 2420, 16, 0, false), nil},
		{"interlaced, 12 million", pngOf(5000, 2400, 8, 2, true), nil},
		{"interlaced, 12.1 million", pngOf(5000, 2420, 8, 2, true), nil},
		{"interlaced 16 bits, 6.1 million", pngOf(5000, 1220, 16, 2, true), nil},
		{"16 bits, 12.3 million, not scaled", pngOf(4096, 3000, 16, 2, false), ErrTooManyPixels},
		{"interlaced, 12.3 million, not scaled", pngOf(4096, 3000, 8, 2, true), ErrTooManyPixels},
		{"interlaced palette, 24 million", pngOf(6000, 4000, 8, 3, true), nil},
		{"JPEG 24 million", jpegOf(6000, 4000, 0xc0, ycc, full, jfif), nil},
		{"JPEG one row more", jpegOf(6000, 4001, 0xc0, ycc, half, jfif), ErrTooManyPixels},
		{"JPEG no width", jpegOf(0, 5, 0xc0, ycc, half, jfif), ErrFormat},
		{"JPEG no height", jpegOf(5, 0, 0xc0, ycc, half, jfif), ErrFormat},
		{"JPEG 65,535 high", jpegOf(366, 65_535, 0xc0, ycc, full, jfif), nil},
		{"JPEG progressive, 12.5 million", jpegOf(5000, 2500, 0xc2, ycc, half, jfif), nil},
		{"JPEG progressive, 13 million", jpegOf(5200, 2500, 0xc2, ycc, half, jfif), ErrTooManyPixels},
		{"JPEG progressive 4:4:4, 6.5 million", jpegOf(2600, 2500, 0xc2, ycc, full, jfif), ErrTooManyPixels},
		{"JPEG RGB, 13.5 million", jpegOf(5400, 2500, 0xc0, "RGB", full, nil), nil},
		{"JPEG RGB, 14 million", jpegOf(5600, 2500, 0xc0, "RGB", full, nil), ErrTooManyPixels},
		{"JPEG RGB by Adobe, 14 million", jpegOf(5600, 2500, 0xc0, ycc, full, adobeOfRGB), ErrTooManyPixels},
		{"JPEG of JFIF is never RGB, 14 million", jpegOf(5600, 2500, 0xc0, ycc, full, append(adobeOfRGB[:len(adobeOfRGB):len(adobeOfRGB)], jfif...)), nil},
		{"JPEG CMYK, 12.3 million", jpegOf(4900, 2500, 0xc0, "\x01\x02\x03\x04", "\x11\x11\x11\x11", adobeOfRGB), ErrTooManyPixels},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := readHeader(tt.file, largest); !errors.Is(err, tt.want) {
				t.Errorf("the header gives %v, want %v", err, tt.want)
			}
			if tt.want != nil {
				wantRefused(t, tt.file, tt.want)
			}
		})
	}
}

// Package image/jpeg uses the last APP0 segment and the last APP14 segment of a file, even if they stand after the frame. So
// such segments can make image/jpeg decode the file as RGB, which needs more memory.
func TestSegmentsAfterTheFrameCount(t *testing.T) {
	file := jpegSpec{width: 5600, height: 2500, frame: 0xc0, ids: []byte{1, 2, 3}, sampling: []byte{0x11, 0x11, 0x11}, segments: jfif}.file()
	noJFIF := segment(0xe0, []byte("JFXX\x00"))
	if _, err := readHeader(file, largest); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, inserted(file, len(file)-2, noJFIF, adobeOfRGB), ErrTooManyPixels)
}

func TestNothingButPixelsSurvives(t *testing.T) {
	source := photo(100, 80, 10)
	thumbnail := encodedJPEG(t, filled(8, 8, grey(3)), 50)
	bait := []byte("<script>alert('bait')</script>")
	plainJPEG, plainPNG := encodedJPEG(t, source, 90), encodedPNG(t, source)
	transparent := photo(100, 80, 10)
	transparent.Pix[3], transparent.Pix[0], transparent.Pix[1], transparent.Pix[2] = 0, 0, 0, 0
	files := map[string][]byte{
		"JPEG with metadata": inserted(plainJPEG, afterSOI, jfif, exif(binary.BigEndian, 1), segment(0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), bait...)),
			segment(0xed, append([]byte("Photoshop 3.0\x00"), bait...)), segment(0xe1, append([]byte("Exif\x00\x00"), thumbnail...)), segment(0xfe, bait)),
		"JPEG and HTML": slices.Concat(plainJPEG, bait),
		"JPEG and ZIP":  slices.Concat(plainJPEG, []byte("PK\x03\x04"), bait),
		"JPEG and JPEG": slices.Concat(plainJPEG, thumbnail, bait),
		"PNG with metadata": inserted(plainPNG, afterIHDR, chunk("iCCP", append([]byte("ICC_PROFILE\x00\x00"), bait...)), chunk("tEXt", append([]byte("a secret place\x00"), bait...)),
			chunk("eXIf", []byte("Exif")), chunk("pHYs", make([]byte, 9))),
		"PNG and ZIP":          slices.Concat(plainPNG, []byte("PK\x03\x04"), bait, []byte("PK\x05\x06")),
		"PNG and HTML":         slices.Concat(plainPNG, bait),
		"transparent and HTML": slices.Concat(encodedPNG(t, transparent), bait),
		"text in the palette":  pngSpec{width: 9, height: 9, depth: 8, colorType: 3, chunks: chunk("PLTE", append(make([]byte, 3), bait...))}.file(),
		"text in transparent colours of the palette": pngSpec{
			width: 20, height: 20, depth: 8, colorType: 3, pixel: func(x, _ int) uint64 { return uint64(x % 10) },
			chunks: slices.Concat(chunk("PLTE", bait), chunk("tRNS", make([]byte, 10))),
		}.file(),
		"small PNG and HTML": slices.Concat(encodedPNG(t, filled(8, 8, grey(1))), bait),
	}
	for name, file := range files {
		p, _ := normalize(t, NewNormalizer(100, testBytes), file)
		for _, trace := range []string{"Exif", "eXIf", "ICC_PROFILE", "iCCP", "tEXt", "pHYs", "JFIF", "Photoshop", "secret", "ACME", "bait", "script", "PK\x03\x04"} {
			if bytes.Contains(p.Content, []byte(trace)) {
				t.Errorf("%s: the result contains %q", name, trace)
			}
		}
		wantOnlyPixels(t, name, p)
	}
}

// wantOnlyPixels checks that the result has only the chunks or segments that pixels need.
func wantOnlyPixels(t *testing.T, name string, p Picture) {
	t.Helper()
	if p.Format == "png" {
		for rest := p.Content[8:]; len(rest) > 0; rest = rest[12+binary.BigEndian.Uint32(rest):] {
			if kind := string(rest[4:8]); !slices.Contains([]string{"IHDR", "PLTE", "tRNS", "IDAT", "IEND"}, kind) {
				t.Errorf("%s: the result has a chunk %q", name, kind)
			}
		}
		return
	}
	rest := p.Content[2:]
	for {
		if rest[0] != 0xff || !slices.Contains([]byte{0xc0, 0xc4, 0xda, 0xdb}, rest[1]) {
			t.Fatalf("%s: the result has a segment %x", name, rest[:2])
		}
		isScan := rest[1] == 0xda
		rest = rest[2+binary.BigEndian.Uint16(rest[2:]):]
		if isScan {
			break
		}
	}
	if end := bytes.Index(rest, []byte{0xff, 0xd9}); end != len(rest)-2 {
		t.Errorf("%s: the result goes on after its end", name)
	}
}
