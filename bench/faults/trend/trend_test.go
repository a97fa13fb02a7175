package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

// memory returns samples, one a second, that resemble a server's memory: a sawtooth of the garbage collector with a random period,
// noise in which each value depends on the previous one, and a leak in MiB a second.
func memory(random *rand.Rand, seconds int, leak float64) []Sample {
	const mean, sawtooth, noise, memoryOfNoise = 400, 60, 8, 0.8 // MiB
	period, wandering := 7+40*random.Float64(), 0.0
	samples := make([]Sample, seconds)
	for i := range samples {
		wandering = memoryOfNoise*wandering + noise*random.NormFloat64()
		_, phase := math.Modf(float64(i) / period)
		samples[i] = Sample{At: float64(i), Value: mean + sawtooth*phase + wandering + leak*float64(i)}
	}
	return samples
}

// verdicts returns the number of runs that grow according to Fit.
func verdicts(t *testing.T, runs, seconds int, leak float64) (grown int) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range runs {
		line, err := Fit(memory(random, seconds, leak))
		if err != nil {
			t.Fatal(err)
		}
		if line.Grows(0) {
			grown++
		}
	}
	t.Logf("%d of %d runs grow", grown, runs)
	return grown
}

func TestPlantedLeakIsFound(t *testing.T) {
	const runs = 2_000
	// 0.1 MiB a second are 60 MiB at the end of ten minutes, as much as the sawtooth.
	if found := verdicts(t, runs, 600, 0.1); found < runs*95/100 {
		t.Errorf("found in %d runs of %d", found, runs)
	}
}

func TestNoiseIsNoLeak(t *testing.T) {
	const runs = 10_000
	if found := verdicts(t, runs, 600, 0); found > runs/200 {
		t.Errorf("%d of %d runs grow", found, runs)
	}
}

func TestDecreaseIsNoLeak(t *testing.T) {
	if found := verdicts(t, 1_000, 600, -0.05); found > 0 {
		t.Errorf("%d runs grow", found)
	}
}

func TestAllowedGrowthIsNoLeak(t *testing.T) {
	line, err := Fit(memory(rand.New(rand.NewPCG(1, 1)), 600, 0.2))
	if err != nil {
		t.Fatal(err)
	}
	if !line.Grows(0.05) || line.Grows(0.2) || line.Slope < 0.1 || line.Slope > 0.3 {
		t.Errorf("%+v", line)
	}
	if !line.Resolves(0.2) || line.Resolves(0.001) {
		t.Errorf("%+v: resolves 0.001, or not 0.2", line)
	}
}

func TestExactLineHasItsSlope(t *testing.T) {
	samples := make([]Sample, 100)
	for i := range samples {
		samples[i] = Sample{At: float64(i), Value: 3 + 2*float64(i)}
	}
	line, err := Fit(samples)
	if err != nil || math.Abs(line.Slope-2) > 1e-9 || line.High-line.Low > 1e-6 || line.Length != 99 {
		t.Errorf("%+v, %v", line, err)
	}
}

func TestTooFewSamplesGiveNoVerdict(t *testing.T) {
	if _, err := Fit(memory(rand.New(rand.NewPCG(1, 1)), minSamples-1, 0)); err == nil {
		t.Error("a verdict")
	}
	if _, err := Fit(make([]Sample, minSamples)); err == nil {
		t.Error("a verdict about one position")
	}
}

func TestQuantileIsStudents(t *testing.T) {
	// From a table of Student's distribution, two-sided 99.9%.
	for degrees, want := range map[float64]float64{4: 8.610, 5: 6.869, 10: 4.587, 22: 3.792, 60: 3.460} {
		if got := quantile(degrees); got < want*0.9 || got > want*1.1 {
			t.Errorf("%g degrees: %.3f, want %.3f", degrees, got, want)
		}
	}
}
