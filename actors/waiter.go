package actors

import (
	"sync"
	"sync/atomic"
	"time"
)

// Waiter is a caller that waits for the reply to its command. Its zero value is ready for one use. While the caller waits, its
// goroutine runs the actor (Registry.Command) and the actor's short jobs (Context.Go), so neither has to wait for another goroutine.
// After a Command with a message that embeds a Waiter, the caller must call Wait or Leave.
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

// Wait returns the reply; false if none came by the deadline.
func (w *Waiter[Reply]) Wait(deadline time.Time) (reply Reply, ok bool) {
	defer w.Leave()
	b := bellFor(deadline)
	w.bell.Store(b) // before state and work are checked, so that a later reply and later work ring the bell
	for w.state.Load() != replied {
		switch {
		case w.work():
		case !time.Now().Before(deadline):
			return reply, false
		default:
			<-b.rung
		}
	}
	return w.reply, true
}

// helper is the part of a Waiter that runs the actor whose reply is awaited, and that actor's short jobs.
type helper struct {
	bell    atomic.Pointer[bell] // wakes the caller's goroutine; nil while the goroutine is not in Wait
	mailbox *mailbox             // the mailbox that the helper runs; nil: none; only the caller's goroutine uses this field
}

// hasHelper is implemented by the messages that embed a Waiter.
type hasHelper interface{ asHelper() *helper }

func (h *helper) asHelper() *helper { return h }

// wake makes the goroutine look for its reply and for work.
func (h *helper) wake() {
	if b := h.bell.Load(); b != nil {
		b.ring()
	}
}

// work does the work that was left to the helper; false if there was none.
func (h *helper) work() bool {
	m := h.mailbox
	if m == nil {
		return false
	}
	isLeftToHelper, job := m.begin(h)
	switch {
	case job != nil:
		m.rt.runShort(job, func() { m.resume(h) })
	case !isLeftToHelper:
		return false
	case m.runTurn() == moreToDo:
		m.rt.dispatcher.schedule(m) // another goroutine handles the rest, so messages of other callers do not keep this one
	}
	return true
}

// Leave says that the caller no longer waits. Other goroutines then do the work that was left to it.
func (h *helper) Leave() {
	if h.mailbox != nil {
		h.mailbox.leave(h)
	}
	if b := h.bell.Swap(nil); b != nil {
		b.release()
	}
}

// bell wakes one goroutine. Bells are reused: a goroutine that has seen the bell during an earlier use may still ring it. So a
// goroutine that wakes must check whether there is a reason.
type bell struct {
	rung  chan struct{} // has room for one signal
	timer *time.Timer   // rings at the deadline
}

var bells = sync.Pool{New: func() any {
	b := &bell{rung: make(chan struct{}, 1)}
	b.timer = time.AfterFunc(time.Hour, b.ring)
	return b
}}

// bellFor returns a bell that also rings at the deadline.
func bellFor(deadline time.Time) *bell {
	b := bells.Get().(*bell)
	b.timer.Reset(time.Until(deadline))
	return b
}

func (b *bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default: // the goroutine has not yet looked since the last signal
	}
}

func (b *bell) release() {
	b.timer.Stop()
	bells.Put(b)
}
