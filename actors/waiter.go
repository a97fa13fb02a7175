package actors

import (
	"sync"
	"sync/atomic"
	"time"
)

// Waiter is a caller that waits for the reply to its command. Its zero value is ready for use. A message that embeds a Waiter lets its actor run on the caller's
// goroutine while the caller waits (Registry.Command), so no message of the actor has to wait for another goroutine. After such a
// Command the caller must call Wait or Leave.
type Waiter[Reply any] struct {
	helper
	state atomic.Int32 // see the constants below
	reply Reply        // written once, before state is replied
}

const (
	notReplied int32 = iota
	replying
	replied
)

// Answer gives the caller its reply. It never blocks. Only the first reply counts: a second one may come after a panic.
func (w *Waiter[Reply]) Answer(reply Reply) {
	if w.state.CompareAndSwap(notReplied, replying) {
		w.reply = reply
		w.state.Store(replied)
		w.wake()
	}
}

// Wait returns the reply; false if the deadline came first. Meanwhile it runs the actor.
func (w *Waiter[Reply]) Wait(deadline <-chan time.Time) (reply Reply, ok bool) {
	defer w.Leave()
	w.asHelper()
	for w.state.Load() != replied {
		select {
		case m := <-w.mailboxes:
			if m != nil {
				m.run()
			}
		case <-deadline:
			return reply, false
		}
	}
	return w.reply, true
}

// timers holds stopped timers.
var timers = sync.Pool{New: func() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return timer
}}

// StartTimer returns a timer that is used once, by the goroutine that calls StopTimer with it.
func StartTimer(after time.Duration) *time.Timer {
	timer := timers.Get().(*time.Timer)
	timer.Reset(after)
	return timer
}

// StopTimer ends a timer of StartTimer, which must not be used afterwards.
func StopTimer(timer *time.Timer) {
	timer.Stop() // and from then on nothing is received from its channel
	timers.Put(timer)
}

// helper is a goroutine that runs the mailbox of the actor for whose reply it waits.
type helper struct {
	mu        sync.Mutex
	mailboxes chan *mailbox // to be run; nil elements only wake; nil until asHelper
	hasLeft   atomic.Bool   // set under mu
}

// helps is implemented by the messages that embed a Waiter.
type helps interface{ asHelper() *helper }

// asHelper is called on the goroutine itself.
func (h *helper) asHelper() *helper {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mailboxes == nil {
		h.mailboxes = make(chan *mailbox, 2) // at most one mailbox has this helper, and waits once at a time; another element wakes
	}
	return h
}

// offer lets the goroutine run a mailbox; false if it can't.
func (h *helper) offer(m *mailbox) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasLeft.Load() {
		return false
	}
	select {
	case h.mailboxes <- m:
		return true
	default:
		return false
	}
}

// wake makes the goroutine look for its reply.
func (h *helper) wake() { h.offer(nil) } // if there is no room, something else wakes it

// Leave says that the caller no longer waits: the dispatcher runs what was left to it.
func (h *helper) Leave() {
	h.mu.Lock()
	h.hasLeft.Store(true)
	h.mu.Unlock()
	for { // nothing is put into a nil channel or received from it
		select {
		case m := <-h.mailboxes:
			if m != nil {
				m.dispatcher.schedule(m)
			}
		default:
			return
		}
	}
}
