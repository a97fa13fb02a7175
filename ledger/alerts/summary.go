package alerts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// SummaryItem is what a summary needs to know about a transaction.
type SummaryItem struct {
	Type     string // type of the transaction as in the API, or ReturnType
	Status   string
	Asset    money.Asset
	Amount   money.Amount // settled amount
	Fee      money.Amount // charged fee, or for the type ReturnType the fee that was given back; zero if no money has moved
	Refunded money.Amount // refunded part of Amount
	Failed   bool         // whether the transaction was rejected or failed
}

// ReturnType is the type that summaries show for a return: the payout that is recorded when the rail (the payment provider)
// reverses a transaction. Payouts that a merchant has requested have the type payout.
const ReturnType = "return"

// lineKey identifies a line of a summary. A line is about all transactions with the same type, status and asset.
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

// boundedSum is a sum of amounts. If the sum overflows, format says so instead of showing the sum.
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

// summaryLine has the totals that a line of a summary shows.
type summaryLine struct {
	count                 uint64
	amount, fee, refunded boundedSum
}

// Summary adds up the transactions that were started at one terminal on one day. A Summary has one line for each combination of
// type, status and asset, so its size is bounded. The zero value is an empty summary.
type Summary struct {
	lines         map[lineKey]*summaryLine
	total, failed uint64
}

// Add adds a transaction to the summary.
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

// IsEmpty tells whether the summary has no transactions.
func (s *Summary) IsEmpty() bool { return s.total == 0 }

// Message writes the message with the summary of a day. readAt is the time at which the transactions were read from the store.
func (s *Summary) Message(terminal Terminal, day ledger.Date, readAt ledger.Micros) Message {
	m := Message{Kind: Daily, Subject: subjectLine("%s at %s: no transactions", day, terminal.name())}
	var text textBuilder
	text.add("What was started on %s (UTC), as it stood at %s.", day, formatTime(readAt))
	text.add("Where: %s", &terminal)
	text.add("")
	if s.IsEmpty() {
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

// transactionCount returns a number of transactions as text, such as "2 transactions".
func transactionCount(n uint64) string {
	if n == 1 {
		return "1 transaction"
	}
	return fmt.Sprintf("%d transactions", n)
}

// text returns the line as text, for example "payment, charged: 3, 12.00 USD (1200 minor units), fees ..., refunded ...".
func (s *summaryLine) text(key lineKey) string {
	text := fmt.Sprintf("%s, %s: %d, %s", key.txType, key.status, s.count, s.amount.format(key.asset))
	if !s.fee.isEmpty() && key.txType == ReturnType {
		text += ", fees given back " + s.fee.format(key.asset)
	} else if !s.fee.isEmpty() {
		text += ", fees " + s.fee.format(key.asset)
	}
	if !s.refunded.isEmpty() {
		text += ", refunded " + s.refunded.format(key.asset)
	}
	return text
}
