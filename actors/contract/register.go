package contract

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/posting"
)

// RegisterRows is the first byte of the key of each row of a register of holders (of a contract's
// certificates). The contract's id, the kind of row, and a number or an investor's id follow.
const RegisterRows = 'h'

// RegisterRow is the kind of a register's row. It is stored: values never change their meaning.
type RegisterRow byte

// The kinds of a register's rows. A SubscriptionRow and an InvestorRow never change.
const (
	SubscriptionRow RegisterRow = 's' // a subscription, by its number
	HolderRow       RegisterRow = 'h' // a holder's position, by its number
	InvestorRow     RegisterRow = 'i' // an investor's number as a holder, by the investor's id
)

const registerHead = 1 + 16 + 1

func registerKey(id ledger.ID, row RegisterRow) []byte {
	key := append(make([]byte, 0, registerHead+16), RegisterRows)
	return append(append(key, id[:]...), byte(row))
}

func numberedKey(id ledger.ID, row RegisterRow, number int64) []byte {
	return binary.BigEndian.AppendUint64(registerKey(id, row), uint64(number))
}

func investorKey(id, investor ledger.ID) []byte {
	return append(registerKey(id, InvestorRow), investor[:]...)
}

// ParseRegisterKey parses the key of a register's row; false if the key belongs to no register.
func ParseRegisterKey(key []byte) (id ledger.ID, row RegisterRow, ok bool) {
	if len(key) < registerHead || key[0] != RegisterRows {
		return id, 0, false
	}
	id, row = ledger.ID(key[1:1+len(id)]), RegisterRow(key[registerHead-1])
	switch rest := len(key) - registerHead; row {
	case SubscriptionRow, HolderRow:
		return id, row, rest == 8
	case InvestorRow:
		return id, row, rest == 16
	}
	return id, row, false
}

// registerRows returns the rows of the register that a decision writes: a subscription, the position of its
// holder, and for a new holder the holder's number.
func registerRows(org ledger.ID, d *contract.Decision) []posting.KV {
	id, s, h := d.Record.ID, &d.Subscribed, &d.Position
	if s.Number == 0 {
		return nil
	}
	rows := []posting.KV{
		{Org: org, Key: numberedKey(id, SubscriptionRow, s.Number), Value: contract.AppendSubscription(nil, s)},
		{Org: org, Key: numberedKey(id, HolderRow, h.Number), Value: contract.AppendHolder(nil, h)},
	}
	if d.Joined != (ledger.ID{}) {
		rows = append(rows, posting.KV{Org: org, Key: investorKey(id, d.Joined), Value: binary.AppendUvarint(nil, uint64(h.Number))})
	}
	return rows
}

// Subscriptions calls fn with a contract's subscriptions from a number on.
func Subscriptions(view *posting.View, org, id ledger.ID, from int64, fn func(contract.Subscription) (more bool, err error)) error {
	return eachNumbered(view, org, id, SubscriptionRow, from, func(number int64, row []byte) (bool, error) {
		s, err := contract.ReadSubscription(number, row)
		if err != nil {
			return false, damagedRow(id, SubscriptionRow, number)
		}
		return fn(s)
	})
}

// Holders calls fn with a contract's holders from a number on.
func Holders(view *posting.View, org, id ledger.ID, from int64, fn func(contract.Holder) (more bool, err error)) error {
	return eachNumbered(view, org, id, HolderRow, from, func(number int64, row []byte) (bool, error) {
		h, err := contract.ReadHolder(number, row)
		if err != nil {
			return false, damagedRow(id, HolderRow, number)
		}
		return fn(h)
	})
}

// eachNumbered calls fn with the rows of one kind from a number on, and checks that the numbers have no gaps.
func eachNumbered(view *posting.View, org, id ledger.ID, row RegisterRow, from int64, fn func(number int64, row []byte) (more bool, err error)) error {
	next := from
	return view.KVsAscending(org, registerKey(id, row), numberedKey(id, row, from), func(key, value []byte) (bool, error) {
		if !bytes.Equal(key, numberedKey(id, row, next)) {
			return false, damagedRow(id, row, next)
		}
		next++
		return fn(next-1, value)
	})
}

func damagedRow(id ledger.ID, row RegisterRow, number int64) error {
	return fmt.Errorf("contract %v: row %c%d of its register is missing or damaged", id, row, number)
}

// Position returns an investor's position in a contract; false if the investor has none.
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

// InvestorNumber parses the content of an InvestorRow: the investor's number as a holder.
func InvestorNumber(row []byte) (number int64, ok bool) {
	n, size := binary.Uvarint(row)
	return int64(n), size == len(row) && n > 0 && n < 1<<62 && bytes.Equal(binary.AppendUvarint(nil, n), row)
}

// Extract reads the part of a register that a decision needs.
func Extract(view *posting.View, org, id ledger.ID, e contract.Extract) (part contract.Register, err error) {
	if e.Investor != (ledger.ID{}) {
		part.Position, _, err = Position(view, org, id, e.Investor)
	}
	if e.MaxHolders == 0 || err != nil {
		return part, err
	}
	part.Holders = make([]contract.Holder, 0, e.MaxHolders)
	err = Holders(view, org, id, e.From, func(h contract.Holder) (bool, error) {
		part.Holders = append(part.Holders, h)
		return len(part.Holders) < e.MaxHolders, nil
	})
	return part, err
}

// Show reads from the register the subscriptions that a contract's detail shows, and puts them into the record:
// the first ShownSubscriptions of those that existed at the record's version.
func Show(view *posting.View, org ledger.ID, r *contract.Record) error {
	total, _, has := r.Registered()
	if !has || total == 0 {
		return nil
	}
	n := min(int(total), contract.ShownSubscriptions)
	first := make([]contract.Subscription, 0, n)
	err := Subscriptions(view, org, r.ID, 1, func(s contract.Subscription) (bool, error) {
		first = append(first, s)
		return len(first) < n, nil
	})
	if err == nil && len(first) < n {
		err = damagedRow(r.ID, SubscriptionRow, int64(len(first)+1))
	}
	r.Show(first)
	return err
}
