package snapshots

import (
	"hash/maphash"

	"mizan/ledger"
	"mizan/ledger/money"
)

// history is what a record's events tell, in a form that takes little room:
// there is one for every record of the store.
type history struct {
	last, held, settled uint64 // seqs, as in posting.Stamp
	started, updated    ledger.Micros
	finished            ledger.Micros // when a transaction was last taken to a final status
	passed              uint64        // a bit for each state that it was in
	entry               uint64        // hash of what its money entry says; 0: none
	claim               uint64        // hash of the key that it must have claimed
	version             uint32
	moved               int32  // place in histories.moved; -1: moved no money
	list                uint32 // hash of the list that shows it
	terminal            uint32 // hash of the terminal of its first provider call
	state               uint8
	claims              ledger.ClaimKind // of claim; 0: none
	intents             uint8            // to call a provider
	calls, firm         uint8            // calls made, and those not refused
	marks               mark
}

// mark notes what else was seen of a record.
type mark uint8

const (
	stored     mark = 1 << iota // its row
	claimed                     // its claim
	listedNew                   // the list row of its creation
	listedLast                  // and of its last event
	simulated                   // the simulator has its call
	charged                     // the simulator says that money moved
	creditSide                  // its money leaves by the provider's account
)

// moved is what a transaction did to its provider's account.
type moved struct{ captured, returned money.Amount }

// histories are an organization's records.
type histories struct {
	index  map[ledger.Source]int32
	shelf  shelf[history]
	moved  shelf[moved]
	states map[ledger.Kind]*states
	seed   maphash.Seed
}

func newHistories() *histories {
	return &histories{index: make(map[ledger.Source]int32), states: make(map[ledger.Kind]*states), seed: maphash.MakeSeed()}
}

// find is a record's history; nil if no event happened to it.
func (h *histories) find(s ledger.Source) *history {
	at, ok := h.index[s]
	if !ok {
		return nil
	}
	return h.shelf.at(at)
}

func (h *histories) findOrAdd(s ledger.Source) *history {
	if found := h.find(s); found != nil {
		return found
	}
	at := h.shelf.add(history{moved: -1})
	h.index[s] = at
	return h.shelf.at(at)
}

// money is what the record did to its provider's account.
func (h *histories) money(of *history) *moved {
	if of.moved < 0 {
		of.moved = h.moved.add(moved{})
	}
	return h.moved.at(of.moved)
}

// hash stands for a text that would take too much room.
func (h *histories) hash(kind byte, text string) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	_ = m.WriteByte(kind) // it never fails
	_, _ = m.WriteString(text)
	return m.Sum64()
}

// statesOf are the states of a kind of record.
func (h *histories) statesOf(kind ledger.Kind) *states {
	s := h.states[kind]
	if s == nil {
		s = &states{codes: map[string]uint8{"": 0}, names: []string{""}}
		h.states[kind] = s
	}
	return s
}

// states gives the names of states numbers, as they come. 0 is no state.
type states struct {
	codes map[string]uint8
	names []string
}

// maxStates bounds the states of a kind that are told apart: a machine has far
// fewer, and an unbounded number would be a fault by itself.
const maxStates = 64

func (s *states) code(name string) uint8 {
	code, ok := s.codes[name]
	if !ok {
		if len(s.names) == maxStates {
			return maxStates - 1
		}
		code = uint8(len(s.names))
		s.codes[name] = code
		s.names = append(s.names, name)
	}
	return code
}

// was tells whether the record was ever in the state.
func (s *states) was(h *history, name string) bool {
	code, known := s.codes[name]
	return known && h.passed&(1<<code) != 0
}

func (s *states) name(h *history) string { return s.names[h.state] }

// shelf is a slice that grows without being copied.
type shelf[T any] struct {
	boards [][]T
	n      int32
}

// board is small, because there may be many organizations with few records.
const board = 1 << 8

func (s *shelf[T]) add(v T) int32 {
	if s.n%board == 0 {
		s.boards = append(s.boards, make([]T, board))
	}
	*s.at(s.n) = v
	s.n++
	return s.n - 1
}

func (s *shelf[T]) at(i int32) *T { return &s.boards[i/board][i%board] }
