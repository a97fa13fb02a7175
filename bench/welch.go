package bench

import (
	"math"
	"slices"
)

// moments are what Welch's t-test needs of a sample.
type moments struct {
	n        int
	mean     float64
	variance float64 // of the population that the sample is from
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

// welch is the statistic t of two samples of unequal variances (B. L. Welch, The
// generalization of "Student's" problem, Biometrika 34, 1947): the difference of
// their means in units of its own standard error. With thousands of samples it
// is normally distributed where the means are the same.
func welch(a, b moments) float64 {
	difference := a.mean - b.mean
	if difference == 0 {
		return 0
	}
	return difference / math.Sqrt(a.variance/float64(a.n)+b.variance/float64(b.n))
}

// crop removes from each sample what is above the quantile of all samples
// together: the slowest are those that something else has held up. One bound for
// all of them keeps a case from hiding that it is slower.
func crop(samples [][]float64, quantile float64) [][]float64 {
	all := slices.Concat(samples...)
	slices.Sort(all)
	bound := all[max(0, int(math.Ceil(quantile*float64(len(all))))-1)]
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
