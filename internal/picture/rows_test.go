package picture

import (
	"bytes"
	"compress/zlib"
	"errors"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// rowsOf reads the rows of a PNG one by one, and returns them all.
func rowsOf(file []byte, size image.Point) ([]byte, error) {
	chunks, err := readChunks(file)
	if err != nil {
		return nil, err
	}
	pixels, err := newPNGConverter(file[pngDepth], file[pngColorType], chunks)
	if err != nil {
		return nil, err
	}
	rows := rowReader{pixels: pixels, size: size}
	defer rows.close()
	if err := rows.open(chunks.data, file[pngInterlace] != 0); err != nil {
		return nil, err
	}
	var all []byte
	for y := range size.Y {
		row, err := rows.next(y)
		if err != nil {
			return nil, err
		}
		all = append(all, row...)
	}
	return all, rows.end()
}

// rowsOfImagePNG returns what rowsOf should return: the rows that image/png decodes.
func rowsOfImagePNG(file []byte) ([]byte, error) {
	img, err := decodeWhole(png.Decode, file)
	if err != nil {
		return nil, err
	}
	size := img.Bounds().Size()
	var all []byte
	for y := range size.Y {
		if m, ok := img.(*image.Gray); ok {
			all = append(all, m.Pix[y*m.Stride:][:size.X]...)
			continue
		}
		row := make([]byte, 4*size.X)
		readRow(row, img, y)
		all = append(all, row...)
	}
	return all, nil
}

func TestRowsOfPNGAreThoseOfImagePNG(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	depths := map[byte][]byte{0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}
	for colorType, depths := range depths {
		for _, depth := range depths {
			for i := range 40 {
				spec := pngSpec{
					width: 1 + random.IntN(40), height: 1 + random.IntN(40), depth: depth, colorType: colorType, interlaced: i%2 == 0,
					pixel: func(int, int) uint64 { return random.Uint64() >> random.IntN(64) }, filter: func(int) byte { return byte(random.IntN(5)) },
				}
				if colorType == 3 {
					palette := make([]byte, 3*(1+random.IntN(1<<depth)))
					for i := range palette {
						palette[i] = uint8(random.Uint32())
					}
					spec.chunks = slices.Concat(chunk("PLTE", palette), chunk("tRNS", []byte{0, 9, 200}))
				}
				if samples := map[byte]int{0: 1, 2: 3}[colorType]; samples > 0 && i%4 > 1 {
					clearColor := make([]byte, 2*samples) // small values, so that some pixels have this color
					clearColor[len(clearColor)-1] = byte(random.IntN(2))
					spec.chunks = chunk("tRNS", clearColor)
				}
				file := spec.file()
				got, err := rowsOf(file, image.Point{spec.width, spec.height})
				want, wantErr := rowsOfImagePNG(file)
				if err != nil || wantErr != nil || !bytes.Equal(got, want) {
					t.Fatalf("colour type %d, depth %d, %d×%d, interlaced %v: %v %v\n%x\n%x", colorType, depth, spec.width, spec.height, spec.interlaced, err, wantErr, got, want)
				}
			}
		}
	}
}

// FuzzRows compares this package's reader of rows with image/png. Both must return equal rows, and refuse the same files.
// There is one exception: unlike image/png, this package does not verify the checksum at the end of the pixel data.
func FuzzRows(f *testing.F) {
	source := photo(40, 30, 20)
	f.Add(encodedPNG(f, source))
	f.Add(encodedPNG(f, toGray(source)))
	f.Add(encodedPNG(f, noise(f, 30, 40, false)))
	for colorType := range channelsOfPNG {
		for _, interlaced := range []bool{false, true} {
			spec := pngSpec{width: 33, height: 17, depth: 8, colorType: colorType, interlaced: interlaced, filter: func(y int) byte { return byte(y % 5) }}
			spec.pixel = func(x, y int) uint64 { return uint64(x*y) * 0x9e3779b97f4a7c15 }
			if colorType == 3 {
				spec.chunks = slices.Concat(chunk("PLTE", make([]byte, 60)), chunk("tRNS", []byte{1, 2}))
			}
			f.Add(spec.file())
			spec.chunks = slices.Concat(chunk("tRNS", make([]byte, 6)), chunk("tEXt", []byte("a text")))
			f.Add(spec.file())
			spec.chunks, spec.excess = nil, 1
			f.Add(spec.file())
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, content := range [][]byte{file, withChecksums(file)} {
			h, err := readHeader(content, 1) // with this maxSide all files are scaled, so they are read row by row
			if err != nil || h.format != formatPNG || h.width*h.height > 1<<20 {
				continue
			}
			got, err := rowsOf(content, image.Point{h.width, h.height})
			want, wantErr := rowsOfImagePNG(content)
			isChecksum := errors.Is(wantErr, ErrFormat) && err == nil && isAboutChecksum(content)
			if (err == nil) != (wantErr == nil) && !isChecksum || wantErr == nil && !bytes.Equal(got, want) {
				t.Errorf("%v, and image/png says %v; %d bytes and %d", err, wantErr, len(got), len(want))
			}
		}
	})
}

// isAboutChecksum tells whether the only fault of a PNG is the checksum at the end of its pixel data.
func isAboutChecksum(file []byte) bool {
	chunks, err := readChunks(file)
	if err != nil {
		return false
	}
	inflated, err := zlib.NewReader(bytes.NewReader(bytes.Join(chunks.data, nil)))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, inflated)
	return errors.Is(err, zlib.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF)
}
