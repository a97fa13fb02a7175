package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Brand is how a page presents the merchant. The zero value is the pages' own.
type Brand struct {
	Logo         string // path of a picture; empty: none
	Color        string // "#rrggbb", of the buttons; empty: the pages' own
	SupportEmail string // empty: none
	TermsURL     string // an address that IsWebAddress accepts; empty: none
}

// style returns the rules that a brand adds to the pages' style; empty if it has no color.
func (b Brand) style() string {
	red, green, blue, ok := parseColor(b.Color)
	if !ok {
		return ""
	}
	return fmt.Sprintf(":root{--brand:#%02x%02x%02x;--on-brand:%s}", red, green, blue, textColor(red, green, blue))
}

func parseColor(text string) (red, green, blue uint8, ok bool) {
	digits, hasSign := strings.CutPrefix(text, "#")
	n, err := strconv.ParseUint(digits, 16, 24)
	return uint8(n >> 16), uint8(n >> 8), uint8(n), err == nil && hasSign && len(digits) == 6
}

// textColor returns the color of text on a color, black or white: the one with the higher contrast, which is at least 4.5
// for every color (WCAG 2.2, 1.4.3).
func textColor(red, green, blue uint8) string {
	luminance := 0.2126*linear(red) + 0.7152*linear(green) + 0.0722*linear(blue)
	const ofBlack, ofWhite, flare = 0.0, 1.0, 0.05
	if (ofWhite+flare)/(luminance+flare) >= (luminance+flare)/(ofBlack+flare) {
		return "#fff"
	}
	return "#000"
}

// linear returns the linear value of a channel of sRGB (WCAG 2.2, "relative luminance").
func linear(channel uint8) float64 {
	v := float64(channel) / math.MaxUint8
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}
