package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Brand is the merchant's logo, color and links on a page. The zero value is the default look of the pages.
type Brand struct {
	Logo         string // URL path of the picture; empty if none
	Color        string // color of the buttons, "#rrggbb"; if empty, the pages' own color
	SupportEmail string // empty: none
	TermsURL     string // an address that IsWebAddress accepts; empty if none
}

// style returns the CSS rules that a brand adds to the style of the pages. If the brand has no color, there are no rules.
func (b Brand) style() string {
	red, green, blue, ok := parseColor(b.Color)
	if !ok {
		return ""
	}
	color := luminance(red, green, blue)
	style := fmt.Sprintf(":root{--brand:#%02x%02x%02x;--on-brand:%s}", red, green, blue, textColor(color))
	const rim = ":root{--rim:var(--field)}"
	if contrast(color, lightSurface) < minShapeContrast {
		style += "@media not (prefers-color-scheme:dark){" + rim + "}"
	}
	if contrast(color, darkSurface) < minShapeContrast {
		style += "@media (prefers-color-scheme:dark){" + rim + "}"
	}
	return style
}

// minShapeContrast is the lowest contrast of a button with its surroundings (WCAG 2.2, 1.4.11). A button with a lower contrast
// gets a border.
const minShapeContrast = 3

// The luminance of the background behind buttons in light and in dark mode. In style.css, this background is the variable
// --surface.
var (
	lightSurface = luminance(0xff, 0xff, 0xff)
	darkSurface  = luminance(0x1a, 0x1d, 0x23)
)

func parseColor(text string) (red, green, blue uint8, ok bool) {
	digits, hasSign := strings.CutPrefix(text, "#")
	n, err := strconv.ParseUint(digits, 16, 24)
	return uint8(n >> 16), uint8(n >> 8), uint8(n), err == nil && hasSign && len(digits) == 6
}

// textColor returns the color of text on a background of the given luminance: black or white, whichever has the higher
// contrast. This contrast is at least 4.5 for every background (WCAG 2.2, 1.4.3).
func textColor(background float64) string {
	const black, white = 0, 1
	if contrast(background, white) >= contrast(background, black) {
		return "#fff"
	}
	return "#000"
}

// contrast returns the contrast ratio of two luminances, 1 to 21 (WCAG 2.2, "contrast ratio").
func contrast(a, b float64) float64 {
	const flare = 0.05
	return (max(a, b) + flare) / (min(a, b) + flare)
}

// luminance returns the relative luminance of a color, 0 to 1 (WCAG 2.2, "relative luminance").
func luminance(red, green, blue uint8) float64 {
	return 0.2126*linear(red) + 0.7152*linear(green) + 0.0722*linear(blue)
}

// linear converts an sRGB channel to linear light, 0 to 1 (WCAG 2.2, "relative luminance").
func linear(channel uint8) float64 {
	v := float64(channel) / math.MaxUint8
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}
