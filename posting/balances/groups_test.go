package balances_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// sumsBy sums the totals of the accounts' own lines, by asset and by the path that pathOf returns for an account's path. It reads
// no checkpoint and no cached sum.
func (f *fixture) sumsBy(q balances.Query, pathOf func(ledger.Path) ledger.Path) (lines listing) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	q.After = nil
	sums := make(map[ledger.Account]*ledger.Totals)
	err := balances.FromPages(v, org, q, func(a ledger.Account, t *ledger.Totals) {
		a.Path = pathOf(a.Path)
		if sums[a] == nil {
			sums[a] = new(ledger.Totals)
		}
		if err := sums[a].Add(t); err != nil {
			f.t.Fatal(err)
		}
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for a, t := range sums {
		lines.add(a, t)
	}
	slices.Sort(lines)
	return lines
}

// read calls a method of the reader, and returns what the method passes to its callback.
func (f *fixture) read(r *balances.Reader, q balances.Query, method func(*balances.Reader, *posting.View, ledger.ID, balances.Query, func(ledger.Account, *ledger.Totals) (bool, error)) error) (lines listing) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	err := method(r, v, org, q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
		lines.add(a, t)
		return true, nil
	})
	if err != nil {
		f.t.Fatalf("%+v: %v", q, err)
	}
	return lines
}

// inPages does what read does, but in pages of one to three rows.
func (f *fixture) inPages(r *balances.Reader, random *rand.Rand, q balances.Query, method func(*balances.Reader, *posting.View, ledger.ID, balances.Query, func(ledger.Account, *ledger.Totals) (bool, error)) error) (lines listing) {
	f.t.Helper()
	for {
		v := f.Journal.View()
		rows, limit := 0, 1+random.IntN(3)
		err := method(r, v, org, q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			lines.add(a, t)
			q.After = &a
			rows++
			return rows < limit, nil
		})
		v.Close()
		if err != nil {
			f.t.Fatalf("%+v: %v", q, err)
		}
		if rows < limit {
			return lines
		}
		if len(lines) > 10_000 {
			f.t.Fatalf("%+v: the pages have no end: %q", q, lines[:20])
		}
	}
}

// levelOf returns a function that shortens the path of an account to the level below a prefix.
func levelOf(prefix string) func(ledger.Path) ledger.Path {
	return func(path ledger.Path) ledger.Path {
		if group := path.Group(); string(group) != prefix {
			return group
		}
		return path
	}
}

// checkGroups compares random sums of groups, and levels of the tree of accounts, with sums over the accounts' lines.
func (f *fixture) checkGroups(random *rand.Rand, instants []ledger.Micros, days, count int) {
	f.t.Helper()
	for range count {
		q := randomQuery(random, instants, days)
		q.After = nil
		reader := &f.reader
		if random.IntN(4) == 0 {
			reader = new(balances.Reader) // a reader that has cached nothing
		}
		q.Prefix = []string{"", "", "A:", "L:", "L:partner:", "Q:"}[random.IntN(6)]
		if random.IntN(4) == 0 {
			q.Filter = func(a ledger.Account) bool { return a.Asset.Currency == "USD" }
		}
		wantRows := func(pathOf func(ledger.Path) ledger.Path) (lines listing) {
			for _, l := range f.sumsBy(q, pathOf) {
				if q.Filter == nil || strings.Contains(l, "/USD/") {
					lines = append(lines, l)
				}
			}
			return lines
		}
		compare := func(name string, got, want listing) {
			f.t.Helper()
			if slices.Sort(got); !slices.Equal(got, want) {
				f.t.Fatalf("%s, %+v:\ngot  %q\nwant %q", name, q, got, want)
			}
		}
		want := wantRows(ledger.Path.Group)
		compare("groups", f.read(reader, q, (*balances.Reader).Groups), want)
		compare("groups in pages", f.inPages(reader, random, q, (*balances.Reader).Groups), want)
		if q.Prefix == "L:partner:" {
			continue
		}
		if q.Prefix != "" {
			want = wantRows(levelOf(q.Prefix))
		}
		compare("level", f.read(reader, q, (*balances.Reader).NextLevel), want)
		compare("level in pages", f.inPages(reader, random, q, (*balances.Reader).NextLevel), want)
	}
}

var drafts = []func(*posting.View, ledger.ID, *balances.Checkpoint, uint64, func(posting.KV) error) (*balances.Checkpoint, error){
	balances.BuildCheckpoint, balances.DraftCheckpointInShortRows, balances.DraftCheckpointOfManyAccounts,
}

// The sums of groups are the sums over the accounts, whatever checkpoints there are: none, some, all, and wrong ones.
func TestGroupsAreTheSumsOfTheirAccounts(t *testing.T) {
	random := testseed.Random(t)
	for name, book := range map[string]func(*fixture, *rand.Rand, int) []ledger.Micros{"few accounts": history, "many accounts": historyOfMany} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.draft = drafts[random.IntN(len(drafts))]
			const days = 25
			instants := book(f, random, days)
			f.checkGroups(random, instants, days, 10)
			f.makeCheckpointsWithCrashes(random, func() { f.checkGroups(random, instants, days, 3) })
			f.checkGroups(random, instants, days, 60)
			rows := f.checkpointRows()
			for key, row := range rows {
				if random.IntN(6) > 0 {
					continue
				}
				changed := []byte(row)
				changed[random.IntN(len(row))] ^= 1
				f.submitKVs(posting.KV{Org: org, Key: []byte(key), Value: [][]byte{nil, changed}[random.IntN(2)]})
				f.checkGroups(random, instants, days, 2)
			}
		})
	}
}

// A reader that follows the journal extends its sums by the new events, while checkpoints are made late or not at all.
func TestGroupsAreExtended(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	f.draft = drafts[random.IntN(len(drafts))]
	var last balances.Checkpoint
	const days = 30
	historyByDay(f, random, days, func() {
		if random.IntN(3) == 0 {
			for range 1 + random.IntN(4) {
				if c, due := f.makeNextCheckpoint(last); due {
					last = *c
				}
			}
		}
		view, at, err := f.reader.PresentView(org, f.Journal.View)
		if err != nil {
			t.Fatal(err)
		}
		view.Close()
		for _, env := range []money.Env{money.Prod, money.Test} {
			q := balances.Query{Env: env, At: at}
			if random.IntN(2) == 0 {
				q = balances.Query{Env: env, EffectiveDate: at.Date(), BookedUntil: at}
			}
			want := f.sumsBy(balances.Query{Env: env, At: 1 << 62, EffectiveDate: q.EffectiveDate}, ledger.Path.Group)
			got := f.read(&f.reader, q, (*balances.Reader).Groups)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("%+v:\ngot  %q\nwant %q", q, got, want)
			}
		}
	})
}
