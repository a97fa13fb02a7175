package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/follower"
	searchactor "mizan/actors/search"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/search"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// makeSearch indexes all transactions and stores the index, as a server does.
func makeSearch(t *testing.T, w *fixture.Store) {
	t.Helper()
	manual := clock.NewManual(fixture.StartTime.Add(100 * 24 * time.Hour))
	j := fixture.OpenJournal(t, w, manual, nil)
	runtime := actors.New(actors.Options{Clock: manual, Journal: j, Log: fixture.NoLog})
	runtime.Start(func(posting.DueItem) bool { return false })
	f := follower.New(runtime)
	searchactor.New(f, 0)
	fixture.Must(t, f.Follow())
	runtime.Stop()
	fixture.Must(t, j.Close())
}

// searchRow is a stored row of the index.
type searchRow struct {
	key     search.Key
	entries []search.Entry
}

// storedSearch returns the first organization's rows of the index.
func storedSearch(p *fixture.Corrupter, w *fixture.Store) (rows []searchRow) {
	p.T.Helper()
	keys, values := p.Rows(store.KeyKV(nil, w.FirstDemo.Org, search.RowPrefix()))
	for i := range keys {
		key := store.KVKey(keys[i])
		if len(key) == len(search.RowPrefix()) {
			continue
		}
		var row searchRow
		var err error
		row.key, err = search.ParseKey(key)
		fixture.Must(p.T, err)
		row.entries, err = search.Decode(row.key, values[i])
		fixture.Must(p.T, err)
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		p.T.Fatal("nothing is indexed")
	}
	return rows
}

func setSearch(p *fixture.Corrupter, org ledger.ID, r searchRow) {
	for _, row := range search.EncodeRows(r.key.Bucket, r.key.Last, r.entries) {
		p.Group.Set(store.KeyKV(nil, org, row.Key.Encode()), row.Value)
	}
}

func TestSoundIndexOfTransactionsBreaksNoRule(t *testing.T) {
	w := fixture.Copy(t)
	before := w.Check(t, check.Inputs{})
	makeSearch(t, w)
	after := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, after)
	if countOf(after, 4) <= countOf(before, 4) {
		t.Error("nothing was compared")
	}
	if after.Digest != before.Digest {
		t.Error("the digest covers the index, which a server may make later")
	}
	// A server may index later events later.
	decider, request := decisionFor(w, "later")
	rejected := decider.Reject(fixture.NewID(), 1, request, payment.Failure{Code: payment.UnexpectedCard})
	w.Submit(t, changeFor(w.FirstDemo.Org, &rejected, 0, txidClaim(w.FirstDemo.Org, 1, rejected.Record)))
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	// A crash may come before the progress row is written.
	w.Corrupt(t, func(p *fixture.Corrupter) { p.Group.Delete(store.KeyKV(nil, w.FirstDemo.Org, search.RowPrefix())) })
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	makeSearch(t, w) // some entries are now in two rows
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryWrongIndexOfTransactionsIsFound(t *testing.T) {
	for _, c := range []struct {
		name, wantText string
		change         func(p *fixture.Corrupter, w *fixture.Store, row searchRow)
	}{
		{"a missing row", "lacks a value of the transaction", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			p.Group.Delete(store.KeyKV(nil, w.FirstDemo.Org, row.key.Encode()))
		}},
		{"a wrong hash", "has a value that the transaction of event", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			row.entries[0].Hash ^= 1
			setSearch(p, w.FirstDemo.Org, row)
		}},
		{"a value too many", "has a value that the transaction of event", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			row.entries = append(row.entries, search.Entry{Hash: row.entries[0].Hash ^ 1, Seq: row.entries[0].Seq})
			setSearch(p, w.FirstDemo.Org, row)
		}},
		{"an event of another record", "which is not one of a transaction", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			row.entries[0].Seq = 1
			setSearch(p, w.FirstDemo.Org, row)
		}},
		{"events that do not exist", "covers events up to 1000000, which does not exist", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			row.key.Last = 1_000_000
			setSearch(p, w.FirstDemo.Org, row)
		}},
		{"a progress that is too high", "transactions are indexed up to event 1000000, which does not exist", func(p *fixture.Corrupter, w *fixture.Store, _ searchRow) {
			key, row := search.EncodePosition(1_000_000)
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, key), row)
		}},
		{"a progress without the rows", "lacks a value of the transaction", func(p *fixture.Corrupter, w *fixture.Store, _ searchRow) {
			for _, row := range storedSearch(p, w) {
				p.Group.Delete(store.KeyKV(nil, w.FirstDemo.Org, row.key.Encode()))
			}
		}},
		{"a progress that cannot be read", "unknown form", func(p *fixture.Corrupter, w *fixture.Store, _ searchRow) {
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, search.RowPrefix()), []byte{9})
		}},
		{"the same entry twice", "unknown form", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			entry := search.EncodeRows(row.key.Bucket, row.key.Last, row.entries[:1])[0]
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, row.key.Encode()), append(entry.Value, entry.Value[1:]...))
		}},
		{"a row that cannot be read", "unknown form", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, row.key.Encode()), []byte{9})
		}},
		{"a row of another bucket", "unknown form", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			value := search.EncodeRows(row.key.Bucket, row.key.Last, row.entries)[0].Value
			row.key.Bucket ^= 1
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, row.key.Encode()), value)
		}},
		{"a row with another key", "unknown form", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			p.Group.Set(store.KeyKV(nil, w.FirstDemo.Org, append(search.RowPrefix(), 9)), []byte{1})
		}},
		{"an organization that does not exist", "which is not one of a transaction", func(p *fixture.Corrupter, w *fixture.Store, row searchRow) {
			setSearch(p, ledger.ID{77}, row)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fixture.Copy(t)
			makeSearch(t, w)
			w.Corrupt(t, func(p *fixture.Corrupter) {
				c.change(p, w, storedSearch(p, w)[0])
			})
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, 4)
			if text := report.Rules[3].Details; !slices.ContainsFunc(text, func(detail string) bool { return strings.Contains(detail, c.wantText) }) {
				t.Errorf("it says %q, want %q", text, c.wantText)
			}
		})
	}
}
