package balances_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// historyOfMany books random entries like history, but among so many accounts that many of them move rarely. So
// checkpoints have bases, and with short rows they have index rows.
func historyOfMany(f *fixture, random *rand.Rand, days int) (instants []ledger.Micros) {
	return historyByDay(f, random, days, func() {})
}

// historyByDay is historyOfMany with a call of afterDay after each day.
func historyByDay(f *fixture, random *rand.Rand, days int, afterDay func()) (instants []ledger.Micros) {
	randomAsset := func() money.Asset {
		return []money.Asset{usd, {Currency: "EUR", Env: money.Prod}, {Currency: "USD", Env: money.Test}, {Currency: "USDT", Network: "tron", Env: money.Prod}}[random.IntN(4)]
	}
	randomAccount := func(except ledger.Path) ledger.Path {
		for {
			n := 1 + int64(random.ExpFloat64()*40)
			if path := []ledger.Path{"A:bank", "I:fees", ledger.PartnerAvailable(n), ledger.PartnerAvailable(n)}[random.IntN(4)]; path != except {
				return path
			}
		}
	}
	postings := func(asset money.Asset, n uint64) []ledger.Posting {
		debited := randomAccount("")
		return []ledger.Posting{
			{Account: debited, Asset: asset, Side: ledger.Debit, Amount: amount(n)},
			{Account: randomAccount(debited), Asset: asset, Side: ledger.Credit, Amount: amount(n)},
		}
	}
	type openHold struct {
		step     posting.Step
		postings []ledger.Posting
	}
	var holds []openHold
	for day := range days {
		f.setClock(day, 11+random.IntN(13))
		change := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
		add := func(step posting.Step, entry ledger.Entry) {
			if random.IntN(4) == 0 {
				entry.Effective = ledger.DateOf(start) + ledger.Date(random.IntN(days+2)-1)
			}
			step.Events = []ledger.Event{{Name: "move", To: "done", Entry: &entry}}
			change.Steps = append(change.Steps, step)
		}
		openToday := len(holds) // only these earlier holds are closed today, because a change may have only one step for each record
		for range random.IntN(40) {
			step := posting.Step{Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1}}
			moved := postings(randomAsset(), 2+random.Uint64N(1000))
			switch k := random.IntN(3); {
			case k == 0:
				add(step, ledger.Entry{Phase: ledger.Posted, Postings: moved})
			case k == 1:
				add(step, ledger.Entry{Phase: ledger.Pending, Postings: moved})
				step.Expect = 1
				holds = append(holds, openHold{step, moved})
			case openToday > 0:
				i := random.IntN(openToday)
				h := holds[i]
				holds, openToday = slices.Delete(holds, i, i+1), openToday-1
				if random.IntN(2) == 0 {
					add(h.step, ledger.Entry{Phase: ledger.Void, Postings: h.postings})
				} else {
					add(h.step, ledger.Entry{Phase: ledger.Capture, Postings: postings(h.postings[0].Asset, 1+random.Uint64N(2)), Released: h.postings})
				}
			}
		}
		if len(change.Steps) > 0 {
			for _, header := range f.MustSubmit(change).Headers {
				instants = append(instants, header.UpdatedAt)
			}
		}
		afterDay()
	}
	return instants
}

var errCrash = errors.New("a crash while a checkpoint is written")

// makeCheckpointsWithCrashes makes all due checkpoints. For some of them it stops after a part of the rows, as if the
// process had been killed, opens the journal again and calls check. Then it makes the whole checkpoint.
func (f *fixture) makeCheckpointsWithCrashes(random *rand.Rand, check func()) (checkpoints []balances.Checkpoint) {
	f.t.Helper()
	var last balances.Checkpoint
	draft := f.draft
	defer func() { f.draft = draft }()
	for {
		if random.IntN(8) == 0 {
			f.crashInCheckpoint(&last, random.IntN(4))
			check()
		}
		c, due := f.makeNextCheckpoint(last)
		if !due {
			return checkpoints
		}
		checkpoints, last = append(checkpoints, *c), *c
	}
}

// crashInCheckpoint writes the given number of rows of the checkpoint after previous, and opens the journal again.
func (f *fixture) crashInCheckpoint(previous *balances.Checkpoint, rows int) {
	f.t.Helper()
	v := f.Journal.View()
	defer func() { f.Journal.Close(); f.OpenJournal() }()
	defer v.Close()
	seq, due, err := balances.NextCheckpoint(v, org, previous)
	if err != nil || !due {
		return
	}
	_, err = f.draft(v, org, previous, seq, func(row posting.KV) error {
		if rows--; rows < 0 {
			return errCrash
		}
		f.submitKVs(row)
		return nil
	})
	if err != nil && err != errCrash {
		f.t.Fatal(err)
	}
}

// randomQuery returns a query for a moment among the instants, or for a day.
func randomQuery(random *rand.Rand, instants []ledger.Micros, days int) balances.Query {
	q := balances.Query{Env: money.Prod, At: instants[random.IntN(len(instants))] - ledger.Micros(random.IntN(2))}
	if random.IntN(2) == 0 {
		q.EffectiveDate = ledger.DateOf(start) + ledger.Date(random.IntN(days+4)-2)
		if random.IntN(2) == 0 {
			q.BookedUntil = q.At
		}
	}
	if random.IntN(5) == 0 {
		q.Env = money.Test
	}
	q.Prefix = []string{"", "", "L:", "L:partner:1", "A:bank", "Q"}[random.IntN(6)]
	if random.IntN(3) == 0 {
		q.After = &ledger.Account{Path: ledger.PartnerAvailable(1 + random.Int64N(200)), Asset: money.Asset{Currency: "USD", Env: q.Env}}
	}
	return q
}

// checkQueries compares random trial balances from checkpoints, read as a whole and page by page, with trial balances
// from the accounts' stored pages, which do not depend on checkpoints.
func (f *fixture) checkQueries(random *rand.Rand, instants []ledger.Micros, days, count int) {
	f.t.Helper()
	for range count {
		f.reader.SetMaxOfPage(1 + random.IntN(20))
		q := randomQuery(random, instants, days)
		v := f.Journal.View()
		var want, got listing
		err := errors.Join(balances.FromPages(v, org, q, want.add), new(balances.Reader).FromCheckpoint(v, org, q, 1+random.IntN(30), got.add))
		v.Close()
		if err != nil {
			f.t.Fatalf("%+v: %v", q, err)
		}
		if !slices.Equal(got, want) {
			f.t.Fatalf("%+v:\nfrom checkpoints %q\nby the pages     %q", q, got, want)
		}
		if got := f.trialInPages(q, 1+random.IntN(30)); !slices.Equal(got, want) {
			f.t.Fatalf("%+v:\nin pages     %q\nby the pages %q", q, got, want)
		}
	}
}

func TestTrialBalanceFromCheckpointsEqualsThePages(t *testing.T) {
	random := testseed.Random(t)
	for name, book := range map[string]func(*fixture, *rand.Rand, int) []ledger.Micros{"few accounts": history, "many accounts": historyOfMany} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			if random.IntN(2) == 0 {
				f.draft = balances.DraftCheckpointInShortRows
			}
			const days = 40
			instants := book(f, random, days)
			checkpoints := f.makeCheckpointsWithCrashes(random, func() { f.checkQueries(random, instants, days, 2) })
			if len(checkpoints) < 5 {
				t.Fatalf("only %d checkpoints", len(checkpoints))
			}
			f.checkQueries(random, instants, days, 150)
			rows := f.checkpointRows()
			for key := range rows {
				f.submitKVs(posting.KV{Org: org, Key: []byte(key)})
			}
			if f.makeCheckpoints(balances.Checkpoint{}); !maps.Equal(f.checkpointRows(), rows) {
				t.Error("the rebuilt checkpoints differ from the first ones")
			}
		})
	}
}

// With many accounts and short rows, checkpoints form chains, and have index rows that list index rows. If they did not, the
// tests with random checkpoints would not cover chains and index rows.
func TestRandomCheckpointsHaveChainsAndIndexRows(t *testing.T) {
	f := open(t)
	f.draft = balances.DraftCheckpointInShortRows
	historyOfMany(f, rand.New(rand.NewPCG(1, 2)), 40)
	longestChain, greatestHeight := 0, 0
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	v := f.Journal.View()
	defer v.Close()
	for _, c := range checkpoints {
		chain, err := balances.ReadChain(v, org, &c)
		if err != nil {
			t.Fatal(err)
		}
		longestChain, greatestHeight = max(longestChain, len(chain)), max(greatestHeight, c.Height)
	}
	if longestChain < 3 || greatestHeight < 2 {
		t.Errorf("the longest chain has %d checkpoints, the greatest height is %d", longestChain, greatestHeight)
	}
}
