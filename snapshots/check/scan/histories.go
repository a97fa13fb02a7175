package scan

import (
	"hash/maphash"
	"iter"
	"math"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// History summarizes what a record's events say. It is compact, because memory holds one History for every record of
// the store. If a field is a hash, 0 means that there is no value.
type History struct {
	FirstSeq, LastSeq    uint64 // seqs of the record's first and last event, as in posting.RecordHeader
	HeldSeq, SettledSeq  uint64 // seq of the event with the open hold, and with the first settling entry; 0 if there is none
	StartedAt, UpdatedAt ledger.Micros
	FinishedAt           ledger.Micros // time at which a transaction last reached a final status
	visitedStates        uint64        // one bit for each state that the record was in
	EntryHash            uint64        // fingerprint of the settling entry, or hash of the value of a rate or a closed month
	HoldFingerprint      Fingerprint   // fingerprint of the last hold for the transaction's charge
	NetFingerprint       Fingerprint   // fingerprint of all the record's entries
	ClaimHash            uint64        // hash of the key on which the record must have a claim (the row that makes the key unique)
	Version              uint32
	ProviderMoney        int32  // index in Histories.MovedMoney; -1: the record moved no money
	Refunds              int32  // index of the last refund in Histories.Refunds; -1: none
	Lists                int32  // index of the lists that must show the record; 0: none
	TerminalHash         uint32 // hash of the terminal to which the charge was routed last
	CalledTerminal       uint32 // hash of the terminal that was last called
	ContractIndex        int32  // index in package contracts' lists of contracts or of cached replies; -1: none
	state                uint8
	ClaimKind            ledger.ClaimKind  // kind of the claim in ClaimHash; 0: none
	OpenRequest          OpenRequest       // the open request to the provider, besides the charge
	Holds                uint8             // number of charges for which money was already held when they were sent
	ListedAtCreation     uint8             // one bit for each list that must show the record; set if the list has a row from the record's creation
	ListedAtLastEvent    uint8             // one bit for each list that must show the record; set if the list has a row from the record's last event
	Intents              IntentCounts      // intents of the transaction or, if it is a hosted payment, of its last attempt
	Calls                [Operations]uint8 // for each operation, the number of calls that the simulator received
	Marks                Marks
	Notifications        NotificationCounts
	RecordHash           uint64 // short hash of the record after its last event
	SealedHash           uint64 // short hash of the sealed (encrypted) row beside the record; 0: none
	changeTimes          uint64 // sum of the hashes of the times at which the record was changed
	listedTimes          uint64 // sum of the hashes of the times in the record's rows in lists
}

// IntentCounts holds the number of intents for each operation. An intent is an event that is stored before a call to a
// provider.
type IntentCounts [Operations]uint8

// Marks are further facts about a record, one bit each.
type Marks uint16

// The marks.
const (
	HasRow          Marks = 1 << iota // the record's row was read
	HasClaim                          // the record's claim was read
	AtSimulator                       // the transaction is routed to the simulator
	ChargeBooked                      // the charge is booked; for a return, the return is booked
	BookedLate                        // money arrived after the transaction was closed
	ChargeReturned                    // a return reverses its charge
	LateMoneyTaken                    // the rail took back money that had arrived after the transaction was closed
	RequiresCard                      // the record says that there is a sealed card
	CardSealed                        // there is a sealed card
	ProviderMayHold                   // according to its answer to the last call, the provider may hold or have the money
	ProviderHolds                     // according to its answer to the last call, the provider has the money
	ProviderAgrees                    // the last call reports the amounts that the entries have
	HasReceipt                        // a notice says that the transaction's payer gets a receipt
)

// ProviderMoney holds the amounts that a transaction moved on its provider's account.
type ProviderMoney struct{ Captured, Refunded money.Amount }

// Refund is one attempt to return money, as its entry describes it.
type Refund struct {
	Previous             int32 // index of the transaction's previous refund; -1: this is the first
	State                RefundState
	Fingerprint          Fingerprint
	Provider, Fees, Dest money.Amount // amounts moved at the provider, on the fees account and, with a conversion, in the other asset
}

// RefundState says whether and how a refund ended.
type RefundState uint8

// The states of a refund.
const (
	RefundOpen RefundState = iota // the refund is under way
	RefundDone
	RefundRefused
)

// Histories holds the histories of an organization's records.
type Histories struct {
	index  map[ledger.Source]int32
	slab   Slab[History]
	states map[ledger.Kind]*States
	lists  listSets
	Seed   maphash.Seed

	MovedMoney   Slab[ProviderMoney]
	Refunds      Slab[Refund]
	Rerouted     map[ledger.Source][]Fingerprint  // fingerprints of a transaction's holds at the terminals before the last one
	Ended        map[ledger.Source][]IntentCounts // intents of each attempt of a hosted payment that has ended
	ByCharge     map[ledger.ID]*History           // reference of a charge → history of the charge; a charge whose reference is its transaction's id is not in the map
	ByLateCharge map[Charge]*History              // a refused charge for which money moved later → history of the transaction with this money
	Returns      map[ledger.ID]ledger.ID          // reversed transaction → its return, as the record of the reversed transaction says
	ReturnOf     map[ledger.ID]ledger.ID          // return → the transaction that it reverses, as the record of the return says

	Subscriptions Subscriptions
}

func newHistories() *Histories {
	return &Histories{
		index: make(map[ledger.Source]int32), states: make(map[ledger.Kind]*States), Seed: maphash.MakeSeed(),
		Rerouted: make(map[ledger.Source][]Fingerprint),
		Ended:    make(map[ledger.Source][]IntentCounts), ByCharge: make(map[ledger.ID]*History), ByLateCharge: make(map[Charge]*History), Returns: make(map[ledger.ID]ledger.ID), ReturnOf: make(map[ledger.ID]ledger.ID),
	}
}

// Find returns a record's history. It returns nil if the record has no events.
func (h *Histories) Find(s ledger.Source) *History {
	at, ok := h.index[s]
	if !ok {
		return nil
	}
	return h.slab.At(at)
}

// Charge identifies a charge at one terminal. If one attempt tried several terminals, its charges at these terminals have the
// same reference.
type Charge struct{ Terminal, Reference ledger.ID }

// FindCharge returns the history of the charge that has this reference at the provider of the terminal. It returns nil if there
// is no such charge. Each attempt of a hosted payment has a charge of its own. If a terminal refused a charge and money moved
// for it later, the charge at this terminal has a history of its own.
func (h *Histories) FindCharge(terminal, reference ledger.ID) *History {
	if found := h.ByLateCharge[Charge{terminal, reference}]; found != nil {
		return found
	}
	if found := h.ByCharge[reference]; found != nil {
		return found
	}
	return h.Find(ledger.Source{Kind: ledger.Transaction, ID: reference})
}

// EndAttempt is called when an attempt of a hosted payment has ended. It sets the attempt's intents aside, because
// later intents belong to the next attempt.
func (h *Histories) EndAttempt(source ledger.Source, history *History) {
	h.Ended[source] = append(h.Ended[source], history.Intents)
	history.Intents = IntentCounts{}
}

// All iterates over the records and their histories, in no particular order.
func (h *Histories) All() iter.Seq2[ledger.Source, *History] {
	return func(yield func(ledger.Source, *History) bool) {
		for source, at := range h.index {
			if !yield(source, h.slab.At(at)) {
				return
			}
		}
	}
}

// Len returns the number of records.
func (h *Histories) Len() int { return len(h.index) }

// FindOrAdd returns a record's history. If the history does not exist yet, FindOrAdd creates it.
func (h *Histories) FindOrAdd(s ledger.Source) *History {
	if found := h.Find(s); found != nil {
		return found
	}
	at := h.slab.Add(History{ProviderMoney: -1, Refunds: -1, ContractIndex: -1})
	h.index[s] = at
	return h.slab.At(at)
}

// ProviderMoneyOf returns the amounts that the record moved on its provider's account.
func (h *Histories) ProviderMoneyOf(history *History) *ProviderMoney {
	if history.ProviderMoney < 0 {
		history.ProviderMoney = h.MovedMoney.Add(ProviderMoney{})
	}
	return h.MovedMoney.At(history.ProviderMoney)
}

// RefundsOf returns a transaction's refunds, in order.
func (h *Histories) RefundsOf(history *History) (list []*Refund) {
	for at := history.Refunds; at >= 0; at = h.Refunds.At(at).Previous {
		list = append(list, h.Refunds.At(at))
	}
	slices.Reverse(list)
	return list
}

// Hash returns a short hash of a text, computed with this check's random seed.
func (h *Histories) Hash(kind byte, text string) uint64 {
	var m maphash.Hash
	m.SetSeed(h.Seed)
	_ = m.WriteByte(kind) // maphash never fails
	_, _ = m.WriteString(text)
	return m.Sum64()
}

// StatesOf returns the numbering of the states for a kind of record.
func (h *Histories) StatesOf(kind ledger.Kind) *States {
	s := h.states[kind]
	if s == nil {
		s = &States{Codes: map[string]uint8{"": 0}, Names: []string{""}}
		h.states[kind] = s
	}
	return s
}

// IsInState tells whether the record's events have led to the state. The empty state means that there are no events. The states
// of a rate are its values, which are unbounded in number, and the state of a closed month contains a hash. Therefore the
// History of a record of these two kinds holds only a hash of the last state.
func (h *Histories) IsInState(history *History, kind ledger.Kind, state string) bool {
	if kind == ledger.Rate || kind == ledger.Period {
		return history.EntryHash == h.ValueHash(state)
	}
	return h.StatesOf(kind).Name(history) == state
}

// EnterState records that an event has led the record to the state.
func (h *Histories) EnterState(history *History, kind ledger.Kind, state string) {
	if kind == ledger.Rate || kind == ledger.Period {
		history.EntryHash = h.ValueHash(state)
		return
	}
	states := h.StatesOf(kind)
	history.state = states.Code(state)
	history.visitedStates |= 1 << history.state
}

// ValueHash returns the hash of the value of a rate or a closed month. It returns 0 if there is no value.
func (h *Histories) ValueHash(value string) uint64 {
	if value == "" {
		return 0
	}
	return h.Hash(byte(ledger.Rate), value)
}

// States assigns numbers to the states of one kind of record, in the order in which the events name the states. The number 0
// means no state.
type States struct {
	Codes map[string]uint8
	Names []string
}

// maxStates is the largest number of different states for one kind of record. A state machine has far fewer states.
const maxStates = 64

// Code returns the number of a state.
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

// WasIn tells whether the record was ever in the state.
func (s *States) WasIn(h *History, name string) bool {
	code, known := s.Codes[name]
	return known && h.visitedStates&(1<<code) != 0
}

// Name returns the current state of the record.
func (s *States) Name(h *History) string { return s.Names[h.state] }

// Slab is a list whose values are not copied when the list grows, so pointers to the values stay valid.
type Slab[T any] struct {
	blocks [][]T
	length int32
}

// slabBlock is the number of values in a block. Blocks are small, because there may be many organizations with few
// records.
const slabBlock = 1 << 8

// Add appends a value and returns its index.
func (s *Slab[T]) Add(v T) int32 {
	if s.length%slabBlock == 0 {
		s.blocks = append(s.blocks, make([]T, slabBlock))
	}
	*s.At(s.length) = v
	s.length++
	return s.length - 1
}

// At returns a pointer to the value at an index.
func (s *Slab[T]) At(i int32) *T { return &s.blocks[i/slabBlock][i%slabBlock] }

// MaxCounted is the largest value of the counters of calls and intents.
const MaxCounted = math.MaxUint8

// Increment returns n+1, but at most MaxCounted.
func Increment(n uint8) uint8 { return min(n, MaxCounted-1) + 1 }

// HashTerminal returns the hash of a terminal's id.
func (h *Histories) HashTerminal(id ledger.ID) uint32 { return uint32(maphash.Bytes(h.Seed, id[:])) }
