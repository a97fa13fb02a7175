package check_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	paymentactor "mizan/actors/payment"
	"mizan/bench/faults"
	"mizan/internal/clock"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/search"
	"mizan/ledger/turnover"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// insider changes rows of a store and changes them back. It acts as an attacker inside, who knows the disk, the code and
// the checksums.
type insider struct {
	t       *testing.T
	journal *posting.Journal
	log     posting.Log
	rows    map[string][]rawRow // kind of row, as kindOfRow names it → its rows
}

type rawRow struct{ key, value []byte }

// openInsider opens a store, so that a test can change its rows and check it after each change. Nothing may be
// submitted to its journal.
func openInsider(t *testing.T, w *fixture.Store, at time.Time) *insider {
	t.Helper()
	ins := &insider{t: t, rows: make(map[string][]rawRow)}
	ins.journal = fixture.OpenJournal(t, w, clock.NewManual(at), func(l posting.Log) posting.Log { ins.log = l; return l })
	t.Cleanup(func() { fixture.Must(t, ins.journal.Close()) })
	ins.read()
	return ins
}

// read reads all rows. It finds the organizations as the checker does.
func (ins *insider) read() {
	v := ins.journal.View()
	defer v.Close()
	for s := posting.Blocks; s <= posting.KVs; s++ {
		fixture.Must(ins.t, v.OrganizationsWith(s, func(org ledger.ID) (bool, error) {
			return true, v.Rows(org, s, func(key, value []byte) (bool, error) {
				ins.addRow(key, value)
				return true, nil
			})
		}))
	}
	for _, prefix := range [][]byte{store.KeyDues(nil), store.KeyLowWaterMark} {
		fixture.Must(ins.t, v.RowsWith(prefix, func(key, value []byte) (bool, error) {
			ins.addRow(key, value)
			return true, nil
		}))
	}
}

// values returns the rows' values by their keys.
func (ins *insider) values() map[string][]byte {
	byKey := make(map[string][]byte)
	for _, rows := range ins.rows {
		for _, row := range rows {
			byKey[string(row.key)] = row.value
		}
	}
	return byKey
}

func (ins *insider) addRow(key, value []byte) {
	kind := kindOfRow(key)
	ins.rows[kind] = append(ins.rows[kind], rawRow{bytes.Clone(key), bytes.Clone(value)})
}

// kindOfRow names a row as the table in docs/audit.md does.
func kindOfRow(key []byte) string {
	const headLength = 1 + 16 // a key begins with the kind of its row and the organization's id
	switch key[0] {
	case 'b':
		return "block"
	case 't':
		return "tree"
	case 'p':
		return "page"
	case 's':
		return "shifted"
	case 'y':
		return "page buffer"
	case 'r':
		return "record " + string(key[headLength])
	case 'q':
		return "part"
	case 'x':
		return "sealed"
	case 'c':
		return "claim " + string(key[headLength])
	case 'n':
		name, _, _ := strings.Cut(string(key[headLength:]), "/")
		return "counter " + name
	case 'l':
		return "list"
	case 'd':
		return "due"
	case 'm':
		return "mark"
	case 'w':
		if store.IsCheckpoint(key[headLength:]) {
			return "checkpoint"
		}
		if turnover.IsRow(key[headLength:]) && len(key) > headLength+1 {
			return "turnover"
		}
		if search.IsRow(key[headLength:]) && len(key) > headLength+1 {
			return "search"
		}
		if bytes.Equal(key[headLength:], []byte("summaries")) {
			return "kv summaries"
		}
		return "kv " + string(key[headLength])
	}
	return "unknown " + string(key[0])
}

// writeRows applies one group with the rows. A row without a value is removed.
func (ins *insider) writeRows(rows ...rawRow) {
	ins.t.Helper()
	n, hash := ins.journal.LastGroup()
	g := store.NewGroup(n+1, hash)
	for _, r := range rows {
		if r.value == nil {
			g.Delete(r.key)
		} else {
			g.Set(r.key, r.value)
		}
	}
	g.Seal()
	fixture.Must(ins.t, ins.log.Apply(g))
}

// isDetected writes a changed row, tells whether the checker finds the change, and then writes the original row back.
func (ins *insider) isDetected(row, changed rawRow) bool {
	ins.t.Helper()
	ins.replaceRow(row, changed)
	report, err := check.Check(ins.t.Context(), ins.journal, check.Inputs{Log: fixture.NoLog})
	ins.replaceRow(changed, row)
	return err != nil || report.Broken()
}

// replaceRow writes a row in place of another one, whose key may be the same.
func (ins *insider) replaceRow(oldRow, newRow rawRow) {
	ins.t.Helper()
	if bytes.Equal(oldRow.key, newRow.key) {
		ins.writeRows(newRow)
	} else {
		ins.writeRows(rawRow{key: oldRow.key}, newRow)
	}
}

// change returns a copy of a row with one byte changed: in the value or, if the row has no value, in the key.
func (r rawRow) change(random *rand.Rand) rawRow {
	changed := rawRow{bytes.Clone(r.key), bytes.Clone(r.value)}
	target, start := changed.value, 0
	if len(target) == 0 {
		target, start, changed.value = changed.key, 1+16+1, []byte{} // the row's kind and organization stay
	}
	target[start+random.IntN(len(target)-start)] ^= byte(1 + random.IntN(255))
	return changed
}

// unprovenKinds has the kinds of rows in which the checker may miss a changed byte. docs/audit.md lists the same kinds
// in "Rows that no event proves".
var unprovenKinds = map[string]bool{
	"counter headroom": true, "counter timed": true, "mark": true, "due": true, "part": true,
	"kv c": true, "kv d": true, "kv e": true, "kv i": true, "kv summaries": true, "kv v": true, "kv f": true,
}

// storeWithAllRowKinds returns a store with rows of almost every kind: the notified store and, added to it, requests
// with keys, a long record, checkpoints, turnover, the index of transactions, a transfer, and the record of a removal of old deliveries.
func storeWithAllRowKinds(t *testing.T) *fixture.Store {
	t.Helper()
	w := copyNotifiedStore(t)
	n := openNotified(t, &w.Store, fixture.StartTime.Add(12*time.Hour), nil)
	owner, _ := n.Directory.Partner(w.FirstDemo.Org, w.FirstDemo.Partner)
	for _, meta := range []string{"short", strings.Repeat("long ", 20_000)} {
		_, err := n.Payments.Create(paymentactor.Create{Author: ledger.ByPayer.Author(), Org: w.FirstDemo.Org, Partner: owner, Key: actors.Key{Scope: actors.PartnerKeyScope(w.FirstDemo.Partner), Text: meta[:5], Hash: [32]byte{1}},
			Request: payment.Request{
				Type: payment.Payment, Amount: money.FromUint64(5), Asset: fixture.USD, Method: "e_wallet", ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
				MerchantMeta: []byte(`{"a":"` + meta + `"}`),
			}})
		fixture.Must(t, err)
	}
	_, err := n.Directory.CreateBlock(directoryactor.WithAuthor(t.Context(), ledger.ByAdminToken.Author()), w.FirstDemo.Org, directory.BlockDraft{Kind: directory.BlockEmail, Value: "a@shop.example"})
	fixture.Must(t, err)
	n.Create(w.FirstDemo, payment.Payment, "4000000000003220", 1_500, "later") // its card stays sealed until its payer acts
	n.close()
	w.Submit(t, transfer(&w.Store, true))
	w.Submit(t, retentionChange(w.FirstDemo.Org, fixture.StartTime))
	makeCheckpoints(t, &w.Store)
	makeTurnover(t, &w.Store)
	makeSearch(t, &w.Store)
	return &w.Store
}

// The checker finds one changed byte in any row, even if all checksums are right. The exceptions are the kinds of rows
// that docs/audit.md explains.
func TestInsiderChangeOfAnyRowIsFound(t *testing.T) {
	changeCount := 200
	if n, err := strconv.Atoi(os.Getenv("MIZAN_CHANGES")); err == nil {
		changeCount = n
	}
	random := testseed.Random(t)
	var table faults.Table
	contractSample := copyContractStore(t, fixture.Buffered)
	missingKinds := map[string]bool{"sealed": true, "part": true, "record y": true, "record a": true, "shifted": true, "checkpoint": true, "turnover": true, "kv v": true, "search": true, "kv f": true, "kv n": true, "claim i": true, "record d": true}
	for _, attacker := range []*insider{openInsider(t, storeWithAllRowKinds(t), fixture.StartTime.AddDate(0, 0, 4)), openInsider(t, &contractSample.Store, contractSample.at)} {
		kinds := slices.Sorted(maps.Keys(attacker.rows))
		for _, kind := range kinds {
			delete(missingKinds, kind)
		}
		for n := range changeCount / 2 {
			kind := kinds[n%len(kinds)]
			row := attacker.rows[kind][random.IntN(len(attacker.rows[kind]))]
			changed := row.change(random)
			countInsider(&table, kind, "changed byte", attacker.isDetected(row, changed),
				fmt.Sprintf("nobody finds a changed byte: key %x, was\n%x, is\n%x", row.key, row.value, changed.value))
		}
	}
	reportInsiders(t, &table)
	if len(missingKinds) > 0 {
		t.Errorf("neither store has a row of the kinds %v", slices.Sorted(maps.Keys(missingKinds)))
	}
}

// countInsider counts in the table whether a changed row was detected. If a row of unprovenKinds was changed and this was not
// detected, it counts the change in a separate line. docs/audit.md explains why such a change is harmless.
func countInsider(table *faults.Table, kind, change string, isDetected bool, description string) {
	switch {
	case isDetected:
		table.Add(kind+": "+change, faults.Detected, "")
	case unprovenKinds[kind]:
		table.Add(kind+" (no event proves it): "+change, faults.Intact, "")
	default:
		table.Add(kind+": "+change, faults.Silent, description)
	}
}

// reportInsiders logs the table and fails the test for each harmful change that was not detected.
func reportInsiders(t *testing.T, table *faults.Table) {
	t.Helper()
	var text strings.Builder
	fixture.Must(t, table.Write(&text))
	t.Logf("\n%s", text.String())
	for _, description := range table.Silent() {
		t.Error(description)
	}
}

// An insider may write an earlier value of a row back. If the value is in a file of long values, it is enough to
// write back the earlier value's place in that file. The earlier value was right once, so all checksums are right.
// The checker finds it nevertheless.
func TestInsiderEarlierValueOfAnyRowIsFound(t *testing.T) {
	rowsPerKind := 6 // the number of rows of each kind that are tried
	if os.Getenv(testseed.SoakVariable) != "" {
		rowsPerKind = 300
	}
	random := testseed.Random(t)
	contractSample := copyContractStore(t, fixture.Buffered)
	var table faults.Table
	kindsTried := make(map[string]bool)
	for _, states := range [][2]*insider{ // the earlier state of a store, and the later one
		{openInsider(t, &copyNotifiedStore(t).Store, fixture.StartTime.AddDate(0, 0, 4)), openInsider(t, storeWithAllRowKinds(t), fixture.StartTime.AddDate(0, 0, 4))},
		{openInsider(t, fixture.CopyWithLayout(t, fixture.Buffered), contractSample.at), openInsider(t, &contractSample.Store, contractSample.at)},
	} {
		earlierValues, attacker := states[0].values(), states[1]
		for _, kind := range slices.Sorted(maps.Keys(attacker.rows)) {
			rows, tried := attacker.rows[kind], 0
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			for _, row := range rows {
				earlier, existed := earlierValues[string(row.key)]
				if !existed || bytes.Equal(earlier, row.value) || tried == rowsPerKind {
					continue
				}
				tried++
				kindsTried[kind] = true
				countInsider(&table, kind, "earlier value", attacker.isDetected(row, rawRow{row.key, earlier}),
					fmt.Sprintf("nobody finds an earlier value: key %x, was\n%x, is\n%x", row.key, row.value, earlier))
			}
		}
	}
	if len(kindsTried) < 5 {
		t.Errorf("only rows of the kinds %v have another value than before", slices.Sorted(maps.Keys(kindsTried)))
	}
	reportInsiders(t, &table)
}

// The checker finds a removed row, with two exceptions: rows of unprovenKinds, and rows without which all readers get
// the same results, because another row has the same lines, or the row only makes
// reading faster.
func TestInsiderRemovalOfAnyRowIsFound(t *testing.T) {
	rowsPerKind := 8 // the number of rows of each kind that are tried
	if os.Getenv(testseed.SoakVariable) != "" {
		rowsPerKind = 300
	}
	random := testseed.Random(t)
	contractSample := copyContractStore(t, fixture.Buffered)
	redundantKinds := map[string]bool{"page buffer": true, "page": true, "checkpoint": true} // kinds of rows that readers may not need
	for _, attacker := range []*insider{openInsider(t, storeWithAllRowKinds(t), fixture.StartTime.AddDate(0, 0, 4)), openInsider(t, &contractSample.Store, contractSample.at)} {
		originalResults, missedCounts := attacker.readAll(), make(map[string]int)
		for kind, rows := range attacker.rows {
			if unprovenKinds[kind] {
				continue
			}
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			for _, row := range rows[:min(rowsPerKind, len(rows))] {
				removedRow := rawRow{key: row.key}
				if attacker.isDetected(row, removedRow) {
					continue
				}
				missedCounts[kind]++
				attacker.writeRows(removedRow)
				if !redundantKinds[kind] || attacker.readAll() != originalResults {
					t.Errorf("nobody finds that a row of kind %s is gone: key %x, was %x", kind, row.key, row.value)
				}
				attacker.writeRows(row)
			}
		}
		t.Logf("missed and not missing: %v", missedCounts)
	}
}

// readAll returns, as text, the content of all accounts and lists as readers get it.
func (ins *insider) readAll() string {
	ins.t.Helper()
	view := ins.journal.View()
	defer view.Close()
	var results strings.Builder
	fixture.Must(ins.t, view.Organizations(func(org ledger.ID) (bool, error) {
		for _, env := range []money.Env{money.Prod, money.Test} {
			fixture.Must(ins.t, view.Accounts(org, "", env, func(a ledger.Account) (bool, error) {
				fmt.Fprintln(&results, a)
				return true, view.Lines(org, a, 0, func(l posting.Line) (bool, error) {
					fmt.Fprintln(&results, l)
					return true, nil
				})
			}))
			for _, at := range []ledger.Micros{ledger.MicrosOf(fixture.StartTime), ledger.MicrosOf(fixture.StartTime.AddDate(0, 0, 2)), view.Now()} {
				fixture.Must(ins.t, new(balances.Reader).TrialBalance(view, org, balances.Query{At: at, Env: env}, func(a ledger.Account, t *ledger.Totals) (bool, error) {
					fmt.Fprintln(&results, a, *t)
					return true, nil
				}))
			}
		}
		for _, l := range ins.lists(view, org) {
			ins.writeList(&results, view, org, l)
		}
		return true, nil
	}))
	return results.String()
}

// lists returns all lists that have rows.
func (ins *insider) lists(v *posting.View, org ledger.ID) (list []ledger.List) {
	addList := func(prefix []byte) {
		if l, ok := store.ParseListPrefix(prefix); ok {
			list = append(list, l)
		}
	}
	fixture.Must(ins.t, v.Rows(org, posting.Lists, func(key, _ []byte) (bool, error) {
		addList(key[:max(0, len(key)-8)])
		return true, nil
	}))
	fixture.Must(ins.t, v.BufferedPages(org, func(prefix, _ []byte) error {
		addList(prefix)
		return nil
	}))
	slices.SortFunc(list, func(a, b ledger.List) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

// writeList writes the rows of a list that readers show: the first and the last row of each record. It skips the
// other rows.
func (ins *insider) writeList(b *strings.Builder, v *posting.View, org ledger.ID, l ledger.List) {
	isShown := make(map[ledger.ID]bool)
	fixture.Must(ins.t, v.List(org, l, posting.ListRange{}, func(row posting.ListRow) (bool, error) {
		if !isShown[row.ID] || row.IsCreation {
			fmt.Fprintln(b, l, row)
		}
		isShown[row.ID] = true
		return true, nil
	}))
}

// The documentation for auditors names every kind of row that no event proves.
func TestAuditDocumentationNamesTheUnprovenRows(t *testing.T) {
	documentation, err := os.ReadFile(filepath.Join("..", "..", "docs", "audit.md"))
	fixture.Must(t, err)
	for kind := range unprovenKinds {
		if !bytes.Contains(documentation, fmt.Appendf(nil, "| `%s` |", kind)) {
			t.Errorf("docs/audit.md does not say why a row of kind %q may be changed", kind)
		}
	}
}
