package posting_test

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// compare compares the results of all queries with those of the model, which is a second, naive implementation of the writer.
func (p *modelRun) compare() {
	p.t.Helper()
	v := p.anyView()
	defer v.Close()
	for _, org := range append(p.orgs, uuid.New()) {
		orgModel := p.model.org(org)
		p.compareEvents(v, org, orgModel)
		p.compareAfter(v, org, orgModel)
		for _, path := range append(modelPaths, "A:ban", "L:nobody") {
			for _, asset := range modelAssets {
				p.compareAccount(v, org, orgModel, ledger.Account{Path: path, Asset: asset})
			}
		}
		for _, prefix := range []string{"", "A:bank", "A:bank:", "A:bank2", "L:partner:1", "L:partner:1:", "Z"} {
			p.compareAccounts(v, org, orgModel, prefix)
		}
	}
	for k, r := range p.model.records {
		p.compareRecord(v, k, r)
	}
	p.compareSealed(v)
	for key, want := range p.model.claims {
		org := uuid.MustParse(key[1:37])
		if got, _, err := v.Claim(org, ledger.ClaimKind(key[0]), key[37:]); string(got) != want || err != nil {
			p.t.Errorf("the claim %s is %q's (%v), want %q's", key, got, err, want)
		}
	}
	for k, want := range p.model.counters {
		if got, err := v.Counter(k.org, k.key, k.window); got != amount(uint64(want)) || err != nil {
			p.t.Errorf("counter %v is %v (%v), want %d", k, got, err, want)
		}
	}
	for l, rows := range p.model.lists {
		p.compareList(v, p.orgs[0], l, rows)
	}
	for org, orgModel := range p.model.orgs {
		if len(orgModel.changes) > 0 {
			p.compareList(v, org, ledger.AdministrationChanges, orgModel.changes)
		}
	}
}

// anyView returns a view that finds the page buffer either in memory or in the store, at random. (The page buffer has the
// lines that are on no stored page yet.)
func (p *modelRun) anyView() *posting.View {
	if p.random.IntN(2) == 0 {
		return p.StoredView()
	}
	return p.View()
}

// nearEvent returns the booked time of a random event, or an instant one microsecond earlier or later.
func (p *modelRun) nearEvent(orgModel *modelOrg) ledger.Micros {
	if len(orgModel.events) == 0 {
		return p.model.now
	}
	return orgModel.events[p.random.IntN(len(orgModel.events))].Booked + ledger.Micros(p.random.IntN(3)-1)
}

func (p *modelRun) compareEvents(v *posting.View, org ledger.ID, orgModel *modelOrg) {
	p.t.Helper()
	lastSeq := uint64(len(orgModel.events))
	if size, _, err := v.Head(org); size != lastSeq || err != nil {
		p.t.Errorf("the journal has %d events (%v), want %d", size, err, lastSeq)
	}
	from := uint64(p.random.IntN(len(orgModel.events) + 3))
	nextSeq := max(from, 1)
	err := v.EventsAscending(org, from, func(e ledger.Event, canonical []byte) (bool, error) {
		if nextSeq > lastSeq || string(canonical) != string(orgModel.events[nextSeq-1].AppendCanonical(nil)) {
			p.t.Fatalf("event %d is %+v", nextSeq, e)
		}
		nextSeq++
		return true, nil
	})
	if err != nil || nextSeq <= lastSeq {
		p.t.Errorf("the events end before %d (%v)", nextSeq, err)
	}
	before, limit := uint64(p.random.IntN(len(orgModel.events)+3)), p.random.IntN(500)
	want := lastSeq
	if before != 0 {
		want = min(lastSeq, before-1)
	}
	err = v.Events(org, before, func(e ledger.Event) (bool, error) {
		if e.Seq != want {
			p.t.Fatalf("event %d comes where %d should", e.Seq, want)
		}
		want--
		limit--
		return limit > 0, nil
	})
	if err != nil || want > 0 && limit > 0 {
		p.t.Errorf("the events before %d end at %d (%v)", before, want, err)
	}
	for range 20 {
		at := p.nearEvent(orgModel)
		n, _ := slices.BinarySearchFunc(orgModel.events, at+1, func(e ledger.Event, at ledger.Micros) int { return cmp.Compare(e.Booked, at) })
		if got, err := v.SeqAt(org, at); got != uint64(n) || err != nil {
			p.t.Errorf("at %d the journal was at %d (%v), want %d", at, got, err, n)
		}
		seq := uint64(p.random.IntN(len(orgModel.events) + 3))
		if e, _, found, err := v.Event(org, seq); err != nil || found != (seq > 0 && seq <= lastSeq) || found && e.Seq != seq {
			p.t.Errorf("event %d: %+v, %v (%v)", seq, e, found, err)
		}
	}
}

func (p *modelRun) compareAccount(v *posting.View, org ledger.ID, orgModel *modelOrg, a ledger.Account) {
	p.t.Helper()
	lines := orgModel.accounts[a]
	if got, err := v.Totals(org, a); got != orgModel.totals[a].toLedger() || err != nil {
		p.t.Errorf("%v: %+v (%v), want %+v", a, got, err, orgModel.totals[a].toLedger())
	}
	for range 5 {
		at := p.nearEvent(orgModel)
		n, _ := slices.BinarySearchFunc(lines, at+1, func(l posting.Line, at ledger.Micros) int { return cmp.Compare(l.Booked, at) })
		want := ledger.Totals{}
		if n > 0 {
			want = lines[n-1].Totals
		}
		if got, found, err := v.TotalsAt(org, a, at); got != want || found != (n > 0) || err != nil {
			p.t.Errorf("%v at %d: %+v %v (%v), want %+v", a, at, got, found, err, want)
		}
		day := at.Date() + ledger.Date(p.random.IntN(40)-20)
		if got, _, err := balances.Account(v, org, a, &balances.Query{EffectiveDate: day}); got != orgModel.totalsOn(a, day) || err != nil {
			p.t.Errorf("%v on %v: %+v (%v), want %+v", a, day, got, err, orgModel.totalsOn(a, day))
		}
		before := uint64(p.random.IntN(len(orgModel.events) + 3))
		p.compareLines(v, org, a, at, before, lines[:n])
	}
	n := 0
	err := v.LinesAscending(org, a, func(l *posting.Line) (bool, error) {
		if n >= len(lines) || *l != lines[n] {
			p.t.Fatalf("%v: line %d is %+v", a, n, *l)
		}
		n++
		return true, nil
	})
	if err != nil || n != len(lines) {
		p.t.Errorf("%v: %d lines (%v), want %d", a, n, err, len(lines))
	}
}

func (p *modelRun) compareLines(v *posting.View, org ledger.ID, a ledger.Account, until ledger.Micros, before uint64, lines []posting.Line) {
	p.t.Helper()
	want := slices.Clone(lines)
	if before != 0 {
		want = slices.DeleteFunc(want, func(l posting.Line) bool { return l.Seq >= before })
	}
	slices.Reverse(want)
	limit := 1 + p.random.IntN(400)
	var got []posting.Line
	err := v.LinesUntil(org, a, until, before, func(l posting.Line) (bool, error) {
		got = append(got, l)
		return len(got) < limit, nil
	})
	if !slices.Equal(got, want[:min(limit, len(want))]) || err != nil {
		p.t.Errorf("%v before %d until %d: %d lines of %d (%v)", a, before, until, len(got), len(want), err)
	}
}

func (p *modelRun) compareAccounts(v *posting.View, org ledger.ID, orgModel *modelOrg, prefix string) {
	p.t.Helper()
	for _, env := range []money.Env{money.Prod, money.Test} {
		var want, got []ledger.Account
		for a := range orgModel.accounts {
			if a.Asset.Env == env && strings.HasPrefix(string(a.Path), prefix) {
				want = append(want, a)
			}
		}
		slices.SortFunc(want, func(a, b ledger.Account) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Asset.Currency, b.Asset.Currency), cmp.Compare(a.Asset.Network, b.Asset.Network))
		})
		var lastRead *ledger.Account
		for { // reads pages of one to four rows
			limit := 1 + p.random.IntN(4)
			err := v.AccountsFrom(org, prefix, env, lastRead, func(a ledger.Account) (bool, error) {
				got = append(got, a)
				limit--
				return limit > 0, nil
			})
			if err != nil {
				p.t.Fatal(err)
			}
			if limit > 0 || len(got) > len(want) {
				break
			}
			lastRead = &got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			p.t.Errorf("accounts under %q: %v, want %v", prefix, got, want)
		}
	}
}

func (p *modelRun) compareRecord(v *posting.View, k recordKey, want *modelRecord) {
	p.t.Helper()
	got, found, err := v.Record(k.org, k.source)
	if err != nil || !found || got.Header != want.header || string(got.Payload) != want.payload {
		p.t.Errorf("record %v: %+v %v (%v), want %+v", k.source.ID, got.Header, found, err, want.header)
	}
	if p.random.IntN(10) > 0 {
		return
	}
	version := want.header.Version
	err = v.SourceEvents(k.org, k.source, func(e ledger.Event) (bool, error) {
		if e.Version != version || e.Source != k.source {
			p.t.Fatalf("record %v: event %+v where version %d should be", k.source.ID, e, version)
		}
		version--
		return true, nil
	})
	if err != nil || version != 0 {
		p.t.Errorf("record %v: its events end before version %d (%v)", k.source.ID, version, err)
	}
	p.compareSourceEvents(v, k)
}

func (p *modelRun) compareSealed(v *posting.View) {
	p.t.Helper()
	remaining := 0
	for k, r := range p.model.records {
		if got, found, err := v.SealedRow(k.org, k.source); found != (r.sealed != "") || string(got) != r.sealed || err != nil {
			p.t.Errorf("record %v: sealed is %q %v (%v), want %q", k.source.ID, got, found, err, r.sealed)
		}
		if r.sealed != "" {
			remaining++
		}
	}
	for _, org := range p.orgs {
		err := v.SealedRows(org, func(s ledger.Source, sealed []byte) (bool, error) {
			if r := p.model.records[recordKey{org, s}]; r == nil || r.sealed != string(sealed) {
				p.t.Errorf("%q is sealed beside %v", sealed, s.ID)
			}
			remaining--
			return true, nil
		})
		if err != nil {
			p.t.Error(err)
		}
	}
	if remaining != 0 {
		p.t.Errorf("%d sealed rows are missing", remaining)
	}
}

func (p *modelRun) compareList(v *posting.View, org ledger.ID, l ledger.List, rows []posting.ListRow) {
	p.t.Helper()
	randomInstant := func() ledger.Micros { return rows[p.random.IntN(len(rows))].Booked + ledger.Micros(p.random.IntN(3)-1) }
	w := posting.ListRange{OnlyCreations: p.random.IntN(2) == 0}
	if p.random.IntN(2) == 0 {
		w.From = randomInstant()
	}
	if p.random.IntN(2) == 0 {
		w.Before = randomInstant()
	}
	want := naiveWalk(rows, w)
	var got []posting.ListRow
	err := v.List(org, l, w, func(row posting.ListRow) (bool, error) {
		got = append(got, row)
		return true, nil
	})
	if !slices.Equal(got, want) || err != nil {
		p.t.Errorf("list %v, %+v: %d rows (%v), want %d", l, w, len(got), err, len(want))
	}
}
