package period_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/period"
)

var update = flag.Bool("update", false, "rewrite the machine's report")

func parseMonth(t *testing.T, text string) period.Month {
	t.Helper()
	m, ok := period.Parse(text)
	if !ok {
		t.Fatalf("%q is no month", text)
	}
	return m
}

// A closed month is final (doc.go, invariant 2).
func TestTheMachineIsAsReported(t *testing.T) {
	const file = "testdata/machine.txt"
	got := period.Machine.Report()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the machine changed; review and run with -update:\n%s", got)
	}
	if _, ok := period.Machine.Next(period.Closed, period.Close); ok {
		t.Error("a closed month is closed again")
	}
}

func TestAMonthIsWrittenWithFourAndTwoDigits(t *testing.T) {
	for _, text := range []string{"1970-01", "2026-02", "2026-12", "9000-12"} {
		if got := parseMonth(t, text).String(); got != text {
			t.Errorf("%s is read as %s", text, got)
		}
	}
	for _, text := range []string{"", "2026", "2026-1", "2026-13", "2026-00", "1969-12", "9001-01", "2026-1 ", "26-01", "+026-01", "2026-01-01", "2026/01", "२०२६-०१"} {
		if m, ok := period.Parse(text); ok {
			t.Errorf("%q is read as %v", text, m)
		}
	}
}

func TestAMonthHasItsCalendarDays(t *testing.T) {
	for _, c := range []struct{ month, first, last string }{
		{"1970-01", "1970-01-01", "1970-01-31"}, {"2024-02", "2024-02-01", "2024-02-29"}, {"2026-02", "2026-02-01", "2026-02-28"},
		{"2026-12", "2026-12-01", "2026-12-31"}, {"9000-12", "9000-12-01", "9000-12-31"},
	} {
		m := parseMonth(t, c.month)
		if m.FirstDay().String() != c.first || m.LastDay().String() != c.last {
			t.Errorf("%v is from %v to %v", m, m.FirstDay(), m.LastDay())
		}
		if m.End().Date() != m.LastDay()+1 || (m.End()-1).Date() != m.LastDay() {
			t.Errorf("%v ends at %v", m, m.End().Time())
		}
		if period.MonthOf(m.FirstDay()) != m || period.MonthOf(m.LastDay()) != m || period.MonthOf(m.LastDay()+1) != m+1 {
			t.Errorf("days of %v are of other months", m)
		}
	}
}

// Ids are in the order of months, and each id belongs to one month (doc.go, invariant 5).
func TestIdsAreInTheOrderOfMonths(t *testing.T) {
	previousID := ledger.ID{}
	for m := parseMonth(t, "1970-01"); m <= parseMonth(t, "9000-12"); m++ {
		id := m.ID()
		if bytes.Compare(previousID[:], id[:]) >= 0 || id.Version() != 8 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%v has the id %v, and the month before %v", m, id, previousID)
		}
		if parsed, ok := period.FromID(id); !ok || parsed != m {
			t.Fatalf("%v is the id of %v, %v", id, parsed, ok)
		}
		previousID = id
	}
	alteredID := parseMonth(t, "2026-10").ID()
	alteredID[15] = 1
	for _, id := range []ledger.ID{{}, uuid.Max, alteredID, (parseMonth(t, "9000-12") + 1).ID(), period.Month(0).ID()} {
		if m, ok := period.FromID(id); ok {
			t.Errorf("%v is the id of %v", id, m)
		}
	}
}

// Months are closed in order and after their end (doc.go, invariants 1 and 3). If there are several reasons to refuse a
// closing, CheckClose returns the one that it checks first.
func TestMonthsAreClosedInOrderAfterTheirEndWithNothingDue(t *testing.T) {
	now := func(text string) ledger.Micros {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return ledger.MicrosOf(at)
	}
	const conflict = ledger.Conflict
	for _, c := range []struct {
		name, month, now, firstMonth, lastClosed string
		pendingItems                             int
		want                                     ledger.Code
	}{
		{"the first month", "2026-09", "2026-10-01T00:00:00Z", "2026-09", "", 0, ""},
		{"the next month", "2026-10", "2026-12-24T00:00:00Z", "2026-09", "2026-09", 0, ""},
		{"across the year's end", "2027-01", "2027-02-01T00:00:00Z", "2026-09", "2026-12", 0, ""},
		{"before the books began", "2026-08", "2026-10-01T00:00:00Z", "2026-09", "", 1, ledger.Invalid},
		{"closed already", "2026-09", "2026-10-01T00:00:00Z", "2026-09", "2026-09", 1, conflict},
		{"closed long ago", "2026-09", "2026-12-01T00:00:00Z", "2026-09", "2026-11", 0, conflict},
		{"in its last microsecond", "2026-09", "2026-09-30T23:59:59.999999Z", "2026-09", "", 0, conflict},
		{"a month in the future", "2027-09", "2026-10-01T00:00:00Z", "2026-09", "", 0, conflict},
		{"not the first month", "2026-10", "2026-12-01T00:00:00Z", "2026-09", "", 0, conflict},
		{"not the next month", "2026-11", "2026-12-01T00:00:00Z", "2026-09", "2026-09", 0, conflict},
		{"items still pending", "2026-09", "2026-10-01T00:00:00Z", "2026-09", "", 1, conflict},
	} {
		s := period.Books{Now: now(c.now), FirstMonth: parseMonth(t, c.firstMonth), PendingItems: c.pendingItems}
		if c.lastClosed != "" {
			s.LastClosed = parseMonth(t, c.lastClosed)
		}
		err := parseMonth(t, c.month).CheckClose(s)
		if c.want == "" && err != nil || c.want != "" && !ledger.IsRefusal(err, c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func amount(n uint64) money.Amount { return money.FromUint64(n) }

var org = uuid.MustParse("7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01")

// The hash is that of the documented text, which is written here by hand (doc.go, invariant 4).
func TestTheHashIsOfTheDocumentedText(t *testing.T) {
	const text = "mizan period 1\n" +
		"organization 7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01\n" +
		"month 2026-10\n" +
		"prod\tA:bank\tEUR\t\t1000\t0\t0\t0\n" +
		"prod\tL:partner:1:available\tEUR\t\t1\t1001\t2\t0\n" +
		"prod\tL:partner:1:available\tUSDT\ttron\t0\t0\t0\t7\n" +
		"test\tA:bank\tEUR\t\t5\t5\t0\t0\n"
	b := period.NewBalanceHasher(org, parseMonth(t, "2026-10"))
	eur, usdt := money.Asset{Currency: "EUR", Env: money.Prod}, money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	testEUR := money.Asset{Currency: "EUR", Env: money.Test}
	b.Add(ledger.Account{Path: ledger.Bank, Asset: eur}, &ledger.Totals{DebitsPosted: amount(1000)})
	b.Add(ledger.Account{Path: ledger.Fees, Asset: eur}, &ledger.Totals{}) // this account is not hashed, because all its totals are zero
	b.Add(ledger.Account{Path: ledger.PartnerAvailable(1), Asset: eur}, &ledger.Totals{DebitsPosted: amount(1), CreditsPosted: amount(1001), DebitsPending: amount(2)})
	b.Add(ledger.Account{Path: ledger.PartnerAvailable(1), Asset: usdt}, &ledger.Totals{CreditsPending: amount(7)})
	b.Add(ledger.Account{Path: ledger.Bank, Asset: testEUR}, &ledger.Totals{DebitsPosted: amount(5), CreditsPosted: amount(5)})
	if sum, rows := b.Sum(); sum != sha256.Sum256([]byte(text)) || rows != 4 {
		t.Errorf("%x of %d rows", sum, rows)
	}
	empty, rows := period.NewBalanceHasher(org, parseMonth(t, "2026-10")).Sum()
	if want := sha256.Sum256([]byte(text[:len("mizan period 1\norganization \nmonth 2026-10\n")+36])); empty != want || rows != 0 {
		t.Errorf("an empty balance has the hash %x and %d rows", empty, rows)
	}
}

func closedRecord(t *testing.T) *period.Record {
	return &period.Record{
		Month: parseMonth(t, "2026-10"), BalanceHash: sha256.Sum256([]byte("a")), Rows: 300,
		ClosedBy: period.ClosedBy{Session: uuid.New(), User: uuid.New(), Login: "chief accountant ☼"},
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	r := closedRecord(t)
	payload := period.AppendRecord(nil, r)
	got, err := period.ReadRecord(r.Month.ID(), payload)
	if err != nil || *got != *r {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range len(payload) - len(r.ClosedBy.Login) {
		if _, err := period.ReadRecord(r.Month.ID(), payload[:n]); err == nil {
			t.Errorf("%d bytes of a record are read", n)
		}
	}
	if _, err := period.ReadRecord(uuid.New(), payload); err == nil {
		t.Error("a record is read under an id that is not that of a month")
	}
	if _, err := period.ReadRecord(r.Month.ID(), append([]byte{9}, payload[1:]...)); err == nil {
		t.Error("a record of another version is read")
	}
}

// The event itself contains the closed month and the hash (doc.go, invariant 4).
func TestClosingEventHasMonthAndHash(t *testing.T) {
	r := closedRecord(t)
	e := r.Event()
	if e.Name != "close" || e.From != "" || e.To != "closed 2026-10 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" {
		t.Errorf("%+v", e)
	}
	if m, sum, ok := period.ReadEvent(&e); !ok || m != r.Month || sum != r.BalanceHash {
		t.Errorf("the event is read as %v %x %v", m, sum, ok)
	}
	for i, change := range []func(*ledger.Event){
		func(e *ledger.Event) { e.Name = "open" },
		func(e *ledger.Event) { e.From = "closed" },
		func(e *ledger.Event) { e.To = "open" + e.To[len("closed"):] },
		func(e *ledger.Event) { e.To = "closed 2026-11" + e.To[len("closed 2026-10"):] },
		func(e *ledger.Event) { e.To = e.To[:len(e.To)-2] },
		func(e *ledger.Event) { e.To += " " },
		func(e *ledger.Event) { e.To = string(bytes.ToUpper([]byte(e.To))) },
		func(e *ledger.Event) { e.To = "closed 2026-10 CA" + e.To[len("closed 2026-10 ca"):] },
		func(e *ledger.Event) { e.Source.ID = uuid.New() },
		func(e *ledger.Event) { e.Source.Kind = ledger.Rate },
		func(e *ledger.Event) { e.Entry = new(ledger.Entry) },
	} {
		wrong := r.Event()
		change(&wrong)
		if _, _, ok := period.ReadEvent(&wrong); ok {
			t.Errorf("change %d is read", i)
		}
	}
}

func TestRowsAreInTheOrderOfEnvironmentPathCurrencyAndNetwork(t *testing.T) {
	account := func(env money.Env, path ledger.Path, currency money.Currency, network money.Network) ledger.Account {
		return ledger.Account{Path: path, Asset: money.Asset{Currency: currency, Network: network, Env: env}}
	}
	want := []ledger.Account{
		account(money.Prod, "A:bank", "EUR", ""), account(money.Prod, "A:bank", "USDT", "bsc"), account(money.Prod, "A:bank", "USDT", "tron"),
		account(money.Prod, "A:bank:b", "AED", ""), account(money.Prod, "L:a", "AED", ""), account(money.Test, "A:bank", "AED", ""),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, period.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
