package picture

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// decodeRows decodes a PNG and scales it row by row, so that the full-size pixels are never all in memory. decodeRows accepts
// the same files as image/png.
func decodeRows(file []byte, h header, to image.Point) (image.Image, error) {
	img, err := decodeChunks(file, h, to)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return img, nil
}

func decodeChunks(file []byte, h header, to image.Point) (image.Image, error) {
	chunks, err := readChunks(file)
	if err != nil {
		return nil, err
	}
	pixels, err := newPNGConverter(file[pngDepth], file[pngColorType], chunks)
	if err != nil {
		return nil, err
	}
	var scaled image.Image
	var into []byte
	if rect := (image.Rectangle{Max: to}); pixels.channels == 1 {
		gray := image.NewGray(rect)
		scaled, into = gray, gray.Pix
	} else {
		rgba := image.NewRGBA(rect)
		scaled, into = rgba, rgba.Pix
	}
	size := image.Point{h.width, h.height}
	rows := rowReader{pixels: pixels, size: size}
	defer rows.close()
	if err := rows.open(chunks.data, file[pngInterlace] != 0); err != nil {
		return nil, err
	}
	s := newScaler(pixels.channels, size, into, to)
	for y := range size.Y {
		row, err := rows.next(y)
		if err != nil {
			return nil, err
		}
		s.push(row)
	}
	return scaled, rows.end()
}

// pngChunks has the contents of the chunks that determine the pixels of a PNG.
type pngChunks struct {
	palette      []byte   // three bytes per color
	transparency []byte   // content of the chunk tRNS; nil if the PNG has no such chunk
	data         [][]byte // contents of the IDAT chunks: the compressed pixels
}

// readChunks reads the chunks after IHDR. It skips chunks that have no effect on the pixels.
func readChunks(file []byte) (pngChunks, error) {
	var c pngChunks
	previous := ""
	for rest := file[pngFirstChunk:]; ; {
		if len(rest) < chunkHead+chunkTail || uint64(len(rest)-chunkHead-chunkTail) < uint64(binary.BigEndian.Uint32(rest)) {
			return c, io.ErrUnexpectedEOF
		}
		end := chunkHead + int(binary.BigEndian.Uint32(rest))
		kind, content := string(rest[4:chunkHead]), rest[chunkHead:end]
		if crc32.ChecksumIEEE(rest[4:end]) != binary.BigEndian.Uint32(rest[end:]) {
			return c, fmt.Errorf("wrong checksum of %q", kind)
		}
		rest = rest[end+chunkTail:]
		isLate := c.data != nil
		switch kind {
		case "PLTE":
			if isLate || c.palette != nil || c.transparency != nil || len(content) == 0 || len(content) > 3*256 || len(content)%3 != 0 {
				return c, fmt.Errorf("unexpected %q", kind)
			}
			c.palette = content
		case "tRNS":
			if isLate || c.transparency != nil {
				return c, fmt.Errorf("unexpected %q", kind)
			}
			c.transparency = content
		case "IDAT":
			if !isLate || previous == kind { // like image/png, ignore IDAT chunks after a gap
				c.data = append(c.data, content)
			}
		case "IEND":
			if len(content) != 0 || !isLate {
				return c, fmt.Errorf("unexpected %q", kind)
			}
			return c, nil
		case "IHDR":
			return c, fmt.Errorf("unexpected %q", kind)
		}
		previous = kind
	}
}

// pngPass is a pass of an interlaced PNG. The pass has the pixels whose column is first.X, first.X+step.X, first.X+2*step.X and
// so on, and whose row is first.Y, first.Y+step.Y and so on.
type pngPass struct{ first, step image.Point }

var (
	onlyPass         = []pngPass{{image.Point{0, 0}, image.Point{1, 1}}}
	interlacedPasses = []pngPass{
		{image.Point{0, 0}, image.Point{8, 8}},
		{image.Point{4, 0}, image.Point{8, 8}},
		{image.Point{0, 4}, image.Point{4, 8}},
		{image.Point{2, 0}, image.Point{4, 4}},
		{image.Point{0, 2}, image.Point{2, 4}},
		{image.Point{1, 0}, image.Point{2, 2}},
		{image.Point{0, 1}, image.Point{1, 2}},
	}
)

// rowReader reads the rows of a PNG, and converts each pixel to 1 or 4 bytes.
type rowReader struct {
	pixels *pngConverter
	size   image.Point
	passes []*passReader
	row    []byte

	done    chan struct{} // closed by the method close to stop the goroutines of readAhead
	running sync.WaitGroup
}

// open prepares the reading of rows. A row of an interlaced PNG consists of pixels from several passes, which are stored one
// after the other. So that no pass has to be held in memory, each pass has its own reader. Each reader inflates the data from
// the start and skips the earlier passes, which about doubles the work.
func (r *rowReader) open(data [][]byte, isInterlaced bool) error {
	passes, before := onlyPass, 0
	if isInterlaced {
		passes = interlacedPasses
	}
	r.row = make([]byte, r.pixels.channels*r.size.X)
	r.done = make(chan struct{})
	for _, pass := range passes {
		width := (r.size.X - pass.first.X + pass.step.X - 1) / pass.step.X
		height := (r.size.Y - pass.first.Y + pass.step.Y - 1) / pass.step.Y
		if width <= 0 || height <= 0 {
			continue
		}
		inflated, err := inflate(concatenate(data))
		if err != nil {
			return err
		}
		length := 1 + (width*r.pixels.bits+7)/8
		if before+length*height > blockSize {
			inflated = r.readAhead(inflated, before)
		} else if _, err := io.CopyN(io.Discard, inflated, int64(before)); err != nil {
			return err
		}
		p := &passReader{pngPass: pass, pixels: r.pixels, from: inflated}
		p.current, p.previous, p.row = make([]byte, length+rowMargin), make([]byte, length+rowMargin), make([]byte, r.pixels.channels*width)
		r.passes = append(r.passes, p)
		before += length * height
	}
	return nil
}

// inflate returns a reader that inflates data in the zlib format (RFC 1950). The reader does not verify the checksum at the end
// of the data, because the checksums of the chunks were verified already.
func inflate(data io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(data, blockSize)
	var head [2]byte
	if _, err := io.ReadFull(buffered, head[:]); err != nil {
		return nil, err
	}
	const deflate, largestWindow, dictionary = 8, 7, 0x20
	if head[0]&0xf != deflate || head[0]>>4 > largestWindow || binary.BigEndian.Uint16(head[:])%31 != 0 || head[1]&dictionary != 0 {
		return nil, zlib.ErrHeader
	}
	return flate.NewReader(buffered), nil
}

func (r *rowReader) close() {
	close(r.done)
	r.running.Wait()
}

// next returns row y of the picture. The returned slice is valid until the next call of next.
func (r *rowReader) next(y int) ([]byte, error) {
	for _, p := range r.passes {
		if y < p.first.Y || (y-p.first.Y)%p.step.Y != 0 {
			continue
		}
		row, err := p.next()
		if err != nil {
			return nil, err
		}
		if p.step.X == 1 {
			return row, nil // the pass has all pixels of this row
		}
		p.spread(r.row, row)
	}
	return r.row, nil
}

// end returns an error if pixel data follows the last row.
func (r *rowReader) end() error {
	last := r.passes[len(r.passes)-1]
	switch n, err := io.ReadFull(last.from, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("too many pixels")
	case err != io.EOF:
		return err
	}
	return nil
}

// passReader reads the rows of a pass.
type passReader struct {
	pngPass
	pixels            *pngConverter
	from              io.Reader
	current, previous []byte // stored rows: a byte that names the filter, and then the pixels
	row               []byte // the current row, converted
}

func (p *passReader) next() ([]byte, error) {
	p.current, p.previous = p.previous, p.current
	end := len(p.current) - rowMargin
	if _, err := io.ReadFull(p.from, p.current[:end]); err != nil {
		return nil, err
	}
	if err := unfilter(p.current[0], p.current[1:end], p.previous[1:end], (p.pixels.bits+7)/8); err != nil {
		return nil, err
	}
	p.pixels.convert(p.row, p.current[1:])
	return p.row, nil
}

// spread copies the pixels of row, which is a row of the pass, to their places in into, which is a row of the picture.
func (p *passReader) spread(into, row []byte) {
	if p.pixels.channels == 1 {
		for i, light := range row {
			into[p.first.X+i*p.step.X] = light
		}
		return
	}
	for x := 4 * p.first.X; len(row) >= 4; x += 4 * p.step.X {
		binary.LittleEndian.PutUint32(into[x:], binary.LittleEndian.Uint32(row))
		row = row[4:]
	}
}

const (
	blockSize   = 32 << 10 // bytes of inflated data in a block of readAhead
	blocksAhead = 4        // maximum number of blocks that readAhead inflates in advance
)

// block has either inflated data or the error that ended the data.
type block struct {
	content []byte
	err     error
}

// readAhead returns a reader of inflated data. It starts a goroutine that inflates the data in advance, so that inflating and
// scaling run at the same time. The first position bytes are skipped.
func (r *rowReader) readAhead(from io.Reader, position int) io.Reader {
	full, empty := make(chan block), make(chan []byte, blocksAhead)
	for range blocksAhead {
		empty <- make([]byte, blockSize)
	}
	r.running.Go(func() {
		defer close(full)
		_, err := io.CopyN(io.Discard, from, int64(position))
		for err == nil {
			var b block
			select {
			case b.content = <-empty:
			case <-r.done:
				return
			}
			var n int
			n, err = io.ReadAtLeast(from, b.content, 1)
			b.content = b.content[:n]
			select {
			case full <- b:
			case <-r.done:
				return
			}
		}
		select {
		case full <- block{err: err}:
		case <-r.done:
		}
	})
	return &aheadReader{full: full, empty: empty}
}

// aheadReader reads the data that a goroutine of readAhead inflates.
type aheadReader struct {
	full  <-chan block
	empty chan<- []byte
	rest  bytes.Reader
	whole []byte // current block; rest is its unread part
	err   error
}

func (r *aheadReader) Read(p []byte) (int, error) {
	for r.rest.Len() == 0 && r.err == nil {
		if r.whole != nil {
			r.empty <- r.whole[:blockSize]
		}
		b := <-r.full
		r.whole, r.err = b.content, b.err
		r.rest.Reset(b.content)
	}
	if r.rest.Len() == 0 {
		return 0, r.err
	}
	return r.rest.Read(p)
}
