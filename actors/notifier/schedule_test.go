package notifier

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// gapsWanted are the times from each failed attempt to the next one.
var gapsWanted = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

const microsecond = time.Microsecond

func TestTheFirstAttemptIsMadeAtOnce(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	id := f.notifyOne(f.destinationOf(r))
	f.quiesce()
	r.wantOnce(t, firstOrg, []ID{id})
	d := f.wantDelivery(id, Delivered, 1)
	if a := d.Attempts[0]; a.At != ledger.MicrosOf(startTime) || a.Status != 200 || a.Failure != "" {
		t.Errorf("attempt %+v", a)
	}
	f.wantRows(map[byte]int{rowAcknowledgements: 1, rowNotices: 1})
}

// The clock stops one microsecond before each due time and then moves to it: only then is the attempt made.
func TestRetryIsMadeAtItsExactTime(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(500))
	id := f.notifyOne(f.destinationOf(receiver))
	f.quiesce()
	for n, gap := range gapsWanted {
		last := f.Clock.Now()
		d := f.wantDelivery(id, Pending, n+1)
		if want := ledger.MicrosOf(last.Add(gap)); d.Next != want {
			t.Errorf("after %d attempts the next one is at %d, want %d", n+1, d.Next, want)
		}
		f.advance(gap - microsecond)
		f.wantDelivery(id, Pending, n+1)
		f.advance(microsecond)
		if got := receiver.count(); got != n+2 {
			t.Fatalf("%d requests %v after the failure before, want %d", got, gap, n+2)
		}
	}
	f.wantDelivery(id, Parked, MaxAttempts)
	f.wantRows(map[byte]int{rowDeliveries: 1, rowParked: 1, rowNotices: 1})
	f.advance(24 * time.Hour)
	if got := receiver.count(); got != 6 {
		t.Errorf("%d requests in all, want 6", got)
	}
}

func TestJumpOfTheClockMakesAllAttempts(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	id := f.notifyOne(f.destinationOf(r))
	f.advance(48 * time.Hour)
	d := f.wantDelivery(id, Parked, MaxAttempts)
	at := ledger.MicrosOf(startTime)
	for n, a := range d.Attempts {
		if a.At != at || a.Status != 500 || a.Failure != "status 500" {
			t.Errorf("attempt %d: %+v, want it at %d", n+1, a, at)
		}
		if n < len(gapsWanted) {
			at += ledger.Micros(gapsWanted[n] / microsecond)
		}
	}
}

func TestAcknowledgedAttemptIsTheLast(t *testing.T) {
	for _, nth := range []int{2, 3, 6} {
		f := newFixture(t)
		r := startReceiver(t, func(a *arrival) int {
			if a.nth < nth {
				return 503
			}
			return 204
		})
		id := f.notifyOne(f.destinationOf(r))
		f.advance(48 * time.Hour)
		f.wantDelivery(id, Delivered, nth)
		if got := r.count(); got != nth {
			t.Errorf("%d requests, want %d", got, nth)
		}
		f.wantRows(map[byte]int{rowDeliveries: 1, rowNotices: 1})
	}
}

// signature returns the expected signature: HMAC-SHA256 in hex over `<timestamp>.<body>`.
func signature(secret string, a *arrival) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(a.header.Get("x-webhook-timestamp") + "." + a.body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestAttemptsShareIDAndDataButNotTheSignature(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	id := f.notifyOne(f.destinationOf(r))
	f.advance(48 * time.Hour)
	all := r.got()
	if len(all) != 6 {
		t.Fatalf("%d attempts", len(all))
	}
	var seconds []int64
	for n, a := range all {
		if a.EventID != EventID(firstOrg, id).String() || a.header.Get("x-webhook-event-id") != a.EventID || string(a.Data) != string(all[0].Data) {
			t.Errorf("attempt %d: event %s with %s", n+1, a.EventID, a.Data)
		}
		if a.header.Get("x-webhook-timestamp") != fmt.Sprint(a.Timestamp) || a.header.Get("x-webhook-signature") != signature("s", a) {
			t.Errorf("attempt %d: its signature is not that of its timestamp and body", n+1)
		}
		seconds = append(seconds, a.Timestamp-startTime.Unix())
	}
	if want := []int64{0, 30, 150, 750, 4350, 25950}; !slices.Equal(seconds, want) {
		t.Errorf("sent %v s after the event, want %v", seconds, want)
	}
}

func TestRotatedSecretSignsTheNextAttempt(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(500))
	to := f.destinationOf(receiver)
	f.notifyOne(to)
	f.quiesce()
	f.addresses.set(to, actors.Address{URL: receiver.URL, Secret: "two", PreviousSecret: "s"})
	f.advance(30 * time.Second)
	f.addresses.set(to, actors.Address{URL: receiver.URL, Secret: "two"})
	f.advance(2 * time.Minute)
	f.addresses.set(to, actors.Address{URL: receiver.URL})
	f.advance(10 * time.Minute)
	for n, want := range [][2]string{{"s", ""}, {"two", "s"}, {"two", ""}, {"", ""}} {
		a := receiver.got()[n]
		for i, name := range []string{"x-webhook-signature", "x-webhook-signature-previous"} {
			switch got := a.header.Get(name); {
			case want[i] == "" && got != "":
				t.Errorf("attempt %d has %s", n+1, name)
			case want[i] != "" && got != signature(want[i], a):
				t.Errorf("attempt %d: %s is not by %q", n+1, name, want[i])
			}
		}
	}
}

func TestChangedAddressIsUsedForTheNextAttempt(t *testing.T) {
	f := newFixture(t)
	first, second := startReceiver(t, alwaysStatus(500)), startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(first)
	id := f.notifyOne(to)
	f.quiesce()
	f.addresses.set(to, actors.Address{URL: second.URL})
	f.advance(30 * time.Second)
	f.wantDelivery(id, Delivered, 2)
	if first.count() != 1 || second.count() != 1 {
		t.Errorf("%d and %d requests, want one each", first.count(), second.count())
	}
}

func TestRemovedAddressFailsTheAttempt(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	to := f.destinationOf(r)
	id := f.notifyOne(to)
	f.quiesce()
	f.addresses.remove(to)
	f.advance(30 * time.Second)
	d := f.wantDelivery(id, Pending, 2)
	if got := d.Attempts[1]; got.Failure != "no address is set" || got.Status != 0 || got.At != ledger.MicrosOf(startTime.Add(30*time.Second)) {
		t.Errorf("attempt %+v", got)
	}
	f.addresses.set(to, actors.Address{URL: startReceiver(t, alwaysStatus(200)).URL})
	f.advance(2 * time.Minute)
	f.wantDelivery(id, Delivered, 3)
}

// A notification on the channel Stream is the bare body: without event_id, timestamp and signature.
func TestStreamNotificationHasItsOwnBody(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	id := f.notify(firstOrg, posting.Stream, f.destinationOf(r))[0]
	f.advance(30 * time.Second)
	f.wantDelivery(id, Pending, 2)
	for _, a := range r.got() {
		if a.EventID != "" || a.body == "" || a.header.Get("x-webhook-signature") != "" || a.header.Get("x-webhook-event-id") != "" {
			t.Errorf("body %s with headers %v", a.body, a.header)
		}
	}
}

func TestNoticeThatCannotBeWrittenIsParked(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	f.writeNotification = func([]byte, ledger.ID, *posting.Notice) (actors.NotificationBody, error) {
		return actors.NotificationBody{}, fmt.Errorf("no such record")
	}
	id := f.notifyOne(f.destinationOf(r))
	f.advance(48 * time.Hour)
	d := f.wantDelivery(id, Parked, MaxAttempts)
	if d.Attempts[0].Failure != "could not be written" || r.count() != 0 {
		t.Errorf("attempt %+v, %d requests", d.Attempts[0], r.count())
	}
}

// No organization reads another's deliveries, and an event_id of one organization is never an event_id of another.
func TestDeliveriesAreVisibleInTheirOrganizationOnly(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	idInFirstOrg := f.notify(firstOrg, posting.Webhook, to)[0]
	idInSecondOrg := f.notify(secondOrg, posting.Webhook, to)[0]
	f.quiesce()
	if r.count() != 2 || len(r.events()) != 2 {
		t.Errorf("%d requests of %d events", r.count(), len(r.events()))
	}
	if idInFirstOrg == idInSecondOrg { // two organizations may use the same ID, because the clock stands still
		if EventID(firstOrg, idInFirstOrg) == EventID(secondOrg, idInSecondOrg) {
			t.Error("two organizations' events have one id")
		}
	}
	f.advance(time.Second)
	laterID := f.notify(secondOrg, posting.Webhook, to)[0]
	f.quiesce()
	_, err := f.Read(firstOrg, laterID)
	wantCode(t, err, ledger.NotFound)
	_, err = f.Replay(firstOrg, laterID, nil)
	wantCode(t, err, ledger.NotFound)
	_, err = f.Read(secondOrg, laterID)
	if err != nil {
		t.Error(err)
	}
}
