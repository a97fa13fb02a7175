package picture

import (
	"image"
	"math"
)

// makeSmaller makes the smaller copies of a picture, whose pixels are img. The first copy is made from img. Further copies are
// made from the pixels of the first copy, because scaling fewer pixels takes less time.
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

// sidesWithin estimates the sides of a smaller copy that fits into the bounds. The estimate should be right, because each
// attempt to encode the copy takes time. A copy with transparent pixels stays a PNG and has at least as many bytes per pixel as
// the picture. So for such a copy, sidesWithin computes the sides from the length of the picture's content.
func (p *Picture) sidesWithin(b Bounds, opaque bool) (width, height int) {
	width, height = fitBox(p.Width, p.Height, b)
	if p.Format != formatPNG || opaque || len(p.Content) <= b.Bytes {
		return width, height
	}
	factor := math.Sqrt(float64(b.Bytes) / float64(len(p.Content)))
	longer := max(1, int(float64(max(p.Width, p.Height))*factor))
	return fit(width, height, longer)
}

// fitBox computes the sides of a picture that is scaled down to fit into the bounds. The ratio of width to height stays the
// same. A picture that already fits keeps its sides.
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
