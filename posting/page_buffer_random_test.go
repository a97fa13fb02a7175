package posting_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// Groups of all sizes change few or many accounts. The number of groups in the page buffer varies, the caches are small, and
// the journal restarts now and then. The results of all queries must equal those of the model.
func TestPageBufferReadsMatchTheModel(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	d := newBufferFixture(t, 2, 1)
	disk := d.insertDisk()
	d.memTable, d.maxCompared = 6<<20, 12
	d.restart()
	var openView *heldView
	for round := range rounds {
		d.bookRound(disk)
		d.wantLikeModel()
		d.wantBufferInvariant()
		switch {
		case openView != nil && d.random.IntN(3) == 0:
			openView.wantUnchanged(d)
			openView = nil
		case openView == nil:
			openView = d.holdView()
		}
		if d.random.IntN(4) == 0 {
			if openView != nil {
				openView.wantUnchanged(d)
				openView = nil
			}
			d.bufferedGroups, d.cached = []int{-1, 1, 2, 5, 40, 0}[d.random.IntN(6)], 1+d.random.IntN(20)
			d.restart()
			d.KeepMoved([]int{0, 1 << 10, 1 << 20}[d.random.IntN(3)])
			d.wantLikeModel()
			d.wantBufferInvariant()
		}
		if t.Failed() {
			t.Fatalf("round %d, page buffers of %d groups, caches of %d", round, d.bufferedGroups, d.cached)
		}
		d.forward(time.Duration(d.random.Int64N(1e9)))
	}
	if openView != nil {
		openView.wantUnchanged(d)
	}
	groups, _ := d.LastGroup()
	t.Logf("%d moves in %d groups over %d accounts", d.moves, groups, len(d.model.org(org).accounts))
}

// bookRound books some groups, either one after the other or from changes that are queued while the disk is blocked.
func (d *bufferFixture) bookRound(disk *blockableDisk) {
	d.t.Helper()
	accountLimit := []int{3, 40, 400}[d.random.IntN(3)]
	if d.random.IntN(3) == 0 {
		var steps []posting.Step
		for range 1 + d.random.IntN(400) {
			steps = append(steps, d.randomStep(d.orgs[d.random.IntN(2)], 1+d.random.IntN(6), accountLimit))
		}
		d.bookTogether(disk, steps...)
		return
	}
	for range 1 + d.random.IntN(8) {
		var steps []posting.Step
		for range 1 + d.random.IntN(3) {
			maxMoves := []int{1, 10, 100, 300}[d.random.IntN(4)]
			steps = append(steps, d.randomStep(d.orgs[d.random.IntN(2)], 1+d.random.IntN(maxMoves), accountLimit))
		}
		d.bookGroup(steps...)
	}
}

// randomStep returns a step with this number of moves between accounts whose numbers are below accountLimit. Most of the
// steps are in a list.
func (d *bufferFixture) randomStep(orgID ledger.ID, moves, accountLimit int) posting.Step {
	var pairs [][2]ledger.Path
	for range moves {
		pairs = append(pairs, [2]ledger.Path{accountOf(d.random.IntN(accountLimit)), accountOf(d.random.IntN(1 + d.random.IntN(accountLimit)))})
	}
	owner := d.random.Int64N(int64(accountLimit))
	if orgID == d.orgs[1] {
		owner += 1000
	}
	list := listOf(owner, 1)
	if d.random.IntN(4) == 0 {
		list = ledger.List{}
	}
	return d.step(orgID, list, pairs...)
}

// heldView is a view that stays open while pages are flushed, with its first results.
type heldView struct {
	*posting.View
	accounts     []ledger.Account
	list         ledger.List
	shownAtFirst []string
}

func (d *bufferFixture) holdView() *heldView {
	h := &heldView{View: d.anyView()}
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
		_ = h.BufferedPages(org, func(_, _ []byte) error { return nil }) // makes the view read the page buffer
	}
	h.shownAtFirst = h.readAll(d)
	return h
}

func (h *heldView) readAll(d *bufferFixture) (texts []string) {
	d.t.Helper()
	must := func(err error) {
		if err != nil {
			d.t.Fatal(err)
		}
	}
	add := func(what any) { texts = append(texts, fmt.Sprintf("%+v", what)) }
	for _, a := range h.accounts {
		totals, err := h.Totals(org, a)
		must(err)
		add(totals)
		must(h.Lines(org, a, 0, func(l posting.Line) (bool, error) { add(l); return true, nil }))
	}
	must(h.List(org, h.list, posting.ListRange{}, func(row posting.ListRow) (bool, error) { add(row); return true, nil }))
	return texts
}

func (h *heldView) wantUnchanged(d *bufferFixture) {
	d.t.Helper()
	defer h.Close()
	if got := h.readAll(d); !slices.Equal(got, h.shownAtFirst) {
		d.t.Errorf("an old view has %d results now, and had %d when it was opened:\n%.2000v\nwas\n%.2000v", len(got), len(h.shownAtFirst), got, h.shownAtFirst)
	}
}
