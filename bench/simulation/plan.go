package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// Plan determines the rounds and faults of one world. It follows from a seed. Shrink shortens a failing plan.
type Plan struct {
	Seed   uint64  `json:"seed"`
	Manual bool    `json:"manual,omitempty"` // the business clock moves only when a request moves it
	Faults Faults  `json:"faults,omitzero"`
	Rounds []Round `json:"rounds"`
}

// Round is the life of one process: it starts, works and ends.
type Round struct {
	Seed  uint64 `json:"seed"`
	Steps int    `json:"steps"` // decisions of the scheduler before the end
	End   End    `json:"end"`
}

// End is how a process ends.
type End uint8

// The ends.
const (
	Kill     End = iota // the process is killed, the machine keeps running: no write is lost
	PowerCut            // writes that were not synced are lost, torn or reordered
	Stop                // the process is stopped as an operator does it
	ends
)

var endNames = [ends]string{"kill", "power cut", "stop"}

// String returns the name of the end.
func (e End) String() string { return endNames[e] }

// Faults select the kinds of faults that may occur, in addition to the ends of processes.
type Faults struct {
	SyncFails   bool `json:"sync_fails,omitempty"`   // a sync fails, and its writes are durable or not
	SlowDisk    bool `json:"slow_disk,omitempty"`    // a sync takes long
	FullDisk    bool `json:"full_disk,omitempty"`    // no file can be created for a while
	LostCalls   bool `json:"lost_calls,omitempty"`   // a request to the provider, or its answer, is lost
	TwiceCalls  bool `json:"twice_calls,omitempty"`  // a request reaches the provider twice
	Receivers   bool `json:"receivers,omitempty"`    // merchants' servers fail, hang and lose answers
	Flips       bool `json:"flips,omitempty"`        // a power cut flips bits of writes that were not synced
	Misdirects  bool `json:"misdirects,omitempty"`   // a power cut moves writes that were not synced to another place of the file
	CrashStarts bool `json:"crash_starts,omitempty"` // the process ends while it starts
	Leaps       bool `json:"leaps,omitempty"`        // the business clock leaps
	Overflows   bool `json:"overflows,omitempty"`    // the writer's queue is short, and many clients send the same create at once
}

// NewPlan returns the plan of a seed.
func NewPlan(seed uint64) Plan {
	random := rand.New(rand.NewPCG(seed, 0))
	chance := func(p float64) bool { return random.Float64() < p }
	p := Plan{Seed: seed, Manual: chance(0.5), Faults: Faults{
		SyncFails: chance(0.3), SlowDisk: chance(0.5), FullDisk: chance(0.2), LostCalls: chance(0.6), TwiceCalls: chance(0.4),
		Receivers: chance(0.6), Flips: chance(0.3), CrashStarts: chance(0.4), Leaps: chance(0.4),
	}}
	p.Faults.Misdirects = chance(0.1)
	p.Faults.Overflows = chance(0.3)
	for range 3 + random.IntN(10) {
		r := Round{Seed: random.Uint64(), Steps: 5 + random.IntN(120), End: Kill}
		switch roll := random.Float64(); {
		case roll < 0.45:
			r.End = PowerCut
		case roll < 0.5:
			r.End = Stop
		}
		p.Rounds = append(p.Rounds, r)
	}
	return p
}

// String returns the plan as JSON, from which it can be read again.
func (p Plan) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprint("simulation: a plan is plain data: ", err))
	}
	return string(text)
}

// outage has the probabilities with which a power cut changes writes that were not synced.
type outage struct {
	lose  float64 // probability that a sector is lost
	flips float64 // probability that a bit of a kept sector has flipped

	misdirects float64 // probability that a kept sector is written to another place of its file, where it may damage durable content
}

func (o outage) loses(random *rand.Rand) bool { return random.Float64() < o.lose }

// newOutage draws the probabilities of a power cut. All sectors are lost, or none, or a random fraction.
func newOutage(random *rand.Rand, f Faults) (o outage) {
	switch random.IntN(4) {
	case 0:
		o.lose = 1
	case 1:
		o.lose = 0
	default:
		o.lose = random.Float64()
	}
	if f.Flips {
		o.flips = 0.05
	}
	if f.Misdirects {
		o.misdirects = 0.3
	}
	return o
}
