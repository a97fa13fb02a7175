package trend

import (
	"fmt"
	"math"
)

const (
	// blocks is the number of blocks into which samples are averaged.
	blocks = 24

	// minSamples is the smallest number of samples for which there is a verdict.
	minSamples = 2 * blocks

	// confidence is the probability with which the true slope lies between the bounds. In one run of a thousand the true slope
	// is outside the bounds.
	confidence = 0.999
)

// Sample is a measured value at a position: a time, or a number of requests.
type Sample struct{ At, Value float64 }

// Line is a straight line through samples. The unit of Slope, Low and High is the unit of the samples' values divided by the
// unit of their positions.
type Line struct {
	Slope, Low, High float64 // the slope and its confidence bounds
	Mean             float64 // of the values
	Length           float64 // from the first position to the last
}

// Fit returns the line through samples. The samples must be in the order of their positions.
func Fit(samples []Sample) (Line, error) {
	if len(samples) < minSamples {
		return Line{}, fmt.Errorf("trend: %d samples, at least %d are needed", len(samples), minSamples)
	}
	means := blockMeans(samples)
	slope, intercept, spread := leastSquares(means)
	if spread == 0 {
		return Line{}, fmt.Errorf("trend: all samples are at one position")
	}
	residuals := make([]float64, len(means))
	sum, mean := 0.0, 0.0
	for i, m := range means {
		residuals[i] = m.Value - intercept - slope*m.At
		sum += residuals[i] * residuals[i]
		mean += m.Value / float64(len(means))
	}
	n := float64(len(means))
	// If the correlation of each block with the next one is r, n blocks tell as much as n(1-r)/(1+r) independent blocks.
	r := min(max(correlation(residuals), 0), 0.9)
	effective := max(n*(1-r)/(1+r), 6)
	standardError := math.Sqrt(sum / (n - 2) / spread * n / effective)
	width := quantile(effective-2) * standardError
	return Line{Slope: slope, Low: slope - width, High: slope + width, Mean: mean, Length: samples[len(samples)-1].At - samples[0].At}, nil
}

// blockMeans averages samples in blocks of equal numbers of samples.
func blockMeans(samples []Sample) []Sample {
	means := make([]Sample, blocks)
	for i := range means {
		from, to := i*len(samples)/blocks, (i+1)*len(samples)/blocks
		for _, s := range samples[from:to] {
			means[i].At += s.At / float64(to-from)
			means[i].Value += s.Value / float64(to-from)
		}
	}
	return means
}

// leastSquares returns the line of least squares, and the sum of the squared distances of the positions from their mean.
func leastSquares(samples []Sample) (slope, intercept, spread float64) {
	n := float64(len(samples))
	var at, value float64
	for _, s := range samples {
		at += s.At / n
		value += s.Value / n
	}
	var product float64
	for _, s := range samples {
		spread += (s.At - at) * (s.At - at)
		product += (s.At - at) * (s.Value - value)
	}
	if spread == 0 {
		return 0, value, 0
	}
	slope = product / spread
	return slope, value - slope*at, spread
}

// correlation returns the correlation of each residual with the next one. Even if the values are independent, the residuals of
// a line through n points have a negative correlation on average; the term 3/n corrects this.
func correlation(residuals []float64) float64 {
	var product, square float64
	for i, r := range residuals {
		square += r * r
		if i > 0 {
			product += r * residuals[i-1]
		}
	}
	if square == 0 {
		return 0
	}
	return product/square + 3/float64(len(residuals))
}

// quantile returns the quantile of Student's t-distribution for the probability in the constant confidence. degrees is the
// number of degrees of freedom. The quantile is computed with the expansion of Cornish and Fisher. With at least four degrees
// of freedom, its error is less than a tenth of the quantile.
func quantile(degrees float64) float64 {
	z := math.Sqrt2 * math.Erfinv(confidence)
	g1 := (math.Pow(z, 3) + z) / 4
	g2 := (5*math.Pow(z, 5) + 16*math.Pow(z, 3) + 3*z) / 96
	g3 := (3*math.Pow(z, 7) + 19*math.Pow(z, 5) + 17*math.Pow(z, 3) - 15*z) / 384
	return z + g1/degrees + g2/(degrees*degrees) + g3/(degrees*degrees*degrees)
}

// Grows tells whether the value certainly grows by more than the allowed amount for each unit of the position.
func (l Line) Grows(allowed float64) bool { return l.Low > allowed }

// Resolves tells whether the bounds are narrow enough to notice the given growth for each unit of the position.
func (l Line) Resolves(growth float64) bool { return (l.High-l.Low)/2 < growth }
