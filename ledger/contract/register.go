package contract

import (
	"encoding/binary"
	"math"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// The register of an issue's holders is kept in rows of its own beside the contract's
// record, because an issue has any number of holders. The kernel says which part of it a
// decision reads (Record.Reads) and which rows a decision adds; whoever decides brings
// the one and stores the other.

// Holder is somebody's whole position in an issue of certificates.
type Holder struct {
	Number       int64 // from 1 without gaps, in the order of first subscriptions
	Investor     ledger.ID
	Certificates int64
}

// Subscription is one application for certificates.
type Subscription struct {
	Number       int64 // from 1 without gaps, in their order
	Holder       int64 // the number of the holder whose position it adds to
	Investor     ledger.ID
	Certificates int64
	On           ledger.Date // the clock's day
}

// Register is the part of a register that a decision reads.
type Register struct {
	Position Holder   // of the investor who subscribes; Number 0: no holder yet
	Holders  []Holder // by their numbers, without gaps
}

// Extract says which part of a register a decision reads.
type Extract struct {
	Investor ledger.ID // whose position; zero: nobody's
	From     int64     // the number of the first holder
	Most     int       // how many holders at most; 0: none
}

// Reads is the part of the register that an action is decided on (Act), or what is due
// (Woken, where the action is Batch).
func (r *Record) Reads(name Action, sent schema.Input) Extract {
	if r.Product.Reads == nil {
		return Extract{}
	}
	return r.Product.Reads(r, name, sent)
}

// Registered tells whether the contract has a register, and how many subscriptions and
// holders are in it.
func (r *Record) Registered() (subscriptions, holders int64, has bool) {
	if r.Product.Reads == nil {
		return 0, 0, false
	}
	return ciApplications.Of(r.Values), ciHolders.Of(r.Values), true
}

// ShownSubscriptions is how many subscriptions a contract's detail shows: the first
// ones. All of them are read page by page.
const ShownSubscriptions = 200

// Show puts subscriptions into the record, which does not store them. The record must
// not be shared yet.
func (r *Record) Show(first []Subscription) {
	rows := make([]schema.Row, len(first))
	for i := range first {
		rows[i] = first[i].Row()
	}
	ciSubscriptions.Set(r.Values, rows)
}

// Row is the subscription as it is shown, of the table SubscriptionColumns.
func (s *Subscription) Row() schema.Row {
	row := ciSubscription.New()
	ciInvestor.Set(row, s.Investor)
	ciHeld.Set(row, s.Certificates)
	ciOn.Set(row, s.On)
	return row
}

// Row is the position as it is shown, of the table HolderColumns.
func (h *Holder) Row() schema.Row {
	row := ciHolderTable.New()
	ciHolderInvestor.Set(row, h.Investor)
	ciHolderHeld.Set(row, h.Certificates)
	return row
}

// The tables of what pages of a register show.
var (
	SubscriptionColumns = ciSubscription
	HolderColumns       = ciHolderTable

	ciHolderInvestor = schema.ID(1, "investor_id")
	ciHolderHeld     = schema.Derived(2, "certificates")
	ciHolderTable    = schema.NewTable(nil, ciHolderInvestor, ciHolderHeld)
)

// AppendSubscription appends a subscription's stored form, without its number.
func AppendSubscription(dst []byte, s *Subscription) []byte {
	dst = append(dst, s.Investor[:]...)
	dst = binary.AppendUvarint(dst, uint64(s.Holder))
	dst = binary.AppendUvarint(dst, uint64(s.Certificates))
	return binary.AppendUvarint(dst, uint64(s.On))
}

// ReadSubscription reads what AppendSubscription wrote.
func ReadSubscription(number int64, stored []byte) (Subscription, error) {
	investor, rest, err := cutID(stored)
	if err != nil {
		return Subscription{}, err
	}
	n, err := readNumbers(rest, 3)
	if err != nil || n[2] > math.MaxInt32 {
		return Subscription{}, schema.ErrStored
	}
	return Subscription{Number: number, Investor: investor, Holder: n[0], Certificates: n[1], On: ledger.Date(n[2])}, nil
}

// AppendHolder appends a holder's stored form, without its number.
func AppendHolder(dst []byte, h *Holder) []byte {
	return binary.AppendUvarint(append(dst, h.Investor[:]...), uint64(h.Certificates))
}

// ReadHolder reads what AppendHolder wrote.
func ReadHolder(number int64, stored []byte) (Holder, error) {
	investor, rest, err := cutID(stored)
	if err != nil {
		return Holder{}, err
	}
	n, err := readNumbers(rest, 1)
	if err != nil {
		return Holder{}, err
	}
	return Holder{Number: number, Investor: investor, Certificates: n[0]}, nil
}

func cutID(stored []byte) (id ledger.ID, rest []byte, err error) {
	if len(stored) < len(id) {
		return id, nil, schema.ErrStored
	}
	return ledger.ID(stored[:len(id)]), stored[len(id):], nil
}

// readNumbers reads exactly so many numbers above zero, each in its shortest form.
func readNumbers(stored []byte, n int) ([]int64, error) {
	numbers := make([]int64, n)
	for i := range numbers {
		u, size := binary.Uvarint(stored)
		if size <= 0 || u == 0 || u > math.MaxInt64 || size > 1 && stored[size-1] == 0 {
			return nil, schema.ErrStored
		}
		numbers[i], stored = int64(u), stored[size:]
	}
	if len(stored) != 0 {
		return nil, schema.ErrStored
	}
	return numbers, nil
}
