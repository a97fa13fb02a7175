package picture

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"

	"mizan/internal/assert"
)

// MaxPixels is the maximum number of pixels of an uploaded picture.
const MaxPixels = 24_000_000

// Errors of Normalize.
var (
	// ErrFormat is returned for a file that is not a complete PNG or JPEG, or that has too many chunks, segments or scans.
	ErrFormat = errors.New("picture: not a complete PNG or JPEG")
	// ErrTooManyPixels is returned for a picture that has more than MaxPixels pixels or a side that is too long, or that needs
	// too much memory to decode.
	ErrTooManyPixels = errors.New("picture: too many pixels")
)

// Picture is a normalized image.
type Picture struct {
	Format        string // "png" or "jpg"
	Width, Height int
	Content       []byte

	// Smaller has an entry for each of the normalizer's smaller bounds: a copy of the picture that fits into the bounds. If the
	// picture itself fits, the entry is nil. The entry is also nil if only the sides of the picture exceed the bounds, and the
	// copy would need at least as many bytes as the picture.
	Smaller []*Picture
}

// Bounds are the largest sides and the longest content that a picture may have.
type Bounds struct {
	Width, Height int // maximum sides in pixels
	Bytes         int // length of the content
}

// Limits of the arguments of NewNormalizer. Within these limits, sums in the scaler don't overflow, and a picture of a single
// pixel always fits into maxBytes.
const (
	leastSide  = 16
	largest    = 4096
	leastBytes = 4096
)

// Normalizer normalizes images, one at a time. It is safe for concurrent use.
type Normalizer struct {
	maxSide, maxBytes int
	smaller           []Bounds
	place             chan struct{} // semaphore: holds one element while a picture is decoded
	garbage           int           // bytes of garbage that pictures left since the last garbage collection; guarded by place
}

// NewNormalizer returns a Normalizer whose pictures have sides of at most maxSide pixels and at most maxBytes bytes of content.
// maxSide must be from 16 to 4096, and maxBytes must be at least 4096. The Normalizer also makes a smaller copy of each picture
// for each of the smaller bounds. The smaller bounds must be given from the largest to the smallest.
func NewNormalizer(maxSide, maxBytes int, smaller ...Bounds) *Normalizer {
	assert.That(leastSide <= maxSide && maxSide <= largest, "maxSide is %d", maxSide)
	assert.That(maxBytes >= leastBytes, "maxBytes is %d", maxBytes)
	for _, b := range smaller {
		assert.That(b.Width >= leastSide && b.Height >= leastSide && b.Bytes >= leastBytes, "smaller bounds are %v", b)
	}
	return &Normalizer{maxSide: maxSide, maxBytes: maxBytes, smaller: smaller, place: make(chan struct{}, 1)}
}

// Normalize returns the normalized picture of an uploaded file. It decodes one picture at a time, so Normalize may have to
// wait. If ctx ends during the wait, Normalize returns the error of ctx. Other errors are ErrFormat and ErrTooManyPixels.
func (n *Normalizer) Normalize(ctx context.Context, file []byte) (Picture, error) {
	if err := ctx.Err(); err != nil { // needed because select chooses at random if the normalizer is free and ctx has ended
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
	// copies is the number of copies of the file in memory. perPixel is the number of bytes that scaling and encoding allocate
	// per pixel of the result.
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

// isWorthCollecting tells whether there is enough garbage for a garbage collection: at least 32 MiB, and at least an eighth of
// the memory in use.
func isWorthCollecting(bytes int) bool {
	const least, share = 32 << 20, 8
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return bytes >= least && uint64(bytes) >= live[0].Value.Uint64()/share
}

// release lets the next caller decode its picture. If pictures have left much garbage, the next caller has to wait for a
// garbage collection. This collection runs in the background, so the present caller need not wait. Without it, Go would collect
// the garbage only when the heap is twice as large as the live memory.
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
