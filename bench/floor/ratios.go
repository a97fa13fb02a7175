package floor

import "slices"

// Measured is the result for one kind of operation: payments, requests to a bare echo server, or single durable writes (Sync).
type Measured struct {
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
}

// Round is the result of one round, in which the three kinds of operation are measured directly one after the other.
type Round struct {
	Payments Measured `json:"payments"`
	Echo     Measured `json:"echo"`
	Sync     Measured `json:"sync"`
}

// Total is the result of all rounds together.
type Total struct {
	Round
	PaymentCPU float64 // the server's CPU time for one payment, in seconds; 0 if unknown
	EchoCPU    float64 // the echo server's CPU time for one request, in seconds; 0 if unknown
}

// Ratio is a ratio of two measured values. Value is computed from the totals of all rounds. Median, Lowest and Highest are
// computed from the ratios of the single rounds.
type Ratio struct {
	Value   float64 `json:"value"`
	Median  float64 `json:"median"`
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`
}

// Ratios compare payments with two simpler operations: a request to a bare echo server, and a single durable write. No payment
// can be faster than these.
type Ratios struct {
	PaymentsPerSync Ratio   `json:"payments_per_sync"`          // payments a second ÷ single fdatasyncs a second
	PaymentsPerEcho Ratio   `json:"payments_per_echo"`          // payments a second ÷ echoed requests a second
	CPUPerEcho      float64 `json:"cpu_per_echo_cpu,omitempty"` // CPU time of a payment ÷ CPU time of an echoed request
	P50PerSync      Ratio   `json:"p50_per_sync_p50"`           // median latency of a payment ÷ that of a single fdatasync
}

// Compare computes the ratios. If the divisor of a ratio is 0, the ratio is 0.
func Compare(total Total, rounds []Round) Ratios {
	ratio := func(of func(*Round) (float64, float64)) Ratio {
		r := Ratio{Value: quotient(of(&total.Round))}
		if len(rounds) == 0 {
			return r
		}
		ofRounds := make([]float64, 0, len(rounds))
		for i := range rounds {
			ofRounds = append(ofRounds, quotient(of(&rounds[i])))
		}
		slices.Sort(ofRounds)
		n := len(ofRounds)
		r.Lowest, r.Median, r.Highest = ofRounds[0], (ofRounds[(n-1)/2]+ofRounds[n/2])/2, ofRounds[n-1]
		return r
	}
	return Ratios{
		PaymentsPerSync: ratio(func(r *Round) (float64, float64) { return r.Payments.PerSecond, r.Sync.PerSecond }),
		PaymentsPerEcho: ratio(func(r *Round) (float64, float64) { return r.Payments.PerSecond, r.Echo.PerSecond }),
		CPUPerEcho:      quotient(total.PaymentCPU, total.EchoCPU),
		P50PerSync:      ratio(func(r *Round) (float64, float64) { return r.Payments.P50, r.Sync.P50 }),
	}
}

func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
