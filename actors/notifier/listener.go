package notifier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"mizan/actors"
	"mizan/actors/notifier/webhook"
	"mizan/ledger"
	"mizan/posting"
)

// Bounds of listeners.
const (
	maxListeners       = 64      // listeners of all organizations
	maxListenersOfOrg  = 8       // listeners of one organization; fewer, so that other organizations can listen, too
	maxUnread          = 1_024   // unread notices of one listener
	maxUnreadRecords   = 64      // unread notices that keep their records in memory; the records of later ones are read again
	maxUnreadBodyBytes = 4 << 20 // bytes in the bodies of one listener's unread notices
)

// Errors with which a listener ends.
var (
	ErrSlowListener   = fmt.Errorf("more than %d notifications, or more than %d MiB of them, waited to be read", maxUnread, maxUnreadBodyBytes>>20)
	ErrListeningEnded = errors.New("the service is stopping")
)

// Notification is a merchant's notification in the form that a listener gets: signed and ready to be
// forwarded.
type Notification struct {
	Event   ledger.ID // the event_id, as in the webhook; zero for the channel Stream, which has no event ids
	Channel posting.Channel
	Type    string
	Source  ledger.Source
	To      ledger.ID // the terminal or partner to which the notification belongs
	Booked  ledger.Micros

	HasDelivery      bool // the notification is also delivered to the merchant's address
	SignedByListener bool // the merchant has no secret, so the listener's secret signs the notification
	Message          webhook.Message
}

// Listener follows the notifications of an organization, including those for which no address is set. It gets each
// notification once, when its event is durable, and again if a replay of its delivery is requested (Replay). It
// gets no retries and no notifications of earlier events.
type Listener struct {
	service *Service
	org     ledger.ID
	secret  string
	leave   func()
	wake    chan struct{} // has an element if a notice has arrived, or the listener has ended, since Next last looked

	mu          sync.Mutex
	unread      []posting.Notice // guarded by mu
	unreadBytes int              // guarded by mu: bytes of the bodies in unread
	ended       error            // guarded by mu: the reason why the listener has ended; nil while it runs
}

// listeners holds the listeners of all organizations.
type listeners struct {
	mu    sync.Mutex
	byOrg map[ledger.ID]map[*Listener]bool // guarded by mu
	ended bool                             // guarded by mu: no more listeners are accepted

	slowEnded atomic.Uint64 // number of listeners that have ended because they read too slowly
}

// Listeners returns the number of listeners.
func (s *Service) Listeners() int { return s.runtime.Listeners.Total() }

// SlowListeners returns the number of listeners that were ended because they read too slowly.
func (s *Service) SlowListeners() uint64 { return s.listeners.slowEnded.Load() }

// Listen begins to follow an organization's notifications. If a terminal or partner has no secret, its
// notifications are signed with the given secret. The caller must close the listener. The error is a
// *ledger.Refusal.
func (s *Service) Listen(org ledger.ID, secret string) (*Listener, error) {
	const op = "notifier.Listen"
	all := &s.listeners
	all.mu.Lock()
	defer all.mu.Unlock()
	switch listening := &s.runtime.Listeners; {
	case all.ended:
		return nil, ledger.Refuse(op, ledger.Unavailable, "%v", ErrListeningEnded)
	case listening.Count(org) >= maxListenersOfOrg:
		return nil, ledger.Refuse(op, ledger.Unavailable, "%d listeners follow this organization already", maxListenersOfOrg)
	case listening.Total() >= maxListeners:
		return nil, ledger.Refuse(op, ledger.Unavailable, "%d listeners follow notifications already", maxListeners)
	}
	l := &Listener{service: s, org: org, secret: secret, wake: make(chan struct{}, 1)}
	if all.byOrg == nil {
		all.byOrg = make(map[ledger.ID]map[*Listener]bool)
	}
	if all.byOrg[org] == nil {
		all.byOrg[org] = make(map[*Listener]bool)
	}
	all.byOrg[org][l] = true
	l.leave = s.runtime.Listeners.Add(org)
	return l, nil
}

// Close ends the listener.
func (l *Listener) Close() {
	l.leave()
	l.end(ErrListeningEnded)
	all := &l.service.listeners
	all.mu.Lock()
	defer all.mu.Unlock()
	if delete(all.byOrg[l.org], l); len(all.byOrg[l.org]) == 0 {
		delete(all.byOrg, l.org)
	}
}

// end ends the listener: from now on Next returns the error.
func (l *Listener) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(err)
}

// endLocked does the work of end; the caller holds l.mu.
func (l *Listener) endLocked(err error) {
	if l.ended == nil {
		l.ended, l.unread, l.unreadBytes = err, nil, 0
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// endListeners ends all listeners.
func (s *Service) endListeners() {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	s.listeners.ended = true
	for _, ofOrg := range s.listeners.byOrg {
		for l := range ofOrg {
			l.end(ErrListeningEnded)
		}
	}
}

// Depart ends the listeners of an organization that was moved to another store. Their clients connect again, and reach it there.
func (s *Service) Depart(org ledger.ID) {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	for l := range s.listeners.byOrg[org] {
		l.end(ErrListeningEnded)
	}
}

// passToListeners passes notices on to the organization's listeners. It never waits for a listener.
func (s *Service) passToListeners(org ledger.ID, notices []posting.Notice) {
	if !s.runtime.Listeners.HasListener(org) {
		return
	}
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	for l := range s.listeners.byOrg[org] {
		l.add(notices)
	}
}

// add queues the notices that are for merchants. If too many notices are unread, add ends the listener.
func (l *Listener) add(notices []posting.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range notices {
		n := notices[i]
		if n.Channel != posting.Webhook && n.Channel != posting.Stream || l.ended != nil {
			continue
		}
		if len(l.unread) >= maxUnread || l.unreadBytes+len(n.Body) > maxUnreadBodyBytes {
			l.endLocked(ErrSlowListener)
			l.service.listeners.slowEnded.Add(1)
			return
		}
		if _, isTest := n.Subject.(testEvent); len(l.unread) >= maxUnreadRecords && !isTest {
			n.Subject = nil
		}
		l.unread, l.unreadBytes = append(l.unread, n), l.unreadBytes+len(n.Body)
	}
	if len(l.unread) > 0 {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Next waits for the next notification. The error is ErrSlowListener, ErrListeningEnded or ctx's error. After ctx's
// error the listener can still be used.
func (l *Listener) Next(ctx context.Context) (*Notification, error) {
	for {
		n, err := l.take()
		if err != nil {
			return nil, err
		}
		if n != nil {
			if notification, ok := l.write(n); ok {
				return notification, nil
			}
			continue
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take removes and returns the first unread notice. If there is none, take returns nil.
func (l *Listener) take() (*posting.Notice, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil || len(l.unread) == 0 {
		return nil, l.ended
	}
	n := l.unread[0]
	l.unread[0] = posting.Notice{}
	if l.unread = l.unread[1:]; len(l.unread) == 0 {
		l.unread = nil
	}
	l.unreadBytes -= len(n.Body)
	return &n, nil
}

// content returns a notice's event id and the content of its notification. The caller returns the buffer to the pool, even
// after an error.
func (l *Listener) content(n *posting.Notice) (event ledger.ID, body actors.NotificationBody, buffer *[]byte, err error) {
	if test, isTest := n.Subject.(testEvent); isTest {
		buffer = l.service.bodyBuffers.Get().(*[]byte)
		return ledger.ID(test), actors.NotificationBody{Type: TestType, Data: append((*buffer)[:0], n.Body...)}, buffer, nil
	}
	body, buffer, err = l.service.encodeBody(l.org, n)
	return EventID(l.org, idOf(n)), body, buffer, err
}

// write forms and signs the notification of a notice. If the notice cannot be written or its writer panics, write
// logs that, and the listener does not get the notification.
func (l *Listener) write(n *posting.Notice) (notification *Notification, ok bool) {
	s := l.service
	defer func() {
		if panicValue := recover(); panicValue != nil {
			s.runtime.LogPanic("a listener's notification", panicValue)
			notification, ok = nil, false
		}
	}()
	event, body, buffer, err := l.content(n)
	defer func() {
		*buffer = body.Data[:0]
		s.bodyBuffers.Put(buffer)
	}()
	if err != nil {
		s.runtime.Log.Error("a notice cannot be written for a listener", "error", err)
		return nil, false
	}
	notification = &Notification{
		Channel: n.Channel, Type: body.Type, Source: n.Source, To: n.To, Booked: n.Booked, HasDelivery: !n.IsTransient,
	}
	outgoing := webhook.Delivery{Type: body.Type, Data: body.Data, WithoutEnvelope: n.Channel == posting.Stream, Origin: n.Origin}
	if !outgoing.WithoutEnvelope {
		address, _ := s.addresses.Address(l.org, n.To)
		notification.Event, notification.SignedByListener = event, address.Secret == ""
		outgoing.EventID, outgoing.Secret, outgoing.PreviousSecret = notification.Event.String(), address.Secret, address.PreviousSecret
		if notification.SignedByListener {
			outgoing.Secret, outgoing.PreviousSecret = l.secret, ""
		}
	}
	notification.Message = outgoing.Message(s.runtime.Clock.Now())
	return notification, true
}
