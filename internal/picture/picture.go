package picture

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"

	"mizan/internal/assert"
)

// MaxPixels is the maximum number of pixels of a file.
const MaxPixels = 24_000_000

// Errors of Normalize.
var (
	// ErrFormat refuses a file that is not a complete PNG or JPEG.
	ErrFormat = errors.New("picture: not a complete PNG or JPEG")
	// ErrTooManyPixels refuses a picture that has too many pixels for its kind.
	ErrTooManyPixels = errors.New("picture: too many pixels")
)

// Picture is a normalized image.
type Picture struct {
	Format        string // "png" or "jpg"
	Width, Height int
	Content       []byte

	// Smaller has a form of the picture for each of the normalizer's smaller bounds. A form is nil if the picture itself is
	// within the bounds. A form is also nil if the picture's content is within the bounds, only its sides are not, and the
	// form's content would not be shorter.
	Smaller []*Picture
}

// Bounds are the largest sides and the longest content that a picture may have.
type Bounds struct {
	Width, Height int // maximum sides in pixels
	Bytes         int // length of the content
}

// Limits of the arguments of NewNormalizer. Within these limits, sums in the scaler don't overflow, and the encoding of a
// picture of one pixel always fits into maxBytes.
const (
	leastSide  = 16
	largest    = 4096
	leastBytes = 4096
)

// Normalizer normalizes images, one at a time. It is safe for concurrent use.
type Normalizer struct {
	maxSide, maxBytes int
	smaller           []Bounds
	place             chan struct{} // full while a picture is decoded
	garbage           int           // bytes of garbage from pictures since the last garbage collection; guarded by place
}

// NewNormalizer returns a Normalizer. Its pictures have sides of at most maxSide pixels (16 to 4096) and at most maxBytes
// bytes of content (at least 4096). It also makes a form of each picture for each of the smaller bounds, which must be given
// from the largest to the smallest.
func NewNormalizer(maxSide, maxBytes int, smaller ...Bounds) *Normalizer {
	assert.That(leastSide <= maxSide && maxSide <= largest, "maxSide is %d", maxSide)
	assert.That(maxBytes >= leastBytes, "maxBytes is %d", maxBytes)
	for _, b := range smaller {
		assert.That(b.Width >= leastSide && b.Height >= leastSide && b.Bytes >= leastBytes, "smaller bounds are %v", b)
	}
	return &Normalizer{maxSide: maxSide, maxBytes: maxBytes, smaller: smaller, place: make(chan struct{}, 1)}
}

// Normalize returns the normalized picture of an uploaded file. The error is ErrFormat, ErrTooManyPixels, or the error of ctx
// if ctx ended before the normalizer was free.
func (n *Normalizer) Normalize(ctx context.Context, file []byte) (Picture, error) {
	if err := ctx.Err(); err != nil { // if the normalizer is free and ctx has ended, the select may choose either case
		return Picture{}, err
	}
	select {
	case n.place <- struct{}{}:
	case <-ctx.Done():
		return Picture{}, ctx.Err()
	}
	garbage := len(file)
	defer func() { n.release(garbage) }()
	h, err := readHeader(file, n.maxSide)
	if err != nil {
		return Picture{}, err
	}
	width, height := fit(h.width, h.height, n.maxSide)
	// copies is how often the file is in memory. perPixel is the number of bytes per pixel of the result while it is scaled
	// and encoded.
	const copies, perPixel = 3, 8
	garbage = h.memory + copies*len(file) + perPixel*width*height
	for _, b := range n.smaller {
		garbage += perPixel * b.Width * b.Height
	}
	isLarge := isWorthCollecting(h.memory)
	if isLarge {
		runtime.GC() // collects the garbage of other uploads
	}
	img, err := decode(h, file, width, height)
	if err != nil {
		return Picture{}, err
	}
	p, img := encode(orient(img, h.orientation), h.format, n.maxBytes)
	if isLarge && len(n.smaller) > 0 {
		runtime.GC() // collects the garbage of decoding
	}
	p.Smaller = n.makeSmaller(&p, img)
	return p, nil
}

// isWorthCollecting tells whether the given number of bytes of garbage is worth a garbage collection: at least 32 MiB,
// and at least an eighth of the memory in use.
func isWorthCollecting(bytes int) bool {
	const least, share = 32 << 20, 8
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return bytes >= least && uint64(bytes) >= live[0].Value.Uint64()/share
}

// release lets the next caller decode its picture. If pictures have left much garbage, a garbage collection runs first, in
// the background, so the present caller does not wait for it. Without this collection, Go's garbage collector would wait
// until the heap is twice as large as the live memory.
func (n *Normalizer) release(garbage int) {
	n.garbage += garbage
	if !isWorthCollecting(n.garbage) {
		<-n.place
		return
	}
	n.garbage = 0
	go func() {
		runtime.GC()
		<-n.place
	}()
}
