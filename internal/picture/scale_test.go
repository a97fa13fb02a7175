package picture

import (
	"bytes"
	"image"
	"math"
	"math/rand/v2"
	"testing"
)

func TestBoxesAreAveraged(t *testing.T) {
	img := &image.Gray{Stride: 6, Rect: image.Rect(0, 0, 5, 3), Pix: []byte{
		10, 20, 30, 50, 7, 99,
		30, 40, 50, 70, 9, 99,
		1, 2, 9, 10, 200,
	}}
	// The picture has three boxes, which are scaled to two pixels. Each pixel takes half of the middle box.
	got := scale(img, 2, 1).(*image.Gray)
	if want := []byte{24, 60}; !bytes.Equal(got.Pix, want) {
		t.Errorf("averages %v, want %v", got.Pix, want)
	}
	four := &image.Gray{Stride: 4, Rect: image.Rect(0, 0, 4, 2), Pix: []byte{10, 20, 30, 50, 30, 40, 50, 70}}
	if got, want := scale(four, 2, 1).(*image.Gray).Pix, []byte{25, 50}; !bytes.Equal(got, want) {
		t.Errorf("averages %v, want %v", got, want)
	}
}

// Each pixel of a result is compared with the mean of the pixels that it covers, computed in another way. At the right
// and lower edge, the last pixels of a picture count as if they were repeated to the end of the last box.
func TestScaledPixelsAreMeans(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		size := image.Point{1 + random.IntN(90), 1 + random.IntN(90)}
		to := image.Point{size.X/15 + 1 + random.IntN(size.X), size.Y/15 + 1 + random.IntN(size.Y)}
		if random.IntN(8) == 0 {
			// The result may also be larger than the picture, as happens to planes of colors.
			to = image.Point{100 + random.IntN(20), 100 + random.IntN(20)}
		}
		channels := 1 + 3*random.IntN(2)
		pix, into := make([]byte, channels*size.X*size.Y), make([]byte, channels*to.X*to.Y)
		for i := range pix {
			pix[i] = uint8(random.Uint32())
		}
		s := newScaler(channels, size, into, to)
		for y := range size.Y {
			s.push(pix[channels*size.X*y:][:channels*size.X])
		}
		at := func(x, y, c int) float64 {
			return float64(pix[channels*(size.X*min(y, size.Y-1)+min(x, size.X-1))+c])
		}
		for i, got := range into {
			x, y, c := i/channels%to.X, i/channels/to.X, i%channels
			if want := mean(at, covered(size.X, to.X, x), covered(size.Y, to.Y, y), c); math.Abs(float64(got)-want) > 3 {
				t.Fatalf("%v to %v: pixel %d,%d is %v, want %.1f", size, to, x, y, got, want)
			}
		}
	}
}

// covered returns the weight of each pixel in the scaled pixel i, when a row of from pixels is scaled to a row of to pixels.
// All pixels of a box have the same weight.
func covered(from, to, i int) map[int]float64 {
	box := boxSide(from, to)
	width := float64((from+box-1)/box) / float64(to) // of a scaled pixel, in boxes
	shares := make(map[int]float64)
	for begin, end := float64(i)*width, float64(i+1)*width; begin < end-1e-9; {
		next := math.Min(end, math.Floor(begin+1e-9)+1)
		for pixel := range box {
			shares[int(begin+1e-9)*box+pixel] += (next - begin) / width / float64(box)
		}
		begin = next
	}
	return shares
}

func mean(at func(x, y, c int) float64, across, down map[int]float64, c int) (sum float64) {
	for x, width := range across {
		for y, height := range down {
			sum += width * height * at(x, y, c)
		}
	}
	return sum
}
