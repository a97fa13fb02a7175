package posting_test

import (
	"crypto/sha256"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// model is a second, naive implementation of the writer, with maps and signed integers. It applies the accepted changes one
// after the other, in the order in which the journal has answered.
type model struct {
	now       ledger.Micros
	orgs      map[ledger.ID]*modelOrg
	claims    map[string]string // owners; the keys have the claim's kind, organization and key
	counters  map[counterKey]int64
	records   map[recordKey]*modelRecord
	lists     map[ledger.List][]posting.ListRow // of the first organization
	handedOut map[recordKey]bool                // records that were handed out as due
	refusals  map[ledger.Code]int
}

type counterKey struct {
	org         ledger.ID
	key, window string
}

type recordKey struct {
	org    ledger.ID
	source ledger.Source
}

type modelOrg struct {
	events   []ledger.Event
	totals   map[ledger.Account]modelTotals
	accounts map[ledger.Account][]posting.Line // the lines of each account
	effects  map[ledger.Account][]effect
	changes  []posting.ListRow // the rows of ledger.AdministrationChanges
}

// modelTotals are an account's totals: posted debits and credits, then pending debits and credits.
type modelTotals [4]int64

func (t modelTotals) available() int64 { return t[1] - t[0] - t[2] }

func (t modelTotals) toLedger() ledger.Totals {
	total := func(i int) money.Amount { return money.FromUint64(uint64(t[i])) }
	return ledger.Totals{DebitsPosted: total(0), CreditsPosted: total(1), DebitsPending: total(2), CreditsPending: total(3)}
}

// effect is the amount that an entry adds to one of the totals of an account, from the entry's effective day on.
type effect struct {
	day   ledger.Date
	total int // index of the changed total in modelTotals
	delta int64
}

type modelRecord struct {
	header   posting.RecordHeader
	payload  string
	sealed   string // content of the sealed row; empty: there is none
	held     []ledger.Posting
	reserved int64 // amount that its pending entry has added to the counter "reserved"
}

// draft is a change that is to be submitted.
type draft struct {
	change   *posting.Change
	reserved int64 // amount that the change adds to the counter "reserved"
	isAlone  bool  // the goroutine that submits the change waits for its receipt before it submits another change
}

func newModel() *model {
	return &model{
		orgs: map[ledger.ID]*modelOrg{}, claims: map[string]string{}, counters: map[counterKey]int64{},
		records: map[recordKey]*modelRecord{}, lists: map[ledger.List][]posting.ListRow{}, handedOut: map[recordKey]bool{}, refusals: map[ledger.Code]int{},
	}
}

func (m *model) org(id ledger.ID) *modelOrg {
	orgModel := m.orgs[id]
	if orgModel == nil {
		orgModel = &modelOrg{totals: map[ledger.Account]modelTotals{}, accounts: map[ledger.Account][]posting.Line{}, effects: map[ledger.Account][]effect{}}
		m.orgs[id] = orgModel
	}
	return orgModel
}

func claimKey(c *ledger.Claim) string { return string(c.Kind) + c.Org.String() + c.Key }

// toInt converts an amount to an int64. Amounts in these tests are small.
func toInt(a money.Amount) int64 {
	n, ok := a.Uint64()
	if !ok || n > 1<<50 {
		panic("an amount that the model cannot hold")
	}
	return int64(n)
}

// expect returns the code with which a change must be refused; empty if it must be accepted. If the key of a claim is taken,
// index is the index of the claim, and owner is the owner of the key. If a counter guard refuses the change, index is the
// index of the guard.
func (m *model) expect(c *posting.Change) (code ledger.Code, index int, owner string) {
	inChange := map[string]string{} // keys that earlier claims of this change take, with their owners
	for i := range c.Claims {
		k := claimKey(&c.Claims[i])
		if holder, isTaken := m.claims[k]; isTaken {
			return ledger.ClaimTaken, i, holder
		}
		if holder, isTaken := inChange[k]; isTaken {
			return ledger.ClaimTaken, i, holder
		}
		inChange[k] = string(c.Claims[i].Owner)
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		version := uint64(0)
		if r := m.records[recordKey{s.Org, s.Source}]; r != nil {
			version = r.header.Version
		}
		if version != s.Expect {
			return ledger.StaleVersion, 0, ""
		}
	}
	if c.MustRecord {
		return "", 0, ""
	}
	counters := map[counterKey]int64{}
	for i, g := range c.Counters {
		k := counterKey{g.Org, g.Key, g.Window}
		if _, isKnown := counters[k]; !isKnown {
			counters[k] = m.counters[k]
		}
		if g.IsRelease {
			counters[k] -= toInt(g.Add)
			continue
		}
		if counters[k] += toInt(g.Add); counters[k] > toInt(g.Max) {
			return g.RefusalCode, i, ""
		}
	}
	return m.expectFunds(c), 0, ""
}

// expectFunds returns InsufficientFunds if a funds guard must refuse the change.
func (m *model) expectFunds(c *posting.Change) ledger.Code {
	totals := map[ledger.ID]map[ledger.Account]modelTotals{}
	totalsOf := func(org ledger.ID) map[ledger.Account]modelTotals {
		if totals[org] == nil {
			totals[org] = map[ledger.Account]modelTotals{}
			for a, t := range m.org(org).totals {
				totals[org][a] = t
			}
		}
		return totals[org]
	}
	for i := range c.Steps {
		for k := range c.Steps[i].Events {
			if e := c.Steps[i].Events[k].Entry; e != nil {
				bookNaively(totalsOf(c.Steps[i].Org), e, func(ledger.Posting, ledger.Phase, int, modelTotals) {})
			}
		}
	}
	for _, g := range c.Funds {
		if totalsOf(g.Org)[g.Account].available() < -toInt(g.Overdraft) {
			return ledger.InsufficientFunds
		}
	}
	return ""
}

// bookNaively adds an entry to the totals of its accounts, and returns the entry's postings after splitting. For each line
// that the journal must have, in order, it calls onLine with the line's posting, phase and index, and with the account's
// totals after the line. The indexes of lines for released amounts follow those of the postings.
func bookNaively(totals map[ledger.Account]modelTotals, e *ledger.Entry, onLine func(ledger.Posting, ledger.Phase, int, modelTotals)) []ledger.Posting {
	postingAccount := func(p ledger.Posting) ledger.Account { return ledger.Account{Path: p.Account, Asset: p.Asset} }
	add := func(p ledger.Posting, total int, n int64) modelTotals {
		t := totals[postingAccount(p)]
		if p.Side == ledger.Credit {
			total++
		}
		if t[total] += n; t[total] < 0 {
			panic("the test drives a total below zero")
		}
		totals[postingAccount(p)] = t
		return t
	}
	var releasedTotals []modelTotals
	for _, p := range e.Released {
		releasedTotals = append(releasedTotals, add(p, 2, -toInt(p.Amount)))
	}
	var split []ledger.Posting
	type bookedLine struct {
		posting ledger.Posting
		totals  modelTotals
	}
	var lines []bookedLine
	for _, p := range e.Postings {
		parts := []ledger.Posting{p}
		if p.SplitWith != "" {
			parts = splitNaively(totals, p)
		}
		for _, part := range parts {
			n, total := toInt(part.Amount), 0
			switch e.Phase {
			case ledger.Pending:
				total = 2
			case ledger.Void:
				total, n = 2, -n
			}
			lines = append(lines, bookedLine{part, add(part, total, n)})
			split = append(split, part)
		}
	}
	hasPosting := map[ledger.Account]bool{}
	for _, p := range split {
		hasPosting[postingAccount(p)] = true
	}
	for i, p := range e.Released {
		if !hasPosting[postingAccount(p)] {
			onLine(p, ledger.Void, len(split)+i, releasedTotals[i])
		}
	}
	for i, l := range lines {
		onLine(l.posting, e.Phase, i, l.totals)
	}
	return split
}

func splitNaively(totals map[ledger.Account]modelTotals, p ledger.Posting) (parts []ledger.Posting) {
	unspilled, spilledPart := p, p
	unspilled.SplitWith, spilledPart.SplitWith, spilledPart.Account = "", "", p.SplitWith
	n := toInt(p.Amount)
	spilled := int64(0)
	if p.Side == ledger.Credit {
		t := totals[ledger.Account{Path: p.SplitWith, Asset: p.Asset}]
		spilled = min(n, max(0, t[0]-t[1]))
	} else {
		t := totals[ledger.Account{Path: p.Account, Asset: p.Asset}]
		spilled = n - min(n, max(0, t.available()))
	}
	unspilled.Amount, spilledPart.Amount = amount(uint64(n-spilled)), amount(uint64(spilled))
	for _, part := range []ledger.Posting{unspilled, spilledPart} {
		if !part.Amount.IsZero() {
			parts = append(parts, part)
		}
	}
	return parts
}

// apply applies an accepted change to the model, and returns the headers that the change's records must have.
func (m *model) apply(d draft) (headers []posting.RecordHeader) {
	c := d.change
	var claimHashes []ledger.Hash
	for i := range c.Claims {
		m.claims[claimKey(&c.Claims[i])] = string(c.Claims[i].Owner)
		if len(c.Claims[i].Owner) > 16 {
			claimHashes = append(claimHashes, claimHash(&c.Claims[i]))
		}
	}
	for _, g := range c.Counters {
		k := counterKey{g.Org, g.Key, g.Window}
		if g.IsRelease {
			m.counters[k] -= toInt(g.Add)
		} else {
			m.counters[k] += toInt(g.Add)
		}
	}
	for i := range c.Steps {
		headers = append(headers, m.applyStep(&c.Steps[i], c.Author, d.reserved))
		if i == 0 {
			events := m.org(c.Steps[i].Org).events
			events[len(events)-1].StoredHashes.Claims = claimHashes
		}
	}
	return headers
}

func (m *model) applyStep(s *posting.Step, author ledger.Author, reserved int64) posting.RecordHeader {
	orgModel, k := m.org(s.Org), recordKey{s.Org, s.Source}
	record := m.records[k]
	if record == nil {
		record = new(modelRecord)
	}
	isNew := record.header.Version == 0
	for i := range s.Events {
		e := s.Events[i]
		e.Source, e.Author, e.StoredHashes = s.Source, author, ledger.StoredHashes{}
		e.Seq, e.Booked = uint64(len(orgModel.events)+1), m.now
		if n := len(orgModel.events); n > 0 {
			e.Booked = max(m.now, orgModel.events[n-1].Booked+1)
		}
		record.header.Version++
		e.Version, e.Previous = record.header.Version, record.header.LastSeq
		record.header.LastSeq, record.header.UpdatedAt = e.Seq, e.Booked
		if isNew && i == 0 {
			record.header.FirstSeq, record.header.StartedAt = e.Seq, e.Booked
		}
		if e.Entry != nil {
			m.applyEntry(orgModel, record, &e, reserved)
		}
		orgModel.events = append(orgModel.events, e)
		if s.Source.Kind.IsAdministration() && author.Kind != ledger.BySystem {
			orgModel.changes = append(orgModel.changes, posting.ListRow{Booked: e.Booked, IsCreation: e.Version == 1, ID: ledger.SeqID(e.Seq)})
		}
	}
	if s.Finish {
		record.header.FinishedAt = record.header.UpdatedAt
	}
	record.header.Due = 0
	if s.Due != 0 {
		record.header.Due = max(s.Due, m.now)
	}
	delete(m.handedOut, k)
	if s.Record != nil {
		record.payload = string(s.Record)
		if s.Sealed != nil || s.RemoveSealed {
			record.sealed, record.header.Sealed = string(s.Sealed), ledger.Hash{}
			if s.Sealed != nil {
				record.header.Sealed = sha256.Sum256(s.Sealed)
			}
		}
		record.header.FurtherRows = uint64(max(0, len(s.Record)-1) / maxPart)
		row := store.EncodeRecord(nil, store.RecordHeader(record.header), s.Record)
		orgModel.events[len(orgModel.events)-1].StoredHashes.Record = sha256.Sum256(row)
		m.records[k] = record
	}
	if s.List != (ledger.List{}) {
		m.lists[s.List] = append(m.lists[s.List], posting.ListRow{Booked: record.header.UpdatedAt, IsCreation: isNew, ID: s.Source.ID})
	}
	return record.header
}

// maxPart is the maximum number of bytes of a payload that one row stores.
const maxPart = 96 << 10

func (m *model) applyEntry(orgModel *modelOrg, record *modelRecord, e *ledger.Event, reserved int64) {
	entry := *e.Entry
	e.Entry = &entry
	if entry.Effective == 0 {
		entry.Effective = e.Booked.Date()
	}
	switch entry.Phase {
	case ledger.Pending:
		record.header.HeldSeq, record.held, record.reserved = e.Seq, slices.Clone(entry.Postings), reserved
	case ledger.Capture, ledger.Void:
		entry.Closes, record.header.HeldSeq = record.header.HeldSeq, 0
		for _, p := range record.held {
			orgModel.addEffect(p, entry.Effective, 2, -toInt(p.Amount))
		}
		record.held = nil
	}
	if (entry.Phase == ledger.Posted || entry.Phase == ledger.Capture) && record.header.SettledSeq == 0 {
		record.header.SettledSeq = e.Seq
	}
	entry.Postings = bookNaively(orgModel.totals, &entry, func(p ledger.Posting, phase ledger.Phase, index int, after modelTotals) {
		a := ledger.Account{Path: p.Account, Asset: p.Asset}
		orgModel.accounts[a] = append(orgModel.accounts[a], posting.Line{
			Seq: e.Seq, Index: index, Booked: e.Booked, Side: p.Side, Phase: phase, Amount: p.Amount, Totals: after.toLedger(),
		})
	})
	for _, p := range entry.Postings {
		switch entry.Phase {
		case ledger.Posted, ledger.Capture:
			orgModel.addEffect(p, entry.Effective, 0, toInt(p.Amount))
		case ledger.Pending:
			orgModel.addEffect(p, entry.Effective, 2, toInt(p.Amount))
		}
	}
}

func (o *modelOrg) addEffect(p ledger.Posting, day ledger.Date, total int, delta int64) {
	if p.Side == ledger.Credit {
		total++
	}
	a := ledger.Account{Path: p.Account, Asset: p.Asset}
	o.effects[a] = append(o.effects[a], effect{day, total, delta})
}

// totalsOn returns an account's totals at the end of a day, counting each entry from its effective day on.
func (o *modelOrg) totalsOn(a ledger.Account, day ledger.Date) ledger.Totals {
	var t modelTotals
	for _, e := range o.effects[a] {
		if e.day <= day {
			t[e.total] += e.delta
		}
	}
	t[2], t[3] = max(0, t[2]), max(0, t[3])
	return t.toLedger()
}
