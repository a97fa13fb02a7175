package alerts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// SummaryItem has the data of one transaction that goes into a summary.
type SummaryItem struct {
	Type     string // the type as the API spells it, or Returned
	Status   string
	Asset    money.Asset
	Amount   money.Amount // the settled amount
	Fee      money.Amount // the fee that was charged; for the type Returned, the fee given back; zero if no money has moved
	Refunded money.Amount // the refunded part of Amount
	Failed   bool         // the transaction was rejected or failed
}

// Returned is the type that summaries show for a return. A return is the payout that is recorded when the rail (the payment
// provider) reverses a transaction. Payouts that a merchant requested have the type payout.
const Returned = "return"

// lineKey has the values by which transactions are grouped into the lines of a summary.
type lineKey struct {
	txType, status string
	asset          money.Asset
}

func (key lineKey) compare(other lineKey) int {
	return cmp.Or(
		cmp.Compare(key.txType, other.txType), cmp.Compare(key.asset.Currency, other.asset.Currency), cmp.Compare(key.asset.Network, other.asset.Network),
		cmp.Compare(key.asset.Env, other.asset.Env), cmp.Compare(key.status, other.status),
	)
}

// boundedSum is a sum of amounts. An overflow is recorded and shown instead of the sum.
type boundedSum struct {
	amount     money.Amount
	overflowed bool
}

func (s *boundedSum) add(amount money.Amount) {
	sum, err := s.amount.Add(amount)
	if err != nil {
		s.overflowed = true
		return
	}
	s.amount = sum
}

func (s *boundedSum) format(asset money.Asset) string {
	if s.overflowed {
		return "more " + assetName(asset) + " than can be shown"
	}
	return formatAmount(s.amount, asset)
}

func (s *boundedSum) isEmpty() bool { return s.amount.IsZero() && !s.overflowed }

// summaryLine holds the totals of one line of a summary.
type summaryLine struct {
	count                 uint64
	amount, fee, refunded boundedSum
}

// Summary adds up the transactions started at one terminal on one day. Its size is bounded
// by the number of types, statuses and assets. The zero value is empty.
type Summary struct {
	lines         map[lineKey]*summaryLine
	total, failed uint64
}

// Add adds a transaction.
func (s *Summary) Add(item *SummaryItem) {
	if s.lines == nil {
		s.lines = make(map[lineKey]*summaryLine)
	}
	key := lineKey{txType: item.Type, status: item.Status, asset: item.Asset}
	line := s.lines[key]
	if line == nil {
		line = new(summaryLine)
		s.lines[key] = line
	}
	line.count++
	line.amount.add(item.Amount)
	line.fee.add(item.Fee)
	line.refunded.add(item.Refunded)
	s.total++
	if item.Failed {
		s.failed++
	}
}

// Empty tells whether no transaction was added.
func (s *Summary) Empty() bool { return s.total == 0 }

// Message renders the summary of a day. readAt is the instant at which the transactions were read from the store.
func (s *Summary) Message(terminal Terminal, day ledger.Date, readAt ledger.Micros) Message {
	m := Message{Kind: Daily, Subject: subjectLine("%s at %s: no transactions", day, terminal.name())}
	var text textBuilder
	text.add("What was started on %s (UTC), as it stood at %s.", day, formatTime(readAt))
	text.add("Where: %s", &terminal)
	text.add("")
	if s.Empty() {
		text.add("There was nothing.")
		m.Text = text.String()
		return m
	}
	m.Subject = subjectLine("%s at %s: %s, %d rejected or failed", day, terminal.name(), transactionCount(s.total), s.failed)
	for _, key := range slices.SortedFunc(maps.Keys(s.lines), lineKey.compare) {
		text.add("%s", s.lines[key].text(key))
	}
	m.Text = text.String()
	return m
}

// transactionCount formats a number of transactions.
func transactionCount(n uint64) string {
	if n == 1 {
		return "1 transaction"
	}
	return fmt.Sprintf("%d transactions", n)
}

// text formats the line: "payment, charged: 3, 12.00 USD (1200 minor units), fees ..., refunded ...".
func (s *summaryLine) text(key lineKey) string {
	text := fmt.Sprintf("%s, %s: %d, %s", key.txType, key.status, s.count, s.amount.format(key.asset))
	if !s.fee.isEmpty() && key.txType == Returned {
		text += ", fees given back " + s.fee.format(key.asset)
	} else if !s.fee.isEmpty() {
		text += ", fees " + s.fee.format(key.asset)
	}
	if !s.refunded.isEmpty() {
		text += ", refunded " + s.refunded.format(key.asset)
	}
	return text
}
