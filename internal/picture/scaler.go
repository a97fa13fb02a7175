package picture

import (
	"encoding/binary"
	"image"
	"math/bits"
)

// scaler scales a picture whose rows are pushed from top to bottom. Each pixel of the result is the mean of the area that it
// covers in the original.
type scaler interface {
	// push adds the next row of the picture. The caller may reuse the slice afterwards.
	push(row []byte)
}

// maxBox is the maximum side of a box in pixels. It is so small that the sum of a box's samples fits into 16 bits.
const maxBox = 16

// newScaler returns a scaler for pictures with 1 or 4 channels. The scaler is a chain of stages. The first stages replace boxes
// of pixels by their mean, until the sides are less than twice as long as in the result. The last stage (a blender) makes the
// sides exactly as long as in the result.
func newScaler(channels int, size image.Point, into []byte, to image.Point) scaler {
	box := image.Point{boxSide(size.X, to.X), boxSide(size.Y, to.Y)}
	if box == (image.Point{1, 1}) {
		return newBlender(channels, size, into, to)
	}
	reduced := image.Point{(size.X + box.X - 1) / box.X, (size.Y + box.Y - 1) / box.Y}
	return &boxAverager{
		channels: channels, box: box, height: size.Y, reciprocal: 1<<reciprocalBits/uint64(box.X*box.Y) + 1,
		sums: make([]uint64, reduced.X), means: make([]byte, channels*reduced.X),
		next: newScaler(channels, reduced, into, to),
	}
}

func boxSide(from, to int) int {
	return min(maxBox, max(1, from/to))
}

// Constants for computing with all four channels of a pixel at once: a uint64 has 16 bits for each channel.
const (
	everyOther = 0x00ff00ff00ff00ff // selects every second byte
	one        = 0x0001000100010001 // the number 1 in each channel
)

// unpackChannels widens each of the four bytes of a pixel to 16 bits.
func unpackChannels(pixel uint32) uint64 {
	return uint64(pixel&0x00ff00ff) | uint64(pixel>>8&0x00ff00ff)<<32
}

// packChannels is the inverse of spread.
func packChannels(channels uint64) uint32 {
	return uint32(channels) | uint32(channels>>32)<<8
}

// boxAverager is a stage of a scaler that replaces each box of pixels by their mean. At the right and the lower edge of the
// picture, a box may extend over the edge; then the pixels at the edge are counted several times.
type boxAverager struct {
	channels   int
	box        image.Point // sides of a box in pixels
	height     int         // number of rows of the picture
	seen       int         // number of rows pushed so far
	sums       []uint64    // sum of the pixels of each box in the current row of boxes
	means      []byte
	reciprocal uint64 // reciprocal of the number of pixels in a box, times 1<<reciprocalBits
	next       scaler
}

// reciprocalBits is the precision of boxes.reciprocal in bits. This precision makes the mean of up to 256 bytes exact, and it
// keeps the product of sum and reciprocal within 32 bits.
const reciprocalBits = 24

func (b *boxAverager) push(row []byte) {
	b.add(row)
	for b.seen == b.height && b.seen%b.box.Y != 0 {
		b.add(row)
		b.height++
	}
	if b.seen%b.box.Y == 0 {
		b.flush()
	}
}

func (b *boxAverager) add(row []byte) {
	b.seen++
	width := b.channels * b.box.X // width of a box in bytes
	whole := b.sums[:len(row)/width]
	switch {
	case b.channels == 1:
		for i := range whole {
			var sum uint64
			for _, sample := range row[:width] {
				sum += uint64(sample)
			}
			whole[i] += sum
			row = row[width:]
		}
	case b.box.X == 2:
		for i := range whole {
			pair := binary.LittleEndian.Uint64(row)
			even, odd := pair&everyOther, pair>>8&everyOther
			whole[i] += (even+even>>32)&0xffffffff | (odd+odd>>32)<<32
			row = row[8:]
		}
	default:
		for i := range whole {
			var sum uint64
			for box := row[:width]; len(box) >= 4; box = box[4:] {
				sum += unpackChannels(binary.LittleEndian.Uint32(box))
			}
			whole[i] += sum
			row = row[width:]
		}
	}
	if len(row) > 0 {
		b.addEdge(row)
	}
}

// addEdge adds the pixels at the right edge to the last box of the row, which extends over the edge.
func (b *boxAverager) addEdge(row []byte) {
	last := &b.sums[len(b.sums)-1]
	for range b.box.X {
		if b.channels == 1 {
			*last += uint64(row[0])
		} else {
			*last += unpackChannels(binary.LittleEndian.Uint32(row))
		}
		if len(row) > b.channels {
			row = row[b.channels:]
		}
	}
}

func (b *boxAverager) flush() {
	count := uint(b.box.X * b.box.Y)
	half := uint64(count / 2)
	shift := bits.TrailingZeros(count)
	switch isPower := count == 1<<shift; {
	case b.channels == 1:
		for i, sum := range b.sums {
			b.means[i] = uint8((sum + half) * b.reciprocal >> reciprocalBits)
		}
	case isPower:
		half *= one
		for i, sum := range b.sums {
			binary.LittleEndian.PutUint32(b.means[4*i:], packChannels((sum+half)>>shift&everyOther))
		}
	default:
		const pairOf = 0x0000ffff0000ffff
		half |= half << 32
		for i, sum := range b.sums { // each product has 32 bits; the highest 8 bits are the mean
			redGreen := (sum&pairOf + half) * b.reciprocal >> reciprocalBits
			blueAlpha := (sum>>16&pairOf + half) * b.reciprocal >> reciprocalBits
			pixel := redGreen&0xff | redGreen>>24&0xff00 | blueAlpha<<16&0xff0000 | blueAlpha>>8&0xff000000
			binary.LittleEndian.PutUint32(b.means[4*i:], uint32(pixel))
		}
	}
	clear(b.sums)
	b.next.push(b.means)
}

// pixelWeights describes how a pixel of the result is computed: as the weighted mean of up to three neighbouring pixels.
type pixelWeights struct {
	first, last int       // indexes of the first and the last pixel with a weight
	weights     [3]uint64 // weights of the pixel first and of the two pixels after it; the sum of the weights is 256
}

// pixelWeightsOf returns the weights for scaling a row from the length from to the length to. There is one pixelWeights for
// each pixel of the result.
func pixelWeightsOf(from, to int) []pixelWeights {
	shares := make([]pixelWeights, to)
	for i := range shares {
		begin, end := i*from, (i+1)*from // pixel i of the result covers this part of the row; unit: 1/to of a pixel
		s := pixelWeights{first: begin / to, last: (end - 1) / to}
		var covered, counted uint64
		for j := range s.last - s.first + 1 {
			covered += uint64(min(end, (s.first+j+1)*to) - max(begin, (s.first+j)*to))
			total := (256*covered + uint64(from)/2) / uint64(from)
			s.weights[j], counted = total-counted, total
		}
		shares[i] = s
	}
	return shares
}

// blender is the last stage of a scaler. It can lengthen the sides of a picture, or shorten them by less than half.
type blender struct {
	channels     int
	across, down []pixelWeights
	row          []byte    // the current row, followed by two pixels whose weight is zero
	recent       [3][]byte // the latest three rows, already as wide as the result
	seen         int       // number of rows pushed so far
	into         []byte    // the part of the result that is not written yet
}

func newBlender(channels int, size image.Point, into []byte, to image.Point) *blender {
	b := &blender{channels: channels, across: pixelWeightsOf(size.X, to.X), down: pixelWeightsOf(size.Y, to.Y), row: make([]byte, channels*(size.X+2)), into: into}
	for i := range b.recent {
		b.recent[i] = make([]byte, channels*to.X)
	}
	return b
}

func (b *blender) push(row []byte) {
	narrow := b.recent[b.seen%len(b.recent)]
	switch {
	case len(row) == len(narrow):
		copy(narrow, row)
	case b.channels == 1:
		copy(b.row, row)
		for i := range b.across {
			s := &b.across[i]
			p := b.row[s.first:][:3]
			narrow[i] = uint8((uint64(p[0])*s.weights[0] + uint64(p[1])*s.weights[1] + uint64(p[2])*s.weights[2] + 128) >> 8)
		}
	default:
		copy(b.row, row)
		for i := range b.across {
			s := &b.across[i]
			p := b.row[4*s.first:][:12]
			sum := unpackChannels(binary.LittleEndian.Uint32(p))*s.weights[0] +
				unpackChannels(binary.LittleEndian.Uint32(p[4:]))*s.weights[1] +
				unpackChannels(binary.LittleEndian.Uint32(p[8:]))*s.weights[2] + 128*one
			binary.LittleEndian.PutUint32(narrow[4*i:], packChannels(sum>>8&everyOther))
		}
	}
	b.seen++
	for len(b.down) > 0 && b.down[0].last < b.seen {
		b.write(&b.down[0])
		b.down = b.down[1:]
	}
}

// write computes the next row of the result as the weighted mean of the latest rows, and writes it to b.into.
func (b *blender) write(s *pixelWeights) {
	upper, middle, lower := b.recent[s.first%3], b.recent[(s.first+1)%3], b.recent[(s.first+2)%3]
	row := b.into[:len(upper)]
	b.into = b.into[len(upper):]
	w := s.weights
	for len(row) >= 8 {
		u, m, l := binary.LittleEndian.Uint64(upper), binary.LittleEndian.Uint64(middle), binary.LittleEndian.Uint64(lower)
		even := (u&everyOther)*w[0] + (m&everyOther)*w[1] + (l&everyOther)*w[2] + 128*one
		odd := (u>>8&everyOther)*w[0] + (m>>8&everyOther)*w[1] + (l>>8&everyOther)*w[2] + 128*one
		binary.LittleEndian.PutUint64(row, even>>8&everyOther|odd>>8&everyOther<<8)
		upper, middle, lower, row = upper[8:], middle[8:], lower[8:], row[8:]
	}
	for i := range row {
		row[i] = uint8((uint64(upper[i])*w[0] + uint64(middle[i])*w[1] + uint64(lower[i])*w[2] + 128) >> 8)
	}
}
