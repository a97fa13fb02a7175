package check

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"

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
	entry               uint64        // meaning of what settled it, or hash of a rate's or closed month's value; 0: none
	hold                meaning       // of what a transaction's charge last held
	net                 meaning       // of all that a transaction has posted
	claim               uint64        // hash of the key that it must have claimed
	version             uint32
	moved               int32  // place in histories.moved; -1: moved no money
	refunds             int32  // place of the last one in histories.refunds; -1: none
	list                uint32 // hash of the list that shows it
	terminal            uint32 // hash of the terminal of its last charge
	called              uint32 // hash of the terminal that was last called
	contract            int32  // place of a contract's life, or of what a reply shows of one; -1: neither
	state               uint8
	claims              ledger.ClaimKind  // of claim; 0: none
	asks                asking            // of the provider, beside the charge
	holds               uint8             // charges that held money when they were sent
	asked               [operations]uint8 // intents to call a provider
	calls               [operations]uint8 // calls made
	marks               mark
	told                tellings
	recordHash          uint64 // of the record after its last event, as mark64 has it
	sealedHash          uint64 // of what its record says is sealed beside it; 0: nothing
}

// mark notes what else was seen of a record.
type mark uint16

const (
	stored     mark = 1 << iota // its row
	claimed                     // its claim
	listedNew                   // the list row of its creation
	listedLast                  // and of its last event
	simulated                   // the simulator has its call
	booked                      // its charge is booked, or it is a return
	late                        // money came when it was closed
	returned                    // a return reverses its charge
	keepsCard                   // its record says that its card is kept
	sealed                      // a card is
	mayHave                     // by its last call the provider may have, or hold, the money
	has                         // by its last call the provider has the money
	agrees                      // its last call says the amounts that its entries say
)

// moved is what a transaction did to its provider's account.
type moved struct{ captured, refunded money.Amount }

// refund is one attempt to return money, as its entry says.
type refund struct {
	before               int32 // place of the one before; -1: the first
	state                refundState
	meaning              meaning
	provider, fees, dest money.Amount // dest: in the other asset, if the money was converted
}

// refundState is what became of a refund. The zero value is under way.
type refundState uint8

const (
	refundOpen refundState = iota
	refundDone
	refundRefused
)

// histories are an organization's records.
type histories struct {
	index  map[ledger.Source]int32
	slab   slab[history]
	moved  slab[moved]
	states map[ledger.Kind]*states
	seed   maphash.Seed

	refunds  slab[refund]
	rerouted map[ledger.Source][]meaning // what was held at the terminals before the last one
	returns  map[ledger.ID]ledger.ID     // reversed transaction → its return, as its record says
	returnOf map[ledger.ID]ledger.ID     // the same as the returns' records say

	subscribed subscribed
}

func newHistories() *histories {
	return &histories{
		index: make(map[ledger.Source]int32), states: make(map[ledger.Kind]*states), seed: maphash.MakeSeed(),
		rerouted: make(map[ledger.Source][]meaning), returns: make(map[ledger.ID]ledger.ID), returnOf: make(map[ledger.ID]ledger.ID),
	}
}

// find is a record's history; nil if no event happened to it.
func (h *histories) find(s ledger.Source) *history {
	at, ok := h.index[s]
	if !ok {
		return nil
	}
	return h.slab.at(at)
}

func (h *histories) findOrAdd(s ledger.Source) *history {
	if found := h.find(s); found != nil {
		return found
	}
	at := h.slab.add(history{moved: -1, refunds: -1, contract: -1})
	h.index[s] = at
	return h.slab.at(at)
}

// money is what the record did to its provider's account.
func (h *histories) money(of *history) *moved {
	if of.moved < 0 {
		of.moved = h.moved.add(moved{})
	}
	return h.moved.at(of.moved)
}

// refundsOf are a transaction's refunds, in order.
func (h *histories) refundsOf(of *history) (list []*refund) {
	for at := of.refunds; at >= 0; at = h.refunds.at(at).before {
		list = append(list, h.refunds.at(at))
	}
	slices.Reverse(list)
	return list
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

// in tells whether the record's events have led to the state; an empty one: it
// has none yet. A rate's states are values, of which there may be any number, and a
// closed month's is one with its hash, so that only the hash of the last one is kept.
func (h *histories) in(of *history, kind ledger.Kind, state string) bool {
	if kind == ledger.Rate || kind == ledger.Period {
		return of.entry == h.valueHash(state)
	}
	return h.statesOf(kind).name(of) == state
}

// enter lets an event lead the record to the state.
func (h *histories) enter(of *history, kind ledger.Kind, state string) {
	if kind == ledger.Rate || kind == ledger.Period {
		of.entry = h.valueHash(state)
		return
	}
	states := h.statesOf(kind)
	of.state = states.code(state)
	of.passed |= 1 << of.state
}

func (h *histories) valueHash(value string) uint64 {
	if value == "" {
		return 0
	}
	return h.hash(byte(ledger.Rate), value)
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

// slab is a slice that grows without being copied.
type slab[T any] struct {
	blocks [][]T
	n      int32
}

// board is small, because there may be many organizations with few records.
const slabBlock = 1 << 8

func (s *slab[T]) add(v T) int32 {
	if s.n%slabBlock == 0 {
		s.blocks = append(s.blocks, make([]T, slabBlock))
	}
	*s.at(s.n) = v
	s.n++
	return s.n - 1
}

func (s *slab[T]) at(i int32) *T { return &s.blocks[i/slabBlock][i%slabBlock] }

// maxCounted is where counts of calls and intents end: more are not told apart.
const maxCounted = math.MaxUint8

func increment(n uint8) uint8 { return min(n, maxCounted-1) + 1 }

// listOf stands for the list that shows a transaction.
func (h *histories) listOf(partner int64, env money.Env) uint32 {
	return uint32(h.hash(byte(env), strconv.FormatInt(partner, 10)))
}

func (h *histories) terminalOf(id ledger.ID) uint32 { return uint32(maphash.Bytes(h.seed, id[:])) }
