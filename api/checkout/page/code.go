package page

import (
	"fmt"
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
