package posting_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// Groups of all sizes over few and many accounts, page buffers of any length, caches with one
// entry, and occasional restarts: everything reads as in the model.
func TestPageBufferReadsMatchTheModel(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	d := newBufferFixture(t, 2, 1)
	v := d.insertValve()
	d.memTable, d.most = 6<<20, 12
	d.restart()
	var held *held
	for round := range rounds {
		d.round(v)
		d.wantRead()
		d.wantInvariant()
		switch {
		case held != nil && d.random.IntN(3) == 0:
			held.wantSame(d)
			held = nil
		case held == nil:
			held = d.hold()
		}
		if d.random.IntN(4) == 0 {
			if held != nil {
				held.wantSame(d)
				held = nil
			}
			d.days, d.cached = []int{-1, 1, 2, 5, 40, 0}[d.random.IntN(6)], 1+d.random.IntN(20)
			d.restart()
			d.wantRead()
			d.wantInvariant()
		}
		if t.Failed() {
			t.Fatalf("round %d, page buffers of %d groups, caches of %d", round, d.days, d.cached)
		}
		d.forward(time.Duration(d.random.Int64N(1e9)))
	}
	if held != nil {
		held.wantSame(d)
	}
	groups, _ := d.LastGroup()
	t.Logf("%d moves in %d groups over %d accounts", d.moves, groups, len(d.model.org(org).accounts))
}

// round books some groups, or some that arrive while the disk is blocked.
func (d *bufferFixture) round(v *testLog) {
	d.t.Helper()
	accounts := []int{3, 40, 400}[d.random.IntN(3)]
	if d.random.IntN(3) == 0 {
		var steps []posting.Step
		for range 1 + d.random.IntN(400) {
			steps = append(steps, d.any(d.orgs[d.random.IntN(2)], 1+d.random.IntN(6), accounts))
		}
		d.burst(v, steps...)
		return
	}
	for range 1 + d.random.IntN(8) {
		var steps []posting.Step
		for range 1 + d.random.IntN(3) {
			most := []int{1, 10, 100, 300}[d.random.IntN(4)]
			steps = append(steps, d.any(d.orgs[d.random.IntN(2)], 1+d.random.IntN(most), accounts))
		}
		d.group(steps...)
	}
}

// any returns a step of so many moves between accounts, and perhaps in a list.
func (d *bufferFixture) any(of ledger.ID, moves, accounts int) posting.Step {
	var pairs [][2]ledger.Path
	for range moves {
		pairs = append(pairs, [2]ledger.Path{accountOf(d.random.IntN(accounts)), accountOf(d.random.IntN(1 + d.random.IntN(accounts)))})
	}
	owner := d.random.Int64N(int64(accounts))
	if of == d.orgs[1] {
		owner += 1000
	}
	list := listOf(owner, 1)
	if d.random.IntN(4) == 0 {
		list = ledger.List{}
	}
	return d.step(of, list, pairs...)
}

// held is a view that stays open while pages are flushed, and its results.
type held struct {
	*posting.View
	accounts []ledger.Account
	list     ledger.List
	shown    []string
}

func (d *bufferFixture) hold() *held {
	h := &held{View: d.View()}
	for a := range d.model.org(org).accounts {
		if h.accounts = append(h.accounts, a); len(h.accounts) == 10 {
			break
		}
	}
	for h.list = range d.model.lists {
		if d.orgOf(h.list) == org {
			break
		}
	}
	if d.random.IntN(2) == 0 {
		_ = h.BufferedPages(org, func(_, _ []byte) error { return nil }) // the view keeps what it has read
	}
	h.shown = h.show(d)
	return h
}

func (h *held) show(d *bufferFixture) (shown []string) {
	d.t.Helper()
	must := func(err error) {
		if err != nil {
			d.t.Fatal(err)
		}
	}
	show := func(what any) { shown = append(shown, fmt.Sprintf("%+v", what)) }
	for _, a := range h.accounts {
		totals, err := h.Totals(org, a)
		must(err)
		show(totals)
		must(h.Lines(org, a, 0, func(l posting.Line) (bool, error) { show(l); return true, nil }))
	}
	must(h.List(org, h.list, posting.Walk{}, func(row posting.Listed) (bool, error) { show(row); return true, nil }))
	return shown
}

func (h *held) wantSame(d *bufferFixture) {
	d.t.Helper()
	defer h.Close()
	if got := h.show(d); !slices.Equal(got, h.shown) {
		d.t.Errorf("a view of before shows %d things, and %d then:\n%.2000v\nwas\n%.2000v", len(got), len(h.shown), got, h.shown)
	}
}
