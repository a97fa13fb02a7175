package notifier

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// replay asks for a delivery again.
func (h *house) replay(id ID) {
	h.t.Helper()
	if _, err := h.Replay(here, id, nil); err != nil {
		h.t.Fatal(err)
	}
}

func TestADeliveryThatWasAcknowledgedIsToldAgainWhenAskedFor(t *testing.T) {
	h := newHouse(t)
	r := receive(t, always(200))
	id := h.one(h.at(r))
	h.rest()
	h.replay(id)
	h.rest()
	h.wants(id, Delivered, 2)
	all := r.got()
	if len(all) != 2 || all[0].EventID != all[1].EventID || string(all[0].Data) != string(all[1].Data) {
		t.Errorf("told as %v", r.events())
	}
	h.restart()
	h.rest()
	if r.count() != 2 {
		t.Error("it is told once more by a restart")
	}
}

func TestADeliveryThatWaitsIsTriedAtOnceWhenAskedFor(t *testing.T) {
	h := newHouse(t)
	r := receive(t, always(500))
	id := h.one(h.at(r))
	h.rest()
	h.pass(time.Second)
	h.replay(id)
	h.rest()
	d := h.wants(id, Pending, 2)
	if want := ledger.MicrosOf(h.clock.Now().Add(2 * time.Minute)); d.Next != want {
		t.Errorf("the next attempt is at %d, want %d: it was the second", d.Next, want)
	}
	if got := len(h.shelf(here, rowRetries)); got != 1 {
		t.Errorf("it waits %d times", got)
	}
}

// A parked one that is asked for again has six attempts more, and the same gaps.
func TestAParkedDeliveryIsRetriedAsIfItWereFresh(t *testing.T) {
	h := newHouse(t)
	r := receive(t, always(500))
	id := h.one(h.at(r))
	h.pass(24 * time.Hour)
	for round := 2; round <= 10; round++ {
		h.wants(id, Parked, min((round-1)*MaxAttempts, maxKeptAttempts))
		at := h.clock.Now()
		h.replay(id)
		h.rest()
		d := h.delivery(id)
		if want := ledger.MicrosOf(at.Add(30 * time.Second)); d.State != Pending || d.Next != want {
			t.Fatalf("round %d: %v, next at %d, want %d", round, d.State, d.Next, want)
		}
		h.pass(24 * time.Hour)
		if got := r.count(); got != round*MaxAttempts {
			t.Fatalf("%d requests after %d rounds", got, round)
		}
	}
	last := h.delivery(id).Attempts
	if want := ledger.MicrosOf(h.clock.Now().Add(-24*time.Hour)) + ledger.Micros((30+120+600+3600+21600)*1_000_000); last[len(last)-1].At != want {
		t.Errorf("the last attempt that is remembered was at %d, want %d", last[len(last)-1].At, want)
	}
}

func TestADeliveryThatIsUnknownIsNotFound(t *testing.T) {
	h := newHouse(t)
	id := h.one(uuid.New())
	h.rest()
	for name, other := range map[string]ID{
		"another instant": {id.Booked + 1, id.Channel}, "another channel": {id.Booked, posting.Stream}, "nothing": {},
	} {
		_, err := h.Read(here, other)
		wantCode(t, err, ledger.NotFound)
		if _, err = h.Replay(here, other, nil); err == nil {
			t.Errorf("%s can be asked for", name)
		}
		wantCode(t, err, ledger.NotFound)
	}
}

// More than one Change holds, of one terminal, in a window of time; nothing else.
func TestAllParkedDeliveriesOfATerminalAreTriedAgain(t *testing.T) {
	h := newHouse(t)
	dead := receive(t, always(500))
	to, other := h.at(dead), h.at(dead)
	early := h.many(to, 10)
	h.pass(time.Second)
	ids := h.many(to, 2*maxReplayed+88)
	foreign := h.many(other, 5)
	h.pass(time.Second)
	late := h.many(to, 7)
	h.pass(24 * time.Hour)
	if got := len(h.shelf(here, rowParked)); got != len(early)+len(ids)+len(foreign)+len(late) {
		t.Fatalf("%d are parked", got)
	}
	before := dead.count()
	n, err := h.ReplayParked(here, to, ids[0].Booked, ids[len(ids)-1].Booked, nil)
	if n != len(ids) || err != nil {
		t.Errorf("%d are asked for again, want %d (%v)", n, len(ids), err)
	}
	h.rest()
	if got := dead.count() - before; got != len(ids) {
		t.Errorf("%d attempts, want %d", got, len(ids))
	}
	for _, id := range ids {
		h.wants(id, Pending, MaxAttempts+1)
	}
	for _, id := range []ID{early[9], foreign[0], late[0]} {
		h.wants(id, Parked, MaxAttempts)
	}
	n, err = h.ReplayParked(here, to, 0, 0, nil)
	if n != len(early)+len(late) || err != nil {
		t.Errorf("%d are left to be asked for, want %d (%v)", n, len(early)+len(late), err)
	}
	if n, err = h.ReplayParked(there, other, 0, 0, nil); n != 0 || err != nil {
		t.Errorf("another organization asks for %d (%v)", n, err)
	}
}

// What has to be durable with it is refused with it: nothing is tried again.
func TestAReplayWhoseClaimIsTakenDoesNothing(t *testing.T) {
	h := newHouse(t)
	r := receive(t, always(200))
	id := h.one(h.at(r))
	h.rest()
	claim := ledger.Claim{Org: here, Kind: ledger.ClaimIdempotency, Key: "k", Owner: []byte("o")}
	keep := func(c *posting.Change, d *Delivery) error {
		if d.ID != id || d.State != Pending {
			t.Errorf("given %v", d)
		}
		c.Claims = append(c.Claims, claim)
		return nil
	}
	if _, err := h.Replay(here, id, keep); err != nil {
		t.Fatal(err)
	}
	h.rest()
	_, err := h.Replay(here, id, keep)
	wantCode(t, err, ledger.ClaimTaken)
	h.rest()
	if r.count() != 2 {
		t.Errorf("%d requests, want 2", r.count())
	}
	h.wants(id, Delivered, 2)
	failed := fmt.Errorf("not kept")
	if _, err = h.Replay(here, id, func(*posting.Change, *Delivery) error { return failed }); err != failed {
		t.Errorf("error %v, want the keeper's", err)
	}
	h.replay(id)
	h.rest()
	h.wants(id, Delivered, 3)
}

func TestABulletinIsPostedOnceForItsKey(t *testing.T) {
	var got []string
	h := newHouse(t, func(h *house) {
		h.telegrams = func(org, to ledger.ID, body, _ []byte) (Attempt, []byte, time.Duration) {
			got = append(got, fmt.Sprintf("%v %s", org == here, body)) // one at a time: a key after the other
			return Attempt{At: ledger.MicrosOf(h.clock.Now()), Status: 200}, nil, 0
		}
	})
	to := uuid.New()
	post := func(org ledger.ID, body, key string) {
		t.Helper()
		if err := h.Post(org, to, []byte(body), key); err != nil {
			t.Fatal(err)
		}
		h.rest()
	}
	post(here, "first", "a")
	post(here, "again", "a")
	post(there, "theirs", "a")
	h.restart()
	post(here, "after a restart", "a")
	post(here, "second", "b")
	want := []string{"true first", "false theirs", "true second"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", got, want)
	}
	h.wantShelf(map[byte]int{rowKept: 2, rowPosted: 2})
	for _, key := range h.shelf(here, rowKept) {
		d := h.wants(readID(key[1:]), Delivered, 1)
		if d.Channel != posting.Bulletin || d.To != to {
			t.Errorf("%+v", d)
		}
	}
}

// What an attempt has not reached of its operators is what the next one is for, no
// earlier than the carrier says.
func TestOnlyOperatorsThatWereNotReachedAreToldAgain(t *testing.T) {
	type call struct {
		left string
		at   time.Duration
	}
	var calls []call
	h := newHouse(t, func(h *house) {
		h.telegrams = func(_, _ ledger.ID, _, left []byte) (Attempt, []byte, time.Duration) {
			now := h.clock.Now()
			calls = append(calls, call{string(left), now.Sub(began)})
			a := Attempt{At: ledger.MicrosOf(now), Failure: "two are left"}
			switch len(calls) {
			case 1:
				return a, []byte("two"), time.Hour
			case 2:
				return a, []byte("one"), time.Second
			}
			return Attempt{At: ledger.MicrosOf(now)}, nil, 0
		}
	})
	id := h.tells(here, posting.Operators, uuid.New())[0]
	h.rest()
	h.restart()
	h.pass(24 * time.Hour)
	h.wants(id, Delivered, 3)
	want := []call{{"", 0}, {"two", time.Hour}, {"one", time.Hour + 2*time.Minute}}
	if fmt.Sprint(calls) != fmt.Sprint(want) {
		t.Errorf("called with %v, want %v", calls, want)
	}
}

func TestWithNobodyToTellOperatorsADeliveryFails(t *testing.T) {
	h := newHouse(t)
	id := h.tells(here, posting.Operators, uuid.New())[0]
	h.pass(24 * time.Hour)
	d := h.wants(id, Parked, MaxAttempts)
	if d.Attempts[0].Failure != "nothing is configured to tell operators by" {
		t.Errorf("%+v", d.Attempts[0])
	}
}

// The way is tried with a notification that tells of nothing: it is signed, and
// neither stored nor repeated.
func TestATestDeliveryIsSignedAndNotStored(t *testing.T) {
	h := newHouse(t)
	r := receive(t, always(500))
	to := h.at(r)
	event, a, set := h.Test(here, to)
	if !set || a.Status != 500 || a.Failure != "status 500" || a.At != ledger.MicrosOf(began) {
		t.Errorf("%+v, set: %v", a, set)
	}
	h.pass(24 * time.Hour)
	all := r.got()
	if len(all) != 1 || all[0].EventID != event.String() || all[0].Type != TestType || all[0].header.Get("x-webhook-signature") != signature("s", all[0]) {
		t.Errorf("%d requests", len(all))
	}
	h.wantShelf(nil)
	if _, _, set = h.Test(here, uuid.New()); set {
		t.Error("a terminal without an address was tried")
	}
}
