package page

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"rsc.io/qr"
)

// quietZone is the margin that a scanner needs around a QR code, in modules (ISO/IEC 18004,
// 9.1).
const quietZone = 4

// Code is the picture of a QR code: Side is its height and width in modules, including the
// margin, and the SVG path draws the dark modules. The zero value has no code.
type Code struct {
	Side int
	Path string
}

// NewCode makes the QR code of a text. The code stays readable if up to 15 % of it is damaged (level
// M, ISO/IEC 18004). A text longer than about 2,300 bytes is an error.
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

// SVG returns the code as a picture of its own.
func (c Code) SVG() []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d" shape-rendering="crispEdges">`+
		`<rect width="%[1]d" height="%[1]d" fill="#fff"/><path d="%s"/></svg>`, c.Side, c.Path)
}

// CodePNG returns the QR code of a text as a PNG of size × size pixels. Each module is the same whole number of pixels; what
// is left over is a wider margin.
func CodePNG(text string, size int) ([]byte, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, fmt.Errorf("page: a QR code: %w", err)
	}
	module := size / (code.Size + 2*quietZone)
	if module == 0 {
		return nil, fmt.Errorf("page: a QR code of %d modules does not fit into %d pixels", code.Size, size)
	}
	margin := (size - module*code.Size) / 2
	picture := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{color.White, color.Black})
	for y := range module * code.Size {
		for x := range module * code.Size {
			if code.Black(x/module, y/module) {
				picture.SetColorIndex(margin+x, margin+y, 1)
			}
		}
	}
	var out bytes.Buffer
	err = png.Encode(&out, picture)
	return out.Bytes(), err
}
