package bench

import (
	"math"
	"slices"
)

// moments are the statistics of a sample that Welch's t-test uses, a test of whether two samples have the same mean.
type moments struct {
	n        int
	mean     float64
	variance float64 // estimated variance of the population
}

func momentsOf(sample []float64) moments {
	m := moments{n: len(sample)}
	for _, x := range sample {
		m.mean += x / float64(m.n)
	}
	for _, x := range sample {
		m.variance += (x - m.mean) * (x - m.mean) / float64(m.n-1)
	}
	return m
}

// welch returns the statistic t of two samples with unequal variances (B. L. Welch, The
// generalization of "Student's" problem, Biometrika 34, 1947): the difference of their means
// divided by its standard error. With thousands of samples it is normally distributed if the
// means are equal.
func welch(a, b moments) float64 {
	difference := a.mean - b.mean
	if difference == 0 {
		return 0
	}
	return difference / math.Sqrt(a.variance/float64(a.n)+b.variance/float64(b.n))
}

// cropSlowest removes from each sample the values above the quantile of all samples together, because other
// work of the machine delayed the slowest requests. All samples have the same bound, because a bound for each
// sample could hide a slower case.
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
