package bench

import (
	"math"
	"slices"
	"testing"
)

// Samples from a common example of Welch's test. Another program has computed their t, -2.455356.
var (
	sampleA = []float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4}
	sampleB = []float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4}
)

func TestWelchComputesKnownValues(t *testing.T) {
	a, b := sampleMomentsOf(sampleA), sampleMomentsOf(sampleB)
	if math.Abs(a.mean-20.82) > 1e-9 || a.n != 15 {
		t.Errorf("%+v", a)
	}
	if got := welch(a, b); math.Abs(got+2.455356398) > 1e-6 {
		t.Errorf("t = %v, want -2.455356", got)
	}
	if got := welch(b, a); math.Abs(got-2.455356398) > 1e-6 {
		t.Errorf("with the samples exchanged: %v, want 2.455356", got)
	}
	if got := welch(a, a); got != 0 {
		t.Errorf("of a sample and itself: %v", got)
	}
	constant := sampleMomentsOf([]float64{1, 1, 1})
	if got := welch(constant, constant); got != 0 {
		t.Errorf("of a sample of equal values: %v", got)
	}
	if got := welch(constant, sampleMomentsOf([]float64{2, 2, 2})); !math.IsInf(got, -1) {
		t.Errorf("of two constants: %v", got)
	}
}

func TestCropHasOneBoundForAllSamples(t *testing.T) {
	slow, fast := []float64{1, 50, 60, 70, 80}, []float64{1, 2, 3, 4, 5}
	got := cropSlowest([][]float64{slow, fast}, 0.8)
	if want := []float64{1, 50, 60}; !slices.Equal(got[0], want) {
		t.Errorf("the slow one keeps %v, want %v", got[0], want)
	}
	if !slices.Equal(got[1], fast) {
		t.Errorf("the fast one keeps %v", got[1])
	}
}

func TestCropKeepsValuesAtTheBound(t *testing.T) {
	for _, c := range []struct {
		quantile float64
		want     []float64
	}{{1, []float64{1, 2, 2, 3}}, {0.75, []float64{1, 2, 2}}, {0.5, []float64{1, 2, 2}}, {0.25, []float64{1}}, {0, []float64{1}}} {
		if got := cropSlowest([][]float64{{1, 2, 2, 3}}, c.quantile); !slices.Equal(got[0], c.want) {
			t.Errorf("at %v: %v, want %v", c.quantile, got[0], c.want)
		}
	}
}

func TestVerdictNamesThePairThatDiffers(t *testing.T) {
	var report AccessReport
	report.compare([]string{"one", "two", "three"}, [][]float64{repeat(sampleA, 100), repeat(sampleA, 100), repeat(sampleB, 100)})
	if report.LargestT < 20 || report.Pair != [2]string{"one", "three"} && report.Pair != [2]string{"two", "three"} {
		t.Errorf("%v at %v", report.LargestT, report.Pair)
	}
	if report.T[0][1] != 0 || report.T[0][2] >= 0 || report.T[2][0] != -report.T[0][2] {
		t.Errorf("%v", report.T)
	}
	if err := report.err(); err == nil {
		t.Error("different cases count as equal")
	}
	report.compare([]string{"one", "two"}, [][]float64{repeat(sampleA, 100), repeat(sampleA, 100)})
	if err := report.err(); err != nil || report.LargestT != 0 {
		t.Errorf("%v, %v", err, report.LargestT)
	}
}

func repeat(sample []float64, times int) (values []float64) {
	for range times {
		values = append(values, sample...)
	}
	return values
}
