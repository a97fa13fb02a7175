package reconciliation

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
)

var (
	usd = money.Asset{Currency: "USD", Env: money.Test}
	eur = money.Asset{Currency: "EUR", Env: money.Test}
)

const today ledger.Date = 20_000

func entry(seq, amount uint64, references ...string) Entry {
	e := Entry{Seq: seq, Date: today, Asset: usd, Amount: money.FromUint64(amount)}
	for _, text := range references {
		e.References = append(e.References, Reference{ByTxID, text})
	}
	return e
}

func line(amount uint64, references ...string) Line {
	return Line{Kind: Charge, Amount: money.FromUint64(amount), Asset: usd, Date: today, References: references}
}

func none(int) bool { return false }

// match matches lines with entries and returns the outcomes as "entry kind".
func match(entries []Entry, lines ...Line) (out []string) {
	m := NewMatcher(DefaultTerms)
	for _, e := range entries {
		m.Add(e)
	}
	for _, o := range m.Match(lines, none) {
		out = append(out, fmt.Sprintf("%d %s", o.Entry, o.Difference))
	}
	return out
}

func TestLineIsMatchedByTheFirstRuleThatFinds(t *testing.T) {
	fee := func(l Line, n uint64) Line { l.Fee = money.Signed{Abs: money.FromUint64(n)}; return l }
	on := func(l Line, d ledger.Date) Line { l.Date = d; return l }
	out := func(l Line) Line { l.Outgoing = true; return l }
	in := func(l Line, a money.Asset) Line { l.Asset = a; return l }
	payout := Entry{Seq: 9, Date: today, Asset: usd, Outgoing: true, Amount: money.FromUint64(1000), OtherAmount: money.FromUint64(970), References: []Reference{{BySettlement, "po"}}}
	for name, c := range map[string]struct {
		entries []Entry
		lines   []Line
		want    []string
	}{
		"by reference":                           {[]Entry{entry(1, 10, "a"), entry(2, 10, "b")}, []Line{line(10, "b")}, []string{"2 "}},
		"unknown reference":                      {[]Entry{entry(1, 10, "a")}, []Line{line(10, "z")}, []string{"0 missing_here"}},
		"without a reference, amount and day":    {[]Entry{entry(1, 10, "a")}, []Line{line(10)}, []string{"1 "}},
		"another reference is another movement":  {[]Entry{entry(1, 10, "a")}, []Line{line(10, "b")}, []string{"0 missing_here"}},
		"an entry is matched once":               {[]Entry{entry(1, 10, "a")}, []Line{line(10, "a"), line(10, "a")}, []string{"1 ", "0 missing_here"}},
		"another amount":                         {[]Entry{entry(1, 10, "a")}, []Line{line(11, "a")}, []string{"1 amount"}},
		"net of the stated fee":                  {[]Entry{entry(1, 1000, "a")}, []Line{fee(line(971, "a"), 29)}, []string{"1 "}},
		"net of another fee":                     {[]Entry{entry(1, 1000, "a")}, []Line{fee(line(970, "a"), 29)}, []string{"1 amount"}},
		"another currency":                       {[]Entry{entry(1, 10, "a")}, []Line{in(line(10, "a"), eur)}, []string{"1 currency"}},
		"three days later":                       {[]Entry{entry(1, 10, "a")}, []Line{on(line(10, "a"), today+3)}, []string{"1 "}},
		"four days later":                        {[]Entry{entry(1, 10, "a")}, []Line{on(line(10, "a"), today+4)}, []string{"1 date"}},
		"four days later, without a reference":   {[]Entry{entry(1, 10)}, []Line{on(line(10), today+4)}, []string{"0 missing_here"}},
		"the other direction":                    {[]Entry{entry(1, 10, "a")}, []Line{out(line(10, "a"))}, []string{"0 missing_here"}},
		"the exact amount first, in any order":   {[]Entry{entry(1, 20, "a"), entry(2, 30, "a")}, []Line{line(25, "a"), line(30, "a")}, []string{"1 amount", "2 "}},
		"references first, in any order":         {[]Entry{entry(1, 10, "a"), entry(2, 10, "b")}, []Line{line(10), line(10, "a")}, []string{"2 ", "1 "}},
		"two inexact entries are no match":       {[]Entry{entry(1, 20, "a"), entry(2, 30, "a")}, []Line{line(25, "a")}, []string{"0 missing_here"}},
		"a settlement by what reached the bank":  {[]Entry{payout}, []Line{out(line(970, "po"))}, []string{"9 "}},
		"a settlement by its gross amount":       {[]Entry{payout}, []Line{out(line(1000, "po"))}, []string{"9 "}},
		"a settlement without reference, by net": {[]Entry{payout}, []Line{out(line(970))}, []string{"9 "}},
	} {
		if got := match(c.entries, c.lines...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A line that states the amount after its fee is stored with the amount before it, so that totals subtract the fee once.
func TestNetLineIsStoredGross(t *testing.T) {
	m := NewMatcher(DefaultTerms)
	net := line(971, "a")
	net.Fee = money.Signed{Abs: money.FromUint64(29)}
	e := entry(1, 1000, "a")
	gross := m.Gross(net, &e)
	if got, err := gross.Net(); err != nil || got != (money.Signed{Abs: money.FromUint64(971)}) {
		t.Errorf("the provider owes %v more, want 971", got)
	}
	for _, unchanged := range []Line{line(970, "a"), line(1000, "a")} {
		if got := m.Gross(unchanged, &e); !reflect.DeepEqual(got, unchanged) {
			t.Errorf("%+v has become %+v", unchanged, got)
		}
	}
}

// A text that more than 64 entries share identifies none of them, so a line that names it is not matched by it.
func TestReferenceOfManyEntriesSaysNothing(t *testing.T) {
	var entries []Entry
	for seq := range uint64(maxSameReference) {
		entries = append(entries, entry(seq+1, 10, "visa"))
	}
	if got := match(entries, line(10, "visa")); got[0] == "0 missing_here" {
		t.Error("at the bound it is not matched")
	}
	if got := match(append(entries, entry(999, 10, "visa")), line(10, "visa")); got[0] != "0 missing_here" {
		t.Errorf("beyond the bound: %s", got[0])
	}
}

// Whatever the lines and entries are: each entry is matched at most once, an outcome without a difference agrees in asset, amount
// and day, the remaining entries are those that no outcome names, and no line without a reference has an entry that a line without
// an entry names with its amount.
func TestMatchingProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(testseed.Seed(t), 1))
	for range 500 {
		var entries []Entry
		var lines []Line
		for i := range random.IntN(30) {
			e := entry(uint64(i+1), uint64(1+random.IntN(4)), fmt.Sprint("r", random.IntN(12)))
			e.Outgoing, e.Date = random.IntN(3) == 0, today+ledger.Date(random.IntN(8))
			entries = append(entries, e)
		}
		for range random.IntN(30) {
			l := line(uint64(1+random.IntN(4)), fmt.Sprint("r", random.IntN(12)))
			if random.IntN(4) == 0 {
				l.References = nil
			}
			l.Outgoing, l.Date = random.IntN(3) == 0, today+ledger.Date(random.IntN(8))
			lines = append(lines, l)
		}
		m := NewMatcher(DefaultTerms)
		for _, e := range entries {
			m.Add(e)
		}
		matched := make(map[uint64]bool)
		outcomes := m.Match(lines, none)
		for i, o := range outcomes {
			if o.Entry == 0 {
				if o.Difference != MissingHere {
					t.Fatalf("line %d has outcome %+v", i, o)
				}
				continue
			}
			e := &entries[o.Entry-1]
			if matched[o.Entry] || e.Outgoing != lines[i].Outgoing {
				t.Fatalf("entry %d is matched twice or with a line of the other direction", o.Entry)
			}
			matched[o.Entry] = true
			for k := range lines {
				if len(lines[i].References) == 0 && outcomes[k].Entry == 0 && lines[k].Amount == e.Amount && lines[k].Outgoing == e.Outgoing &&
					slices.Contains(lines[k].References, e.References[0].Text) {
					t.Fatalf("line %+v has the entry %+v, which line %+v names", lines[i], e, lines[k])
				}
			}
			if o.Difference == 0 && (e.Amount != lines[i].Amount || abs(int(e.Date-lines[i].Date)) > 3) {
				t.Fatalf("line %+v agrees with %+v", lines[i], e)
			}
		}
		for _, e := range m.Remaining() {
			if matched[e.Seq] {
				t.Fatalf("entry %d remains and is matched", e.Seq)
			}
			matched[e.Seq] = true
		}
		if len(matched) != len(entries) {
			t.Fatalf("%d of %d entries are matched or remain", len(matched), len(entries))
		}
	}
}

func TestBatchSurvivesItsStoredForm(t *testing.T) {
	b := &Batch{Report: uuid.New(), Number: 7}
	keys := NewKeys()
	for i := range MaxBatch {
		l := line(uint64(i), fmt.Sprint("r", i))
		l.Outgoing, l.Fee = i%2 == 0, money.Signed{Negative: i%3 == 1, Abs: money.FromUint64(uint64(i % 3))}
		if i%4 == 0 {
			l.ID, l.References = fmt.Sprint("id", i), nil
		}
		b.Lines = append(b.Lines, BookedLine{Line: l, Outcome: Outcome{uint8(i % 8), uint64(i), DifferenceKind(i % 7)}, Key: keys.Next(&l)})
	}
	stored := b.AppendBinary(nil)
	got, err := ReadBatch(stored)
	if err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range len(stored) {
		if _, err := ReadBatch(stored[:n]); err == nil {
			t.Fatalf("%d of %d bytes are read as a batch", n, len(stored))
		}
	}
}

// A line with an id is known by it. Equal lines without an id differ by their ordinal in the file only, so the same lines have the
// same keys in another file.
func TestKeysOfLines(t *testing.T) {
	withID := line(1, "a")
	withID.ID = "x"
	changed := withID
	changed.Amount = money.FromUint64(2)
	plain, other := line(1, "a"), line(2, "a")
	first, second := NewKeys(), NewKeys()
	a, b, c := first.Next(&plain), first.Next(&plain), first.Next(&other)
	if a == b || a == c || second.Next(&other) != c || second.Next(&plain) != a || second.Next(&plain) != b {
		t.Error("equal lines have other keys in another file")
	}
	if first.Next(&withID) != second.Next(&changed) || first.Next(&withID) == a {
		t.Error("a line with an id is not known by it")
	}
}
