package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// pngSpec describes a PNG that image/png can't write.
type pngSpec struct {
	width, height    int
	depth, colorType byte
	interlaced       bool
	chunks           []byte                // between IHDR and IDAT
	pixel            func(x, y int) uint64 // returns the bits of a pixel; nil: all pixels are zero
	filter           func(y int) byte      // returns the filter of row y; nil: no filter
	excess           int                   // number of zero bytes that follow the pixels in the compressed data
}

var channelsOfPNG = map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

func (s pngSpec) file() []byte {
	header := binary.BigEndian.AppendUint32(nil, uint32(s.width))
	header = binary.BigEndian.AppendUint32(header, uint32(s.height))
	header = append(header, s.depth, s.colorType, 0, 0, 0)
	passes := [][4]int{{1, 1, 0, 0}} // step in x and y, first x and y
	if s.interlaced {
		header[12] = 1
		passes = [][4]int{{8, 8, 0, 0}, {8, 8, 4, 0}, {4, 8, 0, 4}, {4, 4, 2, 0}, {2, 4, 0, 2}, {2, 2, 1, 0}, {1, 2, 0, 1}}
	}
	var pixels bytes.Buffer
	deflater, err := zlib.NewWriterLevel(&pixels, zlib.BestSpeed)
	if err != nil {
		panic(err)
	}
	for _, pass := range passes {
		for y := pass[3]; y < s.height; y += pass[1] {
			if row := s.row(y, pass[0], pass[2]); len(row) > 1 {
				_, _ = deflater.Write(row)
			}
		}
	}
	zeros := make([]byte, 1<<16)
	for left := s.excess; left > 0; left -= len(zeros) {
		_, _ = deflater.Write(zeros)
	}
	_ = deflater.Close()
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", header), s.chunks, chunk("IDAT", pixels.Bytes()), chunk("IEND", nil))
}

// row returns a row as it is stored: the byte that names the filter, and the pixels.
func (s pngSpec) row(y, step, first int) []byte {
	width := channelsOfPNG[s.colorType] * int(s.depth)
	count := (s.width - first + step - 1) / step
	row := make([]byte, 1+(count*width+7)/8)
	if s.filter != nil {
		row[0] = s.filter(y)
	}
	if count <= 0 || s.pixel == nil {
		return row
	}
	at := 8
	for x := first; x < s.width; x += step {
		value := s.pixel(x, y)
		for bit := width - 1; bit >= 0; bit-- {
			row[at/8] |= byte(value>>bit&1) << (7 - at%8)
			at++
		}
	}
	return row
}

func chunk(kind string, content []byte) []byte {
	c := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	c = append(append(c, kind...), content...)
	return binary.BigEndian.AppendUint32(c, crc32.ChecksumIEEE(c[4:]))
}

// jpegSpec describes a JPEG of blocks of 8×8 equal pixels, in forms that image/jpeg can't write.
type jpegSpec struct {
	width, height int
	frame         byte                                  // marker: 0xc0 baseline, 0xc2 progressive
	ids, sampling []byte                                // of each component; sampling: horizontal and vertical factor, 4 bits each
	segments      []byte                                // before the frame
	restart       int                                   // units between restart markers; 0 for none
	moreScans     int                                   // number of further scans of the first component, without content
	sample        func(component, column, row int) byte // returns the value of all pixels in a block; nil: blocks are zero
}

var (
	adobeOfRGB = segment(0xee, []byte("Adobe\x00\x64\x00\x00\x00\x00\x00"))
	adobeOfYCC = segment(0xee, []byte("Adobe\x00\x64\x00\x00\x00\x00\x02"))
	jfif       = segment(0xe0, []byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"))
)

func segment(marker byte, content []byte) []byte {
	s := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(content)+2))
	return append(s, content...)
}

func (s jpegSpec) file() []byte {
	count := byte(len(s.ids))
	frame := binary.BigEndian.AppendUint16([]byte{8}, uint16(s.height))
	frame = append(binary.BigEndian.AppendUint16(frame, uint16(s.width)), count)
	scan := []byte{count}
	for i, id := range s.ids {
		frame = append(frame, id, s.sampling[i], 0)
		scan = append(scan, id, 0)
	}
	first, more := append(scan, 0, 63, 0), []byte{1, s.ids[0], 0, 1, 63, 0}
	if s.frame == 0xc2 {
		first[len(first)-2] = 0
	}
	blocks := (s.width + 7) / 8 * ((s.height + 7) / 8)
	file := slices.Concat([]byte{0xff, 0xd8}, s.segments,
		segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{8}, 64)...)),
		segment(s.frame, frame),
		segment(0xc4, []byte{0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
		segment(0xc4, []byte{0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
		segment(0xdd, binary.BigEndian.AppendUint16(nil, uint16(s.restart))),
		segment(0xda, first), s.blocks())
	for range s.moreScans {
		file = append(append(file, segment(0xda, more)...), make([]byte, (blocks+7)/8)...)
	}
	return append(file, 0xff, 0xd9)
}

// separated returns the JPEG in which each component has a scan of its own. All sampling factors must be 1.
func (s jpegSpec) separated() []byte {
	together := s.file()
	file := together[:bytes.Index(together, []byte{0xff, markerSOS})]
	for component, id := range s.ids {
		one := s
		one.ids, one.sampling = []byte{id}, []byte{0x11}
		one.sample = func(_, column, row int) byte { return s.sample(component, column, row) }
		file = slices.Concat(file, segment(markerSOS, []byte{1, id, 0, 0, 63, 0}), one.blocks())
	}
	return append(file, 0xff, markerEOI)
}

// blocks returns the content of the first scan. Each block is coded as its difference from the previous block: four bits with
// the length of the difference, the difference itself, and the end of the block.
func (s jpegSpec) blocks() []byte {
	var out []byte
	var pending uint64
	var have int
	put := func(value uint64, count int) {
		pending, have = pending<<count|value, have+count
		for ; have >= 8; have -= 8 {
			if out = append(out, byte(pending>>(have-8))); out[len(out)-1] == 0xff {
				out = append(out, 0)
			}
		}
	}
	unitWidth, unitHeight := 8*int(s.sampling[0]>>4), 8*int(s.sampling[0]&0xf)
	last := make([]int, len(s.ids))
	units := 0
	for unitRow := range (s.height + unitHeight - 1) / unitHeight {
		for unit := range (s.width + unitWidth - 1) / unitWidth {
			if s.restart > 0 && units > 0 && units%s.restart == 0 {
				put(0x7f, 7)
				have = 0
				out = append(out, 0xff, 0xd0+byte(units/s.restart-1)%8)
				clear(last)
			}
			units++
			for c, sampling := range s.sampling {
				across, down := int(sampling>>4), int(sampling&0xf)
				for i := range across * down {
					level := 0
					if s.sample != nil {
						level = int(s.sample(c, unit*across+i%across, unitRow*down+i/across)) - 128
					}
					difference := level - last[c]
					last[c] = level
					length := bits.Len(uint(max(difference, -difference)))
					put(uint64(length), 4)
					if difference < 0 {
						difference += 1<<length - 1
					}
					put(uint64(difference), length)
					if s.frame != 0xc2 {
						put(0, 1)
					}
				}
			}
		}
	}
	put(0x7f, 7)
	return out
}

// exif returns an EXIF segment that has the orientation and also a text, which must not appear in the result.
func exif(order binary.AppendByteOrder, orientation uint16) []byte {
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	// A TIFF entry with the camera's maker.
	tiff = append(order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, 0x010f), 2), 4), "ACME"...)
	tiff = order.AppendUint16(order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, 0x0112), 3), 1), orientation)
	tiff = append(tiff, 0, 0, 0, 0, 0, 0)
	return segment(0xe1, append([]byte("Exif\x00\x00"), append(tiff, "a secret place"...)...))
}

// inserted returns the file with the segments or chunks in more inserted at the offset at.
func inserted(file []byte, at int, more ...[]byte) []byte {
	return slices.Concat(file[:at], slices.Concat(more...), file[at:])
}

const (
	afterSOI  = 2
	afterIHDR = 33
)

func encodedPNG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var w bytes.Buffer
	if err := png.Encode(&w, img); err != nil {
		tb.Fatal(err)
	}
	return w.Bytes()
}

func encodedJPEG(tb testing.TB, img image.Image, quality int) []byte {
	tb.Helper()
	var w bytes.Buffer
	if err := jpeg.Encode(&w, img, &jpeg.Options{Quality: quality}); err != nil {
		tb.Fatal(err)
	}
	return w.Bytes()
}

// filled returns a picture of one color.
func filled(width, height int, c color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = [4]byte{c.R, c.G, c.B, c.A}[i%4]
	}
	return img
}

// noise returns a picture of random pixels, opaque or with random alpha.
func noise(tb testing.TB, width, height int, opaque bool) *image.NRGBA {
	seed := rand.Uint64()
	tb.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = uint8(random.Uint32())
		if opaque && i%4 == 3 {
			img.Pix[i] = 0xff
		}
	}
	return img
}

// photo returns an opaque picture like a photo: soft shapes with some grain.
func photo(width, height int, grain float64) *image.RGBA {
	random := rand.New(rand.NewPCG(1, 2))
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			light := 128 + 60*math.Sin(float64(x)/97) + 50*math.Cos(float64(y)/61+float64(x)/301) + grain*(random.Float64()-0.5)
			for c := range 3 {
				img.Pix[y*img.Stride+4*x+c] = uint8(max(0, min(255, light+float64(10*c))))
			}
			img.Pix[y*img.Stride+4*x+3] = 0xff
		}
	}
	return img
}

// toGray returns a gray picture whose pixels are the red channel of img.
func toGray(img *image.RGBA) *image.Gray {
	gray := image.NewGray(img.Rect)
	for i := range gray.Pix {
		gray.Pix[i] = img.Pix[4*i]
	}
	return gray
}
