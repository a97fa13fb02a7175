package actors

import (
	"runtime"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// messagesPerTurn is how many messages of one mailbox a goroutine handles before it yields to other goroutines.
const messagesPerTurn = 300

// mailbox is an actor's queue of messages. While a caller waits for the actor's answer, the caller's goroutine runs the mailbox
// (see Waiter); otherwise a goroutine of the dispatcher does.
type mailbox struct {
	rt      *Runtime
	invoker actor.MessageInvoker

	mu             sync.Mutex
	user           messages // guarded by mu
	system         messages // guarded by mu: protoactor-go's own messages, which are handled first
	isSuspended    bool     // guarded by mu: only protoactor-go's own messages are handled
	isScheduled    bool     // guarded by mu: a goroutine runs the mailbox or is about to run it
	helper         *helper  // guarded by mu: the waiting caller that runs the mailbox; nil if none
	isLeftToHelper bool     // guarded by mu: the helper is to run the mailbox, and has not begun
	job            Job      // guarded by mu: the actor's job that the helper is to run, and has not begun; nil if none
}

var _ actor.Mailbox = (*mailbox)(nil)

// messages is a queue of messages. A queue of up to two messages is stored in the array room, without an allocation.
type messages struct {
	waiting []any
	next    int // index of the oldest message in waiting
	room    [2]any
}

func (q *messages) isEmpty() bool { return q.next == len(q.waiting) }

func (q *messages) push(message any) {
	switch {
	case q.waiting == nil:
		q.waiting = q.room[:0]
	case len(q.waiting) == cap(q.waiting) && q.next > len(q.waiting)/2: // a queue that is never empty would grow for ever
		n := copy(q.waiting, q.waiting[q.next:])
		clear(q.waiting[n:])
		q.waiting, q.next = q.waiting[:n], 0
	}
	q.waiting = append(q.waiting, message)
}

func (q *messages) pop() any {
	message := q.waiting[q.next]
	q.waiting[q.next] = nil
	if q.next++; q.isEmpty() {
		q.waiting, q.next = q.room[:0], 0 // frees the memory of a long queue
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
	if m.isScheduled {
		m.mu.Unlock()
		return
	}
	helper := m.helper
	m.isScheduled, m.isLeftToHelper = true, helper != nil
	m.mu.Unlock()
	if helper != nil {
		helper.wake()
	} else {
		m.rt.dispatcher.schedule(m)
	}
}

// setHelper makes h the mailbox's helper, in place of an earlier helper. h belongs to a caller that is about to wait for a
// reply. From now on the caller's goroutine runs the mailbox.
func (m *mailbox) setHelper(h *helper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.helper, h.mailbox = h, m
}

// leaveJob queues a job for the helper. It returns false if there is no helper, or if the helper already has a job.
func (m *mailbox) leaveJob(job Job) bool {
	m.mu.Lock()
	helper := m.helper
	isFree := helper != nil && m.job == nil
	if isFree {
		m.job = job
	}
	m.mu.Unlock()
	if isFree {
		helper.wake()
	}
	return isFree
}

// begin returns the work that the helper h must do now. If isLeftToHelper is true, h must run the mailbox; otherwise h must run
// the job, if there is one. While h runs a job, h is not the mailbox's helper, so other goroutines run the mailbox.
func (m *mailbox) begin(h *helper) (isLeftToHelper bool, job Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.helper != h:
	case m.isLeftToHelper:
		m.isLeftToHelper = false
		return true, nil
	case m.job != nil:
		job, m.job, m.helper = m.job, nil, nil
	}
	return false, job
}

// resume makes h, whose job has ended, the mailbox's helper again, unless another caller has become the helper.
func (m *mailbox) resume(h *helper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.helper == nil {
		m.helper = h
	}
}

// leave is called when the helper h no longer waits. If work was queued for h, other goroutines do it.
func (m *mailbox) leave(h *helper) {
	m.mu.Lock()
	isLeftToHelper, job := false, Job(nil)
	if m.helper == h {
		isLeftToHelper, job = m.isLeftToHelper, m.job
		m.isLeftToHelper, m.job, m.helper = false, nil, nil
	}
	m.mu.Unlock()
	if isLeftToHelper {
		m.rt.dispatcher.schedule(m)
	}
	if job != nil {
		go m.rt.runShort(job, func() {}) // on its own goroutine, because the pool may be full
	}
}

// run handles messages until none is left.
func (m *mailbox) run() {
	for m.runTurn() == moreToDo {
		runtime.Gosched()
	}
}

// turn is the result of runTurn. It says whether runTurn must be called again.
type turn bool

const (
	allDone  turn = false // no message can be handled now; the next message to arrive schedules the mailbox
	moreToDo turn = true  // the mailbox stays scheduled, and runTurn must be called again
)

// runTurn handles messages until none is left, but at most messagesPerTurn. If a message causes a panic, runTurn returns, and
// protoactor-go's supervision decides what happens to the actor.
func (m *mailbox) runTurn() (end turn) {
	var message any
	defer func() {
		if fault := recover(); fault != nil {
			m.invoker.EscalateFailure(fault, message)
			end = moreToDo
		}
	}()
	for range messagesPerTurn {
		var isSystem, taken bool
		message, isSystem, taken = m.take()
		switch {
		case !taken:
			return allDone
		case isSystem:
			m.invoker.InvokeSystemMessage(message)
		default:
			m.invoker.InvokeUserMessage(message)
		}
	}
	return moreToDo
}

// take removes the next message from its queue and returns it. If no message can be handled now, taken is false, and the next
// message to arrive schedules the mailbox again.
func (m *mailbox) take() (message any, isSystem, taken bool) {
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

// RegisterHandlers implements actor.Mailbox. The dispatcher of protoactor-go is not used.
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
