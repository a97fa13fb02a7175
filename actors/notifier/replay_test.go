package notifier

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// replay requests a replay of a delivery.
func (f *fixture) replay(id ID) {
	f.t.Helper()
	if _, err := f.Replay(firstOrg, id, nil); err != nil {
		f.t.Fatal(err)
	}
}

func TestReplayOfAnAcknowledgedDeliverySendsItAgain(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(200))
	id := f.notifyOne(f.destinationOf(receiver))
	f.quiesce()
	f.replay(id)
	f.quiesce()
	f.wantDelivery(id, Delivered, 2)
	all := receiver.got()
	if len(all) != 2 || all[0].EventID != all[1].EventID || string(all[0].Data) != string(all[1].Data) {
		t.Errorf("delivered as %v", receiver.events())
	}
	f.restart()
	f.quiesce()
	if receiver.count() != 2 {
		t.Error("a restart delivers it once more")
	}
}

func TestReplayOfAWaitingDeliveryTriesItAtOnce(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	id := f.notifyOne(f.destinationOf(r))
	f.quiesce()
	f.advance(time.Second)
	f.replay(id)
	f.quiesce()
	d := f.wantDelivery(id, Pending, 2)
	if want := ledger.MicrosOf(f.Clock.Now().Add(30 * time.Second)); d.Next != want {
		t.Errorf("the next attempt is at %d, want %d: it was the first since then", d.Next, want)
	}
	if got := len(f.rows(firstOrg, rowRetries)); got != 1 {
		t.Errorf("it waits %d times", got)
	}
}

// A replayed parked delivery has six more attempts, at the same intervals.
func TestReplayOfAParkedDeliveryMakesSixMoreAttempts(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(500))
	id := f.notifyOne(f.destinationOf(receiver))
	f.advance(24 * time.Hour)
	for round := 2; round <= 10; round++ {
		f.wantDelivery(id, Parked, min((round-1)*MaxAttempts, maxStoredAttempts))
		replayedAt := f.Clock.Now()
		f.replay(id)
		f.quiesce()
		d := f.delivery(id)
		if want := ledger.MicrosOf(replayedAt.Add(30 * time.Second)); d.State != Pending || d.Next != want {
			t.Fatalf("round %d: %v, next at %d, want %d", round, d.State, d.Next, want)
		}
		f.advance(24 * time.Hour)
		if got := receiver.count(); got != round*MaxAttempts {
			t.Fatalf("%d requests after %d rounds", got, round)
		}
	}
	last := f.delivery(id).Attempts
	if want := ledger.MicrosOf(f.Clock.Now().Add(-24*time.Hour)) + ledger.Micros((30+120+600+3600+21600)*1_000_000); last[len(last)-1].At != want {
		t.Errorf("the last stored attempt was at %d, want %d", last[len(last)-1].At, want)
	}
}

func TestUnknownDeliveryIsNotFound(t *testing.T) {
	f := newFixture(t)
	id := f.notifyOne(uuid.New())
	f.quiesce()
	for name, other := range map[string]ID{
		"another instant": {id.Booked + 1, id.Channel}, "another channel": {id.Booked, posting.Stream}, "nothing": {},
	} {
		_, err := f.Read(firstOrg, other)
		wantCode(t, err, ledger.NotFound)
		if _, err = f.Replay(firstOrg, other, nil); err == nil {
			t.Errorf("%s can be asked for", name)
		}
		wantCode(t, err, ledger.NotFound)
	}
}

// ReplayParked makes all parked deliveries of one terminal and one time window due, even if one Change cannot hold
// them, and no others.
func TestReplayParkedSelectsByTerminalAndTime(t *testing.T) {
	f := newFixture(t)
	failing := startReceiver(t, alwaysStatus(500))
	to, other := f.destinationOf(failing), f.destinationOf(failing)
	beforeWindow := f.notifyMany(to, 10)
	f.advance(time.Second)
	ids := f.notifyMany(to, 2*maxReplayed+88)
	otherTerminals := f.notifyMany(other, 5)
	f.advance(time.Second)
	afterWindow := f.notifyMany(to, 7)
	f.advance(24 * time.Hour)
	if got := len(f.rows(firstOrg, rowParked)); got != len(beforeWindow)+len(ids)+len(otherTerminals)+len(afterWindow) {
		t.Fatalf("%d are parked", got)
	}
	before := failing.count()
	n, err := f.ReplayParked(firstOrg, to, ids[0].Booked, ids[len(ids)-1].Booked, nil)
	if n != len(ids) || err != nil {
		t.Errorf("%d are asked for again, want %d (%v)", n, len(ids), err)
	}
	f.quiesce()
	if got := failing.count() - before; got != len(ids) {
		t.Errorf("%d attempts, want %d", got, len(ids))
	}
	for _, id := range ids {
		f.wantDelivery(id, Pending, MaxAttempts+1)
	}
	for _, id := range []ID{beforeWindow[9], otherTerminals[0], afterWindow[0]} {
		f.wantDelivery(id, Parked, MaxAttempts)
	}
	n, err = f.ReplayParked(firstOrg, to, 0, 0, nil)
	if n != len(beforeWindow)+len(afterWindow) || err != nil {
		t.Errorf("%d are left to be asked for, want %d (%v)", n, len(beforeWindow)+len(afterWindow), err)
	}
	if n, err = f.ReplayParked(secondOrg, other, 0, 0, nil); n != 0 || err != nil {
		t.Errorf("another organization asks for %d (%v)", n, err)
	}
}

// If the writer refuses a replay's Change because of a claim (a unique key) in it, nothing is tried again.
func TestAReplayWhoseClaimIsTakenDoesNothing(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(200))
	id := f.notifyOne(f.destinationOf(receiver))
	f.quiesce()
	claim := ledger.Claim{Org: firstOrg, Kind: ledger.ClaimIdempotency, Key: "k", Owner: []byte("o")}
	keepReply := func(c *posting.Change, d *Delivery) error {
		if d.ID != id || d.State != Pending {
			t.Errorf("given %v", d)
		}
		c.Claims = append(c.Claims, claim)
		return nil
	}
	if _, err := f.Replay(firstOrg, id, keepReply); err != nil {
		t.Fatal(err)
	}
	f.quiesce()
	_, err := f.Replay(firstOrg, id, keepReply)
	wantCode(t, err, ledger.ClaimTaken)
	f.quiesce()
	if receiver.count() != 2 {
		t.Errorf("%d requests, want 2", receiver.count())
	}
	f.wantDelivery(id, Delivered, 2)
	errKeep := fmt.Errorf("not kept")
	if _, err = f.Replay(firstOrg, id, func(*posting.Change, *Delivery) error { return errKeep }); err != errKeep {
		t.Errorf("error %v, want the keeper's", err)
	}
	f.replay(id)
	f.quiesce()
	f.wantDelivery(id, Delivered, 3)
}

func TestABulletinIsPostedOnceForItsKey(t *testing.T) {
	var got []string
	f := newFixture(t, func(f *fixture) {
		f.notifyOperators = func(org, to ledger.ID, body, _ []byte) (Attempt, []byte, time.Duration) {
			got = append(got, fmt.Sprintf("%v %s", org == firstOrg, body)) // without a lock, because only one bulletin is sent at a time
			return Attempt{At: ledger.MicrosOf(f.Clock.Now()), Status: 200}, nil, 0
		}
	})
	to := uuid.New()
	post := func(org ledger.ID, body, key string) {
		t.Helper()
		if err := f.PostBulletin(org, to, []byte(body), key); err != nil {
			t.Fatal(err)
		}
		f.quiesce()
	}
	post(firstOrg, "first", "a")
	post(firstOrg, "again", "a")
	post(secondOrg, "theirs", "a")
	f.restart()
	post(firstOrg, "after a restart", "a")
	post(firstOrg, "second", "b")
	want := []string{"true first", "false theirs", "true second"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("notified %q, want %q", got, want)
	}
	f.wantRows(map[byte]int{rowDeliveries: 2, rowBulletinKeys: 2})
	for _, key := range f.rows(firstOrg, rowDeliveries) {
		d := f.wantDelivery(readID(key[1:]), Delivered, 1)
		if d.Channel != posting.OperatorBulletin || d.To != to {
			t.Errorf("%+v", d)
		}
	}
}

// The next attempt goes only to operators who were not reached. It comes only after the wait that the
// previous attempt requested.
func TestRetryGoesToUnreachedOperatorsOnly(t *testing.T) {
	type call struct {
		reached string
		at      time.Duration
	}
	var calls []call
	f := newFixture(t, func(f *fixture) {
		f.notifyOperators = func(_, _ ledger.ID, _, reached []byte) (Attempt, []byte, time.Duration) {
			now := f.Clock.Now()
			calls = append(calls, call{string(reached), now.Sub(startTime)})
			a := Attempt{At: ledger.MicrosOf(now), Failure: "some are left"}
			switch len(calls) {
			case 1:
				return a, []byte("ann"), time.Hour
			case 2:
				return a, []byte("ann, bob"), time.Second
			}
			return Attempt{At: ledger.MicrosOf(now)}, nil, 0
		}
	})
	id := f.notify(firstOrg, posting.OperatorAlert, uuid.New())[0]
	f.quiesce()
	f.restart()
	f.advance(24 * time.Hour)
	f.wantDelivery(id, Delivered, 3)
	want := []call{{"", 0}, {"ann", time.Hour}, {"ann, bob", time.Hour + 2*time.Minute}}
	if fmt.Sprint(calls) != fmt.Sprint(want) {
		t.Errorf("called with %v, want %v", calls, want)
	}
}

func TestDeliveryToOperatorsFailsWithoutASender(t *testing.T) {
	f := newFixture(t)
	id := f.notify(firstOrg, posting.OperatorAlert, uuid.New())[0]
	f.advance(24 * time.Hour)
	d := f.wantDelivery(id, Parked, MaxAttempts)
	if d.Attempts[0].Failure != "notification of operators is not configured" {
		t.Errorf("%+v", d.Attempts[0])
	}
}

// A test notification is signed, and neither stored nor repeated.
func TestTestDeliveryIsSignedAndNotStored(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	to := f.destinationOf(r)
	event, a, isSent := f.Test(firstOrg, to)
	if !isSent || a.Status != 500 || a.Failure != "status 500" || a.At != ledger.MicrosOf(startTime) {
		t.Errorf("%+v, sent: %v", a, isSent)
	}
	f.advance(24 * time.Hour)
	all := r.got()
	if len(all) != 1 || all[0].EventID != event.String() || all[0].Type != TestType || all[0].header.Get("x-webhook-signature") != signature("s", all[0]) {
		t.Errorf("%d requests", len(all))
	}
	f.wantRows(nil)
	if _, _, isSent = f.Test(firstOrg, uuid.New()); isSent {
		t.Error("a test went to a terminal without an address, although nobody listens")
	}
}

// A replayed waiting delivery has six more attempts too, whatever the number of its earlier attempts.
func TestReplayRestartsTheCountOfAttempts(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	id := f.notifyOne(f.destinationOf(r))
	f.advance(30*time.Second + 2*time.Minute + 10*time.Minute + time.Hour)
	f.wantDelivery(id, Pending, 5)
	f.replay(id)
	f.quiesce()
	f.wantDelivery(id, Pending, 6)
	f.advance(24 * time.Hour)
	f.wantDelivery(id, Parked, 5+MaxAttempts)
	if got := r.count(); got != 5+MaxAttempts {
		t.Errorf("%d requests, want %d", got, 5+MaxAttempts)
	}
}

// A finished delivery older than the retention is not listed and cannot be replayed, even while its
// rows still exist.
func TestExpiredDeliveryCannotBeReplayed(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(500))
	answersSecond := startReceiver(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	to := f.destinationOf(receiver)
	parked, delivered := f.notifyOne(to), f.notifyOne(f.destinationOf(answersSecond))
	f.advance(24 * time.Hour)
	f.wantDelivery(parked, Parked, MaxAttempts)
	f.wantDelivery(delivered, Delivered, 2)
	waiting := f.notifyOne(f.destinationOf(receiver))
	f.quiesce()
	f.plantRemoval(f.delivery(waiting).Next)
	before := receiver.count() + answersSecond.count()
	for _, id := range []ID{parked, delivered} {
		_, err := f.Replay(firstOrg, id, nil)
		wantCode(t, err, ledger.NotFound)
	}
	if n, err := f.ReplayParked(firstOrg, to, 0, 0, nil); n != 0 || err != nil {
		t.Errorf("%d are asked for again (%v)", n, err)
	}
	f.quiesce()
	if got := receiver.count() + answersSecond.count(); got != before {
		t.Errorf("%d requests", got-before)
	}
	f.replay(waiting)
	f.quiesce()
	f.wantDelivery(waiting, Pending, 2)
}

// Each Change of ReplayParked has a bounded number of deliveries and of bytes. The next Change continues after these
// deliveries, and the caller's function is called for the last Change.
func TestReplayParkedUsesBoundedChanges(t *testing.T) {
	f := newFixture(t)
	to := f.destinationOf(startReceiver(t, alwaysStatus(500)))
	k := destinationKey{firstOrg, merchantClass, to}
	const n = maxReplayed + 44
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	var rows [][]byte
	for i := range n {
		d := &Delivery{ID: ID{ledger.MicrosOf(f.Clock.Now()) + ledger.Micros(i), posting.Webhook}, To: to, State: Parked, pageStart: 1, Source: ledger.Source{Kind: ledger.Transaction}}
		row, err := encodeDelivery(d)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, keyParked(k, d.ID))
		c.KVs = append(c.KVs, posting.KV{Org: firstOrg, Key: rows[i], Value: []byte{}}, posting.KV{Org: firstOrg, Key: keyDelivery(d.ID), Value: row})
	}
	f.submit(c)
	type step struct {
		replayed int
		next     *parkedRow
	}
	replayFrom := func(at parkedRow) (result step) {
		t.Helper()
		err := f.writeLogAlone(firstOrg, func(l *deliveryLog, d *draft, now ledger.Micros) (err error) {
			result.replayed, result.next, err = l.replayParked(d, to, 0, 1<<62, at, now)
			d.change.KVs, d.deliveries = nil, make(map[ID]*Delivery) // as if nothing had been replayed
			d.put(firstOrg, []byte("z"), []byte{1})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first := replayFrom(parkedRow{})
	if first.replayed != maxReplayed || first.next == nil || !bytes.Equal(first.next.row, rows[maxReplayed]) {
		t.Fatalf("the first Change replays %d, and the next continues at %+v", first.replayed, first.next)
	}
	if second := replayFrom(*first.next); second.replayed != n-maxReplayed || second.next != nil {
		t.Errorf("the second Change replays %d, and the next continues at %+v", second.replayed, second.next)
	}
	f.limits.changeBytes = 1 // every delivery takes more bytes than this
	calls := 0
	claim := ledger.Claim{Org: firstOrg, Kind: ledger.ClaimIdempotency, Key: "k", Owner: []byte("o")}
	got, err := f.ReplayParked(firstOrg, to, 0, ledger.MicrosOf(f.Clock.Now())+2, func(c *posting.Change, all int) error {
		calls++
		if c.Claims = append(c.Claims, claim); len(c.KVs) != 3 || all != 3 {
			t.Errorf("%d rows in the last Change of %d", len(c.KVs), all)
		}
		return nil
	})
	if got != 3 || err != nil || calls != 1 {
		t.Errorf("%d are asked for in Changes of one each, and what is kept is asked for %d times (%v)", got, calls, err)
	}
}

// A bulletin is a message to operators about no event. The key of a durable bulletin is in the store, and the
// delivery log does not keep it in memory.
func TestDeliveryLogForgetsKeysOfDurableBulletins(t *testing.T) {
	f := newFixture(t)
	for i := range 5 {
		if err := f.PostBulletin(firstOrg, uuid.New(), []byte("b"), fmt.Sprint(i%3)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.writeLog(firstOrg, func(l *deliveryLog, _ *draft, _ ledger.Micros) error {
		if len(l.postingKeys) != 0 {
			t.Errorf("%d keys are remembered", len(l.postingKeys))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if got := len(f.rows(firstOrg, rowBulletinKeys)); got != 3 {
		t.Errorf("%d keys are in the store, want 3", got)
	}
}

// Of concurrent posts with one key, only one sends a bulletin.
func TestConcurrentPostsMakeOneBulletin(t *testing.T) {
	f := newFixture(t)
	var posters sync.WaitGroup
	for range 20 {
		posters.Go(func() {
			if err := f.PostBulletin(firstOrg, uuid.New(), []byte("b"), "key"); err != nil {
				t.Error(err)
			}
		})
	}
	mustReturn(t, "posted", posters.Wait)
	if got := len(f.rows(firstOrg, rowDeliveries)); got != 1 {
		t.Errorf("%d bulletins", got)
	}
}

// After a panic, and after an end of the process during an attempt, operators who were reached do not
// get the message again.
func TestReachedOperatorsAreNotNotifiedAgainAfterAFault(t *testing.T) {
	var reachedBefore []string
	f := newFixture(t, func(f *fixture) {
		f.notifyOperators = func(_, _ ledger.ID, _, reached []byte) (Attempt, []byte, time.Duration) {
			reachedBefore = append(reachedBefore, string(reached))
			at := ledger.MicrosOf(f.Clock.Now())
			switch len(reachedBefore) {
			case 1:
				return Attempt{At: at, Failure: "bob is left"}, []byte("ann"), 0
			case 2:
				panic("a fault of ours")
			}
			return Attempt{At: at}, nil, 0
		}
	})
	id := f.notify(firstOrg, posting.OperatorAlert, uuid.New())[0]
	f.advance(24 * time.Hour)
	f.wantDelivery(id, Delivered, 3)
	if want := []string{"", "ann", "ann"}; !slices.Equal(reachedBefore, want) {
		t.Errorf("notified %q, want %q", reachedBefore, want)
	}
}

func TestReachedOperatorsAreNotNotifiedAgainAfterAStop(t *testing.T) {
	for name, atFirstAttempt := range map[string]bool{"at the first attempt": true, "at a retry": false} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var reachedBefore []string
			started, gate := make(chan struct{}), newGate()
			f := newFixture(t, func(f *fixture) {
				f.notifyOperators = func(_, _ ledger.ID, _, reached []byte) (Attempt, []byte, time.Duration) {
					mu.Lock()
					reachedBefore = append(reachedBefore, string(reached))
					nth := len(reachedBefore)
					mu.Unlock()
					at := ledger.MicrosOf(f.Clock.Now())
					switch {
					case nth == 1 && !atFirstAttempt:
						return Attempt{At: at, Failure: "two are left"}, []byte("ann"), 0
					case nth == 1 || nth == 2 && !atFirstAttempt:
						close(started)
						gate.wait()
						return Attempt{At: at, Failure: "interrupted"}, append(reached, "bob"...), 0
					}
					return Attempt{At: at}, nil, 0
				}
			})
			t.Cleanup(gate.open)
			id := f.notify(firstOrg, posting.OperatorAlert, uuid.New())[0]
			if !atFirstAttempt {
				f.quiesce()
				go func() { _ = f.Runtime.Advance(f.Clock.Now().Add(30 * time.Second)) }() // Advance returns when the runtime ends
			}
			receiveFrom(t, "under way", started)
			f.Service.Close()
			gate.open()
			f.restart()
			f.advance(time.Hour)
			f.wantDelivery(id, Delivered, map[bool]int{true: 1, false: 2}[atFirstAttempt]) // an interrupted attempt does not count
			if want := map[bool][]string{true: {"", "bob"}, false: {"", "ann", "annbob"}}[atFirstAttempt]; !slices.Equal(reachedBefore, want) {
				t.Errorf("notified %q, want %q", reachedBefore, want)
			}
		})
	}
}

// A replay that is requested during an attempt is not lost: if the attempt fails, the next one
// follows at once.
func TestAReplayDuringAnAttemptIsNotLost(t *testing.T) {
	for _, earlierAttempts := range []int{0, 1} { // number of attempts before the one in progress
		f := newFixture(t)
		gate := newGate()
		receiver := startReceiver(t, func(a *arrival) int {
			switch a.nth {
			case earlierAttempts + 1:
				gate.wait()
				return 500
			case earlierAttempts + 2:
				return 200
			}
			return 500
		}, gate)
		id := f.notifyOne(f.destinationOf(receiver))
		if earlierAttempts == 1 {
			f.quiesce()
			go f.advance(31 * time.Second) // advance returns when the attempt is over
		}
		waitFor(t, "the attempt is under way", func() bool { return receiver.count() == earlierAttempts+1 })
		f.replay(id)
		gate.open()
		waitFor(t, "the next attempt follows", func() bool { return receiver.count() == earlierAttempts+2 })
		f.quiesce()
		f.wantDelivery(id, Delivered, earlierAttempts+2)
	}
}
