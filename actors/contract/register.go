package contract

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/posting"
)

// RegisterRows is the first byte of the key of each row of a register. A register lists the subscriptions to a contract's
// certificates, and the certificates' holders. After the first byte, a key contains the contract's id, the kind of row,
// and a number or an investor's id.
const RegisterRows = 'h'

// RegisterRow is the kind of a register's row. The kind is stored in the row's key, so the values below never change.
type RegisterRow byte

// The kinds of a register's rows. Once written, a SubscriptionRow or an InvestorRow never changes.
const (
	SubscriptionRow RegisterRow = 's' // a subscription; the key ends with its number
	HolderRow       RegisterRow = 'h' // a holder's position; the key ends with the holder's number
	InvestorRow     RegisterRow = 'i' // an investor's number as a holder; the key ends with the investor's id
)

// registerPrefixLen is the length of a key up to and including the kind of row.
const registerPrefixLen = 1 + 16 + 1

func registerKeyPrefix(id ledger.ID, kind RegisterRow) []byte {
	key := append(make([]byte, 0, registerPrefixLen+16), RegisterRows)
	return append(append(key, id[:]...), byte(kind))
}

func numberedKey(id ledger.ID, kind RegisterRow, number int64) []byte {
	return binary.BigEndian.AppendUint64(registerKeyPrefix(id, kind), uint64(number))
}

func investorKey(id, investor ledger.ID) []byte {
	return append(registerKeyPrefix(id, InvestorRow), investor[:]...)
}

// ParseRegisterKey returns the contract's id and the kind of row from a key. If the key does not belong to a register, it
// returns false.
func ParseRegisterKey(key []byte) (id ledger.ID, kind RegisterRow, ok bool) {
	if len(key) < registerPrefixLen || key[0] != RegisterRows {
		return id, 0, false
	}
	id, kind = ledger.ID(key[1:1+len(id)]), RegisterRow(key[registerPrefixLen-1])
	switch suffixLen := len(key) - registerPrefixLen; kind {
	case SubscriptionRow, HolderRow:
		return id, kind, suffixLen == 8
	case InvestorRow:
		return id, kind, suffixLen == 16
	}
	return id, kind, false
}

// registerRows returns the rows of the register that a decision writes: a subscription, the position of its
// holder, and for a new holder the holder's number.
func registerRows(org ledger.ID, decision *contract.Decision) []posting.KV {
	id, subscription, position := decision.Record.ID, &decision.NewSubscription, &decision.InvestorPosition
	if subscription.Number == 0 {
		return nil
	}
	rows := []posting.KV{
		{Org: org, Key: numberedKey(id, SubscriptionRow, subscription.Number), Value: contract.AppendSubscription(nil, subscription)},
		{Org: org, Key: numberedKey(id, HolderRow, position.Number), Value: contract.AppendHolder(nil, position)},
	}
	if decision.NewParty != (ledger.ID{}) {
		rows = append(rows, posting.KV{Org: org, Key: investorKey(id, decision.NewParty), Value: binary.AppendUvarint(nil, uint64(position.Number))})
	}
	return rows
}

// Subscriptions calls fn with a contract's subscriptions in the order of their numbers, starting at the number from.
func Subscriptions(view *posting.View, org, id ledger.ID, from int64, fn func(contract.Subscription) (more bool, err error)) error {
	return eachNumbered(view, org, id, SubscriptionRow, from, func(number int64, row []byte) (bool, error) {
		s, err := contract.ReadSubscription(number, row)
		if err != nil {
			return false, damagedRow(id, SubscriptionRow, number)
		}
		return fn(s)
	})
}

// Holders calls fn with a contract's holders in the order of their numbers, starting at the number from.
func Holders(view *posting.View, org, id ledger.ID, from int64, fn func(contract.Holder) (more bool, err error)) error {
	return eachNumbered(view, org, id, HolderRow, from, func(number int64, row []byte) (bool, error) {
		h, err := contract.ReadHolder(number, row)
		if err != nil {
			return false, damagedRow(id, HolderRow, number)
		}
		return fn(h)
	})
}

// eachNumbered calls fn with the rows of one kind, starting at the number from, and checks that the numbers have no
// gaps.
func eachNumbered(view *posting.View, org, id ledger.ID, kind RegisterRow, from int64, fn func(number int64, row []byte) (more bool, err error)) error {
	next := from
	return view.KVsAscending(org, registerKeyPrefix(id, kind), numberedKey(id, kind, from), func(key, value []byte) (bool, error) {
		if !bytes.Equal(key, numberedKey(id, kind, next)) {
			return false, damagedRow(id, kind, next)
		}
		next++
		return fn(next-1, value)
	})
}

func damagedRow(id ledger.ID, kind RegisterRow, number int64) error {
	return fmt.Errorf("contract %v: row %c%d of its register is missing or damaged", id, kind, number)
}

// Position returns an investor's position as a holder of a contract's certificates. If the investor has no position, it
// returns false.
func Position(view *posting.View, org, id, investor ledger.ID) (contract.Holder, bool, error) {
	row, found, err := view.KV(org, investorKey(id, investor))
	if err != nil || !found {
		return contract.Holder{}, false, err
	}
	number, ok := InvestorNumber(row)
	if !ok {
		return contract.Holder{}, false, damagedRow(id, InvestorRow, 0)
	}
	row, found, err = view.KV(org, numberedKey(id, HolderRow, number))
	if err != nil {
		return contract.Holder{}, false, err
	}
	h, err := contract.ReadHolder(number, row)
	if !found || err != nil || h.Investor != investor {
		return contract.Holder{}, false, damagedRow(id, HolderRow, number)
	}
	return h, true, nil
}

// InvestorNumber parses the content of an InvestorRow, which is the investor's number as a holder.
func InvestorNumber(row []byte) (number int64, ok bool) {
	n, size := binary.Uvarint(row)
	return int64(n), size == len(row) && n > 0 && n < 1<<62 && bytes.Equal(binary.AppendUvarint(nil, n), row)
}

// LoadRegister reads the part of a register that a decision needs; the argument query selects the part.
func LoadRegister(view *posting.View, org, id ledger.ID, query contract.RegisterQuery) (register contract.Register, err error) {
	if query.Investor != (ledger.ID{}) {
		register.InvestorPosition, _, err = Position(view, org, id, query.Investor)
	}
	if query.MaxHolders == 0 || err != nil {
		return register, err
	}
	register.Holders = make([]contract.Holder, 0, query.MaxHolders)
	err = Holders(view, org, id, query.From, func(h contract.Holder) (bool, error) {
		register.Holders = append(register.Holders, h)
		return len(register.Holders) < query.MaxHolders, nil
	})
	return register, err
}

// LoadSubscriptions reads from the register the subscriptions that a contract's detail shows, and puts them into the
// record. These are the first subscriptions, at most ShownSubscriptions of them, and none that is newer than the record's
// version.
func LoadSubscriptions(view *posting.View, org ledger.ID, r *contract.Record) error {
	total, _, hasRegister := r.Registered()
	if !hasRegister || total == 0 {
		return nil
	}
	count := min(int(total), contract.ShownSubscriptions)
	subscriptions := make([]contract.Subscription, 0, count)
	err := Subscriptions(view, org, r.ID, 1, func(s contract.Subscription) (bool, error) {
		subscriptions = append(subscriptions, s)
		return len(subscriptions) < count, nil
	})
	if err == nil && len(subscriptions) < count {
		err = damagedRow(r.ID, SubscriptionRow, int64(len(subscriptions)+1))
	}
	r.Show(subscriptions)
	return err
}
