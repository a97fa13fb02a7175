package actors

import (
	"runtime"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// messagesPerTurn is how many messages of one mailbox are handled before other goroutines have their turn.
const messagesPerTurn = 300

// mailbox is an actor's queue of messages. While a caller waits for the actor's answer, the caller's goroutine runs the mailbox
// (see Waiter); otherwise a goroutine of the dispatcher does.
type mailbox struct {
	dispatcher *dispatcher
	invoker    actor.MessageInvoker

	mu          sync.Mutex
	user        messages // guarded by mu
	system      messages // guarded by mu: the library's own messages, which come first
	isSuspended bool     // guarded by mu: only the library's messages are handled
	isScheduled bool     // guarded by mu: a goroutine runs the mailbox, or will
	helper      *helper  // guarded by mu: the waiting caller whose goroutine runs the mailbox; nil: there is none
}

var _ actor.Mailbox = (*mailbox)(nil)

// messages is a queue that needs no memory of its own while it is short.
type messages struct {
	waiting []any
	next    int // index of the oldest message in waiting
	room    [2]any
}

func (q *messages) isEmpty() bool { return q.next == len(q.waiting) }

func (q *messages) push(message any) {
	if q.waiting == nil {
		q.waiting = q.room[:0]
	}
	q.waiting = append(q.waiting, message)
}

func (q *messages) pop() any {
	message := q.waiting[q.next]
	q.waiting[q.next] = nil
	if q.next++; q.isEmpty() {
		q.waiting, q.next = q.room[:0], 0 // a long queue's memory is not kept
	}
	return message
}

// PostUserMessage implements actor.Mailbox.
func (m *mailbox) PostUserMessage(message any) { m.post(&m.user, message) }

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(message any) { m.post(&m.system, message) }

func (m *mailbox) post(queue *messages, message any) {
	m.mu.Lock()
	queue.push(message)
	isNew := !m.isScheduled
	m.isScheduled = true
	helper := m.helper
	m.mu.Unlock()
	if isNew && !(helper != nil && helper.offer(m)) {
		m.dispatcher.schedule(m)
	}
}

// setHelper makes a waiting caller run the mailbox, unless another one does so already.
func (m *mailbox) setHelper(helper *helper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.helper == nil || m.helper.hasLeft.Load() {
		m.helper = helper
	}
}

// run handles messages until there is none.
func (m *mailbox) run() {
	for !m.runUntilPanic() {
	}
}

// runUntilPanic returns false after a panic, which it leaves to the library's supervision.
func (m *mailbox) runUntilPanic() (done bool) {
	var message any
	defer func() {
		if fault := recover(); fault != nil {
			m.invoker.EscalateFailure(fault, message)
		}
	}()
	for n := 1; ; n++ {
		var isSystem, more bool
		if message, isSystem, more = m.take(); !more {
			return true
		}
		if isSystem {
			m.invoker.InvokeSystemMessage(message)
		} else {
			m.invoker.InvokeUserMessage(message)
		}
		if n%messagesPerTurn == 0 {
			runtime.Gosched()
		}
	}
}

// take takes the next message. more is false if there is none: the next message schedules the mailbox again.
func (m *mailbox) take() (message any, isSystem, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.system.isEmpty() {
		message := m.system.pop()
		switch message.(type) {
		case *actor.SuspendMailbox:
			m.isSuspended = true
		case *actor.ResumeMailbox:
			m.isSuspended = false
		default:
			return message, true, true
		}
	}
	if m.isSuspended || m.user.isEmpty() {
		m.isScheduled = false
		return nil, false, false
	}
	return m.user.pop(), false, true
}

// RegisterHandlers implements actor.Mailbox. The library's dispatcher is not used.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}

// Start implements actor.Mailbox.
func (m *mailbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.user.waiting) - m.user.next
}
