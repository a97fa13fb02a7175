package ledger_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
)

var usd = money.Asset{Currency: "USD", Env: money.Prod}

var bySystem = ledger.Author{Kind: ledger.BySystem}

func post(path ledger.Path, side ledger.Side, n uint64) ledger.Posting {
	return ledger.Posting{Account: path, Asset: usd, Side: side, Amount: money.FromUint64(n)}
}

// A leaf is the form of an event that the journal's Merkle tree hashes. If the form changed, all proofs issued so far
// would become invalid. The expected leaf is written by hand.
func TestTheLeafsBytesNeverChange(t *testing.T) {
	e := ledger.Event{
		Seq: 5, Version: 5, Previous: 4, Booked: 1_788_430_530_123_456,
		Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.MustParse("00112233-4455-4677-8899-aabbccddeeff")},
		Author: ledger.Author{Kind: ledger.ByAPIKey, Seq: 300},
		Name:   "settle", From: "charging", To: "charged",
		Entry: &ledger.Entry{Phase: ledger.Posted, Effective: ledger.DateOf(time.Date(2026, 9, 3, 0, 0, 0, 0, time.UTC)),
			Postings: []ledger.Posting{post("A:bank", ledger.Debit, 256), post("I:fees", ledger.Credit, 256)}},
		StoredHashes: ledger.StoredHashes{
			Record: ledger.Hash{0: 0xaa, 31: 0xab}, Notices: ledger.Hash{0: 0xba, 31: 0xbb}, Claims: []ledger.Hash{{0: 0xca, 31: 0xcb}, {0: 0xda}},
		},
	}
	want := strings.Join([]string{
		"03", "0f", // version; flags: entry, and hashes of the record, of its notices and of claims
		"aa" + strings.Repeat("00", 30) + "ab",
		"05", "05", "04", // seq, version, previous
		"c0add0f396d29603", // booked
		"74", "00112233445546778899aabbccddeeff",
		"02", "ac02", // author: a key, created by event 300
		"06736574746c65", "086368617267696e67", "0763686172676564", // settle charging charged
		"01", "dca101", "00", "00", // posted, day 20700 counted from 1, reverses, closes
		"02",                                                       // postings
		"01", "06413a62616e6b", "01" + "03555344" + "00", "020100", // debit A:bank prod USD - 256
		"02", "06493a66656573", "01" + "03555344" + "00", "020100",
		"ba" + strings.Repeat("00", 30) + "bb",
		"02", "ca" + strings.Repeat("00", 30) + "cb", "da" + strings.Repeat("00", 31),
	}, "")
	if got := hex.EncodeToString(e.AppendCanonical(nil)); got != want {
		t.Errorf("leaf\n%s, want\n%s", got, want)
	}
}

func TestLeafRoundTripAndOtherBytesAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(t)
		leaf := e.AppendCanonical(nil)
		decoded, err := ledger.ParseCanonical(leaf)
		if err != nil || !reflect.DeepEqual(decoded, e) {
			t.Fatalf("read back %+v (%v), want %+v", decoded, err, e)
		}
		index := rapid.IntRange(0, len(leaf)-1).Draw(t, "at")
		for name, changed := range map[string][]byte{
			"truncated":          leaf[:index],
			"with another byte":  append(bytes.Clone(leaf), 0),
			"with a bit flipped": flipBit(leaf, index),
		} {
			parsed, err := ledger.ParseCanonical(changed)
			if err == nil && !bytes.Equal(parsed.AppendCanonical(nil), changed) {
				t.Fatalf("%s at %d: accepted a second form of %+v", name, index, parsed)
			}
		}
	})
}

// If a number of more than 32 bits were truncated to a valid day, the same event would have a second form.
func TestLeafWithADayOutOfRangeIsRefused(t *testing.T) {
	e := ledger.Event{Seq: 1, Version: 1, Author: bySystem, Entry: &ledger.Entry{Phase: ledger.Posted, Effective: 5}}
	leaf := e.AppendCanonical(nil)
	index := bytes.LastIndex(leaf, []byte{byte(ledger.Posted), 5, 0, 0, 0})
	if index < 0 {
		t.Fatalf("no entry in %x", leaf)
	}
	for _, day := range []uint64{5 + 1<<32, 1<<32 - 1, 1 << 63} {
		changed := binary.AppendUvarint(bytes.Clone(leaf[:index+1]), day)
		changed = append(changed, leaf[index+2:]...)
		if decoded, err := ledger.ParseCanonical(changed); err == nil {
			t.Errorf("day %d was read as %d", day, decoded.Entry.Effective)
		}
	}
}

// An event has no leaf if it has no author, an author of an unknown kind, or an author without the record that its kind
// needs.
func TestLeafWithoutAValidAuthorIsRefused(t *testing.T) {
	e := ledger.Event{Seq: 1, Version: 1, Author: ledger.Author{Kind: ledger.BySession, Seq: 9}, Name: "x"}
	leaf := e.AppendCanonical(nil)
	index := bytes.Index(leaf, []byte{byte(ledger.BySession), 9})
	if _, err := ledger.ParseCanonical(leaf); err != nil || index < 0 {
		t.Fatalf("%x: %v", leaf, err)
	}
	for _, author := range [][]byte{{0}, {7}, {byte(ledger.BySession), 0}, {byte(ledger.BySystem), 9}, {byte(ledger.BySession), 0x89, 0}} {
		changed := append(append(bytes.Clone(leaf[:index]), author...), leaf[index+2:]...)
		if decoded, err := ledger.ParseCanonical(changed); err == nil {
			t.Errorf("the author %x was read as %+v", author, decoded.Author)
		}
	}
}

func flipBit(data []byte, index int) []byte {
	changed := bytes.Clone(data)
	changed[index] ^= 0x80
	return changed
}

func anyEvent(t *rapid.T) ledger.Event {
	anyName := rapid.StringMatching(`[a-z_]{0,12}`)
	event := ledger.Event{
		Seq: rapid.Uint64().Draw(t, "seq"), Version: rapid.Uint64().Draw(t, "version"), Previous: rapid.Uint64().Draw(t, "previous"),
		Booked: ledger.Micros(rapid.Int64Min(0).Draw(t, "booked")),
		Name:   anyName.Draw(t, "name"), From: anyName.Draw(t, "from"), To: anyName.Draw(t, "to"),
	}
	event.Author.Kind = rapid.SampledFrom(ledger.AuthorKinds()).Draw(t, "author")
	if event.Author.Kind.HasRecord() {
		event.Author.Seq = rapid.Uint64Min(1).Draw(t, "author's seq")
	}
	event.Source.Kind = ledger.Kind(rapid.Byte().Draw(t, "kind"))
	copy(event.Source.ID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	anyHash := rapid.Custom(func(t *rapid.T) (h ledger.Hash) {
		copy(h[:], rapid.SliceOfN(rapid.Byte(), len(h), len(h)).Draw(t, "hash"))
		return h
	})
	if rapid.Bool().Draw(t, "stored") {
		event.StoredHashes.Record, event.StoredHashes.Notices = anyHash.Draw(t, "record"), anyHash.Draw(t, "notices")
		for range rapid.IntRange(0, 3).Draw(t, "claims") {
			h := anyHash.Draw(t, "claim")
			h[0] |= 1 // no hash is all zeros
			event.StoredHashes.Claims = append(event.StoredHashes.Claims, h)
		}
	}
	if !rapid.Bool().Draw(t, "entry") {
		return event
	}
	event.Entry = &ledger.Entry{Phase: ledger.Phase(rapid.IntRange(1, 4).Draw(t, "phase")), Effective: ledger.Date(rapid.Int32Min(0).Draw(t, "date")),
		Reverses: rapid.Uint64().Draw(t, "reverses"), Closes: rapid.Uint64().Draw(t, "closes"),
		Postings: make([]ledger.Posting, rapid.IntRange(0, 5).Draw(t, "n"))}
	for i := range event.Entry.Postings {
		event.Entry.Postings[i] = ledger.Posting{
			Account: ledger.Path("L:" + anyName.Draw(t, "path")), Side: ledger.Side(rapid.IntRange(1, 2).Draw(t, "side")),
			Asset:  money.Asset{Currency: "USDT", Network: money.Network(anyName.Draw(t, "network")), Env: money.Test},
			Amount: money.FromUint64(rapid.Uint64().Draw(t, "amount")),
		}
	}
	return event
}

func TestOnlyABalancedEntryMayBeBooked(t *testing.T) {
	eur := money.Asset{Currency: "EUR", Env: money.Prod}
	balanced := []ledger.Posting{post("A:bank", ledger.Debit, 7), post("L:partner:1:available", ledger.Credit, 7)}
	eurPosting := post("A:bank", ledger.Debit, 7)
	eurPosting.Asset = eur
	postingWithSpill := post("L:partner:1:available", ledger.Credit, 7)
	postingWithSpill.SplitWith = "A:partner:1:receivable"
	for name, c := range map[string]struct {
		entry ledger.Entry
		ok    bool
	}{
		"two postings that balance":    {ledger.Entry{Phase: ledger.Posted, Postings: balanced}, true},
		"one posting":                  {ledger.Entry{Phase: ledger.Posted, Postings: balanced[:1]}, false},
		"debits above credits":         {ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{post("A:bank", ledger.Debit, 8), balanced[1]}}, false},
		"balanced over two assets":     {ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{eurPosting, balanced[1]}}, false},
		"a posting of zero":            {ledger.Entry{Phase: ledger.Posted, Postings: append([]ledger.Posting{post("I:fees", ledger.Credit, 0)}, balanced...)}, false},
		"a posting without a side":     {ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{post("A:bank", 0, 7), balanced[1]}}, false},
		"an entry without a phase":     {ledger.Entry{Postings: balanced}, false},
		"an account without class":     {ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{post("bank", ledger.Debit, 7), balanced[1]}}, false},
		"memorandum against an asset":  {ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{post("M:arrears:1", ledger.Debit, 7), balanced[1]}}, false},
		"a memorandum pair":            {ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{post("M:arrears:1", ledger.Debit, 7), post("M:arrears_control", ledger.Credit, 7)}}, true},
		"a pair beside real postings":  {ledger.Entry{Phase: ledger.Posted, Postings: append([]ledger.Posting{post("M:arrears:1", ledger.Debit, 3), post("M:arrears_control", ledger.Credit, 3)}, balanced...)}, true},
		"a posted entry that spills":   {ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{balanced[0], postingWithSpill}}, true},
		"a pending entry that spills":  {ledger.Entry{Phase: ledger.Pending, Postings: []ledger.Posting{balanced[0], postingWithSpill}}, false},
		"a posted entry that closes":   {ledger.Entry{Phase: ledger.Posted, Closes: 3, Postings: balanced}, false},
		"a capture":                    {ledger.Entry{Phase: ledger.Capture, Postings: balanced, Released: balanced}, true},
		"a capture releasing nothing":  {ledger.Entry{Phase: ledger.Capture, Postings: balanced}, false},
		"a posted entry that releases": {ledger.Entry{Phase: ledger.Posted, Postings: balanced, Released: balanced}, false},
	} {
		if err := c.entry.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNormalSidesFollowTheChartOfAccounts(t *testing.T) {
	for path, want := range map[ledger.Path]ledger.Side{
		"A:bank": ledger.Debit, "E:provider_fees": ledger.Debit, "L:partner:1:available": ledger.Credit, "Q:fx_position": ledger.Credit,
		"I:fees": ledger.Credit, "A:accumulated_depreciation:x": ledger.Credit, "M:arrears:x": ledger.Debit, "M:arrears_control": ledger.Credit,
		"M:venture_assets:x": ledger.Debit, "M:partner_capital:x": ledger.Credit,
	} {
		if got := path.NormalSide(); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestPathsThatCouldConfuseAKeyAreInvalid(t *testing.T) {
	for path, want := range map[ledger.Path]bool{
		"A:bank": true, "L:customer:Jane.Doe-1_x:current": true,
		"": false, "A": false, "A:": false, "X:bank": false, "A:a::b": false, "A:a:": false, "A:\x00": false, "A:a b": false, "A:é": false,
		ledger.Path("A:" + strings.Repeat("a", ledger.MaxPath)): false,
	} {
		if got := path.IsValid(); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}

func TestAvailableIsPostedCreditsLessPostedAndPendingDebits(t *testing.T) {
	totals := ledger.Totals{CreditsPosted: money.FromUint64(100), DebitsPosted: money.FromUint64(30), DebitsPending: money.FromUint64(90), CreditsPending: money.FromUint64(1000)}
	if got := totals.Available().String(); got != "-20" {
		t.Errorf("available %s, want -20", got)
	}
	if got := totals.Balance(ledger.Debit).String(); got != "-70" {
		t.Errorf("debit balance %s, want -70", got)
	}
	if err := totals.Release(ledger.Debit, money.FromUint64(91)); err == nil {
		t.Error("more was released than was held")
	}
}

func TestDatesAreUTCDays(t *testing.T) {
	for text, want := range map[string]string{
		"2026-09-03T00:00:00Z": "2026-09-03", "2026-09-03T23:59:59.999999Z": "2026-09-03",
		"2026-09-04T01:00:00+02:00": "2026-09-03", "1969-12-31T23:59:59Z": "1969-12-31", "2024-02-29T12:00:00Z": "2024-02-29",
	} {
		instant, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ledger.DateOf(instant).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestARefusalIsFoundByItsCodeAndNamesItsField(t *testing.T) {
	r := ledger.RefuseField("api.Create", "amount", "must be %s", "positive")
	if r.Code != ledger.Invalid || r.Field != "amount" || r.Error() != "api.Create: invalid: amount: must be positive" {
		t.Errorf("%+v: %v", r, r)
	}
}
