package scan

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"

	"mizan/ledger"
	"mizan/ledger/money"
)

// History is what a record's events tell, in a form that takes little room:
// there is one for every record of the store.
type History struct {
	Last, Held, Settled uint64 // seqs, as in posting.Stamp
	Started, Updated    ledger.Micros
	Finished            ledger.Micros // when a transaction was last taken to a final status
	passed              uint64        // a bit for each state that it was in
	EntryHash           uint64        // meaning of what settled it, or hash of a rate's or closed month's value; 0: none
	HoldFingerprint     Fingerprint   // of what a transaction's charge last held
	NetFingerprint      Fingerprint   // of all that a transaction has posted
	ClaimHash           uint64        // hash of the key that it must have claimed
	Version             uint32
	ProviderMoney       int32  // place in histories.moved; -1: moved no money
	Refunds             int32  // place of the last one in histories.refunds; -1: none
	ListHash            uint32 // hash of the list that shows it
	TerminalHash        uint32 // hash of the terminal of its last charge
	CalledTerminal      uint32 // hash of the terminal that was last called
	ContractIndex       int32  // place of a contract's life, or of what a reply shows of one; -1: neither
	state               uint8
	ClaimKind           ledger.ClaimKind  // of claim; 0: none
	Asking              Asking            // of the provider, beside the charge
	Holds               uint8             // charges that held money when they were sent
	Intents             [Operations]uint8 // intents to call a provider
	Calls               [Operations]uint8 // calls made
	Marks               Marks
	Notifications       NotificationCounts
	RecordHash          uint64 // of the record after its last event, as mark64 has it
	SealedHash          uint64 // of what its record says is sealed beside it; 0: nothing
}

// Marks notes what else was seen of a record.
type Marks uint16

const (
	HasRow            Marks = 1 << iota // its row
	HasClaim                            // its claim
	ListedAtCreation                    // the list row of its creation
	ListedAtLastEvent                   // and of its last event
	AtSimulator                         // the simulator has its call
	ChargeBooked                        // its charge is booked, or it is a return
	BookedLate                          // money came when it was closed
	ChargeReturned                      // a return reverses its charge
	KeepsCard                           // its record says that its card is kept
	CardSealed                          // a card is
	ProviderMayHold                     // by its last call the provider may have, or hold, the money
	ProviderHolds                       // by its last call the provider has the money
	ProviderAgrees                      // its last call says the amounts that its entries say
)

// ProviderMoney is what a transaction did to its provider's account.
type ProviderMoney struct{ Captured, Refunded money.Amount }

// Refund is one attempt to return money, as its entry says.
type Refund struct {
	Before               int32 // place of the one before; -1: the first
	State                RefundState
	Fingerprint          Fingerprint
	Provider, Fees, Dest money.Amount // dest: in the other asset, if the money was converted
}

// RefundState is what became of a refund. The zero value is under way.
type RefundState uint8

const (
	RefundOpen RefundState = iota
	RefundDone
	RefundRefused
)

// Histories are an organization's records.
type Histories struct {
	Index  map[ledger.Source]int32
	Slab   Slab[History]
	Moved  Slab[ProviderMoney]
	states map[ledger.Kind]*States
	Seed   maphash.Seed

	Refunds  Slab[Refund]
	Rerouted map[ledger.Source][]Fingerprint // what was held at the terminals before the last one
	Returns  map[ledger.ID]ledger.ID         // reversed transaction → its return, as its record says
	ReturnOf map[ledger.ID]ledger.ID         // the same as the returns' records say

	Subscriptions Subscriptions
}

func newHistories() *Histories {
	return &Histories{
		Index: make(map[ledger.Source]int32), states: make(map[ledger.Kind]*States), Seed: maphash.MakeSeed(),
		Rerouted: make(map[ledger.Source][]Fingerprint), Returns: make(map[ledger.ID]ledger.ID), ReturnOf: make(map[ledger.ID]ledger.ID),
	}
}

// Find is a record's history; nil if no event happened to it.
func (h *Histories) Find(s ledger.Source) *History {
	at, ok := h.Index[s]
	if !ok {
		return nil
	}
	return h.Slab.At(at)
}

func (h *Histories) FindOrAdd(s ledger.Source) *History {
	if found := h.Find(s); found != nil {
		return found
	}
	at := h.Slab.Add(History{ProviderMoney: -1, Refunds: -1, ContractIndex: -1})
	h.Index[s] = at
	return h.Slab.At(at)
}

// Money is what the record did to its provider's account.
func (h *Histories) Money(of *History) *ProviderMoney {
	if of.ProviderMoney < 0 {
		of.ProviderMoney = h.Moved.Add(ProviderMoney{})
	}
	return h.Moved.At(of.ProviderMoney)
}

// RefundsOf are a transaction's refunds, in order.
func (h *Histories) RefundsOf(of *History) (list []*Refund) {
	for at := of.Refunds; at >= 0; at = h.Refunds.At(at).Before {
		list = append(list, h.Refunds.At(at))
	}
	slices.Reverse(list)
	return list
}

// Hash stands for a text that would take too much room.
func (h *Histories) Hash(kind byte, text string) uint64 {
	var m maphash.Hash
	m.SetSeed(h.Seed)
	_ = m.WriteByte(kind) // it never fails
	_, _ = m.WriteString(text)
	return m.Sum64()
}

// StatesOf are the states of a kind of record.
func (h *Histories) StatesOf(kind ledger.Kind) *States {
	s := h.states[kind]
	if s == nil {
		s = &States{Codes: map[string]uint8{"": 0}, Names: []string{""}}
		h.states[kind] = s
	}
	return s
}

// IsIn tells whether the record's events have led to the state; an empty one: it
// has none yet. A rate's states are values, of which there may be any number, and a
// closed month's is one with its hash, so that only the hash of the last one is kept.
func (h *Histories) IsIn(of *History, kind ledger.Kind, state string) bool {
	if kind == ledger.Rate || kind == ledger.Period {
		return of.EntryHash == h.ValueHash(state)
	}
	return h.StatesOf(kind).Name(of) == state
}

// Enter lets an event lead the record to the state.
func (h *Histories) Enter(of *History, kind ledger.Kind, state string) {
	if kind == ledger.Rate || kind == ledger.Period {
		of.EntryHash = h.ValueHash(state)
		return
	}
	states := h.StatesOf(kind)
	of.state = states.Code(state)
	of.passed |= 1 << of.state
}

func (h *Histories) ValueHash(value string) uint64 {
	if value == "" {
		return 0
	}
	return h.Hash(byte(ledger.Rate), value)
}

// States gives the names of states numbers, as they come. 0 is no state.
type States struct {
	Codes map[string]uint8
	Names []string
}

// maxStates bounds the states of a kind that are told apart: a machine has far
// fewer, and an unbounded number would be a fault by itself.
const maxStates = 64

func (s *States) Code(name string) uint8 {
	code, ok := s.Codes[name]
	if !ok {
		if len(s.Names) == maxStates {
			return maxStates - 1
		}
		code = uint8(len(s.Names))
		s.Codes[name] = code
		s.Names = append(s.Names, name)
	}
	return code
}

// Was tells whether the record was ever in the state.
func (s *States) Was(h *History, name string) bool {
	code, known := s.Codes[name]
	return known && h.passed&(1<<code) != 0
}

func (s *States) Name(h *History) string { return s.Names[h.state] }

// Slab is a slice that grows without being copied.
type Slab[T any] struct {
	blocks [][]T
	n      int32
}

// board is small, because there may be many organizations with few records.
const slabBlock = 1 << 8

func (s *Slab[T]) Add(v T) int32 {
	if s.n%slabBlock == 0 {
		s.blocks = append(s.blocks, make([]T, slabBlock))
	}
	*s.At(s.n) = v
	s.n++
	return s.n - 1
}

func (s *Slab[T]) At(i int32) *T { return &s.blocks[i/slabBlock][i%slabBlock] }

// MaxCounted is where counts of calls and intents end: more are not told apart.
const MaxCounted = math.MaxUint8

func Increment(n uint8) uint8 { return min(n, MaxCounted-1) + 1 }

// ListOf stands for the list that shows a transaction.
func (h *Histories) ListOf(partner int64, env money.Env) uint32 {
	return uint32(h.Hash(byte(env), strconv.FormatInt(partner, 10)))
}

func (h *Histories) TerminalOf(id ledger.ID) uint32 { return uint32(maphash.Bytes(h.Seed, id[:])) }
