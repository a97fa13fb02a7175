package bench

import (
	"math"
	"slices"
)

// sampleMoments are the statistics of a sample that Welch's t-test uses. The test compares the means of two samples.
type sampleMoments struct {
	n        int
	mean     float64
	variance float64 // estimated variance of the population
}

func sampleMomentsOf(sample []float64) sampleMoments {
	m := sampleMoments{n: len(sample)}
	for _, x := range sample {
		m.mean += x / float64(m.n)
	}
	for _, x := range sample {
		m.variance += (x - m.mean) * (x - m.mean) / float64(m.n-1)
	}
	return m
}

// welch returns the statistic t for two samples with unequal variances: the difference of their means, divided by the
// difference's standard error. If the samples have thousands of values and their populations have the same mean, t is normally
// distributed. Source: B. L. Welch, The generalization of "Student's" problem, Biometrika 34, 1947.
func welch(a, b sampleMoments) float64 {
	difference := a.mean - b.mean
	if difference == 0 {
		return 0
	}
	return difference / math.Sqrt(a.variance/float64(a.n)+b.variance/float64(b.n))
}

// cropSlowest returns the samples without their slowest values, because other work of the machine has delayed these. It removes
// all values above one bound, which is the quantile of all samples together. If each sample had its own bound, this could hide
// that one case is slower than the others.
func cropSlowest(samples [][]float64, quantile float64) [][]float64 {
	sorted := slices.Concat(samples...)
	slices.Sort(sorted)
	bound := sorted[max(0, int(math.Ceil(quantile*float64(len(sorted))))-1)]
	cropped := make([][]float64, len(samples))
	for i, sample := range samples {
		for _, x := range sample {
			if x <= bound {
				cropped[i] = append(cropped[i], x)
			}
		}
	}
	return cropped
}
