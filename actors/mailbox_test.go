package actors

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// mailboxPatience is how long these tests wait for an event that happens at once or never.
const mailboxPatience = 2 * time.Minute

// testMailbox is a mailbox without an actor: handle gets its messages.
type testMailbox struct {
	mailbox
	handle    func(message any)
	escalated []any // messages whose handling panicked
}

// InvokeUserMessage implements actor.MessageInvoker.
func (m *testMailbox) InvokeUserMessage(message any) { m.handle(message) }

// InvokeSystemMessage implements actor.MessageInvoker.
func (m *testMailbox) InvokeSystemMessage(message any) { m.handle(message) }

// EscalateFailure implements actor.MessageInvoker.
func (m *testMailbox) EscalateFailure(_, message any) { m.escalated = append(m.escalated, message) }

func newTestMailbox(d *dispatcher, handle func(any)) *testMailbox {
	m := &testMailbox{handle: handle}
	m.rt = &Runtime{dispatcher: d, Log: slog.New(slog.DiscardHandler)}
	m.RegisterHandlers(m, nil)
	return m
}

// idleDispatcher returns a dispatcher without goroutines, so its queue is never read.
func idleDispatcher() *dispatcher {
	return &dispatcher{queue: make(chan *mailbox, 8), nonEmpty: make(chan struct{}, 1)}
}

func runningDispatcher(t *testing.T) *dispatcher {
	d := newDispatcher()
	t.Cleanup(d.close)
	return d
}

// question is a message whose sender waits for a reply.
type question struct{ Waiter[int] }

// ask makes the question's sender the mailbox's helper and sends the question.
func (m *testMailbox) ask(q *question) {
	m.setHelper(&q.helper)
	m.PostUserMessage(q)
}

// wait waits longer than the tests' patience, so a lost signal fails the test.
func (q *question) wait() (int, bool) { return q.Wait(time.Now().Add(2 * mailboxPatience)) }

// wantReply waits for the reply on another goroutine.
func (q *question) wantReply(t *testing.T, what string, want int) {
	t.Helper()
	replies := make(chan int, 1)
	go func() {
		reply, _ := q.wait()
		replies <- reply
	}()
	if reply := receive(t, what, replies); reply != want {
		t.Errorf("%s: %d, want %d", what, reply, want)
	}
}

func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(mailboxPatience):
		t.Fatalf("%s: not within %v", what, mailboxPatience)
	}
	return v
}

func TestWaitingCallerRunsTheMailbox(t *testing.T) {
	var first, second question
	fromElsewhere := make(chan *question, 1)
	m := newTestMailbox(idleDispatcher(), func(message any) {
		if message == &first {
			fromElsewhere <- &second
			return
		}
		second.Answer(2)
		first.Answer(1)
	})
	go func() { m.PostUserMessage(<-fromElsewhere) }() // the message arrives while the caller sleeps, or shortly before
	m.ask(&first)
	first.wantReply(t, "the caller's reply", 1)
	if len(m.rt.dispatcher.queue) != 0 {
		t.Error("the dispatcher has got the mailbox too")
	}
}

// A caller may leave before it has begun the work that was left to it. Neither that work nor later messages
// may wait for the caller.
func TestMailboxOfACallerThatLeavesGoesToTheDispatcher(t *testing.T) {
	for name, leave := range map[string]func(*question){
		"before it waits":           func(q *question) { q.Leave() },
		"at a deadline in the past": func(q *question) { q.Wait(time.Time{}) },
	} {
		m := newTestMailbox(idleDispatcher(), func(any) {})
		var unanswered question
		if m.ask(&unanswered); len(m.rt.dispatcher.queue) != 0 {
			t.Errorf("%s: the dispatcher has the mailbox of a caller that will wait", name)
		}
		leave(&unanswered)
		if name == "before it waits" && len(m.rt.dispatcher.queue) != 1 {
			t.Errorf("%s: the mailbox is lost", name)
		}
		for len(m.rt.dispatcher.queue) > 0 {
			(<-m.rt.dispatcher.queue).run()
		}
		if m.PostUserMessage("later"); len(m.rt.dispatcher.queue) != 1 {
			t.Errorf("%s: a later message waits for the caller", name)
		}
	}
}

func TestCallerLeavesAtItsDeadlineWhileAnotherGoroutineRunsTheMailbox(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	m := newTestMailbox(runningDispatcher(t), func(message any) {
		switch message := message.(type) {
		case string:
			close(running)
			<-release
		case *question:
			message.Answer(7)
		}
	})
	m.PostUserMessage("block")
	receive(t, "the dispatcher runs the mailbox", running)
	var late, patient question
	m.ask(&late)
	if _, ok := late.Wait(time.Now().Add(time.Millisecond)); ok {
		t.Error("a reply, although the actor is held up")
	}
	m.ask(&patient)
	close(release)
	patient.wantReply(t, "the next caller's reply", 7)
}

// A mailbox that never gets empty must not keep the caller that runs it.
func TestCallerWithItsReplyIsNotKeptByOtherMessages(t *testing.T) {
	var stopped atomic.Bool
	ended := make(chan struct{})
	var m *testMailbox
	m = newTestMailbox(runningDispatcher(t), func(message any) {
		switch message := message.(type) {
		case *question:
			m.PostUserMessage("again")
			message.Answer(1)
		case string:
			if stopped.Load() {
				close(ended)
				return
			}
			m.PostUserMessage("again")
		}
	})
	var q question
	m.ask(&q)
	q.wantReply(t, "the caller's reply", 1)
	stopped.Store(true)
	receive(t, "the dispatcher goes on with the other messages", ended)
}

// The newest caller runs the mailbox. If one of two callers leaves, the other still gets its reply.
func TestEachOfTwoCallersGetsItsReplyAfterTheOtherHasLeft(t *testing.T) {
	for _, firstLeaves := range []bool{false, true} {
		asked := make(chan struct{}, 2)
		var callers [2]question
		m := newTestMailbox(runningDispatcher(t), func(message any) {
			if message != "reply" {
				asked <- struct{}{}
				return
			}
			for i := range callers {
				callers[i].Answer(i)
			}
		})
		m.ask(&callers[0])
		m.ask(&callers[1])
		leaving, staying, want := &callers[1], &callers[0], 0
		if firstLeaves {
			leaving, staying, want = &callers[0], &callers[1], 1
		}
		go func() {
			if _, ok := leaving.Wait(time.Now().Add(time.Millisecond)); ok {
				t.Error("a reply before the deadline")
			}
			for range callers {
				<-asked
			}
			m.PostUserMessage("reply")
		}()
		staying.wantReply(t, fmt.Sprintf("the first has left: %v", firstLeaves), want)
	}
}

func TestSuspendedMailboxHandlesOnlyTheLibrarysMessages(t *testing.T) {
	var handled []any
	m := newTestMailbox(idleDispatcher(), func(message any) { handled = append(handled, message) })
	run := func() {
		for len(m.rt.dispatcher.queue) > 0 {
			(<-m.rt.dispatcher.queue).run()
		}
	}
	m.PostUserMessage("first")
	m.PostSystemMessage(&actor.SuspendMailbox{})
	m.PostSystemMessage("system")
	run()
	m.PostUserMessage("second")
	if run(); !slices.Equal(handled, []any{"system"}) {
		t.Errorf("suspended, handled %v", handled)
	}
	if n := m.UserMessageCount(); n != 2 {
		t.Errorf("%d messages wait", n)
	}
	m.PostSystemMessage(&actor.ResumeMailbox{})
	if run(); !slices.Equal(handled, []any{"system", "first", "second"}) {
		t.Errorf("resumed, handled %v", handled)
	}
}

// The supervision of protoactor-go decides about a panic, no matter which goroutine runs the mailbox, and later messages
// are handled.
func TestPanicIsEscalatedAndTheMailboxGoesOn(t *testing.T) {
	m := newTestMailbox(runningDispatcher(t), func(message any) {
		if q, isQuestion := message.(*question); isQuestion {
			q.Answer(3)
			return
		}
		panic(message)
	})
	want := []any{}
	for _, isHelped := range []bool{false, true} {
		var q question
		if isHelped {
			m.setHelper(&q.helper)
		}
		m.PostSystemMessage("system")
		m.PostUserMessage("user")
		m.PostUserMessage(&q)
		want = append(want, "system", "user")
		if q.wantReply(t, "the message after the panics", 3); !slices.Equal(m.escalated, want) {
			t.Errorf("escalated %v, want %v", m.escalated, want)
		}
	}
}

// A wake-up signal is reused, so a goroutine that has seen it during an earlier use may still ring it.
func TestRingWithoutAReasonDoesNotEndAWait(t *testing.T) {
	var q question
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for rings := 0; rings < 3; {
			if b := q.wakeSignal.Load(); b != nil {
				b.send()
				rings++
			}
		}
		q.Answer(5)
	}()
	q.wantReply(t, "the reply", 5)
	<-answered
}

func TestFirstReplyCounts(t *testing.T) {
	var q question
	q.Answer(1)
	q.Answer(2)
	q.wantReply(t, "the reply", 1)
}

func TestMemoryOfAQueueThatIsNeverEmptyIsBounded(t *testing.T) {
	var q messages
	for i := range 100_000 {
		q.push(i)
		if i < 2 {
			continue
		}
		if got := q.pop(); got != i-2 {
			t.Fatalf("popped %v, want %d", got, i-2)
		}
	}
	if n := cap(q.waiting); n > 16 {
		t.Errorf("two waiting messages have room for %d", n)
	}
}

// numbered is the n-th message of a sender.
type numbered struct{ sender, n int }

// Callers come, wait for short and long times, and leave, while others send. Each message must be handled once and in its
// sender's order, by one goroutine at a time (the race detector sees two). A lost wake-up shows as a wait without end.
func TestMailboxUnderManyCallersAndSenders(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const senders, callers, messagesEach = 4, 16, 3_000
	var handled [senders]int // used only by the goroutine that runs the mailbox
	var misplaced, running, total atomic.Int64
	m := newTestMailbox(runningDispatcher(t), func(message any) {
		if running.Add(1) != 1 {
			misplaced.Add(1)
		}
		switch message := message.(type) {
		case numbered:
			if handled[message.sender] != message.n {
				misplaced.Add(1)
			}
			handled[message.sender]++
			total.Add(1)
		case *question:
			message.Answer(int(total.Load()))
		}
		running.Add(-1)
	})
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			for n := range messagesEach {
				m.PostUserMessage(numbered{sender, n})
			}
		})
	}
	for caller := range callers {
		random := rand.New(rand.NewPCG(seed, uint64(caller)))
		group.Go(func() {
			for range messagesEach {
				q := new(question)
				m.ask(q)
				wait := time.Duration(random.IntN(100)) * time.Microsecond
				if random.IntN(2) == 0 {
					wait = 2 * mailboxPatience
				}
				if _, ok := q.Wait(time.Now().Add(wait)); !ok && wait > mailboxPatience {
					t.Error("a caller got no reply")
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	receive(t, "callers and senders", done)
	last := new(question)
	m.ask(last)
	last.wantReply(t, "how many messages were handled", senders*messagesEach)
	if n := misplaced.Load(); n != 0 {
		t.Errorf("%d messages out of order or at the same time", n)
	}
}

// testJob is a job whose report is a message.
type testJob struct {
	m      *testMailbox
	report any
}

func (j *testJob) Run()    {}
func (j *testJob) Report() { j.m.PostUserMessage(j.report) }

func TestCallerRunsTheMailboxAgainAfterAJob(t *testing.T) {
	var q question
	var m *testMailbox
	m = newTestMailbox(idleDispatcher(), func(message any) {
		if message == &q {
			if !m.leaveJob(&testJob{m, "report"}) || m.leaveJob(&testJob{m, "second job"}) {
				t.Error("a caller must get one job at a time")
			}
			return
		}
		q.Answer(4)
	})
	m.ask(&q)
	q.wantReply(t, "the reply after the job's report", 4)
	if len(m.rt.dispatcher.queue) != 0 {
		t.Error("the dispatcher has got the mailbox")
	}
	if m.leaveJob(&testJob{m, "late"}) {
		t.Error("a job was left to a caller that has its reply")
	}
}

func TestJobLeftToACallerThatLeavesRunsElsewhere(t *testing.T) {
	reported := make(chan any, 1)
	m := newTestMailbox(runningDispatcher(t), func(message any) { reported <- message })
	var q question
	m.setHelper(&q.helper)
	if !m.leaveJob(&testJob{m, "report"}) {
		t.Error("the caller did not get the job")
	}
	q.Leave()
	if got := receive(t, "the report", reported); got != "report" {
		t.Errorf("got %v", got)
	}
}
