package balances_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
)

// submitKVs submits KVs (rows of key and value) as one change, which must be accepted.
func (f *fixture) submitKVs(rows ...posting.KV) {
	f.t.Helper()
	f.MustSubmit(&posting.Change{KVs: rows})
}

// makeNextCheckpoint drafts the checkpoint after previous, if it is due, and makes it durable.
func (f *fixture) makeNextCheckpoint(previous balances.Checkpoint) (*balances.Checkpoint, bool) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	seq, due, err := balances.NextCheckpoint(v, org, &previous)
	if err != nil || !due {
		if err != nil {
			f.t.Fatal(err)
		}
		return nil, false
	}
	c, err := f.draft(v, org, &previous, seq, func(row posting.KV) error {
		f.submitKVs(row)
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return c, true
}

// makeCheckpoints makes all due checkpoints after previous.
func (f *fixture) makeCheckpoints(previous balances.Checkpoint) (checkpoints []balances.Checkpoint) {
	f.t.Helper()
	for {
		c, due := f.makeNextCheckpoint(previous)
		if !due {
			return checkpoints
		}
		checkpoints, previous = append(checkpoints, *c), *c
	}
}

// checkpointRows returns all rows of checkpoints, by key.
func (f *fixture) checkpointRows() map[string]string {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	rows := make(map[string]string)
	for _, prefix := range [][]byte{store.CheckpointHeads(), store.CheckpointRows()} {
		err := v.KVsAscending(org, prefix, nil, func(key, value []byte) (bool, error) {
			rows[string(key)] = string(value)
			return true, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return rows
}

// listing formats a trial balance, one line per account.
type listing []string

func (s *listing) add(a ledger.Account, t *ledger.Totals) {
	*s = append(*s, fmt.Sprintf("%s %v: %v %v %v %v", a.Path, a.Asset, t.DebitsPosted, t.CreditsPosted, t.DebitsPending, t.CreditsPending))
}

func (f *fixture) trial(q balances.Query) (lines listing) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	err := f.reader.TrialBalance(v, org, q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
		lines.add(a, t)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return lines
}

// trialInEveryWay returns the trial balance. It checks that the trial balances from the pages and from a checkpoint
// are the same.
func (f *fixture) trialInEveryWay(q balances.Query) listing {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	var fromPages, fromCheckpoint listing
	if err := errors.Join(balances.FromPages(v, org, q, fromPages.add), new(balances.Reader).FromCheckpoint(v, org, q, 1, fromCheckpoint.add)); err != nil {
		f.t.Fatal(err)
	}
	lines := f.trial(q)
	if !slices.Equal(fromPages, lines) || !slices.Equal(fromCheckpoint, lines) {
		f.t.Errorf("%+v: it is %q, from the pages %q, from a checkpoint %q", q, lines, fromPages, fromCheckpoint)
	}
	return lines
}

// setClock sets the clock to an hour of the day that is the given number of days after the first one.
func (f *fixture) setClock(day, hour int) {
	f.t.Helper()
	if err := f.Clock.Set(time.Date(2026, 9, 3+day, hour, 0, 0, 0, time.UTC)); err != nil {
		f.t.Fatal(err)
	}
}

func deposit(amount uint64) *posting.Change {
	return transfer(ledger.Posted, line("A:bank", ledger.Debit, amount), line("L:partner:1:available", ledger.Credit, amount))
}

func TestDayCheckpointIsMadeOnceTheNextDayBegins(t *testing.T) {
	f := open(t)
	for _, n := range []uint64{500, 30} {
		f.MustSubmit(deposit(n))
	}
	f.setClock(1, 12)
	if _, due := f.makeNextCheckpoint(balances.Checkpoint{}); due {
		t.Fatal("the checkpoint was made although no event was booked on a later day")
	}
	f.MustSubmit(deposit(7))
	c, due := f.makeNextCheckpoint(balances.Checkpoint{})
	if !due || c.Seq != 2 || c.Accounts != 2 || c.Previous != 0 || c.Booked.Date() != ledger.DateOf(start) {
		t.Fatalf("the checkpoint is %+v, %v", c, due)
	}
	if _, due = f.makeNextCheckpoint(*c); due {
		t.Error("the next day has a checkpoint before it is over")
	}
	f.setClock(4, 12)
	f.MustSubmit(deposit(1))
	next, due := f.makeNextCheckpoint(*c)
	if !due || next.Seq != 3 || next.Previous != 2 {
		t.Errorf("the checkpoint of the next day: %+v, %v", next, due)
	}
}

// A checkpoint has the accounts that moved since its base. Its base is the last checkpoint with more than twice as many
// accounts.
func TestCheckpointHasTheAccountsThatMoved(t *testing.T) {
	f := open(t)
	var credits []ledger.Posting
	for n := range int64(9) {
		credits = append(credits, line(ledger.PartnerAvailable(n+1), ledger.Credit, 1))
	}
	f.MustSubmit(transfer(ledger.Posted, append(credits, line("A:bank", ledger.Debit, 9))...))
	f.setClock(1, 12)
	f.MustSubmit(deposit(7))
	f.setClock(2, 12)
	f.MustSubmit(deposit(7))
	f.MustSubmit(deposit(7))
	f.setClock(3, 12)
	f.MustSubmit(transfer(ledger.Posted, append(credits[:4:4], line("A:bank", ledger.Debit, 4))...))
	f.setClock(4, 12)
	f.MustSubmit(deposit(1))
	type summary struct{ seq, base, accounts, chainAccounts uint64 }
	var got []summary
	for _, c := range f.makeCheckpoints(balances.Checkpoint{}) {
		got = append(got, summary{c.Seq, c.Base.Seq, c.Accounts, c.ChainAccounts})
	}
	if want := []summary{{1, 0, 10, 10}, {2, 1, 2, 12}, {4, 1, 2, 12}, {5, 0, 10, 10}}; !slices.Equal(got, want) {
		t.Errorf("the checkpoints are %+v, want %+v", got, want)
	}
}

func TestACheckpointMergesThoseThatAreNotMuchGreater(t *testing.T) {
	for _, c := range []struct {
		moved  uint64
		chain  []uint64 // number of accounts of each checkpoint in the chain
		merged int
	}{
		{moved: 10, chain: nil, merged: 0},
		{moved: 10, chain: []uint64{20}, merged: 1},
		{moved: 10, chain: []uint64{21}, merged: 0},
		{moved: 10, chain: []uint64{20, 60}, merged: 2},
		{moved: 10, chain: []uint64{20, 61}, merged: 1},
		{moved: 10, chain: []uint64{21, 22}, merged: 0},
		{moved: 0, chain: []uint64{0, 1}, merged: 1},
	} {
		var chain []balances.Checkpoint
		for _, accounts := range c.chain {
			chain = append(chain, balances.Checkpoint{Accounts: accounts})
		}
		if got := balances.CheckpointsToMerge(chain, c.moved); got != c.merged {
			t.Errorf("%d accounts moved, and the chain has %v: %d merged, want %d", c.moved, c.chain, got, c.merged)
		}
	}
}

// However many accounts move from checkpoint to checkpoint, each checkpoint of a chain has more than twice as many
// accounts as the newer checkpoint of which it is the base.
func TestChainsStayShort(t *testing.T) {
	random := testseed.Random(t)
	for range 100 {
		var chain []balances.Checkpoint
		bound := 1 + random.Uint64N(100_000)
		for range 500 {
			moved := random.Uint64N(bound)
			merged := balances.CheckpointsToMerge(chain, moved)
			for _, c := range chain[:merged] {
				moved = max(moved, c.Accounts) + random.Uint64N(1+min(moved, c.Accounts)) // some of the moved accounts are also in c
			}
			chain = append([]balances.Checkpoint{{Accounts: moved}}, chain[merged:]...)
			for i := 1; i < len(chain); i++ {
				if chain[i].Accounts <= 2*chain[i-1].Accounts {
					t.Fatalf("the base of a checkpoint of %d accounts has %d accounts", chain[i-1].Accounts, chain[i].Accounts)
				}
			}
		}
	}
}

func TestDistanceGrowsWithTheAccountsUpToABound(t *testing.T) {
	for accounts, want := range map[uint64]uint64{0: 32_768, 8_192: 32_768, 10_000: 40_000, 16_384: 65_536, 5_000_000: 65_536} {
		if got := balances.Distance(&balances.Checkpoint{ChainAccounts: accounts}); got != want {
			t.Errorf("of %d accounts: %d events, want %d", accounts, got, want)
		}
	}
}

func TestLongDayHasSeveralCheckpoints(t *testing.T) {
	f := open(t)
	for range balances.CheckpointEvents/posting.MaxSteps + 1 {
		f.MustSubmit(manyEntries(posting.MaxSteps))
	}
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	if len(checkpoints) != 1 || checkpoints[0].Seq != balances.CheckpointEvents {
		t.Fatalf("the checkpoints are %+v", checkpoints)
	}
	if got, want := f.trialInEveryWay(balances.Query{Env: money.Prod, At: checkpoints[0].Booked}), (listing{
		"A:bank " + usd.String() + ": 32768 0 0 0", "L:partner:1:available " + usd.String() + ": 0 32768 0 0",
	}); !slices.Equal(got, want) {
		t.Errorf("it is %q", got)
	}
}

// manyEntries returns a change of n entries, each of which moves 1 from the bank to partner 1.
func manyEntries(n int) *posting.Change {
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	for range n {
		c.Steps = append(c.Steps, posting.Step{
			Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
			Events: []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
				line("A:bank", ledger.Debit, 1), line("L:partner:1:available", ledger.Credit, 1),
			}}}},
		})
	}
	return c
}

func TestTrialBalanceIgnoresLaterEvents(t *testing.T) {
	f := open(t)
	book := func(c *posting.Change) ledger.Micros { return f.MustSubmit(c).Headers[0].UpdatedAt }
	depositedAt := book(deposit(500))
	holdChange := &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "hold", To: "held", Entry: &ledger.Entry{Phase: ledger.Pending, Postings: []ledger.Posting{
			line("L:partner:1:available", ledger.Debit, 100), line("A:bank", ledger.Credit, 100),
		}}}},
	}}}
	heldAt := book(holdChange)
	f.setClock(1, 12)
	step := holdChange.Steps[0]
	step.Expect = 1
	step.Events = []ledger.Event{{Name: "take", To: "taken", Entry: &ledger.Entry{Phase: ledger.Capture, Postings: []ledger.Posting{
		line("L:partner:1:available", ledger.Debit, 60), line("A:bank", ledger.Credit, 59), line("I:fees", ledger.Credit, 1),
	}, Released: holdChange.Steps[0].Events[0].Entry.Postings}}}
	capturedAt := book(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{step}})
	f.setClock(2, 12)
	backdated := deposit(7)
	backdated.Steps[0].Events[0].Entry.Effective = ledger.DateOf(start)
	backdatedAt := book(backdated)
	f.setClock(3, 12)
	book(deposit(1))
	if checkpoints := f.makeCheckpoints(balances.Checkpoint{}); len(checkpoints) != 3 {
		t.Fatalf("the checkpoints are %+v", checkpoints)
	}
	bank, fees, partner := "A:bank "+usd.String()+": ", "I:fees "+usd.String()+": ", "L:partner:1:available "+usd.String()+": "
	for _, c := range []struct {
		name string
		q    balances.Query
		want listing
	}{
		{"before everything", balances.Query{At: depositedAt - 1}, nil},
		{"before 1970", balances.Query{At: -1}, nil},
		{"after the deposit", balances.Query{At: depositedAt}, listing{bank + "500 0 0 0", partner + "0 500 0 0"}},
		{"before the capture", balances.Query{At: capturedAt - 1}, listing{bank + "500 0 0 100", partner + "0 500 100 0"}},
		{"at the hold", balances.Query{At: heldAt}, listing{bank + "500 0 0 100", partner + "0 500 100 0"}},
		{"after the capture", balances.Query{At: backdatedAt - 1}, listing{bank + "500 59 0 0", fees + "0 1 0 0", partner + "60 500 0 0"}},
		{"after the back-dated deposit", balances.Query{At: backdatedAt}, listing{bank + "507 59 0 0", fees + "0 1 0 0", partner + "60 507 0 0"}},
		{"in the future", balances.Query{At: 1 << 62}, listing{bank + "508 59 0 0", fees + "0 1 0 0", partner + "60 508 0 0"}},
		{"by effective date, before everything", balances.Query{EffectiveDate: ledger.DateOf(start) - 1}, nil},
		{"by effective date, on the first day", balances.Query{EffectiveDate: ledger.DateOf(start)}, listing{bank + "507 0 0 100", partner + "0 507 100 0"}},
		{"by effective date, on the second day", balances.Query{EffectiveDate: ledger.DateOf(start) + 1}, listing{bank + "507 59 0 0", fees + "0 1 0 0", partner + "60 507 0 0"}},
		{"of one account", balances.Query{At: backdatedAt, Prefix: "I:"}, listing{fees + "0 1 0 0"}},
		{"after an account", balances.Query{At: backdatedAt, After: &ledger.Account{Path: "A:bank", Asset: usd}}, listing{fees + "0 1 0 0", partner + "60 507 0 0"}},
		{"of another environment", balances.Query{At: backdatedAt, Env: money.Test}, nil},
	} {
		if c.q.Env == 0 {
			c.q.Env = money.Prod
		}
		if got := f.trialInEveryWay(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s it is %q, want %q", c.name, got, c.want)
		}
	}
}

// history books random entries on the given number of days: posted, held, captured in part or voided, in
// several assets and environments, some with effect on other days. It returns the booked times.
func history(f *fixture, random *rand.Rand, days int) (instants []ledger.Micros) {
	assets := []money.Asset{usd, {Currency: "EUR", Env: money.Prod}, {Currency: "USD", Env: money.Test}, {Currency: "USDT", Network: "tron", Env: money.Prod}}
	paths := []ledger.Path{"A:bank", "I:fees", "L:partner:1:available", "L:partner:10:available", "L:partner:2:available", "A:provider:x", "E:costs"}
	type openHold struct {
		step     posting.Step
		postings []ledger.Posting
	}
	var holds []openHold
	randomPair := func(asset money.Asset, n uint64) []ledger.Posting {
		order := random.Perm(len(paths))
		return []ledger.Posting{
			{Account: paths[order[0]], Asset: asset, Side: ledger.Debit, Amount: amount(n)}, {Account: paths[order[1]], Asset: asset, Side: ledger.Credit, Amount: amount(n)},
		}
	}
	randomDay := func() ledger.Date {
		if random.IntN(4) > 0 {
			return 0
		}
		return ledger.DateOf(start) + ledger.Date(random.IntN(days+2)-1)
	}
	book := func(step posting.Step, phase ledger.Phase, postings, released []ledger.Posting) {
		step.Events = []ledger.Event{{Name: "move", To: "done", Entry: &ledger.Entry{Phase: phase, Effective: randomDay(), Postings: postings, Released: released}}}
		instants = append(instants, f.MustSubmit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{step}}).Headers[0].UpdatedAt)
	}
	for day := range days {
		f.setClock(day, 11)
		for range random.IntN(12) {
			step := posting.Step{Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1}}
			n := 2 + random.Uint64N(1000)
			postings := randomPair(assets[random.IntN(len(assets))], n)
			switch k := random.IntN(3); {
			case k == 0:
				book(step, ledger.Posted, postings, nil)
			case k == 1:
				book(step, ledger.Pending, postings, nil)
				step.Expect = 1
				holds = append(holds, openHold{step, postings})
			case len(holds) > 0:
				i := random.IntN(len(holds))
				h := holds[i]
				holds = slices.Delete(holds, i, i+1)
				if random.IntN(2) == 0 {
					book(h.step, ledger.Void, h.postings, nil)
				} else {
					book(h.step, ledger.Capture, randomPair(h.postings[0].Asset, 1+random.Uint64N(2)), h.postings)
				}
			}
		}
	}
	return instants
}

// Reading the next page of a trial balance uses the turnover (the sum of the events since the checkpoint) that was
// computed for the page before. If readers of several moments alternate, each still gets the balance of its own moment.
func TestPagesOfATrialBalanceShareTheTurnover(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	var instants []ledger.Micros
	for day := range 3 {
		f.setClock(day, 11)
		for range 2 {
			c := manyEntries(posting.MaxSteps)
			for i := range c.Steps {
				postings := c.Steps[i].Events[0].Entry.Postings
				postings[1].Account = ledger.PartnerAvailable(1 + random.Int64N(40))
				if i%100 == 0 {
					c.Steps[i].Events[0].Entry.Effective = ledger.DateOf(start) + ledger.Date(random.IntN(4))
				}
			}
			headers := f.MustSubmit(c).Headers
			instants = append(instants, headers[len(headers)-1].UpdatedAt)
		}
	}
	if checkpoints := f.makeCheckpoints(balances.Checkpoint{}); len(checkpoints) != 2 {
		t.Fatalf("the checkpoints are %+v", checkpoints)
	}
	for range 30 {
		q := balances.Query{Env: money.Prod, At: instants[random.IntN(len(instants))]}
		if random.IntN(3) == 0 {
			q.EffectiveDate = ledger.DateOf(start) + ledger.Date(random.IntN(4))
		}
		if random.IntN(3) == 0 {
			q.Prefix = "L:partner:1"
		}
		v := f.Journal.View()
		var want listing
		if err := balances.FromPages(v, org, q, want.add); err != nil {
			t.Fatal(err)
		}
		v.Close()
		for range 2 {
			if got := f.trialInPages(q, 28+random.IntN(12)); !slices.Equal(got, want) {
				t.Fatalf("%+v:\nin pages     %q\nby the pages %q", q, got, want)
			}
		}
	}
	if !f.reader.HasKeptTurnover() {
		t.Error("no turnover was cached for the next page")
	}
}
