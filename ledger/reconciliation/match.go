package reconciliation

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// ReferenceKind says what a reference of an entry is.
type ReferenceKind uint8

// The kinds of references. Zero means that a rule uses no reference.
const (
	ByTransactionID ReferenceKind = iota + 1 // the id of our transaction, or of the refund's or the return's transaction
	ByCharge                                 // the id under which the provider knows the charge or the refund
	ByTxID                                   // the partner's txid
	ByRRN                                    // the retrieval reference number
	ByProviderID                             // an id in the metadata that the provider returned
	BySettlement                             // the reference of a settlement
)

// Reference is a text by which a line may name an entry.
type Reference struct {
	Kind ReferenceKind
	Text string
}

// Entry is a posted or captured line of the provider's account, as the matching sees it.
type Entry struct {
	Seq         uint64 // journal number of the event with the entry
	Date        ledger.Date
	Asset       money.Asset
	Outgoing    bool         // the entry credits the account: it lowers what the provider owes
	Amount      money.Amount // what was posted on the account
	OtherAmount money.Amount // for a settlement: what reached the bank, without the provider's fee; otherwise zero
	References  []Reference
}

// Signed returns the amount; negative if the entry lowers what the provider owes.
func (e *Entry) Signed() money.Signed { return signed(e.Amount, e.Outgoing) }

// Rule is one way of finding the entry of a line.
type Rule struct {
	Name string
	By   ReferenceKind // a reference of the line equals a reference of this kind; zero: amount and day alone decide

	// WithoutReference restricts the rule to lines that have no reference at all, because another reference than the entry's
	// means another movement.
	WithoutReference bool
}

// Rules are the rules in the order in which they are tried. The name of the rule that matched is shown, and its position is
// stored, so that rules may only be added at the end.
var Rules = []Rule{
	{Name: "transaction_id", By: ByTransactionID},
	{Name: "charge_reference", By: ByCharge},
	{Name: "txid", By: ByTxID},
	{Name: "rrn", By: ByRRN},
	{Name: "provider_id", By: ByProviderID},
	{Name: "settlement_reference", By: BySettlement},
	{Name: "amount_and_day", WithoutReference: true},
}

// Terms are the tolerances of the matching.
type Terms struct {
	// Days is the number of days by which the day of a line may differ from the day of its entry.
	Days int

	// NetOfFee accepts a line whose amount already lacks the fee that the line states.
	NetOfFee bool
}

// DefaultTerms are the tolerances of imports: a provider books a charge up to three days after we do.
var DefaultTerms = Terms{Days: 3, NetOfFee: true}

// Matcher matches the lines of a report with entries. Every entry is matched at most once.
type Matcher struct {
	terms       Terms
	entries     []Entry
	isTaken     []bool
	next        []int32 // list of the entries with the same reference: index in refs + 1 of the next one
	refs        []int32 // entry of each reference
	byReference map[Reference]referenced
	byAmount    map[amountKey][]int32 // entries in the order in which they were added
}

// referenced is the list of the entries with one reference.
type referenced struct {
	first int32 // index in refs + 1
	count int32
}

// maxSameReference is the number of entries above which a reference says nothing. A text that so many entries share, such as the
// name of a card's brand, identifies none of them, and reading them for each line would take too long.
const maxSameReference = 64

type amountKey struct {
	asset    money.Asset
	outgoing bool
	amount   money.Amount
	date     ledger.Date
}

// NewMatcher returns a matcher without entries.
func NewMatcher(terms Terms) *Matcher {
	return &Matcher{terms: terms, byReference: make(map[Reference]referenced), byAmount: make(map[amountKey][]int32)}
}

// Add adds an entry. Taken entries may be left out.
func (m *Matcher) Add(e Entry) {
	i := int32(len(m.entries))
	m.entries, m.isTaken = append(m.entries, e), append(m.isTaken, false)
	for _, r := range e.References {
		m.refs = append(m.refs, i)
		same := m.byReference[r]
		m.next = append(m.next, same.first)
		m.byReference[r] = referenced{int32(len(m.refs)), same.count + 1}
	}
	m.addAmount(i, e.Amount)
	if !e.OtherAmount.IsZero() && e.OtherAmount != e.Amount {
		m.addAmount(i, e.OtherAmount)
	}
}

func (m *Matcher) addAmount(i int32, amount money.Amount) {
	e := &m.entries[i]
	key := amountKey{e.Asset, e.Outgoing, amount, e.Date}
	m.byAmount[key] = append(m.byAmount[key], i)
}

// Match matches the lines and returns one outcome for each. A line for which skip returns true keeps the zero outcome. Match
// never returns Duplicate: the caller knows which lines are booked already.
func (m *Matcher) Match(lines []Line, skip func(i int) bool) []Outcome {
	outcomes := make([]Outcome, len(lines))
	for _, find := range []func(*Line, Rule) int32{m.bestByReference, m.onlyByReference, m.nearestByAmount} {
		for i := range lines {
			if outcomes[i].Rule == 0 && !skip(i) {
				m.matchLine(&lines[i], find, &outcomes[i])
			}
		}
	}
	for i := range outcomes {
		if outcomes[i].Rule == 0 && !skip(i) {
			outcomes[i].Difference = MissingHere
		}
	}
	return outcomes
}

// matchLine looks for the entry of a line by each rule.
func (m *Matcher) matchLine(l *Line, find func(*Line, Rule) int32, out *Outcome) {
	for rule := range Rules {
		if best := find(l, Rules[rule]); best >= 0 {
			m.isTaken[best] = true
			*out = Outcome{Rule: uint8(rule + 1), Entry: m.entries[best].Seq, Difference: m.compare(l, &m.entries[best])}
			return
		}
	}
}

// compare returns in what a line differs from its entry.
func (m *Matcher) compare(l *Line, e *Entry) DifferenceKind {
	switch {
	case l.Asset != e.Asset:
		return Currency
	case !m.agrees(l, e):
		return AmountDiffers
	case !m.isNear(l.Date, e.Date):
		return DateDiffers
	}
	return 0
}

func (m *Matcher) isNear(a, b ledger.Date) bool { return abs(int(a)-int(b)) <= m.terms.Days }

func abs(n int) int { return max(n, -n) }

// agrees tells whether a line has the amount of an entry, before the fee or, if the terms accept this, after it.
func (m *Matcher) agrees(l *Line, e *Entry) bool {
	if l.Amount == e.Amount || l.Amount == e.OtherAmount && !e.OtherAmount.IsZero() {
		return true
	}
	if !m.terms.NetOfFee || l.Fee.IsZero() {
		return false
	}
	gross, err := l.Signed().Add(l.Fee)
	return err == nil && gross == e.Signed()
}

// Gross returns the line as it is stored: if its amount is the entry's only after the fee that the line states, the fee is taken out
// of the amount, so that totals count it once.
func (m *Matcher) Gross(l Line, e *Entry) Line {
	if l.Amount == e.Amount || l.Amount == e.OtherAmount && !e.OtherAmount.IsZero() || l.Asset != e.Asset || !m.agrees(&l, e) {
		return l
	}
	l.Amount, l.Outgoing = e.Amount, e.Outgoing
	return l
}

// eachWith calls fn with the free entries that a reference of the rule's kind names and that move money in the line's direction.
func (m *Matcher) eachWith(l *Line, r Rule, fn func(i int32)) {
	if r.By == 0 {
		return
	}
	for _, text := range l.References {
		same := m.byReference[Reference{r.By, text}]
		if same.count > maxSameReference {
			continue
		}
		for at := same.first; at != 0; at = m.next[at-1] {
			if i := m.refs[at-1]; !m.isTaken[i] && m.entries[i].Outgoing == l.Outgoing {
				fn(i)
			}
		}
	}
}

// bestByReference returns the free entry with a reference of the line and the line's amount that is nearest to the line's day, or -1.
func (m *Matcher) bestByReference(l *Line, r Rule) int32 {
	best := int32(-1)
	m.eachWith(l, r, func(i int32) {
		e := &m.entries[i]
		if e.Asset == l.Asset && m.agrees(l, e) && (best < 0 || m.isBetter(l, i, best)) {
			best = i
		}
	})
	return best
}

// isBetter tells whether entry i is nearer to the line's day than entry j; of two equally near ones, the earlier is better.
func (m *Matcher) isBetter(l *Line, i, j int32) bool {
	a, b := abs(int(m.entries[i].Date)-int(l.Date)), abs(int(m.entries[j].Date)-int(l.Date))
	return a < b || a == b && m.entries[i].Seq < m.entries[j].Seq
}

// onlyByReference returns the free entry of a reference if there is only one, or -1.
func (m *Matcher) onlyByReference(l *Line, r Rule) int32 {
	only := int32(-1)
	m.eachWith(l, r, func(i int32) {
		switch only {
		case -1:
			only = i
		case i, -2:
		default:
			only = -2
		}
	})
	return max(only, -1)
}

// nearestByAmount returns the free entry with the line's amount whose day is nearest to the line's, or -1. The line has no
// reference, so of several equal entries each is as good as the others. References are tried for all lines before, so that a line
// without one never takes the entry of another.
func (m *Matcher) nearestByAmount(l *Line, r Rule) int32 {
	if r.By != 0 || r.WithoutReference && len(l.References) > 0 {
		return -1
	}
	for days := range m.terms.Days + 1 {
		for _, date := range []ledger.Date{l.Date - ledger.Date(days), l.Date + ledger.Date(days)} {
			key := amountKey{l.Asset, l.Outgoing, l.Amount, date}
			list := m.byAmount[key]
			for len(list) > 0 && m.isTaken[list[0]] {
				list = list[1:]
				m.byAmount[key] = list
			}
			if len(list) > 0 {
				return list[0]
			}
		}
	}
	return -1
}

// Remaining returns the entries that no line was matched with.
func (m *Matcher) Remaining() (free []*Entry) {
	for i := range m.entries {
		if !m.isTaken[i] {
			free = append(free, &m.entries[i])
		}
	}
	return free
}

// BySeq returns the entries by their numbers.
func (m *Matcher) BySeq() map[uint64]*Entry {
	all := make(map[uint64]*Entry, len(m.entries))
	for i := range m.entries {
		all[m.entries[i].Seq] = &m.entries[i]
	}
	return all
}
