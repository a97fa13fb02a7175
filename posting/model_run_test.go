package posting_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// modelRun submits the same changes to a journal and to its model, a second, naive implementation of the writer.
type modelRun struct {
	*fixture
	random     *rand.Rand
	model      *model
	orgs       []ledger.ID
	draftCount int // number of drafts so far, from which keys of claims and windows of counters are made
}

var (
	modelPaths = []ledger.Path{
		"A:bank", "A:bank:x", "A:bank2", "A:bank-2", "L:partner:1:available", "L:partner:11:available", "A:partner:1:receivable", "I:fees",
	}
	modelAssets = []money.Asset{
		usd, {Currency: "USD", Env: money.Test}, {Currency: "USDT", Env: money.Prod}, {Currency: "USDT", Network: "tron", Env: money.Prod},
		{Currency: "US", Network: "d", Env: money.Prod},
	}
)

// The caches hold one entry at first, groups are small, and the journal restarts now and then. So the orderer (the goroutine
// that prepares groups) often has to read values again that its caches have dropped.
func TestJournalMatchesItsModel(t *testing.T) {
	const maxRounds = 40
	rounds := maxRounds
	if testing.Short() {
		rounds = 10 // at least; the test continues until there was a refusal with each code
	}
	random := testseed.Random(t)
	p := &modelRun{
		fixture: &fixture{t: t, dir: t.TempDir(), clock: newClock(), fatal: make(chan error, 1), cached: 1, memTable: 4 << 20},
		random:  random, model: newModel(), orgs: []ledger.ID{org, uuid.New()},
	}
	p.reopen()
	t.Cleanup(func() { _ = p.Close() })
	for round := 0; round < rounds || round < maxRounds && len(p.missingRefusals()) > 0; round++ {
		p.submitBatch(1 + random.IntN(300))
		p.takeDue()
		if round%4 == 3 {
			p.bufferedGroups = []int{-1, 1, 3, 20, 0}[random.IntN(5)]
			p.restart()
			clear(p.model.handedOut)
			p.cached = 1 + random.IntN(8)
		}
		if round%3 == 0 {
			p.compare()
		}
		p.forward(time.Duration(random.Int64N(1 << (20 + random.IntN(30))))) // at most about two weeks
		if t.Failed() {
			return
		}
	}
	p.compare()
	groups, _ := p.LastGroup()
	t.Logf("%d changes in %d groups, %d records, refused: %v", p.draftCount, groups, len(p.model.records), p.model.refusals)
	for _, code := range p.missingRefusals() {
		t.Errorf("nothing was refused with %s", code)
	}
}

// missingRefusals returns the codes with which no change was refused yet.
func (p *modelRun) missingRefusals() []ledger.Code {
	codes := []ledger.Code{ledger.ClaimTaken, ledger.StaleVersion, ledger.LimitExceeded, ledger.InsufficientFunds}
	return slices.DeleteFunc(codes, func(code ledger.Code) bool { return p.model.refusals[code] > 0 })
}

// submitBatch submits changes from several goroutines and applies the receipts to the model.
func (p *modelRun) submitBatch(n int) {
	type answer struct {
		draft
		receipt posting.Receipt
	}
	var drafts []draft
	for len(drafts) < n {
		d := p.randomDraft()
		d.isAlone = p.random.IntN(6) == 0
		drafts = append(drafts, d)
		for !makesTransaction(d.change) && p.random.IntN(8) == 0 { // submit the change twice; only one of the two is accepted
			drafts = append(drafts, draft{copyOf(d.change), d.reserved, false})
		}
	}
	answers := make([]answer, 0, len(drafts))
	var mu sync.Mutex
	var pending, callers sync.WaitGroup
	pending.Add(len(drafts))
	for chunk := range slices.Chunk(drafts, 1+len(drafts)/4) {
		callers.Go(func() {
			for _, d := range chunk {
				unsubmitted := draft{copyOf(d.change), d.reserved, d.isAlone}
				answered := make(chan struct{})
				p.Submit(d.change, func(r posting.Receipt) {
					mu.Lock()
					answers = append(answers, answer{unsubmitted, r})
					mu.Unlock()
					pending.Done()
					close(answered)
				})
				if d.isAlone {
					<-answered
				}
			}
		})
	}
	answered := make(chan struct{})
	go func() { callers.Wait(); pending.Wait(); close(answered) }()
	select {
	case <-answered:
	case err := <-p.fatal:
		p.t.Fatal(err)
	}
	p.model.now = ledger.MicrosOf(p.clock.Now())
	for _, a := range answers {
		p.wantReceipt(a.draft, a.receipt)
	}
}

// makesTransaction tells whether a change creates a transaction or a transfer, whose id must have been
// generated for this change alone.
func makesTransaction(c *posting.Change) bool {
	return slices.ContainsFunc(c.Steps, func(s posting.Step) bool {
		return s.Expect == 0 && (s.Source.Kind == ledger.Transaction || s.Source.Kind == ledger.Transfer)
	})
}

// wantReceipt compares a receipt with the one that the model expects, and applies an accepted change to the model.
func (p *modelRun) wantReceipt(d draft, got posting.Receipt) {
	code, index, owner := p.model.expect(d.change)
	claim, counter := 0, 0
	if code == ledger.ClaimTaken {
		claim = index
	} else {
		counter = index
	}
	var refusal *ledger.Refusal
	if errors.As(got.Err, &refusal) != (code != "") || refusal != nil && refusal.Code != code || string(got.Owner) != owner ||
		got.Claim != claim || got.Counter != counter {
		p.t.Fatalf("claims %+v, funds %+v, counters %+v, %d steps, first expects %d: answered %v with claim %d of owner %q and counter %d, want %q at %d of owner %q",
			d.change.Claims, d.change.Funds, d.change.Counters, len(d.change.Steps), d.change.Steps[0].Expect, got.Err,
			got.Claim, got.Owner, got.Counter, code, index, owner)
	}
	if code != "" {
		p.model.refusals[code]++
		return
	}
	if want := p.model.apply(d); !slices.Equal(got.Headers, want) {
		p.t.Fatalf("stamps %+v, want %+v", got.Headers, want)
	}
}

func copyOf(c *posting.Change) *posting.Change {
	next := *c
	next.Steps = slices.Clone(c.Steps)
	for i := range next.Steps {
		s := &next.Steps[i]
		s.Events = slices.Clone(s.Events)
		for k := range s.Events {
			if e := s.Events[k].Entry; e != nil {
				entry := *e
				entry.Postings, entry.Released = slices.Clone(e.Postings), slices.Clone(e.Released)
				s.Events[k].Entry = &entry
			}
		}
	}
	return &next
}

func (p *modelRun) randomOrg() ledger.ID { return p.orgs[p.random.IntN(len(p.orgs))] }

// randomDraft returns a random change that a caller could submit in the model's state.
func (p *modelRun) randomDraft() draft {
	p.draftCount++
	d := draft{change: &posting.Change{Author: ledger.ByProvider.Author()}}
	c := d.change
	org := p.randomOrg()
	switch p.random.IntN(8) {
	case 0:
		c.Steps = []posting.Step{{Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}, Events: p.newEvents(1, p.randomEntry(ledger.Posted))}}
	case 1, 2:
		c.Steps = []posting.Step{p.creationStep(org, p.randomEntry(ledger.Pending))}
		d.reserved = 1 + p.random.Int64N(20)
		c.Counters = []ledger.CounterGuard{{Org: org, Key: "reserved", Add: amount(uint64(d.reserved)), Max: amount(1 << 40), RefusalCode: ledger.OutOfRange}}
	case 3, 4:
		if p.makeOutcome(&d) {
			return d
		}
		fallthrough
	case 5:
		for range 1 + p.random.IntN(3) {
			c.Steps = append(c.Steps, p.creationStep(org, p.randomEntry(ledger.Posted)))
			org = p.randomOrg()
		}
	default:
		c.Steps = []posting.Step{p.moveStep(org)}
		c.MustRecord = p.random.IntN(2) == 0
	}
	c.Author = p.randomAuthor(len(c.Steps) == 1)
	p.addGuards(c)
	return d
}

// randomAuthor returns a random author. An author is a record only if mayHaveRecord is true, because a Change with several
// steps may belong to several organizations.
func (p *modelRun) randomAuthor(mayHaveRecord bool) ledger.Author {
	kinds := ledger.AuthorKinds()
	author := kinds[p.random.IntN(len(kinds))].Author()
	switch {
	case !author.Kind.HasRecord():
	case mayHaveRecord:
		author.Seq = 1 + p.random.Uint64N(1<<40)
	default:
		author = ledger.ByPayer.Author()
	}
	return author
}

// addGuards adds claims, counter guards and funds guards to a command. Each of them may refuse the command.
func (p *modelRun) addGuards(c *posting.Change) {
	for p.random.IntN(3) == 0 {
		c.Claims = append(c.Claims, ledger.Claim{
			Org: c.Steps[0].Org, Kind: ledger.ClaimTxID, Key: fmt.Sprint(p.random.IntN(p.draftCount + 1)), Owner: []byte(uuid.NewString()),
		})
	}
	for p.random.IntN(3) == 0 {
		g := ledger.CounterGuard{
			Org: c.Steps[0].Org, Key: "daily", Window: fmt.Sprint(p.draftCount / 100), Add: amount(uint64(p.random.IntN(40))), Max: amount(300), RefusalCode: ledger.LimitExceeded,
		}
		c.Counters = append(c.Counters, g)
		if p.random.IntN(3) == 0 { // releases the same amount again
			g.IsRelease = true
			c.Counters = append(c.Counters, g)
		}
	}
	for p.random.IntN(3) == 0 {
		c.Funds = append(c.Funds, ledger.FundsGuard{
			Org:       c.Steps[0].Org,
			Account:   ledger.Account{Path: modelPaths[p.random.IntN(len(modelPaths))], Asset: modelAssets[p.random.IntN(len(modelAssets))]},
			Overdraft: amount(uint64(p.random.IntN(3) * p.random.IntN(3_000))),
		})
	}
}

// makeOutcome makes d the outcome of a record: a change that closes the record's open hold and releases the record's
// reservation. Sometimes the change then makes a new hold. If no record has an open hold, makeOutcome returns false.
func (p *modelRun) makeOutcome(d *draft) bool {
	for k, r := range p.model.records { // in the random order of Go's maps, which the seed does not determine
		if r.header.HeldSeq == 0 {
			continue
		}
		entry := &ledger.Entry{Phase: ledger.Void, Postings: slices.Clone(r.held)}
		if p.random.IntN(2) == 0 {
			entry = p.randomEntry(ledger.Capture)
			entry.Released = slices.Clone(r.held)
		}
		entry.Effective = p.effectiveDate()
		events := p.newEvents(1+p.random.IntN(2), entry)
		if p.random.IntN(3) == 0 {
			events = append(events, p.newEvents(1+p.random.IntN(2), p.randomEntry(ledger.Pending))...)
		}
		s := p.randomStep(k.org, k.source, r.header.Version, events)
		d.change.Steps, d.change.MustRecord = []posting.Step{s}, true
		if r.reserved > 0 {
			d.change.Counters = []ledger.CounterGuard{{Org: k.org, Key: "reserved", Add: amount(uint64(r.reserved)), IsRelease: true}}
		}
		return true
	}
	return false
}

// moveStep returns a step of a record without an open hold, sometimes with a wrong version. If it finds no such
// record, the step creates a record.
func (p *modelRun) moveStep(org ledger.ID) posting.Step {
	for k, r := range p.model.records {
		if k.org == org && r.header.HeldSeq == 0 && p.random.IntN(4) > 0 {
			var entry *ledger.Entry
			if p.random.IntN(3) == 0 {
				entry = p.randomEntry(ledger.Pending)
			}
			return p.randomStep(org, k.source, p.expectedVersion(k, r), p.newEvents(1+p.random.IntN(3), entry))
		}
	}
	return p.creationStep(org, nil)
}

// expectedVersion returns the record's version, or sometimes the version before it. For a transaction of version 1 it
// never returns 0, because the writer does not check whether the id of a new transaction is free.
func (p *modelRun) expectedVersion(k recordKey, r *modelRecord) uint64 {
	if p.random.IntN(5) > 0 || r.header.Version == 1 && k.source.Kind == ledger.Transaction {
		return r.header.Version
	}
	return r.header.Version - 1
}

func (p *modelRun) creationStep(org ledger.ID, entry *ledger.Entry) posting.Step {
	kinds := []ledger.Kind{ledger.Transaction, ledger.Settlement, ledger.Partner}
	return p.randomStep(org, ledger.Source{Kind: kinds[p.random.IntN(len(kinds))], ID: uuid.New()}, 0, p.newEvents(1+p.random.IntN(3), entry))
}

func (p *modelRun) randomStep(org ledger.ID, source ledger.Source, expect uint64, events []ledger.Event) posting.Step {
	s := posting.Step{Org: org, Source: source, Expect: expect, Events: events, Record: make([]byte, p.random.IntN(100)), Finish: p.random.IntN(4) == 0}
	if p.random.IntN(200) == 0 {
		s.Record = []byte(strings.Repeat("long", p.random.IntN(maxPart/4)+1))
	}
	switch p.random.IntN(6) {
	case 0:
		s.Sealed = []byte(uuid.NewString())
	case 1:
		s.RemoveSealed = true
	}
	if org == p.orgs[0] && p.random.IntN(2) == 0 {
		s.List = listOf(p.random.Int64N(3), byte(1+p.random.IntN(2)))
	}
	if p.random.IntN(2) == 0 {
		// The instant has passed, or is in the window of due instants in memory, or is far beyond the window.
		s.Due = max(1, ledger.MicrosOf(p.clock.Now())-1_000_000+ledger.Micros(p.random.Int64N(1<<(10+p.random.IntN(35)))))
	}
	return s
}

// newEvents returns n events. One of them has the entry.
func (p *modelRun) newEvents(n int, entry *ledger.Entry) []ledger.Event {
	events := make([]ledger.Event, n)
	for i := range events {
		events[i] = ledger.Event{Name: fmt.Sprint("event", i), From: "a", To: "b"}
	}
	events[p.random.IntN(n)].Entry = entry
	return events
}

func (p *modelRun) effectiveDate() ledger.Date {
	if p.random.IntN(2) == 0 {
		return 0
	}
	return ledger.DateOf(p.clock.Now()) + ledger.Date(p.random.IntN(40)-20)
}

// randomEntry returns an entry in one or two assets. Its debits and credits are equal in each asset. If the phase allows it,
// about half of the postings may be split between two accounts.
func (p *modelRun) randomEntry(phase ledger.Phase) *ledger.Entry {
	entry := &ledger.Entry{Phase: phase, Effective: p.effectiveDate()}
	for range 1 + p.random.IntN(2) {
		asset := modelAssets[p.random.IntN(len(modelAssets))]
		side, sum := ledger.Debit+ledger.Side(p.random.IntN(2)), uint64(0)
		for range 1 + p.random.IntN(3) {
			n := 1 + uint64(p.random.IntN(200))
			sum += n
			q := ledger.Posting{Account: modelPaths[p.random.IntN(len(modelPaths))], Asset: asset, Side: side, Amount: amount(n)}
			if (phase == ledger.Posted || phase == ledger.Capture) && p.random.IntN(2) == 0 {
				q.Account, q.SplitWith = "L:partner:1:available", "A:partner:1:receivable"
			}
			entry.Postings = append(entry.Postings, q)
		}
		entry.Postings = append(entry.Postings, ledger.Posting{Account: modelPaths[p.random.IntN(len(modelPaths))], Asset: asset, Side: side.Opposite(), Amount: amount(sum)})
	}
	p.random.Shuffle(len(entry.Postings), func(i, k int) {
		entry.Postings[i], entry.Postings[k] = entry.Postings[k], entry.Postings[i]
	})
	return entry
}

// takeDue takes items that are due and compares them with the model. It returns some of them to the journal with
// DueQueue.Return.
func (p *modelRun) takeDue() {
	p.t.Helper()
	p.lookAhead()
	now := ledger.MicrosOf(p.clock.Now())
	want := map[posting.DueItem]bool{}
	for k, r := range p.model.records {
		if r.header.Due != 0 && r.header.Due <= now && !p.model.handedOut[k] {
			want[posting.DueItem{At: r.header.Due, Org: k.org, Source: k.source}] = true
		}
	}
	limit := 1 + p.random.IntN(2*len(want)+10)
	got := p.Due.Take(now, limit)
	if !slices.IsSortedFunc(got, func(a, b posting.DueItem) int { return cmp.Compare(a.At, b.At) }) {
		p.t.Error("due items are handed out in the wrong order")
	}
	for _, item := range got {
		if !want[item] {
			p.t.Fatalf("%+v is handed out and not due", item)
		}
		delete(want, item)
		p.model.handedOut[recordKey{item.Org, item.Source}] = true
		if p.random.IntN(4) == 0 {
			p.Due.Return(item)
			delete(p.model.handedOut, recordKey{item.Org, item.Source})
		}
	}
	if len(got) < limit && len(want) > 0 {
		p.t.Fatalf("%d are due and not handed out", len(want))
	}
}
