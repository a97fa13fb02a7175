package page

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"mizan/internal/assert"

	"rsc.io/qr"
)

// quietZone is the margin that a scanner needs around a QR code (ISO/IEC 18004, 9.1). It is measured in modules, which are the
// squares of the code.
const quietZone = 4

// Code is the picture of a QR code. Side is its height and width in modules, including the margin. Path is an SVG path that
// draws the dark modules. The zero value contains no code.
type Code struct {
	Side int
	Path string
}

// NewCode makes the QR code of a text. The code stays readable if up to 15 % of it is damaged (level M, ISO/IEC 18004). If the
// text is longer than about 2,300 bytes, NewCode returns an error.
func NewCode(text string) (Code, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return Code{}, fmt.Errorf("page: a QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+quietZone, y+quietZone, x-from, x-from)
			}
		}
	}
	return Code{Side: code.Size + 2*quietZone, Path: path.String()}, nil
}

// SVG returns the code as an SVG document.
func (c Code) SVG() []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d" shape-rendering="crispEdges">`+
		`<rect width="%[1]d" height="%[1]d" fill="#fff"/><path d="%s"/></svg>`, c.Side, c.Path)
}

// CodePNG returns the QR code of a text as a PNG of size × size pixels. Each module is the same whole number of pixels wide.
// The remaining pixels make the margin wider. CodePNG must be fast, because anybody may request such a picture. So CodePNG
// writes the picture row by row, with one bit per pixel. Package image/png would be much slower, because it reads every pixel
// several times.
func CodePNG(text string, size int) ([]byte, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, fmt.Errorf("page: a QR code: %w", err)
	}
	module := size / (code.Size + 2*quietZone)
	if module == 0 {
		return nil, fmt.Errorf("page: a QR code of %d modules does not fit into %d pixels", code.Size, size)
	}
	const greyscale, bitsPerPixel = 0, 1
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(size)), uint32(size))
	header = append(header, bitsPerPixel, greyscale, 0, 0, 0)
	picture := appendChunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", header)
	picture = appendChunk(picture, "IDAT", compressedRows(code, module, size))
	return appendChunk(picture, "IEND", nil), nil
}

// compressedRows returns the pixels of a code in the form in which a PNG stores them (PNG specification, 9 and 10). If a row
// equals the row above, only the difference between the two is written: zeros, which compress well.
func compressedRows(code *qr.Code, module, size int) []byte {
	const asIs, differenceToAbove = 0, 2 // types of filter
	margin := (size - module*code.Size) / 2
	white, row := bytes.Repeat([]byte{0xff}, 1+(size+7)/8), make([]byte, 1+(size+7)/8)
	repeated := make([]byte, len(row))
	white[0], repeated[0] = asIs, differenceToAbove
	var out bytes.Buffer
	compressor, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	assert.NoError(err)
	write := func(first []byte, times int) {
		for i := range times {
			if i > 0 {
				first = repeated
			}
			_, err := compressor.Write(first)
			assert.NoError(err) // writing to a bytes.Buffer never fails
		}
	}
	write(white, margin)
	for y := range code.Size {
		copy(row, white)
		for x := range code.Size {
			if !code.Black(x, y) {
				continue
			}
			for pixel := margin + x*module; pixel < margin+(x+1)*module; pixel++ {
				row[1+pixel/8] &^= 0x80 >> (pixel % 8)
			}
		}
		write(row, module)
	}
	write(white, size-margin-module*code.Size)
	assert.NoError(compressor.Close())
	return out.Bytes()
}

// appendChunk appends a chunk of a PNG: its length, name, content and checksum.
func appendChunk(dst []byte, name string, content []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(content)))
	begin := len(dst)
	dst = append(append(dst, name...), content...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[begin:]))
}
