package floor

import "slices"

// Measured has the results of one kind of operation: payments, requests to a bare echo server, or lone durable writes (Sync).
type Measured struct {
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
}

// Round has the results of one round of each kind, measured directly one after the other.
type Round struct {
	Payments Measured `json:"payments"`
	Echo     Measured `json:"echo"`
	Sync     Measured `json:"sync"`
}

// Total has the results of all rounds together.
type Total struct {
	Round
	PaymentCPU float64 // seconds of the server's CPU for a payment; 0: unknown
	EchoCPU    float64 // seconds of the echo's CPU for a request; 0: unknown
}

// Ratio has the ratio of the totals of all rounds (Value). It also has the median, the lowest and the highest of the rounds' own
// ratios.
type Ratio struct {
	Value   float64 `json:"value"`
	Median  float64 `json:"median"`
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`
}

// Ratios compare the payments with the floors: echoed requests and lone durable writes.
type Ratios struct {
	PaymentsPerSync Ratio   `json:"payments_per_sync"`          // payments a second ÷ lone fdatasyncs a second
	PaymentsPerEcho Ratio   `json:"payments_per_echo"`          // payments a second ÷ echoed requests a second
	CPUPerEcho      float64 `json:"cpu_per_echo_cpu,omitempty"` // the server's CPU for a payment ÷ the echo's for a request
	P50PerSync      Ratio   `json:"p50_per_sync_p50"`           // median latency of a payment ÷ that of a lone fdatasync
}

// Compare computes the ratios. A ratio whose divisor is 0 is 0.
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
