package browser_test

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// maxColors is the greatest number of colors in a PNG with a palette.
const maxColors = 256

// withFewColors returns the picture with only its most frequent colors. Each other color is replaced by the nearest of these. A
// page has few colors besides those at the soft edges of letters, so people see no difference.
func withFewColors(picture image.Image) *image.Paletted {
	bounds := picture.Bounds()
	counts := make(map[color.RGBA]int)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[rgba(picture, x, y)]++
		}
	}
	frequent := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		frequent = append(frequent, c)
	}
	slices.SortFunc(frequent, func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := make(color.Palette, 0, maxColors)
	for _, c := range frequent[:min(len(frequent), maxColors)] {
		palette = append(palette, c)
	}
	indexes := make(map[color.RGBA]uint8, len(counts))
	for c := range counts {
		indexes[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, indexes[rgba(picture, x, y)])
		}
	}
	return small
}

func rgba(picture image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
}
