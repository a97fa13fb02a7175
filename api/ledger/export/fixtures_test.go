package export_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/api/ledger/export"
	"mizan/ledger"
	"mizan/ledger/money"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Assets of the tests.
var (
	usd     = money.Asset{Currency: "USD", Env: money.Prod}
	testUSD = money.Asset{Currency: "USD", Env: money.Test}
	dinar   = money.Asset{Currency: "BHD", Env: money.Prod}
	tron    = money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}
	bsc     = money.Asset{Currency: "USDT", Network: "bsc", Env: money.Prod}
)

var source = ledger.Source{Kind: ledger.Transaction, ID: uuid.MustParse("7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01")}

// authorOf returns the author of the event with the seq: the API key that event 9 has created for odd seqs, and the service
// itself for even ones.
func authorOf(seq uint64) ledger.Author {
	if seq%2 == 1 {
		return ledger.Author{Kind: ledger.ByAPIKey, Seq: 9}
	}
	return ledger.BySystem.Author()
}

// journal is a list of events; the first has seq 1.
type journal []ledger.Event

// books appends an event with an entry. Each posting is given as "Dr account amount" or "Cr account amount".
func (j *journal) books(name string, phase ledger.Phase, asset money.Asset, postings ...string) *ledger.Entry {
	entry := &ledger.Entry{Phase: phase, Effective: 20_000}
	for _, text := range postings {
		parts := strings.Fields(text)
		side := ledger.Debit
		if parts[0] == "Cr" {
			side = ledger.Credit
		}
		entry.Postings = append(entry.Postings, ledger.Posting{Side: side, Account: ledger.Path(parts[1]), Asset: asset, Amount: money.MustParse(parts[2])})
	}
	seq := uint64(len(*j) + 1)
	*j = append(*j, ledger.Event{Seq: seq, Source: source, Author: authorOf(seq), Version: seq, Booked: ledger.Micros(1_788_430_530_123_456 + seq), Name: name, Entry: entry})
	return entry
}

// book returns the journal as a Book. The Book counts the look-ups of holds in lookups, unless it is nil.
func (j journal) book(lookups *int) *export.Book {
	seen := map[ledger.Account]bool{}
	for _, e := range j {
		if e.Entry == nil {
			continue
		}
		for _, p := range e.Entry.Postings {
			seen[ledger.Account{Path: p.Account, Asset: p.Asset}] = true
		}
	}
	return &export.Book{
		Organization: uuid.MustParse("0b5a6f1e-2d53-4b1f-9d2c-7c2b8a0e3c01"), Env: money.Prod,
		To: "2026-09-03", Last: uint64(len(j)),
		Accounts: accounts(seen),
		Entries: func(yield func(*ledger.Event, error) bool) {
			for i := range j {
				if !yield(&j[i], nil) {
					return
				}
			}
		},
		AuthorID: func(a ledger.Author) (string, error) { return fmt.Sprintf("author-%d", a.Seq), nil },
		Held: func(seq uint64) ([]ledger.Posting, error) {
			if lookups != nil {
				*lookups++
			}
			return j[seq-1].Entry.Postings, nil
		},
	}
}

func accounts(seen map[ledger.Account]bool) iter.Seq2[ledger.Account, error] {
	var list []ledger.Account
	for a := range seen {
		if a.Asset.Env == money.Prod {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b ledger.Account) int {
		return strings.Compare(string(a.Path)+"\n"+a.Asset.String(), string(b.Path)+"\n"+b.Asset.String())
	})
	return func(yield func(ledger.Account, error) bool) {
		for _, a := range list {
			if !yield(a, nil) {
				return
			}
		}
	}
}

func written(t testing.TB, f export.Format, b *export.Book) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := export.Write(&out, f, b)
	must(t, err)
	return out.Bytes()
}

// writeFile writes an export to a file for another program.
func writeFile(t testing.TB, f export.Format, b *export.Book) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export."+f.Extension())
	must(t, os.WriteFile(path, written(t, f, b), 0o600))
	return path
}

// requireProgram checks that another program is installed; otherwise it skips the test.
func requireProgram(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: nobody else reads this export", program)
	}
}

func run(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// parseBalances parses the balances that hledger or beancount prints: "account commodity" → amount.
func parseBalances(t testing.TB, out string) map[string]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	must(t, err)
	got := map[string]string{}
	for _, row := range rows[1:] {
		got[strings.TrimSpace(row[0])+" "+strings.TrimSpace(row[1])] = strings.TrimSpace(row[2])
	}
	return got
}

// everyEntryKind returns a journal with every kind of entry.
func everyEntryKind() (j journal) {
	j.books("settle", ledger.Posted, usd, "Dr A:provider:x 1000", "Cr L:partner:1:available 980", "Cr I:fees 20")
	j.books("hold", ledger.Pending, tron, "Dr L:partner:1:available 5000000", "Cr A:provider:x 4900000", "Cr I:fees 100000")
	j.books("commit", ledger.Capture, tron, "Dr L:partner:1:available 3000000", "Cr A:provider:x 3000000").Closes = 2
	j.books("hold", ledger.Pending, usd, "Dr A:provider:x 77", "Cr L:partner:1:available 77")
	j.books("cancel", ledger.Void, usd, "Dr A:provider:x 77", "Cr L:partner:1:available 77").Closes = 4
	j.books("hold", ledger.Pending, usd, "Dr A:provider:x 500", "Cr L:partner:1:available 500")
	j.books("reverse", ledger.Posted, usd, "Cr A:provider:x 10", "Dr L:partner:1:available 10").Reverses = 1
	j.books("settle", ledger.Posted, dinar, "Dr A:bank 1234567", "Cr Q:fx_position 1234567")
	j.books("settle", ledger.Posted, bsc, "Dr A:bank 1", "Cr Q:fx_position 1")
	j.books("fund", ledger.Posted, usd, "Dr M:venture_assets:c 40", "Cr M:partner_capital:c 40", "Dr E:owner_expense 3", "Cr L:customer:A.b_9-x:current 3")
	j.books("settle", ledger.Posted, testUSD, "Dr A:bank 999", "Cr I:fees 999")
	j = append(j, ledger.Event{Seq: uint64(len(j) + 1), Source: source, Author: ledger.BySystem.Author(), Name: "create", To: "draft"})
	return j
}
