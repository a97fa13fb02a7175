package actors

import (
	"sync"
	"sync/atomic"
	"time"
)

// Waiter is a caller that waits for the reply to its command. A Waiter is used for one command; its zero value is ready. While
// the caller waits, the caller's goroutine runs the actor (Registry.Command) and the actor's short jobs (Context.Go), so
// neither the actor nor a job has to wait for another goroutine. After a Command with a message that embeds a Waiter, the
// caller must call Wait or Leave.
type Waiter[Reply any] struct {
	helper
	state atomic.Int32 // see the constants below
	reply Reply        // written once, before state becomes replied
}

const (
	notReplied int32 = iota
	replying
	replied
)

// Answer gives the caller its reply. It never blocks. Only the first reply counts; after a panic, a second one may come.
func (w *Waiter[Reply]) Answer(reply Reply) {
	if w.state.CompareAndSwap(notReplied, replying) {
		w.reply = reply
		w.state.Store(replied)
		w.wake()
	}
}

// Wait returns the reply. If no reply came before the deadline, it returns false.
func (w *Waiter[Reply]) Wait(deadline time.Time) (reply Reply, ok bool) {
	defer w.Leave()
	b := newWakeSignal(deadline)
	w.wakeSignal.Store(b) // set before the first check, so that a reply or work that comes after the check rings the wake-up signal
	for w.state.Load() != replied {
		switch {
		case w.work():
		case !time.Now().Before(deadline):
			return reply, false
		default:
			<-b.sent
		}
	}
	return w.reply, true
}

// helper is the part of a Waiter through which the waiting caller runs the actor and the actor's short jobs.
type helper struct {
	wakeSignal atomic.Pointer[wakeSignal] // wakes the caller's goroutine; nil while the goroutine is not in Wait
	mailbox    *mailbox                   // the mailbox that the helper runs; nil if none; only the caller's goroutine uses this field
}

// hasHelper is implemented by the messages that embed a Waiter.
type hasHelper interface{ asHelper() *helper }

func (h *helper) asHelper() *helper { return h }

// wake makes the caller's goroutine check whether there is a reply or work.
func (h *helper) wake() {
	if b := h.wakeSignal.Load(); b != nil {
		b.send()
	}
}

// work does the work that is queued for the helper. It returns false if there is none.
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
		// another goroutine handles the rest, so that messages of other callers do not delay this caller
		m.rt.dispatcher.schedule(m)
	}
	return true
}

// Leave must be called when the caller no longer waits. If work was queued for the caller, other goroutines do it.
func (h *helper) Leave() {
	if h.mailbox != nil {
		h.mailbox.leave(h)
	}
	if b := h.wakeSignal.Swap(nil); b != nil {
		b.release()
	}
}

// wakeSignal wakes one goroutine. Signals are reused, so a goroutine that knows a wake-up signal from an earlier use may still
// ring it. Therefore a goroutine that is woken must check whether there is a reason.
type wakeSignal struct {
	sent  chan struct{} // holds at most one signal
	timer *time.Timer   // rings at the deadline
}

var wakeSignals = sync.Pool{New: func() any {
	b := &wakeSignal{sent: make(chan struct{}, 1)}
	b.timer = time.AfterFunc(time.Hour, b.send)
	return b
}}

// newWakeSignal returns a wake-up signal that also rings at the deadline.
func newWakeSignal(deadline time.Time) *wakeSignal {
	b := wakeSignals.Get().(*wakeSignal)
	b.timer.Reset(time.Until(deadline))
	return b
}

func (b *wakeSignal) send() {
	select {
	case b.sent <- struct{}{}:
	default: // the goroutine has not yet received the last signal
	}
}

func (b *wakeSignal) release() {
	b.timer.Stop()
	wakeSignals.Put(b)
}
