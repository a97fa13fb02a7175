package notifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/notifier/webhook"
	"mizan/ledger"
	"mizan/posting"
)

// listen begins to follow the first organization, with the secret "stream".
func (f *fixture) listen() *Listener {
	f.t.Helper()
	l, err := f.Listen(firstOrg, "stream")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(l.Close)
	return l
}

// notifyTransient books an event whose notice is for listeners only.
func (f *fixture) notifyTransient(org, to ledger.ID) ID {
	f.t.Helper()
	c := &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, Record: []byte{1},
		Events:    []ledger.Event{{Name: "a", To: "b"}},
		Transient: []posting.Notice{{Channel: posting.Webhook, To: to, Body: []byte("x")}},
	}}}
	f.submit(c)
	return ID{c.Steps[0].Events[0].Booked, posting.Webhook}
}

// next returns the listener's next notification.
func (f *fixture) next(l *Listener) *Notification {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	n, err := l.Next(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// wantNothing checks that the listener has no further notification.
func (f *fixture) wantNothing(l *Listener) {
	f.t.Helper()
	ended, cancel := context.WithCancel(f.t.Context())
	cancel()
	if n, err := l.Next(ended); !errors.Is(err, context.Canceled) {
		f.t.Errorf("next is %+v, %v, want nothing", n, err)
	}
}

// header returns a header of a message.
func header(m *webhook.Message, name string) string {
	for _, pair := range m.Headers {
		if pair[0] == name {
			return pair[1]
		}
	}
	return ""
}

func TestListenerGetsTheMessageOfTheOrdinaryDelivery(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	l := f.listen()
	id := f.notifyOne(to)
	n := f.next(l)
	if n.Event != EventID(firstOrg, id) || !n.HasDelivery || n.SignedByListener || n.To != to || n.Type != "transaction.charged" {
		t.Errorf("notification %+v", n)
	}
	f.quiesce()
	arrivals := r.got()
	if len(arrivals) != 1 {
		t.Fatalf("%d deliveries, want 1", len(arrivals))
	}
	if string(n.Message.Body) != arrivals[0].body {
		t.Errorf("the listener got %s, and the receiver %s", n.Message.Body, arrivals[0].body)
	}
	for _, name := range []string{"content-type", "x-webhook-event-id", "x-webhook-timestamp", "x-webhook-signature"} {
		if got, want := header(&n.Message, name), arrivals[0].header.Get(name); got != want {
			t.Errorf("%s: %q for the listener, %q for the receiver", name, got, want)
		}
	}
	f.wantNothing(l)
}

func TestNoticeWithoutAnAddressIsForListenersOnly(t *testing.T) {
	f := newFixture(t)
	l := f.listen()
	other, err := f.Listen(secondOrg, "other")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	id := f.notifyTransient(firstOrg, uuid.New())
	foreign := f.notifyTransient(secondOrg, uuid.New())
	if n := f.next(other); n.Event != EventID(secondOrg, foreign) {
		t.Errorf("the other organization's listener got %+v", n)
	}
	f.wantNothing(other)
	n := f.next(l)
	if n.Event != EventID(firstOrg, id) || n.HasDelivery || !n.SignedByListener {
		t.Errorf("notification %+v", n)
	}
	signed := webhook.Delivery{Secret: "stream", EventID: n.Event.String(), Type: n.Type, Data: bodyData(t, n)}
	if want := signed.Message(f.Clock.Now()); !bytes.Equal(n.Message.Body, want.Body) || header(&n.Message, "x-webhook-signature") != header(&want, "x-webhook-signature") {
		t.Errorf("message %s with %v, want that of the listener's secret", n.Message.Body, n.Message.Headers)
	}
	f.wantNothing(l)
	f.quiesce()
	f.wantRows(nil)
	if _, err := f.Read(firstOrg, id); !ledger.IsRefusal(err, ledger.NotFound) {
		t.Errorf("a transient notice has a delivery: %v", err)
	}
}

// bodyData returns the data in a notification's envelope.
func bodyData(t *testing.T, n *Notification) []byte {
	t.Helper()
	_, data, found := bytes.Cut(n.Message.Body, []byte(`"data":`))
	if !found {
		t.Fatalf("body %s", n.Message.Body)
	}
	return bytes.TrimSuffix(data, []byte("}"))
}

// The secrets of a destination without an address sign a listener's notifications, too: the current and
// the previous one.
func TestListenerGetsTheSecretsThatAreSet(t *testing.T) {
	f := newFixture(t)
	to := uuid.New()
	f.addresses.set(to, actors.Address{Secret: "new", PreviousSecret: "old"})
	l := f.listen()
	f.notifyTransient(firstOrg, to)
	n := f.next(l)
	want := (&webhook.Delivery{Secret: "new", PreviousSecret: "old", EventID: n.Event.String(), Type: n.Type, Data: bodyData(t, n)}).Message(f.Clock.Now())
	if n.SignedByListener || fmt.Sprint(n.Message.Headers) != fmt.Sprint(want.Headers) {
		t.Errorf("headers %v, want %v", n.Message.Headers, want.Headers)
	}
}

// Listeners get the same test notification as the address; they get it even if no address is set.
func TestListenerGetsTestNotifications(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	l := f.listen()
	for range maxUnreadRecords { // notices beyond this number are kept without their records
		f.notifyTransient(firstOrg, uuid.New())
	}
	event, _, _ := f.Test(firstOrg, to)
	alone, a, isSent := f.Test(firstOrg, uuid.New())
	if !isSent || a.Failure != onlyListeners || a.Status != 0 {
		t.Errorf("without an address: %+v, sent: %v", a, isSent)
	}
	for range maxUnreadRecords {
		f.next(l)
	}
	arrivals := r.got()
	if len(arrivals) != 1 {
		t.Fatalf("%d deliveries, want 1", len(arrivals))
	}
	if n := f.next(l); n.Event != event || n.Type != TestType || !n.HasDelivery || n.SignedByListener || string(n.Message.Body) != arrivals[0].body {
		t.Errorf("notification %+v with %s, want %s", n, n.Message.Body, arrivals[0].body)
	}
	if n := f.next(l); n.Event != alone || n.Type != TestType || n.HasDelivery || !n.SignedByListener {
		t.Errorf("notification %+v", n)
	}
	f.wantNothing(l)
	f.wantRows(nil)
}

func TestNotificationOfTheSubscriptionStreamIsUnsigned(t *testing.T) {
	f := newFixture(t)
	to := f.destinationOf(startReceiver(t, alwaysStatus(200)))
	l := f.listen()
	f.notify(firstOrg, posting.Stream, to)
	f.notify(firstOrg, posting.OperatorAlert, to) // a notice for operators, so no listener gets it
	n := f.next(l)
	if n.Channel != posting.Stream || n.Event != (ledger.ID{}) || len(n.Message.Headers) != 1 {
		t.Errorf("notification %+v", n)
	}
	f.wantNothing(l)
}

func TestReplayedDeliveryIsNotifiedAgain(t *testing.T) {
	f := newFixture(t)
	id := f.notifyOne(f.destinationOf(startReceiver(t, alwaysStatus(200))))
	f.quiesce()
	l := f.listen()
	if _, err := f.Replay(firstOrg, id, nil); err != nil {
		t.Fatal(err)
	}
	if n := f.next(l); n.Event != EventID(firstOrg, id) {
		t.Errorf("notification %+v", n)
	}
	f.quiesce()
	f.wantNothing(l)
}

// A listener that does not read delays nobody. It ends with an error, and keeps nothing in memory.
func TestSlowListenerEnds(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	slow, quick := f.listen(), f.listen()
	for range maxUnread {
		f.notifyTransient(firstOrg, to)
		f.next(quick)
	}
	if slow.unread[maxUnreadRecords-1].Subject != nil || len(slow.unread) != maxUnread {
		t.Errorf("%d notices wait", len(slow.unread))
	}
	f.notifyOne(to)
	f.next(quick)
	f.quiesce()
	if n := len(r.got()); n != 1 {
		t.Errorf("%d deliveries, want 1", n)
	}
	for range 2 {
		if _, err := slow.Next(t.Context()); !errors.Is(err, ErrSlowListener) {
			t.Errorf("the slow listener ends with %v", err)
		}
	}
	if slow.unread != nil {
		t.Errorf("%d notices still wait", len(slow.unread))
	}
	if f.Listeners() != 2 || f.SlowListeners() != 1 {
		t.Errorf("%d listeners, %d were too slow; want 2, 1", f.Listeners(), f.SlowListeners())
	}
	slow.Close()
	f.notifyTransient(firstOrg, to)
	f.next(quick)
	if f.Listeners() != 1 || f.SlowListeners() != 1 {
		t.Errorf("%d listeners are left, %d were too slow; want 1, 1", f.Listeners(), f.SlowListeners())
	}
}

// The bytes of the waiting notices' bodies are bounded, not only their number.
func TestListenerOfLongNotificationsEnds(t *testing.T) {
	f := newFixture(t)
	l := f.listen()
	long := posting.Notice{Channel: posting.Webhook, Body: make([]byte, maxUnreadBodyBytes/2)}
	f.passToListeners(firstOrg, []posting.Notice{long, long})
	if l.ended != nil || len(l.unread) != 2 {
		t.Errorf("%d notices wait, ended with %v", len(l.unread), l.ended)
	}
	f.passToListeners(firstOrg, []posting.Notice{{Channel: posting.Webhook, Body: []byte("x")}})
	if _, err := l.Next(t.Context()); !errors.Is(err, ErrSlowListener) || l.unread != nil {
		t.Errorf("ended with %v, %d notices wait", err, len(l.unread))
	}
}

// A notice that waits for a while has no record in memory: it is read again.
func TestWaitingNoticesKeepFewRecords(t *testing.T) {
	f := newFixture(t)
	l := f.listen()
	for range maxUnreadRecords + 1 {
		c := &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
			Org: firstOrg, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, Record: []byte{1}, Events: []ledger.Event{{Name: "a", To: "b"}},
			Transient: []posting.Notice{{Channel: posting.Webhook, Subject: "a record"}},
		}}}
		f.submit(c)
	}
	withRecord := 0
	for i := range l.unread {
		if l.unread[i].Subject != nil {
			withRecord++
		}
	}
	if len(l.unread) != maxUnreadRecords+1 || withRecord != maxUnreadRecords {
		t.Errorf("%d notices wait, %d with records", len(l.unread), withRecord)
	}
}

func TestListenersAreBounded(t *testing.T) {
	f := newFixture(t)
	var all []*Listener
	add := func(org ledger.ID) error {
		l, err := f.Listen(org, "s")
		if err == nil {
			all = append(all, l)
		}
		return err
	}
	for range maxListenersOfOrg {
		if err := add(firstOrg); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(firstOrg); !ledger.IsRefusal(err, ledger.Unavailable) {
		t.Errorf("one more of the organization: %v", err)
	}
	for len(all) < maxListeners {
		if err := add(uuid.New()); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(uuid.New()); !ledger.IsRefusal(err, ledger.Unavailable) {
		t.Errorf("one more: %v", err)
	}
	all[0].Close()
	all[0].Close() // the second call of Close changes nothing
	if err := add(firstOrg); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	for _, l := range all {
		l.Close()
	}
	if n := f.Runtime.Listeners.Total(); n != 0 || len(f.listeners.byOrg) != 0 {
		t.Errorf("%d listeners are left", n)
	}
}

func TestListenersEndWithTheService(t *testing.T) {
	f := newFixture(t)
	l := f.listen()
	ended := make(chan error, 1)
	go func() {
		_, err := l.Next(context.Background())
		ended <- err
	}()
	f.Service.Close()
	if err := receiveFrom(t, "ended", ended); !errors.Is(err, ErrListeningEnded) {
		t.Errorf("ended with %v", err)
	}
	if _, err := f.Listen(firstOrg, "s"); !ledger.IsRefusal(err, ledger.Unavailable) {
		t.Errorf("a listener of a service that has ended: %v", err)
	}
}

// A notification that can't be written, or whose writer panics, is left out, and the next one follows.
func TestFaultyNoticeIsLeftOut(t *testing.T) {
	f := newFixture(t)
	l := f.listen()
	faults := 0
	f.writeNotification = func(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
		switch faults++; faults {
		case 1:
			return actors.NotificationBody{}, errors.New("a fault")
		case 2:
			panic("a fault")
		}
		return writeBody(dst, org, n)
	}
	var last ID
	for range 3 {
		last = f.notifyTransient(firstOrg, uuid.New())
	}
	if n := f.next(l); n.Event != EventID(firstOrg, last) {
		t.Errorf("notification %+v", n)
	}
}

func TestMessageIsStampedByTheBusinessClock(t *testing.T) {
	f := newFixture(t)
	l := f.listen()
	f.advance(48 * time.Hour)
	f.notifyTransient(firstOrg, uuid.New())
	if got, want := header(&f.next(l).Message, "x-webhook-timestamp"), fmt.Sprint(startTime.Add(48*time.Hour).Unix()); got != want {
		t.Errorf("timestamp %s, want %s", got, want)
	}
}
