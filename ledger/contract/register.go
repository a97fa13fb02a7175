package contract

import (
	"encoding/binary"
	"math"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// The register lists the holders of a certificate issue. It is stored in rows beside the contract's record, because an
// issue may have more holders than fit into a record. Before a decision, the caller of this package reads the part of the
// register that Record.RegisterQuery asks for. After the decision, the caller stores the rows that the Decision adds to
// the register.

// Holder is the position of one investor: all certificates of an issue that the investor holds.
type Holder struct {
	Number       int64 // the holders of an issue are numbered from 1, in the order of their first subscriptions
	Investor     ledger.ID
	Certificates int64
}

// Subscription is one application of an investor for certificates.
type Subscription struct {
	Number       int64 // the subscriptions of an issue are numbered from 1
	Holder       int64 // the Number of the subscribing Holder
	Investor     ledger.ID
	Certificates int64
	On           ledger.Date // the day of the subscription, by the service's clock
}

// Register is the part of an issue's register that a decision needs.
type Register struct {
	InvestorPosition Holder   // the subscribing investor's position; its Number is 0 if the investor is not a holder yet
	Holders          []Holder // consecutive holders, ordered by number
}

// RegisterQuery says which part of an issue's register a decision needs.
type RegisterQuery struct {
	Investor   ledger.ID // the investor whose position is needed; zero if none
	From       int64     // the number of the first holder to read
	MaxHolders int       // the number of holders to read, at most; 0 if none
}

// RegisterQuery says which part of the register an action needs in Act. Before OnDue books a batch of holders, it is
// called with the action Batch.
func (r *Record) RegisterQuery(name Action, request schema.Input) RegisterQuery {
	if r.Product.RegisterQuery == nil {
		return RegisterQuery{}
	}
	return r.Product.RegisterQuery(r, name, request)
}

// Registered returns the number of subscriptions and of holders in the contract's register. If the contract has no
// register, hasRegister is false.
func (r *Record) Registered() (subscriptions, holders int64, hasRegister bool) {
	if r.Product.RegisterQuery == nil {
		return 0, 0, false
	}
	return ciApplications.Get(r.Values), ciHolders.Get(r.Values), true
}

// ShownSubscriptions is the number of subscriptions in the response about one contract. The response shows the oldest ones,
// and clients read the others page by page.
const ShownSubscriptions = 200

// Show puts subscriptions into the record, so that a response shows them. They are not stored with the record. Show must be
// called before other goroutines can see the record.
func (r *Record) Show(subscriptions []Subscription) {
	rows := make([]schema.Row, len(subscriptions))
	for i := range subscriptions {
		rows[i] = subscriptions[i].Row()
	}
	ciSubscriptions.Set(r.Values, rows)
}

// Row returns the subscription as a row of the table SubscriptionColumns.
func (s *Subscription) Row() schema.Row {
	row := ciSubscription.New()
	ciInvestor.Set(row, s.Investor)
	ciSubscribed.Set(row, s.Certificates)
	ciSubscribedOn.Set(row, s.On)
	return row
}

// Row returns the position as a row of the table HolderColumns.
func (h *Holder) Row() schema.Row {
	row := ciHolderTable.New()
	ciHolderInvestor.Set(row, h.Investor)
	ciHolderCertificates.Set(row, h.Certificates)
	return row
}

// The columns of the two lists that clients can read from a register: subscriptions and holders.
var (
	SubscriptionColumns = ciSubscription
	HolderColumns       = ciHolderTable

	ciHolderInvestor     = schema.ID(1, "investor_id", schema.Help("the holder"))
	ciHolderCertificates = schema.DerivedInteger(2, "certificates", schema.Help("number of certificates"))
	ciHolderTable        = schema.NewTable(nil, ciHolderInvestor, ciHolderCertificates)
)

// AppendSubscription appends a subscription's stored form, which does not include the subscription's number.
func AppendSubscription(dst []byte, s *Subscription) []byte {
	dst = append(dst, s.Investor[:]...)
	dst = binary.AppendUvarint(dst, uint64(s.Holder))
	dst = binary.AppendUvarint(dst, uint64(s.Certificates))
	return binary.AppendUvarint(dst, uint64(s.On))
}

// ReadSubscription parses the form that AppendSubscription writes. The error is
// schema.ErrStored.
func ReadSubscription(number int64, stored []byte) (Subscription, error) {
	investor, encodedNumbers, err := cutID(stored)
	if err != nil {
		return Subscription{}, err
	}
	numbers, err := readNumbers(encodedNumbers, 3)
	if err != nil || numbers[2] > math.MaxInt32 {
		return Subscription{}, schema.ErrStored
	}
	return Subscription{Number: number, Investor: investor, Holder: numbers[0], Certificates: numbers[1], On: ledger.Date(numbers[2])}, nil
}

// AppendHolder appends a holder's stored form, which does not include the holder's number.
func AppendHolder(dst []byte, h *Holder) []byte {
	return binary.AppendUvarint(append(dst, h.Investor[:]...), uint64(h.Certificates))
}

// ReadHolder parses the form that AppendHolder writes. The error is schema.ErrStored.
func ReadHolder(number int64, stored []byte) (Holder, error) {
	investor, encodedNumbers, err := cutID(stored)
	if err != nil {
		return Holder{}, err
	}
	numbers, err := readNumbers(encodedNumbers, 1)
	if err != nil {
		return Holder{}, err
	}
	return Holder{Number: number, Investor: investor, Certificates: numbers[0]}, nil
}

// cutID splits a stored form into the id, which comes first, and the rest.
func cutID(stored []byte) (id ledger.ID, tail []byte, err error) {
	if len(stored) < len(id) {
		return id, nil, schema.ErrStored
	}
	return ledger.ID(stored[:len(id)]), stored[len(id):], nil
}

// readNumbers parses exactly n positive numbers, each of which must be encoded in as few bytes as possible.
func readNumbers(stored []byte, n int) ([]int64, error) {
	numbers := make([]int64, n)
	for i := range numbers {
		number, size := binary.Uvarint(stored)
		if size <= 0 || number == 0 || number > math.MaxInt64 || size > 1 && stored[size-1] == 0 {
			return nil, schema.ErrStored
		}
		numbers[i], stored = int64(number), stored[size:]
	}
	if len(stored) != 0 {
		return nil, schema.ErrStored
	}
	return numbers, nil
}
