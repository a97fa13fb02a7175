package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Part is what a summary needs of a transaction.
type Part struct {
	Type     string // as the protocol spells it, or Returned
	Status   string
	Asset    money.Asset
	Amount   money.Amount // what it settled for, if it did
	Fee      money.Amount // taken, or for Returned given back; zero where no money has moved
	Refunded money.Amount // in all, of the amount
	Failed   bool         // it was rejected or failed
}

// Returned is the type, in summaries, of what gives back a transaction that a rail
// took back: it is no payout that anybody asked for.
const Returned = "return"

// row is what the transactions of a line have in common.
type row struct {
	kind, status string
	asset        money.Asset
}

func (r row) compare(o row) int {
	return cmp.Or(
		cmp.Compare(r.kind, o.kind), cmp.Compare(r.asset.Currency, o.asset.Currency), cmp.Compare(r.asset.Network, o.asset.Network),
		cmp.Compare(r.asset.Env, o.asset.Env), cmp.Compare(r.status, o.status),
	)
}

// sum is a sum of amounts that may have left their range.
type sum struct {
	amount money.Amount
	lost   bool
}

func (s *sum) add(more money.Amount) {
	next, err := s.amount.Add(more)
	if err != nil {
		s.lost = true
		return
	}
	s.amount = next
}

func (s *sum) shown(of money.Asset) string {
	if s.lost {
		return "more " + coin(of) + " than can be shown"
	}
	return shown(s.amount, of)
}

func (s *sum) empty() bool { return s.amount.IsZero() && !s.lost }

// sums are a line of a summary.
type sums struct {
	count                 uint64
	amount, fee, refunded sum
}

// Summary adds up what was started at one terminal on one day. Its size is bounded by
// the types, statuses and assets that there are. The zero value is empty.
type Summary struct {
	rows        map[row]*sums
	all, failed uint64
}

// Add counts a transaction in.
func (s *Summary) Add(p *Part) {
	if s.rows == nil {
		s.rows = make(map[row]*sums)
	}
	key := row{kind: p.Type, status: p.Status, asset: p.Asset}
	line := s.rows[key]
	if line == nil {
		line = new(sums)
		s.rows[key] = line
	}
	line.count++
	line.amount.add(p.Amount)
	line.fee.add(p.Fee)
	line.refunded.add(p.Refunded)
	s.all++
	if p.Failed {
		s.failed++
	}
}

// Empty tells that nothing was counted.
func (s *Summary) Empty() bool { return s.all == 0 }

// Message is the summary in words, as the transactions stood at an instant.
func (s *Summary) Message(p Place, day ledger.Date, at ledger.Micros) Message {
	m := Message{Kind: Daily, Subject: subject("%s at %s: no transactions", day, p.name())}
	var text lines
	text.add("What was started on %s (UTC), as it stood at %s.", day, instant(at))
	text.add("Where: %s", &p)
	text.add("")
	if s.Empty() {
		text.add("There was nothing.")
		m.Text = text.String()
		return m
	}
	m.Subject = subject("%s at %s: %s, %d rejected or failed", day, p.name(), transactions(s.all), s.failed)
	for _, r := range slices.SortedFunc(maps.Keys(s.rows), row.compare) {
		text.add("%s", s.rows[r].line(r))
	}
	m.Text = text.String()
	return m
}

func transactions(n uint64) string {
	if n == 1 {
		return "1 transaction"
	}
	return fmt.Sprintf("%d transactions", n)
}

// line is "payment, charged: 3, 12.00 USD (1200 minor units), fees ..., refunded ...".
func (s *sums) line(r row) string {
	text := fmt.Sprintf("%s, %s: %d, %s", r.kind, r.status, s.count, s.amount.shown(r.asset))
	if !s.fee.empty() && r.kind == Returned {
		text += ", fees given back " + s.fee.shown(r.asset)
	} else if !s.fee.empty() {
		text += ", fees " + s.fee.shown(r.asset)
	}
	if !s.refunded.empty() {
		text += ", refunded " + s.refunded.shown(r.asset)
	}
	return text
}
