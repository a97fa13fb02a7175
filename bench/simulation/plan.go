package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// Plan describes the rounds and faults of one world. NewPlan computes a plan from a seed, and Shrink shortens a plan that
// fails.
type Plan struct {
	Seed   uint64  `json:"seed"`
	Nodes  int     `json:"nodes,omitempty"`  // 0: one machine, without a cluster
	Manual bool    `json:"manual,omitempty"` // the business clock moves only if a request moves it
	Faults Faults  `json:"faults,omitzero"`
	Rounds []Round `json:"rounds"`
}

// Round describes one process of the service, from its start to its end.
type Round struct {
	Seed  uint64 `json:"seed"`
	Steps int    `json:"steps"` // number of the scheduler's decisions before the process ends
	End   End    `json:"end"`
}

// End is how a process ends.
type End uint8

// The ways in which a process can end.
const (
	Kill     End = iota // the process is killed; the machine keeps running, so no write is lost
	PowerCut            // writes that were not synced are lost, torn or reordered
	Stop                // an operator stops the process
	ends
)

var endNames = [ends]string{"kill", "power cut", "stop"}

// String returns the name of the end.
func (e End) String() string { return endNames[e] }

// Faults selects the kinds of faults that may occur, besides the ends of processes.
type Faults struct {
	SyncFails   bool `json:"sync_fails,omitempty"`   // a sync fails; the writes may be durable nevertheless
	SlowDisk    bool `json:"slow_disk,omitempty"`    // a sync takes long
	FullDisk    bool `json:"full_disk,omitempty"`    // no file can be created for a while
	LostCalls   bool `json:"lost_calls,omitempty"`   // a request to the provider, or its answer, is lost
	TwiceCalls  bool `json:"twice_calls,omitempty"`  // a request reaches the provider twice
	Receivers   bool `json:"receivers,omitempty"`    // merchants' servers fail, hang and lose answers
	Flips       bool `json:"flips,omitempty"`        // a power cut flips bits of unsynced writes
	Misdirects  bool `json:"misdirects,omitempty"`   // a power cut moves unsynced writes to another place in the file
	CrashStarts bool `json:"crash_starts,omitempty"` // the process ends during its start
	Leaps       bool `json:"leaps,omitempty"`        // the business clock jumps forward or back
	Overflows   bool `json:"overflows,omitempty"`    // the journal's queue is short; many clients send the same create at once

	// Only with several nodes.
	Cuts      bool `json:"cuts,omitempty"`      // connections between nodes are cut, in one or both directions
	Delays    bool `json:"delays,omitempty"`    // messages between nodes take up to seconds
	Losses    bool `json:"losses,omitempty"`    // messages between nodes are lost, or arrive twice
	Skew      bool `json:"skew,omitempty"`      // the clocks of the nodes differ by minutes
	Transfers bool `json:"transfers,omitempty"` // the lead is handed to another node, or taken from a leader that works
}

// NewPlan computes the plan for a seed.
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

// NewClusterPlan computes the plan for a seed, for several nodes.
func NewClusterPlan(seed uint64) Plan {
	p := NewPlan(seed)
	random := rand.New(rand.NewPCG(seed, 3))
	chance := func(p float64) bool { return random.Float64() < p }
	p.Nodes, p.Manual, p.Faults.Misdirects = nodes, false, false
	p.Faults.Cuts, p.Faults.Delays, p.Faults.Losses, p.Faults.Skew, p.Faults.Transfers = chance(0.7), chance(0.6), chance(0.4), chance(0.5), chance(0.6)
	for i := range p.Rounds {
		p.Rounds[i].Steps = 20 + random.IntN(180)
	}
	return p
}

// String returns the plan as JSON.
func (p Plan) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprint("simulation: a plan is plain data: ", err))
	}
	return string(text)
}

// outage contains the probabilities with which a power cut changes unsynced writes.
type outage struct {
	lose  float64 // probability that a sector is lost
	flips float64 // probability that a bit of a kept sector has flipped

	misdirects float64 // probability that a kept sector is written to another place in its file, perhaps over durable content
}

func (o outage) loses(random *rand.Rand) bool { return random.Float64() < o.lose }

// newOutage returns random probabilities for one power cut. The power cut loses all sectors, or none, or a random fraction.
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
