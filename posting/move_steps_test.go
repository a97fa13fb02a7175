package posting_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/move"
	"mizan/posting/move/movetest"
	"mizan/posting/store"
)

// recordedMove is a copy of an organization whose steps a test sends again.
type recordedMove struct {
	movetest.Local
	identity move.Identity
	steps    []func(r *move.Receiver, number uint64) error // rows and checks, in their order
	head     move.Head
}

func (d *recordedMove) Begin(c context.Context, org ledger.ID, m move.Identity) error {
	d.identity = m
	return d.Local.Begin(c, org, m)
}

func (d *recordedMove) Rows(c context.Context, org, id ledger.ID, number uint64, rows []posting.MovedRow) error {
	rows = slices.Clone(rows)
	d.steps = append(d.steps, func(r *move.Receiver, number uint64) error { return r.Rows(org, id, number, rows) })
	return d.Local.Rows(c, org, id, number, rows)
}

func (d *recordedMove) Check(c context.Context, org, id ledger.ID, number uint64) error {
	d.steps = append(d.steps, func(r *move.Receiver, number uint64) error { return r.Check(org, id, number) })
	return d.Local.Check(c, org, id, number)
}

func (d *recordedMove) Finish(c context.Context, org, id ledger.ID, number uint64, head move.Head) error {
	d.head = head
	return d.Local.Finish(c, org, id, number, head)
}

// recordMove moves an organization with some events, and returns what was sent.
func recordMove(t *testing.T) *recordedMove {
	t.Helper()
	from, to := open(t), open(t)
	for range 3 {
		from.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 7), line("I:fees", ledger.Credit, 7)))
	}
	d := &recordedMove{Local: movetest.Local{Receiver: move.NewReceiver(to.Journal)}}
	if _, err := move.Run(t.Context(), move.Order{ID: move.NewID(), Journal: from.Journal, Org: org, From: 1, To: 2, Other: d, OnProgress: func(move.Progress) {}, OnFence: func() {}}); err != nil {
		t.Fatal(err)
	}
	return d
}

// Steps that come too early, too late or twice change nothing. A copy that is not what the sender has is not taken over.
func TestStepsOfACopyAreCarriedOutOnceAndInTheirOrder(t *testing.T) {
	d := recordMove(t)
	f := open(t)
	r := move.NewReceiver(f.Journal)
	id, last := d.identity.Move, uint64(len(d.steps))
	want := func(what string, err error, code ledger.Code) {
		t.Helper()
		if got := codeOf(err); got != code {
			t.Errorf("%s: %v, want %v", what, err, code)
		}
	}
	state := func(s store.PlacementState) {
		t.Helper()
		if got := f.Placement(org).State; got != s {
			t.Fatalf("the organization is %v, want %v", got, s)
		}
	}
	want("rows before the beginning", d.steps[0](r, 1), ledger.Conflict)
	for range 2 {
		want("the beginning", r.Begin(org, d.identity), "")
	}
	state(store.Arriving)
	want("the second step first", d.steps[0](r, 2), ledger.Conflict)
	want("the end first", r.Finish(org, id, 1, d.head), ledger.Conflict)
	for i, step := range d.steps {
		number := uint64(i + 1)
		want("a step", step(r, number), "")
		want("a repeated step", d.steps[0](r, number), "")
		want("a step of another move", r.Check(org, ledger.ID{9}, number+1), ledger.Conflict)
	}
	for name, change := range map[string]func(h *move.Head){
		"a head with one event more":             func(h *move.Head) { h.Events++ },
		"a head with another root":               func(h *move.Head) { h.Root[0]++ },
		"a head with other sums":                 func(h *move.Head) { h.Sums[0]++ },
		"a head whose last event was made later": func(h *move.Head) { h.Booked++ },
	} {
		head := d.head
		change(&head)
		want(name, r.Finish(org, id, last+1, head), ledger.Conflict)
		state(store.Arriving)
	}
	for range 2 {
		want("the end", r.Finish(org, id, last+1, d.head), "")
	}
	state(store.Here)
	if p, err := r.Abandon(org, id); err != nil || p.State != store.Here {
		t.Errorf("giving up a move that has ended: %v, %v", p.State, err)
	}
	want("the same move again", r.Begin(org, d.identity), ledger.Conflict)
	want("a step after the end", d.steps[0](r, last+2), ledger.Conflict)
	f.Admit(org)
	if got := f.totals("A:bank").DebitsPosted; got != money.FromUint64(21) {
		t.Errorf("the account has %v, want 21", got)
	}
}

// A move that was given up does not begin again, and none that is older than it begins.
func TestMoveThatWasGivenUpStaysGivenUp(t *testing.T) {
	d := recordMove(t)
	f := open(t)
	r := move.NewReceiver(f.Journal)
	id := d.identity.Move
	if err := r.Begin(org, d.identity); err != nil {
		t.Fatal(err)
	}
	if !r.IsReceiving() {
		t.Error("a copy under way is not reported")
	}
	for range 2 {
		if p, err := r.Abandon(org, id); err != nil || p.State != store.Abandoned {
			t.Errorf("giving up: %v, %v", p.State, err)
		}
	}
	if r.IsReceiving() {
		t.Error("a copy that was given up is reported")
	}
	older, newer := d.identity, d.identity
	older.Move, older.Order.Group = ledger.ID{1}, older.Order.Group-1
	newer.Move, newer.Order.Group = ledger.ID{2}, newer.Order.Group+1
	for _, c := range []struct {
		identity move.Identity
		code     ledger.Code
	}{{d.identity, ledger.Conflict}, {older, ledger.Conflict}, {newer, ""}} {
		if err := r.Begin(org, c.identity); codeOf(err) != c.code {
			t.Errorf("%+v: %v, want %v", c.identity, err, c.code)
		}
	}
	if codeOf(d.steps[0](r, 1)) != ledger.Conflict {
		t.Error("a step of a move that was given up was carried out")
	}
}

// A message of an earlier move from another shard that arrives late does not replace a copy under way. After the end of that copy it
// is not harmful.
func TestLateBeginFromAnotherShardReplacesNoCopy(t *testing.T) {
	d := recordMove(t)
	f := open(t)
	r := move.NewReceiver(f.Journal)
	late := d.identity
	late.Move, late.From = ledger.ID{1}, d.identity.From+5
	if err := r.Begin(org, d.identity); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(org, late); codeOf(err) != ledger.Conflict {
		t.Errorf("a late beginning: %v", err)
	}
	for i, step := range d.steps {
		if err := step(r, uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(org, d.identity.Move, uint64(len(d.steps)+1), d.head); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(org, late); codeOf(err) != ledger.Conflict || f.Placement(org).State != store.Here {
		t.Errorf("a late beginning after the end: %v, the organization is %v", err, f.Placement(org).State)
	}
}

// answeringDestination answers with a placement.
type answeringDestination struct {
	movetest.Local
	answer posting.Placement
}

func (d *answeringDestination) Abandon(context.Context, ledger.ID, ledger.ID) (posting.Placement, error) {
	return d.answer, nil
}

// A shard that does not know where a leaving organization is keeps it fenced, and reports an error.
func TestLeavingOrganizationStaysFencedUntilItIsKnownWhereItIs(t *testing.T) {
	from, to := open(t), open(t)
	from.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 7), line("I:fees", ledger.Credit, 7)))
	ctx, cancel := context.WithCancel(t.Context())
	d := &crashingDestination{movetest.Local{Receiver: move.NewReceiver(to.Journal)}, false, cancel}
	if _, err := move.Run(ctx, move.Order{ID: move.NewID(), Journal: from.Journal, Org: org, From: 1, To: 2, Other: d, OnProgress: func(move.Progress) {}, OnFence: func() {}}); err == nil {
		t.Fatal("the move has ended")
	}
	for _, c := range []struct {
		answer posting.Placement
		code   ledger.Code
		state  store.PlacementState
	}{
		{posting.Placement{}, ledger.Conflict, store.Leaving}, // it does not know the move
		{posting.Placement{State: store.Arriving, Move: ledger.ID{9}}, ledger.Unavailable, store.Leaving},
		{posting.Placement{State: store.Left, Move: ledger.ID{9}, Shard: 3}, "", store.Left}, // it has had the organization, and passed it on
	} {
		if err := move.Resolve(t.Context(), from.Journal, org, &answeringDestination{answer: c.answer}); codeOf(err) != c.code {
			t.Errorf("%+v: %v, want %v", c.answer, err, c.code)
		}
		if got := from.Placement(org).State; got != c.state {
			t.Errorf("%+v: the organization is %v, want %v", c.answer, got, c.state)
		}
	}
}

func codeOf(err error) ledger.Code {
	if refusal, ok := errors.AsType[*ledger.Refusal](err); ok {
		return refusal.Code
	}
	if err != nil {
		return "unknown"
	}
	return ""
}
