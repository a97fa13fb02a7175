package posting_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// recordWithoutEntry returns a change that creates a record and moves no money.
func recordWithoutEntry(id ledger.ID) posting.Change {
	return posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: id}, Record: []byte{},
		Events: []ledger.Event{{Name: "a", To: "b"}},
	}}}
}

// submitTogether submits changes while the disk is blocked, so that they are in as few groups as the bounds
// allow. Then it unblocks the disk, and returns the receipts in the order of the changes.
func (f *fixture) submitTogether(d *disk, changes []*posting.Change) []posting.Receipt {
	f.t.Helper()
	receipts := make([]posting.Receipt, len(changes))
	var pending sync.WaitGroup
	pending.Add(len(changes))
	for i, c := range changes {
		f.Submit(c, func(receipt posting.Receipt) {
			receipts[i] = receipt
			pending.Done()
		})
	}
	d.unblock()
	finished := make(chan struct{})
	go func() { pending.Wait(); close(finished) }()
	select {
	case <-finished:
	case err := <-f.fatal:
		f.t.Fatal(err)
	}
	return receipts
}

func TestNewLinesOfAListInOneGroupMayExceedARow(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	const n = 2 * posting.MaxGroup
	changes := make([]*posting.Change, n)
	for i := range changes {
		c := recordWithoutEntry(uuid.New())
		c.Steps[0].List = listOf(7, 1)
		changes[i] = &c
	}
	for _, receipt := range f.submitTogether(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	v := f.View()
	defer v.Close()
	next := n
	err := v.List(org, listOf(7, 1), posting.ListRange{}, func(row posting.ListRow) (bool, error) {
		next--
		if row.ID != changes[next].Steps[0].Source.ID {
			t.Fatalf("row %d is another's", next)
		}
		return true, nil
	})
	if err != nil || next != 0 {
		t.Errorf("%d rows are missing (%v)", next, err)
	}
}

func TestTimersOfOneSecondInOneGroupMayExceedARow(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	const n = 2 * posting.MaxGroup
	at := ledger.MicrosOf(start) + 30_000_000
	changes := make([]*posting.Change, n)
	for i := range changes {
		c := recordWithoutEntry(uuid.New())
		c.Steps[0].Due = at
		changes[i] = &c
	}
	for _, receipt := range f.submitTogether(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	f.wrapLog = nil
	f.restart()
	if got := len(f.Due.Take(at, 2*n)); got != n {
		t.Errorf("%d of %d are due after a restart", got, n)
	}
}

func TestChangeLargerThanAGroupIsRefused(t *testing.T) {
	f := open(t)
	f.memTable = store.DefaultMemTable // as on a server: a group has room for two of the longest records
	f.restart()
	large := &posting.Change{Author: ledger.BySystem.Author()}
	for range 4 {
		c := recordWithoutEntry(uuid.New())
		c.Steps[0].Record = make([]byte, posting.MaxRecord)
		large.Steps = append(large.Steps, c.Steps...)
	}
	wantCode(t, f.submit(large).Err, ledger.OutOfRange)
	large.Steps = large.Steps[:2]
	f.must(large)
}

func TestEntryMustHaveRoomForSplitPostings(t *testing.T) {
	f := open(t)
	entryOfSpillingPostings := func(n int) *posting.Change {
		postings := []ledger.Posting{line("A:bank", ledger.Debit, uint64(n-1)*2)}
		for i := range n - 1 {
			p := line(ledger.Path(fmt.Sprintf("L:partner:%d:available", i)), ledger.Credit, 2)
			p.SplitWith = ledger.Path(fmt.Sprintf("A:partner:%d:receivable", i))
			postings = append(postings, p)
		}
		return transfer(ledger.Posted, postings...)
	}
	if !panics(func() { f.submit(entryOfSpillingPostings(ledger.MaxPostings)) }) {
		t.Error("an entry that may be split into 511 postings was accepted")
	}
	f.must(entryOfSpillingPostings(ledger.MaxPostings / 2))
	f.restart() // then the writer must read the last events from the store before it can book the next change
	f.must(deposit())
}

// panics tells whether fn panics, because an assertion fails.
func panics(fn func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	fn()
	return false
}

func TestInvalidChangePanicsInItsCaller(t *testing.T) {
	f := open(t)
	for name, spoil := range map[string]func(c *posting.Change){
		"an asset without currency": func(c *posting.Change) {
			for i := range c.Steps[0].Events[0].Entry.Postings {
				c.Steps[0].Events[0].Entry.Postings[i].Asset.Currency = ""
			}
		},
		"an asset without environment": func(c *posting.Change) {
			for i := range c.Steps[0].Events[0].Entry.Postings {
				c.Steps[0].Events[0].Entry.Postings[i].Asset.Env = 0
			}
		},
		"a network longer than can be stored": func(c *posting.Change) {
			for i := range c.Steps[0].Events[0].Entry.Postings {
				c.Steps[0].Events[0].Entry.Postings[i].Asset.Network = money.Network(strings.Repeat("n", money.MaxName+1))
			}
		},
		"a long event": func(c *posting.Change) { c.Steps[0].Events[0].To = strings.Repeat("x", store.MaxValue) },
		"a long owner": func(c *posting.Change) {
			c.Claims = []ledger.Claim{{Org: org, Kind: ledger.ClaimTxID, Key: "k", Owner: make([]byte, store.MaxValue+1)}}
		},
		"a long counter": func(c *posting.Change) {
			c.Counters = []ledger.CounterGuard{{Org: org, Key: strings.Repeat("k", store.MaxKey)}}
		},
		"no payload":          func(c *posting.Change) { c.Steps[0].Record = nil },
		"one record twice":    func(c *posting.Change) { c.Steps = append(c.Steps, c.Steps[0]) },
		"no events":           func(c *posting.Change) { c.Steps[0].Events = nil },
		"an empty claim":      func(c *posting.Change) { c.Claims = []ledger.Claim{{Org: org, Kind: ledger.ClaimTxID}} },
		"a long sealed row":   func(c *posting.Change) { c.Steps[0].Sealed = make([]byte, posting.MaxSealed+1) },
		"an empty sealed row": func(c *posting.Change) { c.Steps[0].Sealed = []byte{} },
		"a sealed row both set and removed": func(c *posting.Change) {
			c.Steps[0].Sealed, c.Steps[0].RemoveSealed = []byte{1}, true
		},
		"a sealed row beside no record": func(c *posting.Change) {
			c.Steps[0].Source.Kind, c.Steps[0].Record, c.Steps[0].Sealed = ledger.Transfer, nil, []byte{1}
		},
		"no author":               func(c *posting.Change) { c.Author = ledger.Author{} },
		"a key without its event": func(c *posting.Change) { c.Author = ledger.ByAPIKey.Author() },
		"a key that changes another organization": func(c *posting.Change) {
			other := recordWithoutEntry(uuid.New()).Steps[0]
			other.Org = uuid.New()
			c.Author, c.Steps = ledger.Author{Kind: ledger.ByAPIKey, Seq: 1}, append(c.Steps, other)
		},
		"too long a record": func(c *posting.Change) { c.Steps[0].Record = make([]byte, posting.MaxRecord+1) },
	} {
		c := deposit()
		spoil(c)
		if !panics(func() { f.submit(c) }) {
			t.Errorf("%s was accepted", name)
		}
	}
	f.must(deposit())
}

// worstCase returns a random change with this number of steps, of events in each step, and of postings in each event. All
// keys and paths have the maximum length, so that the size of the change comes near the writer's upper bound.
func worstCase(random *rand.Rand, steps, events, postings int) *posting.Change {
	longText := func(prefix string, n int) ledger.Path {
		text := prefix + fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
		return ledger.Path(text + strings.Repeat("x", n-len(text)))
	}
	asset := money.Asset{Currency: money.Currency(strings.Repeat("C", money.MaxName)), Network: money.Network(strings.Repeat("n", money.MaxName)), Env: money.Test}
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for range random.IntN(3) {
		c.Claims = append(c.Claims, ledger.Claim{Org: org, Kind: ledger.ClaimTxID, Key: string(longText("", posting.MaxClaim)), Owner: make([]byte, 1+random.IntN(posting.MaxClaim))})
		c.Counters = append(c.Counters, ledger.CounterGuard{Org: org, Key: string(longText("", 200)), Window: "2026", Add: money.Max, Max: money.Max, RefusalCode: ledger.LimitExceeded})
	}
	for range random.IntN(3) {
		c.KVs = append(c.KVs, posting.KV{Org: org, Key: []byte(longText("d", store.MaxKVKey)), Value: make([]byte, random.IntN(store.MaxKVValue+1))},
			posting.KV{Org: org, Key: []byte(longText("e", store.MaxKVKey))})
	}
	for i := range steps {
		s := posting.Step{
			Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, Record: make([]byte, random.IntN(2_000)),
			List: listOf(random.Int64(), 1), Due: ledger.MicrosOf(start) + ledger.Micros(random.Int64N(1e15)),
		}
		if s.RemoveSealed = random.IntN(2) == 0; !s.RemoveSealed {
			s.Sealed = make([]byte, 1+random.IntN(posting.MaxSealed))
		}
		if random.IntN(2) == 0 {
			s.Sequence = string(longText("", posting.MaxClaim))
		}
		for range random.IntN(3) {
			s.FurtherLists = append(s.FurtherLists, listOf(random.Int64(), 8))
		}
		if i == 0 && random.IntN(2) == 0 {
			s.Record = make([]byte, random.IntN(3*store.MaxPart))
		}
		for n := range events {
			s.Notices = append(s.Notices, posting.Notice{Event: n, Channel: posting.Channel(1 + random.IntN(3)), To: uuid.New(), Body: make([]byte, random.IntN(posting.MaxNotice>>random.IntN(15)+1))})
			entry := &ledger.Entry{Phase: ledger.Posted, Effective: ledger.Date(random.IntN(30_000))}
			for n := range postings {
				entry.Postings = append(entry.Postings, ledger.Posting{
					Account: longText("L:", ledger.MaxPath), SplitWith: longText("A:", ledger.MaxPath), Asset: asset, Side: ledger.Debit + ledger.Side(n%2),
					Amount: money.MustParse("1" + strings.Repeat("0", 70)),
				})
			}
			if postings == 0 {
				entry = nil
			}
			s.Events = append(s.Events, ledger.Event{Name: strings.Repeat("e", 100), From: strings.Repeat("f", 100), To: strings.Repeat("t", 100), Entry: entry})
		}
		c.Steps = append(c.Steps, s)
	}
	return c
}

func TestChangeStaysWithinItsSizeEstimate(t *testing.T) {
	random := testseed.Random(t)
	var rows, bytes int
	f := &fixture{t: t, dir: t.TempDir(), clock: newClock(), fatal: make(chan error, 1), memTable: 32 << 20}
	f.wrapLog = func(l posting.Log) posting.Log {
		return logFunc(func(g *store.Group) error {
			rows, bytes = g.Rows(), g.Bytes()
			return l.Apply(g)
		})
	}
	f.reopen()
	t.Cleanup(func() { _ = f.Close() })
	usedShare := 0.0
	for _, counts := range [][3]int{{1, 1, 2}, {1, 1, 128}, {1, 8, 128}, {8, 4, 16}, {64, 1, 2}, {1, 200, 2}, {20, 5, 2}, {256, 1, 0}} {
		c := worstCase(random, counts[0], counts[1], counts[2])
		maxRows, maxBytes := c.Size()
		f.must(c)
		if rows > maxRows || bytes > maxBytes {
			t.Errorf("counts %v: %d rows and %d bytes, estimated %d and %d", counts, rows, bytes, maxRows, maxBytes)
		}
		usedShare = max(usedShare, float64(bytes)/float64(maxBytes))
	}
	if usedShare < 0.4 {
		t.Errorf("the estimate is too large: at most %.2f of it is used", usedShare)
	}
}

// logFunc is a posting.Log whose Apply is this function.
type logFunc func(g *store.Group) error

func (f logFunc) Apply(g *store.Group) error { return f(g) }

func (logFunc) Confirm() error { return nil }

func TestNoGroupExceedsTheStoresLimit(t *testing.T) {
	for name, memTable := range map[string]int64{"with the smallest memtable": 1 << 20, "with the default memtable": 0} {
		if testing.Short() && memTable == 0 {
			continue // it runs the same code, only with fewer and larger groups
		}
		t.Run(name, func(t *testing.T) {
			random := testseed.Random(t)
			d := blockedDisk()
			f := &fixture{t: t, dir: t.TempDir(), clock: newClock(), fatal: make(chan error, 1), memTable: memTable}
			f.wrapLog = func(l posting.Log) posting.Log { d.Log = l; return d }
			f.reopen()
			t.Cleanup(func() { d.unblock(); _ = f.Close() })
			refusedCount := 0
			for _, receipt := range f.submitTogether(d, mixedChanges(random)) {
				if receipt.Err != nil {
					wantCode(t, receipt.Err, ledger.OutOfRange) // larger than a group may be with the smallest memtable
					refusedCount++
				}
			}
			if n := f.Stats.Groups.Load(); n < 5 || refusedCount > 200 || refusedCount > 0 && memTable == 0 {
				t.Errorf("%d groups, %d changes refused", n, refusedCount)
			}
		})
	}
}

// mixedChanges returns many small changes and some large ones, in random order.
func mixedChanges(random *rand.Rand) []*posting.Change {
	var changes []*posting.Change
	for range 200 {
		changes = append(changes, worstCase(random, 1+random.IntN(4), 1+random.IntN(3), 2+2*random.IntN(20)))
	}
	for range 10_000 {
		c := recordWithoutEntry(uuid.New())
		c.Steps[0].Due = ledger.MicrosOf(start) + ledger.Micros(random.Int64N(1e9))
		c.Steps[0].List = listOf(random.Int64N(1_000), 1)
		changes = append(changes, &c)
	}
	random.Shuffle(len(changes), func(i, k int) { changes[i], changes[k] = changes[k], changes[i] })
	return changes
}
