package posting_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/move"
	"mizan/posting/move/movetest"
	"mizan/posting/store"
)

// One organization moves back and forth between two journals. Whatever happened before a move, all queries and all later changes
// give what the model says. The model knows nothing of moves.
func TestMovedOrganizationMatchesItsModel(t *testing.T) {
	random := testseed.Random(t)
	common := newClock()
	journal := func() *fixture {
		f := &fixture{t: t, dir: t.TempDir(), clock: common, fatal: make(chan error, 1), cached: 1 + random.IntN(8), memTable: 4 << 20}
		f.reopen()
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	here, there := journal(), journal()
	p := &modelRun{fixture: here, random: random, model: newModel(), orgs: []ledger.ID{org}}
	rounds := 12
	if testing.Short() {
		rounds = 6
	}
	for round := range rounds {
		p.submitBatch(1 + random.IntN(300))
		p.takeDue()
		if random.IntN(2) == 0 {
			p.bufferedGroups = []int{-1, 1, 3, 20, 0}[random.IntN(5)]
			p.restart()
			clear(p.model.handedOut)
		}
		if round%2 == 1 {
			if random.IntN(3) == 0 {
				there.restart()
			}
			p.moveTo(there)
			here, there = there, here
		}
		if random.IntN(2) == 0 {
			p.compare()
		}
		common.Set(common.Now().Add(time.Duration(random.Int64N(1 << (20 + random.IntN(30))))))
		there.lookAheadNow()
		if t.Failed() {
			return
		}
	}
	p.compare()
}

func (f *fixture) lookAheadNow() {
	f.t.Helper()
	if err := f.Due.LookAhead(f.clock.Now()); err != nil {
		f.t.Fatal(err)
	}
}

// moveTo moves the organization to another journal, and continues there.
func (p *modelRun) moveTo(other *fixture) {
	p.t.Helper()
	from := p.fixture
	result, err := move.Run(context.Background(), move.Order{
		ID: move.NewID(), Journal: from.Journal, Org: org, From: 1, To: 2, Other: movetest.Local{Receiver: move.NewReceiver(other.Journal)},
		OnProgress: func(move.Progress) {}, OnFence: func() {},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if from.Placement(org).State != store.Left || other.Placement(org).State != store.Here {
		p.t.Fatalf("the organization is %v and %v", from.Placement(org).State, other.Placement(org).State)
	}
	p.t.Logf("%d rows, %d bytes, pause %v", result.Rows, result.Bytes, result.Pause)
	draft := p.randomDraft()
	if got := p.submit(draft.change).Err; got != posting.ErrElsewhere {
		p.t.Fatalf("the first journal answers %v", got)
	}
	if items := from.Due.Take(1<<62, 1<<20); len(items) > 0 {
		p.t.Fatalf("%d items are due in the first journal", len(items))
	}
	if !other.IsElsewhere(org) || len(other.Due.Take(1<<62, 1<<20)) > 0 {
		p.t.Fatal("the organization is used before it is admitted")
	}
	other.Admit(org)
	p.fixture = other
	clear(p.model.handedOut)
}

// lossyDestination loses calls or their answers.
type lossyDestination struct {
	movetest.Local
	mu     sync.Mutex
	random *rand.Rand
}

var errLost = errors.New("lost")

func (d *lossyDestination) call(oneIn int, fn func() error) error {
	d.mu.Lock()
	n := d.random.IntN(2 * oneIn)
	d.mu.Unlock()
	if n == 0 {
		return errLost
	}
	err := fn()
	if n == 1 {
		return errLost
	}
	return err
}

func (d *lossyDestination) Begin(c context.Context, org ledger.ID, m move.Identity) error {
	return d.call(10, func() error { return d.Local.Begin(c, org, m) })
}

func (d *lossyDestination) Rows(c context.Context, org, id ledger.ID, number uint64, rows []posting.MovedRow) error {
	return d.call(200, func() error { return d.Local.Rows(c, org, id, number, rows) })
}

func (d *lossyDestination) Check(c context.Context, org, id ledger.ID, number uint64) error {
	return d.call(10, func() error { return d.Local.Check(c, org, id, number) })
}

func (d *lossyDestination) Finish(c context.Context, org, id ledger.ID, number uint64, head move.Head) error {
	return d.call(4, func() error { return d.Local.Finish(c, org, id, number, head) })
}

func (d *lossyDestination) Abandon(c context.Context, org, id ledger.ID) (p posting.Placement, err error) {
	err = d.call(4, func() (err error) { p, err = d.Local.Abandon(c, org, id); return err })
	return p, err
}

// maxAttempts is the number of attempts after which the test gives up. Most attempts fail because a call is lost.
const maxAttempts = 150

// An organization is moved again and again while clients book, and calls between the shards get lost. Each booking is refused or
// acknowledged by one of the journals, and in the end exactly the acknowledged ones are where the organization is.
func TestMovesUnderLoadLoseNothing(t *testing.T) {
	random := testseed.Random(t)
	journals := [2]*fixture{open(t), open(t)}
	destination := func(n int) *lossyDestination {
		return &lossyDestination{Local: movetest.Local{Receiver: move.NewReceiver(journals[n].Journal)}, random: random}
	}
	destinations := [2]*lossyDestination{destination(0), destination(1)}
	var booked, refused, next atomic.Int64
	var acknowledged sync.Map // numbers of bookings, and whether the fiftieth before, whose KV they remove, was acknowledged before they began
	var clients sync.WaitGroup
	ended := make(chan struct{})
	maxBookings, wanted, clientCount := int64(30_000), 12, 8
	if testing.Short() {
		maxBookings, wanted, clientCount = 2_000, 4, 3
	}
	for range clientCount {
		clients.Go(func() {
			at := 0
			for {
				select {
				case <-ended:
					return
				default:
				}
				if booked.Load() >= maxBookings { // on a slow machine, the organization would change faster than it is copied
					return
				}
				c := transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("I:fees", ledger.Credit, 1))
				c.Claims = []ledger.Claim{{Org: org, Kind: ledger.ClaimTxID, Key: fmt.Sprint(next.Add(1)), Owner: []byte(uuid.NewString())}}
				c.KVs = []posting.KV{{Org: org, Key: []byte("last"), Value: []byte(c.Claims[0].Key)}, {Org: org, Key: []byte("x" + c.Claims[0].Key), Value: []byte("y")}}
				n, _ := strconv.Atoi(c.Claims[0].Key)
				_, isOrdered := acknowledged.Load(n - 50)
				if n > 50 {
					c.KVs = append(c.KVs, posting.KV{Org: org, Key: fmt.Append([]byte("x"), n-50)})
				}
				switch err := journals[at].submit(c).Err; {
				case err == nil:
					booked.Add(1)
					acknowledged.Store(n, isOrdered)
				case errors.Is(err, posting.ErrElsewhere):
					refused.Add(1)
					at = 1 - at
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	at, moved, stayed := 0, 0, 0
	for attempts := 0; (moved < wanted || stayed == 0) && !t.Failed(); attempts++ {
		if attempts == maxAttempts {
			t.Errorf("%d of %d attempts have moved the organization", moved, attempts)
			break
		}
		_, err := move.Run(t.Context(), move.Order{
			ID: move.NewID(), Journal: journals[at].Journal, Org: org, From: at, To: 1 - at, Other: destinations[1-at],
			OnProgress: func(move.Progress) {}, OnFence: func() {},
		})
		state := journals[at].Placement(org).State
		switch {
		case state == store.Left:
			moved++
			at = 1 - at
		case state == store.Here && err != nil:
			stayed++
		default:
			t.Errorf("after the move the organization is %v: %v", state, err)
		}
		journals[at].Admit(org)
		if there := journals[1-at].Placement(org).State; there == store.Here && journals[1-at].Placement(org) != (posting.Placement{}) {
			t.Errorf("both journals have the organization")
		}
	}
	close(ended)
	clients.Wait()
	t.Logf("%d moves, %d given up, %d bookings, %d refused", moved, stayed, booked.Load(), refused.Load())
	if booked.Load() == 0 {
		t.Error("nothing was booked")
	}
	here := journals[at]
	for _, restarted := range []bool{false, true} {
		if restarted {
			here.restart()
		}
		if got := here.totals("A:bank").DebitsPosted; got != amount(uint64(booked.Load())) {
			t.Errorf("%v was booked, want %d", got, booked.Load())
		}
		view := here.View()
		size, _, err := view.Head(org)
		if size != uint64(booked.Load()) || err != nil {
			t.Errorf("%d events (%v), want %d", size, err, booked.Load())
		}
		var check posting.TreeCheck
		if err := check.Extend(view, org); err != nil {
			t.Error(err)
		}
		kvs := 0
		err = view.KVKeys(org, []byte("x"), nil, func([]byte) ([]byte, bool, error) { kvs++; return nil, true, nil })
		want, overtaken := 0, 0 // a booking writes a KV, and the fiftieth after it removes the KV, unless it came first
		acknowledged.Range(func(n, _ any) bool {
			switch isOrdered, isRemoved := acknowledged.Load(n.(int) + 50); {
			case !isRemoved:
				want++
			case !isOrdered.(bool):
				overtaken++
			}
			return true
		})
		if kvs < want || kvs > want+overtaken || err != nil {
			t.Errorf("%d KVs are left (%v), want %d to %d", kvs, err, want, want+overtaken)
		}
		view.Close()
	}
}

// After a crash of either side in the middle, the organization is in one of the two journals, and only there. The move ends on full
// disks too.
func TestMoveIsResolvedAfterACrash(t *testing.T) {
	for n := range 4 {
		finishes, isFull := n%2 == 1, n/2 == 1
		from, to := open(t), open(t)
		from.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 7), line("I:fees", ledger.Credit, 7)))
		ctx, cancel := context.WithCancel(t.Context())
		d := &crashingDestination{movetest.Local{Receiver: move.NewReceiver(to.Journal)}, finishes, cancel}
		_, err := move.Run(ctx, move.Order{ID: move.NewID(), Journal: from.Journal, Org: org, From: 1, To: 2, Other: d, OnProgress: func(move.Progress) {}, OnFence: func() {}})
		if err == nil || from.Placement(org).State != store.Leaving {
			t.Fatalf("the organization is %v: %v", from.Placement(org).State, err)
		}
		if isFull {
			from.minFree, to.minFree = math.MaxUint64, math.MaxUint64
		}
		from.restart()
		to.restart()
		if isFull {
			wantLimiter(t, from.submit(deposit()).Err, ledger.LimitDisk)
		}
		outcome := deposit()
		outcome.MustRecord = true
		if got := from.submit(outcome).Err; got != posting.ErrElsewhere {
			t.Errorf("an organization that is leaving answers %v", got)
		}
		err = move.Resolve(t.Context(), from.Journal, org, movetest.Local{Receiver: move.NewReceiver(to.Journal)})
		if err != nil {
			t.Fatal(err)
		}
		want := [2]store.PlacementState{store.Here, store.Abandoned}
		if finishes {
			want = [2]store.PlacementState{store.Left, store.Here}
		}
		if got := [2]store.PlacementState{from.Placement(org).State, to.Placement(org).State}; got != want {
			t.Errorf("the organization is %v, want %v", got, want)
		}
	}
}

// crashingDestination ends at Finish: nothing is heard of it afterwards.
type crashingDestination struct {
	movetest.Local
	finishes bool
	crash    func()
}

func (d *crashingDestination) Finish(c context.Context, org, id ledger.ID, number uint64, head move.Head) error {
	if d.finishes {
		if err := d.Local.Finish(c, org, id, number, head); err != nil {
			return err
		}
	}
	d.crash()
	return errLost
}

func (d *crashingDestination) Abandon(context.Context, ledger.ID, ledger.ID) (p posting.Placement, err error) {
	return p, errLost
}
