package picturetest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gen2brain/jpegn"
)

// MaxUpload is the maximum number of bytes in an uploaded picture.
const MaxUpload = 5 << 20

// Upload is a picture that is about as expensive to decode as the limits of uploads allow.
type Upload struct {
	Name string
	File []byte // at most MaxUpload bytes
}

// Uploads returns one picture of each kind that is expensive to decode. Each file has nearly MaxUpload bytes. The pictures
// are like photographs and drawings: they have soft shapes, edges, grain, and lettering.
func Uploads(tb testing.TB) []Upload {
	tb.Helper()
	uploads := makeUploads()
	for _, u := range uploads {
		if len(u.File) > MaxUpload || len(u.File) < MaxUpload*3/4 {
			tb.Fatalf("%s has %d bytes", u.Name, len(u.File))
		}
	}
	return uploads
}

var makeUploads = sync.OnceValue(func() []Upload {
	phone, camera, largest := photograph(4000, 3000), photograph(5472, 3648), photograph(6000, 4000)
	full := &jpegn.EncodeOptions{Subsampling: jpegn.Subsample444}
	small := photograph(2048, 1700)
	large := func(form pngForm, lettering int) []byte {
		return encodePNG(drawing(6000, 4000, lettering, form.alpha), form)
	}
	return []Upload{
		{"JPEG, 12 million", largestJPEG(phone, new(jpegn.EncodeOptions))},
		{"JPEG, 20 million", largestJPEG(camera, new(jpegn.EncodeOptions))},
		{"JPEG, 24 million", largestJPEG(largest, new(jpegn.EncodeOptions))},
		{"JPEG 4:4:4, 24 million", largestJPEG(largest, full)},
		{"JPEG turned by its EXIF, 12 million", turnedJPEG(largestJPEG(phone, new(jpegn.EncodeOptions)))},
		{"JPEG progressive, 12 million", largestJPEG(phone, &jpegn.EncodeOptions{Progressive: true})},
		{"JPEG RGB, 12 million", rgbJPEG(largestJPEG(phone, full))},
		{"PNG photograph, 3.5 million", encodePNG(small, pngForm{})},
		{"PNG photograph with alpha, 3.5 million", encodePNG(withHole(small), pngForm{alpha: true})},
		{"PNG, 24 million", large(pngForm{}, 7)},
		{"PNG with alpha, 24 million", large(pngForm{alpha: true}, 6)},
		{"PNG of 16 bits, 24 million", large(pngForm{deep: true}, 5)},
		{"PNG interlaced, 24 million", large(pngForm{interlaced: true}, 4)},
		{"PNG interlaced of 16 bits with alpha, 24 million", large(pngForm{alpha: true, deep: true, interlaced: true}, 2)},
	}
})

// photograph returns an opaque picture that resembles a photograph: it has large and small details, edges and grain.
func photograph(width, height int) *image.RGBA {
	random := rand.New(rand.NewPCG(1, 2))
	light, tint := make([]float32, width*height), make([]float32, width*height)
	for cell := 512; cell >= 2; cell /= 2 {
		strength := float32(90 * math.Pow(float64(cell)/512, 0.8))
		addNoise(light, width, cell, strength, random)
		if cell >= 16 {
			addNoise(tint, width, cell, strength/2, random)
		}
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range light {
		x, y := i%width, i/width
		level := 128 + light[i] + 12*(random.Float32()-0.5)
		if (x/331+y/277)%3 == 0 {
			level += 25
		}
		for c, share := range []float32{1, 0, -1} {
			img.Pix[4*i+c] = uint8(max(0, min(255, level+share*tint[i])))
		}
		img.Pix[4*i+3] = 0xff
	}
	return img
}

// addNoise adds random values to the pixels in into. It divides the picture into squares with sides of cell pixels, chooses a
// value for each corner of a square, and interpolates between the corners.
func addNoise(into []float32, width, cell int, strength float32, random *rand.Rand) {
	height := len(into) / width
	columns := width/cell + 2
	corners := make([]float32, columns*(height/cell+2))
	for i := range corners {
		corners[i] = (random.Float32() - 0.5) * strength
	}
	for y := range height {
		upper, down := corners[y/cell*columns:], float32(y%cell)/float32(cell)
		lower := upper[columns:]
		for x := range width {
			column, right := x/cell, float32(x%cell)/float32(cell)
			above := upper[column]*(1-right) + upper[column+1]*right
			below := lower[column]*(1-right) + lower[column+1]*right
			into[y*width+x] += above*(1-down) + below*down
		}
	}
}

// drawing returns a picture that consists of areas with few colours. Out of ten areas, lettering areas have letters. If
// hasAlpha is true, a fifth of the picture is half transparent.
func drawing(width, height, lettering int, hasAlpha bool) *image.RGBA {
	const cell, alpha = 8, 0x80
	areas := photograph(width/cell, height/cell)
	random := rand.New(rand.NewPCG(3, 4))
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			pixel := img.Pix[img.PixOffset(x, y):][:4]
			for c, level := range areas.Pix[areas.PixOffset(x/cell, y/cell):][:3] {
				pixel[c] = level &^ 15
			}
			if isText := (x/240+y/160)%10 < lettering && y%16 > 3 && x%8 > 1; isText && random.Uint32()>>30 == 0 {
				copy(pixel, []byte{0x20, 0x20, 0x20})
			}
			pixel[3] = 0xff
			if hasAlpha && (x/500+y/400)%5 == 0 {
				pixel[3] = alpha
				for c := range 3 {
					pixel[c] = uint8(int(pixel[c]) * alpha / 255)
				}
			}
		}
	}
	return img
}

// withHole returns a picture with a transparent corner.
func withHole(img *image.RGBA) *image.RGBA {
	hollow := &image.RGBA{Pix: bytes.Clone(img.Pix), Stride: img.Stride, Rect: img.Rect}
	for y := range 200 {
		clear(hollow.Pix[y*hollow.Stride:][:4*200])
	}
	return hollow
}

// largestJPEG returns the JPEG with the highest quality at which the file has at most MaxUpload bytes.
func largestJPEG(img image.Image, options *jpegn.EncodeOptions) (largest []byte) {
	lowest, highest := 1, 100
	for lowest <= highest {
		var w bytes.Buffer
		options.Quality = (lowest + highest) / 2
		if err := jpegn.Encode(&w, img, options); err != nil {
			panic(err)
		}
		if w.Len() <= MaxUpload-100 {
			largest, lowest = w.Bytes(), options.Quality+1
		} else {
			highest = options.Quality - 1
		}
	}
	return largest
}

const jfifEnd = 20 // files of jpegn begin with a JFIF segment, which ends at this offset

// turnedJPEG adds an EXIF block to a JPEG. The EXIF block says that viewers must turn the picture clockwise.
func turnedJPEG(file []byte) []byte {
	exif := "\xff\xd8\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	return append([]byte(exif), file[jfifEnd:]...)
}

// rgbJPEG renames the components of a JPEG in 4:4:4 to R, G and B, so that decoders treat it as RGB.
func rgbJPEG(file []byte) []byte {
	renamed := append([]byte("\xff\xd8"), file[jfifEnd:]...)
	frame, scan := bytes.Index(renamed, []byte("\xff\xc0\x00\x11")), bytes.Index(renamed, []byte("\xff\xda\x00\x0c"))
	for i, name := range []byte("RGB") {
		renamed[frame+10+3*i], renamed[scan+5+2*i] = name, name
	}
	return renamed
}

// pngForm describes how a PNG stores its pixels.
type pngForm struct{ alpha, deep, interlaced bool }

// encodePNG encodes a picture in the given form. It supports forms that image/png does not write for an RGBA picture: 16 bits
// per sample, interlaced passes, and alpha in an opaque picture.
func encodePNG(img *image.RGBA, form pngForm) []byte {
	var file bytes.Buffer
	if !form.alpha && !form.deep && !form.interlaced {
		if err := png.Encode(&file, img); err != nil {
			panic(err)
		}
		return file.Bytes()
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(img.Rect.Dx()))
	header = append(binary.BigEndian.AppendUint32(header, uint32(img.Rect.Dy())), 8, 2, 0, 0, 0)
	if form.deep {
		header[8] = 16
	}
	if form.alpha {
		header[9] = 6
	}
	passes := [][4]int{{0, 0, 1, 1}}
	if form.interlaced {
		header[12] = 1
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	var data bytes.Buffer
	deflater := zlib.NewWriter(&data)
	for _, pass := range passes {
		var above []byte
		for y := pass[1]; y < img.Rect.Dy(); y += pass[3] {
			row := form.row(img, y, pass[0], pass[2])
			filtered := append([]byte{2}, row...) // filter 2: subtract the row above from each row
			for i := range above {
				filtered[1+i] -= above[i]
			}
			_, _ = deflater.Write(filtered)
			above = row
		}
	}
	_ = deflater.Close()
	file.WriteString("\x89PNG\r\n\x1a\n")
	for _, chunk := range []struct {
		kind    string
		content []byte
	}{{"IHDR", header}, {"IDAT", data.Bytes()}, {"IEND", nil}} {
		_ = binary.Write(&file, binary.BigEndian, uint32(len(chunk.content)))
		checked := append([]byte(chunk.kind), chunk.content...)
		file.Write(checked)
		_ = binary.Write(&file, binary.BigEndian, crc32.ChecksumIEEE(checked))
	}
	return file.Bytes()
}

// row returns the pixels first, first+step, first+2*step and so on of row y, as a PNG stores them.
func (form pngForm) row(img *image.RGBA, y, first, step int) (row []byte) {
	channels := 3
	if form.alpha {
		channels = 4
	}
	for x := first; x < img.Rect.Dx(); x += step {
		pixel := color.NRGBAModel.Convert(img.RGBAAt(x, y)).(color.NRGBA)
		for _, level := range []uint8{pixel.R, pixel.G, pixel.B, pixel.A}[:channels] {
			row = append(row, level)
			if form.deep {
				row = append(row, level)
			}
		}
	}
	return row
}
