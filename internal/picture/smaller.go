package picture

import (
	"image"
	"math"
)

// makeSmaller makes the smaller forms of a picture, whose pixels are img. The first form is made from img. Each further form
// is made from the pixels of the first form, which are fewer.
func (n *Normalizer) makeSmaller(p *Picture, img image.Image) []*Picture {
	forms := make([]*Picture, len(n.smaller))
	isScaled := false
	for i, b := range n.smaller {
		hasShortContent := len(p.Content) <= b.Bytes
		if hasShortContent && p.Width <= b.Width && p.Height <= b.Height {
			continue
		}
		width, height := p.sidesWithin(b, isOpaque(img))
		if from := img.Bounds().Size(); width > from.X || height > from.Y {
			width, height = from.X, from.Y
		}
		form, pixels := encode(scaleCopy(img, width, height), p.Format, b.Bytes)
		if !hasShortContent || len(form.Content) < len(p.Content) {
			forms[i] = &form
		}
		if !isScaled {
			img, isScaled = pixels, true
		}
	}
	return forms
}

// sidesWithin returns the sides with which the first attempt encodes a form for the bounds. Each attempt takes time, so the
// first one should fit. A form with transparent pixels stays a PNG and has at least as many bytes per pixel as the picture.
// So for such a form sidesWithin computes the sides from the length of the picture's content.
func (p *Picture) sidesWithin(b Bounds, opaque bool) (width, height int) {
	width, height = fitBox(p.Width, p.Height, b)
	if p.Format != formatPNG || opaque || len(p.Content) <= b.Bytes {
		return width, height
	}
	factor := math.Sqrt(float64(b.Bytes) / float64(len(p.Content)))
	longer := max(1, int(float64(max(p.Width, p.Height))*factor))
	return fit(width, height, longer)
}

// fitBox returns the sides of the picture after it is scaled down to fit into the bounds, with the same ratio. If the picture
// fits already, its sides do not change.
func fitBox(width, height int, b Bounds) (int, int) {
	switch {
	case width <= b.Width && height <= b.Height:
		return width, height
	case width*b.Height >= height*b.Width:
		return b.Width, max(1, (height*b.Width+width/2)/width)
	default:
		return max(1, (width*b.Height+height/2)/height), b.Height
	}
}
