package actors_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// The tests of this file expose the runtime to panics, blocked actors, floods of messages and a killed process.

// patience is how long a test waits for an event that happens at once or never. No machine or disk
// takes that long.
const patience = 2 * time.Minute

// mustReturn fails the test unless fn returns within patience.
func mustReturn(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
	}
}

// If the journal's own checks refuse a Change, they panic inside Commit: the Change was never
// submitted, so no receipt will come.
func TestInvalidChangeLeavesTheActorAndTheWorkCountIntact(t *testing.T) {
	f := open(t, time.Hour)
	reply := make(chan error, 1)
	if err := f.registry.Command(key(1), &malformed{reply: reply}); err != nil {
		t.Fatal(err)
	}
	var refusal *ledger.Refusal
	if err := <-reply; !errors.As(err, &refusal) || refusal.Code != ledger.Internal {
		t.Errorf("answered %v", err)
	}
	mustReturn(t, "the work count falls to zero", f.Quiesce)
	if err := f.registry.Command(key(1), &write{reply: reply}); err != nil {
		t.Fatal(err)
	}
	mustReturn(t, "the next command is answered", func() {
		if err := <-reply; err != nil {
			t.Error(err)
		}
	})
}

// Committed panics after its Change is durable; Idle, Failed and Refuse panic although they handle no message. If the
// library (protoactor-go) saw a panic, it would start another actor.
func TestPanicInAnyMethodOfABehaviourIsRecovered(t *testing.T) {
	f := open(t, 0)
	reply := make(chan error, 8)
	for _, panicsIn := range []string{"committed", "idle", "failed", "refuse"} {
		if err := f.registry.Command(key(1), &fragile{panicsIn: panicsIn, reply: reply}); err != nil {
			t.Fatal(err)
		}
		mustReturn(t, panicsIn+": the work count falls to zero", f.Quiesce)
		if err := f.registry.Command(key(1), &write{reply: reply}); err != nil {
			t.Fatal(err)
		}
		mustReturn(t, panicsIn+": the next command is answered", func() {
			for err := range reply {
				if err == nil {
					break
				}
			}
		})
		mustReturn(t, panicsIn+": at rest", f.Quiesce)
		if n := f.ActorsWithWork(); n != 0 {
			t.Errorf("%s: %d actors stay", panicsIn, n)
		}
	}
}

func TestBlockedActorsDoNotDelayOthers(t *testing.T) {
	for _, actorCount := range []int{31, 100, 1_000} {
		f := open(t, 0)
		release := make(chan struct{})
		for i := range actorCount {
			f.registry.Tell(wideKey(i), blockUntil{release})
		}
		finished := make(chan struct{})
		f.registry.Tell(key(200), call(func() { close(finished) }))
		select {
		case <-finished:
		case <-time.After(patience):
			t.Errorf("one message waits behind %d actors that block", actorCount)
		}
		close(release)
		mustReturn(t, "all of them end", f.Quiesce)
	}
}

// An actor that expects a message stays and, even after a panic, still expects the message.
func TestActorStaysWhileItExpectsAMessageEvenAfterAPanic(t *testing.T) {
	f := open(t, 0)
	var expected atomic.Int64
	expected.Store(-1)
	f.registry.Tell(key(1), expect{})
	f.Quiesce()
	f.registry.Tell(key(1), call(func() { panic("in between") }))
	f.Quiesce()
	if f.ActorsWithWork() != 1 {
		t.Fatalf("%d actors live while one expects an answer", f.ActorsWithWork())
	}
	f.registry.Tell(key(1), readExpecting{&expected})
	f.Quiesce()
	if n := expected.Load(); n != 1 {
		t.Errorf("after a panic the actor expects %d answers, want 1", n)
	}
	f.registry.Tell(key(1), expectedAnswer{&expected})
	f.Quiesce()
	if n := expected.Load(); n != 0 {
		t.Errorf("with its answer in hand the actor expects %d more", n)
	}
	if f.ActorsWithWork() != 0 {
		t.Errorf("%d actors stay", f.ActorsWithWork())
	}
}

// A message that no sender repeats is delivered again to the actor's next behaviour when a behaviour has panicked. An
// ordinary message is not.
func TestMessageIsDeliveredAgainAfterAPanicIfNoSenderRepeatsIt(t *testing.T) {
	f := open(t, 0)
	var ordinary atomic.Int64
	f.registry.Tell(key(1), call(func() { ordinary.Add(1); panic("an ordinary message") }))
	m := &unrepeated{panics: 1, handled: make(chan int64, 1)}
	f.registry.Tell(key(1), m)
	f.Quiesce()
	if n := m.deliveries.Load(); n != 1 {
		t.Fatalf("%d deliveries before the wait after the panic", n)
	}
	mustReturn(t, "the message is delivered again", func() {
		if deliveries := <-m.handled; deliveries != 2 {
			t.Errorf("delivery %d is handled, want the second", deliveries)
		}
	})
	f.Quiesce()
	if n := ordinary.Load(); n != 1 {
		t.Errorf("an ordinary message was delivered %d times", n)
	}
}

// Many senders, short-lived actors and commits at the same time must end in an exact count: a lost
// message shows as a difference, a stuck message as a hang.
func TestNothingIsLostOrStuckUnderStress(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := open(t, 0)
	const senders, messagesEach, keys = 8, 1_500, 5
	var handled, sent atomic.Int64
	replies := make(chan error, senders*messagesEach)
	var running sync.WaitGroup
	var commands int64
	for sender := range senders {
		random := rand.New(rand.NewPCG(seed, uint64(sender)))
		for range messagesEach {
			if random.IntN(4) == 0 {
				commands++
			}
		}
		random = rand.New(rand.NewPCG(seed, uint64(sender)))
		running.Add(1)
		go func() {
			defer running.Done()
			for i := range messagesEach {
				recordKey := key(byte((i + sender) % keys))
				if random.IntN(4) == 0 {
					if err := f.registry.Command(recordKey, &write{reply: replies}); err != nil {
						replies <- err
					}
					continue
				}
				sent.Add(1)
				f.registry.Tell(recordKey, count{&handled})
			}
		}()
	}
	running.Wait()
	mustReturn(t, "at rest", f.Quiesce)
	if handled.Load() != sent.Load() || int64(len(replies)) != commands {
		t.Errorf("%d of %d messages handled, %d of %d commands answered", handled.Load(), sent.Load(), len(replies), commands)
	}
	if f.ActorsWithWork() != 0 || f.Outstanding() != 0 {
		t.Errorf("%d actors, %d units of work are left", f.ActorsWithWork(), f.Outstanding())
	}
}

// A registry keeps at most MaxSpare finished actors for reuse. All others are removed from the table that the library
// (protoactor-go) keeps.
func TestLibraryReleasesStoppedActors(t *testing.T) {
	f := open(t, 0)
	before := f.LibraryProcesses()
	release := make(chan struct{})
	for i := range 4 * actors.MaxSpare {
		f.registry.Tell(wideKey(i), blockUntil{release})
	}
	if n := f.LibraryProcesses() - before; n != 4*actors.MaxSpare {
		t.Errorf("%d actors for %d keys", n, 4*actors.MaxSpare)
	}
	close(release)
	f.Quiesce()
	mustReturn(t, "only spare actors are left", func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for f.LibraryProcesses()-before > actors.MaxSpare {
			<-ticker.C
		}
	})
}

// Keys that are used one after another need only one actor in each shard, and an actor keeps no state of its previous
// key.
func TestSpareActorServesItsNextKey(t *testing.T) {
	f := open(t, 0)
	before := f.LibraryProcesses()
	registry := actors.NewRegistry(f.Runtime, "responder", 0, func(k actors.RecordKey) actors.Behaviour { return &responder{key: k} })
	for i := range 20 * actors.Shards {
		for _, task := range []task{commitFirst, panicFirst, replyAtOnce} {
			r := &request{task: task, key: wideKey(i)}
			if err := registry.Command(r.key, r); err != nil {
				t.Fatal(err)
			}
			if err, ok := r.Wait(time.Now().Add(patience)); !ok || (err == nil) != (task != panicFirst) {
				t.Fatalf("task %d: %v, %v", task, err, ok)
			}
			f.Quiesce()
		}
	}
	if n := f.LibraryProcesses() - before; n > actors.Shards {
		t.Errorf("%d actors for one key after the other in %d shards", n, actors.Shards)
	}
	if f.ActorsWithWork() != 0 || f.Outstanding() != 0 {
		t.Errorf("%d actors and %d units of work are left", f.ActorsWithWork(), f.Outstanding())
	}
}

// Messages of one sender are handled in their order, also if some of them wait for the end of a Change, and also if the
// actor is stopped and started between two of them.
func TestMessagesOfOneSenderKeepTheirOrder(t *testing.T) {
	for _, keepIdle := range []time.Duration{0, time.Hour} {
		f := open(t, keepIdle)
		var order []int // only one actor appends to it, so only one goroutine at a time uses it
		replies := make(chan error, 5_000)
		for i := range 5_000 {
			if i%10 == 0 {
				f.registry.Tell(key(1), &write{reply: replies})
			}
			f.registry.Tell(key(1), call(func() { order = append(order, i) }))
		}
		mustReturn(t, "at rest", f.Quiesce)
		for i, n := range order {
			if i != n {
				t.Fatalf("keep %v: message %d was handled as number %d", keepIdle, n, i)
			}
		}
		if len(order) != 5_000 {
			t.Errorf("keep %v: %d messages were handled", keepIdle, len(order))
		}
	}
}

// While a manual clock is stepped, commands wait and never see a time in between.
func TestCommandsWaitWhileTheClockIsStepped(t *testing.T) {
	f := open(t, 0)
	reply := make(chan error, 1)
	if err := f.registry.Command(key(1), &write{due: time.Hour, reply: reply}); err != nil {
		t.Fatal(err)
	}
	if err := <-reply; err != nil {
		t.Fatal(err)
	}
	f.Quiesce()
	f.gate = make(chan struct{})
	target := start.Add(2 * time.Hour)
	stepResult := make(chan error, 1)
	go func() { stepResult <- f.Advance(target) }()
	<-f.woken // in the middle of the step: the Change of the woken record waits at the gate
	if got := f.clock.Now(); !got.Equal(start.Add(time.Hour)) {
		t.Errorf("in the middle of the step the clock shows %v", got)
	}
	timeSeen := make(chan time.Time, 1)
	go func() {
		defer f.Enter()()
		timeSeen <- f.clock.Now()
	}()
	close(f.gate)
	mustReturn(t, "the step ends, and the command begins", func() {
		if err := <-stepResult; err != nil {
			t.Error(err)
		}
		if got := <-timeSeen; !got.Equal(target) {
			t.Errorf("a command saw %v", got)
		}
	})
}

func TestActorIsRemovedBeforeItsLastWorkEnds(t *testing.T) {
	f := open(t, 0)
	var handled atomic.Int64
	for i := range 20_000 {
		f.registry.Tell(key(byte(i)), count{&handled})
		f.Quiesce()
		if n := f.ActorsWithWork(); n != 0 {
			t.Fatalf("round %d: nothing is under way and %d actors live", i, n)
		}
	}
}

// However many Observers (messages that only wait for results) an actor gets during a Change, it refuses none.
func TestObserversAreNotBoundedDuringAChange(t *testing.T) {
	f := open(t, 0)
	f.gate = make(chan struct{})
	written := make(chan error, 1)
	if err := f.registry.Command(key(1), &write{reply: written}); err != nil {
		t.Fatal(err)
	}
	const observers = 3 * actors.MaxWaiting
	replies := make(chan error, observers)
	for range observers {
		if err := f.registry.Command(key(1), &observe{reply: replies}); err != nil {
			t.Fatal(err)
		}
	}
	close(f.gate)
	mustReturn(t, "all are answered", func() {
		for range observers {
			if err := <-replies; err != nil {
				t.Error(err)
			}
		}
	})
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// Due work that did not change its record is handed out again, until it has changed the record.
func TestDueWorkWithoutEffectIsHandedOutAgain(t *testing.T) {
	const handling = time.Hour // in real time; Reclaim pretends that it has passed
	f := openWithHandling(t, 0, handling)
	reply := make(chan error, 1)
	if err := f.registry.Command(key(1), &write{due: time.Hour, reply: reply}); err != nil {
		t.Fatal(err)
	}
	if err := <-reply; err != nil {
		t.Fatal(err)
	}
	f.ignoreDue.Store(true)
	if err := f.Advance(start.Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if len(f.woken) != 1 {
		t.Fatalf("woken %d times", len(f.woken))
	}
	for handlingTimes, wantDue := range []bool{false, true} {
		f.Reclaim(time.Duration(handlingTimes) * handling)
		if _, due := f.Journal.Due.Next(); due != wantDue {
			t.Fatalf("after %d times as long as it may take it is due: %v", handlingTimes, due)
		}
	}
	f.ignoreDue.Store(false)
	for range 2 {
		if err := f.Advance(start.Add(2 * time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.woken) != 2 {
		t.Errorf("woken %d times, want 2: the record has moved", len(f.woken))
	}
}

// The process was killed while its manual clock was being moved: the clock shows the new time, but the work
// that was due at that time has not been handled.
func TestStartHandlesWorkDueAtTheManualClocksTime(t *testing.T) {
	f := open(t, 0)
	reply := make(chan error, 1)
	for n := range byte(3) {
		if err := f.registry.Command(key(n+1), &write{due: time.Duration(n+1) * time.Hour, reply: reply}); err != nil {
			t.Fatal(err)
		}
		if err := <-reply; err != nil {
			t.Fatal(err)
		}
	}
	f.Quiesce()
	if err := f.clock.Set(start.Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	var polls atomic.Int64
	second := actors.New(actors.Options{Clock: f.clock, Journal: f.Journal, Log: f.Log})
	registry := actors.NewRegistry(second, "probe", 0, func(k actors.RecordKey) actors.Behaviour { return &probe{fixture: f, key: k} })
	second.HandleDue(ledger.Settlement, func(d actors.Due) { registry.Tell(d.Key, d) })
	second.AddPoll(actors.Poll{
		Next: func() (time.Time, bool) { return start, polls.Load() == 0 },
		Run:  func(time.Time) error { polls.Add(1); return nil },
	})
	second.Start(func(posting.DueItem) bool { return false })
	defer second.Stop()
	mustReturn(t, "at rest", second.Quiesce)
	if len(f.woken) != 2 || polls.Load() != 1 {
		t.Errorf("%d records were woken, want 2; polled %d times", len(f.woken), polls.Load())
	}
}

// A poll whose Next always returns the same time runs once for that time.
func TestPollThatIsAlwaysDueStopsTheClockOnce(t *testing.T) {
	f := open(t, 0)
	second := actors.New(actors.Options{Clock: f.clock, Journal: f.Journal, Log: f.Log})
	var polls atomic.Int64
	second.AddPoll(actors.Poll{
		Next: func() (time.Time, bool) { return start.Add(time.Minute), true },
		Run:  func(time.Time) error { polls.Add(1); return nil },
	})
	second.Start(func(posting.DueItem) bool { return false })
	defer second.Stop()
	mustReturn(t, "the clock is moved", func() {
		if err := second.Advance(start.Add(time.Hour)); err != nil {
			t.Error(err)
		}
	})
	if n := polls.Load(); n != 1 {
		t.Errorf("polled %d times", n)
	}
}

func TestPanicInAJobStopsNothingElse(t *testing.T) {
	f := open(t, 0)
	if err := f.Go(func() { panic("a bug") }); err != nil {
		t.Fatal(err)
	}
	mustReturn(t, "at rest", f.Quiesce)
}

// The messages of this file's tests. The comments say what a probe does when it receives them.
type (
	malformed struct{ reply chan error } // commit an invalid Change
	fragile   struct {                   // panic in a method
		panicsIn string
		reply    chan error
	}
	blockUntil     struct{ release chan struct{} }
	call           func()                     // call the function
	expect         struct{}                   // expect one more expectedAnswer
	readExpecting  struct{ n *atomic.Int64 }  // store in n how many answers the probe expects
	expectedAnswer struct{ n *atomic.Int64 }  // count as one answer, then do what readExpecting does
	observe        struct{ reply chan error } // reply at once; an OutcomeWaiter
	unrepeated     struct {                   // panic at the first deliveries, then send the number of this delivery; a RedeliveredMessage
		panics     int64
		deliveries atomic.Int64
		handled    chan int64
	}
)

// IsRedelivered implements actors.RedeliveredMessage.
func (*unrepeated) IsRedelivered() {}

func (m *observe) Refuse(err error) { m.reply <- err }

// OnlyWaits implements actors.OutcomeWaiter.
func (m *observe) OnlyWaits() {}

func (m *malformed) Refuse(err error) { m.reply <- err }

func (m *fragile) Refuse(err error) {
	m.reply <- err
	if m.panicsIn == "refuse" {
		panic("refuse")
	}
}

// Expected implements actors.AnnouncedMessage.
func (expectedAnswer) Expected() {}

func (p *probe) receiveHostile(c *actors.Context, message any) {
	switch m := message.(type) {
	case *malformed:
		c.Commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org}}})
	case *fragile:
		p.panicsIn = m.panicsIn
		switch m.panicsIn {
		case "committed":
			p.write(c, 0)
		case "failed", "refuse":
			panic(m.panicsIn)
		}
	case *observe:
		m.reply <- nil
	case blockUntil:
		<-m.release
	case call:
		m()
	case *unrepeated:
		n := m.deliveries.Add(1)
		if n <= m.panics {
			panic("an unrepeated message")
		}
		m.handled <- n
	case expect:
		c.Expect()
	case readExpecting:
		m.n.Store(int64(c.Expecting()))
	case expectedAnswer:
		m.n.Store(int64(c.Expecting()))
	}
}

// wideKey returns a different key for each i. The function key makes only 256 different keys.
func wideKey(i int) actors.RecordKey {
	k := key(byte(i))
	k.ID[1], k.ID[2] = byte(i>>8), 1
	return k
}
