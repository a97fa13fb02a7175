package shed

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clock is a clock that changes only when moveBy is called.
type clock struct {
	now    time.Time
	timers []timer
}

type timer struct {
	due time.Time
	run func()
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) After(d time.Duration, run func()) {
	c.timers = append(c.timers, timer{c.now.Add(d), run})
}

// moveBy moves the clock by d. It stops at each timer in between and runs it.
func (c *clock) moveBy(d time.Duration) {
	end := c.now.Add(d)
	for {
		earliest := -1
		for i, t := range c.timers {
			if !t.due.After(end) && (earliest < 0 || t.due.Before(c.timers[earliest].due)) {
				earliest = i
			}
		}
		if earliest < 0 {
			c.now = end
			return
		}
		t := c.timers[earliest]
		c.timers = slices.Delete(c.timers, earliest, earliest+1)
		c.now = t.due
		t.run()
	}
}

// testGate is a gate with a test clock.
type testGate struct {
	*Gate
	*clock
	t *testing.T
}

func newTestGate(t *testing.T, o Options) *testGate {
	c := &clock{now: time.Date(2026, 9, 3, 10, 0, 0, 0, time.UTC)}
	o.Clock = c
	return &testGate{New(o), c, t}
}

// outcome returns the state of a command that has asked for a place: accepted, shed or waiting.
func (p *Place) outcome() string {
	if p.admitted == nil {
		return "accepted"
	}
	select {
	case ok := <-p.admitted:
		p.admitted <- ok
		if ok {
			return "accepted"
		}
		return "shed"
	default:
		return "waiting"
	}
}

func (g *testGate) want(p *Place, want string) {
	g.t.Helper()
	if got := p.outcome(); got != want {
		g.t.Errorf("it is %s, want %s", got, want)
	}
}

// wantEnter asks for a place and checks the immediate result.
func (g *testGate) wantEnter(want string) *Place {
	g.t.Helper()
	p := g.enterOrWait()
	g.want(p, want)
	return p
}

func (g *testGate) wantFigures(want Figures) {
	g.t.Helper()
	if got := g.Figures(); got != want {
		g.t.Errorf("%+v, want %+v", got, want)
	}
}

func TestCommandThatWaitsTooLongIsShed(t *testing.T) {
	g := newTestGate(t, Options{Places: 1})
	first := g.wantEnter("accepted")
	second := g.wantEnter("waiting")
	g.moveBy(60 * time.Millisecond)
	third := g.wantEnter("waiting")
	g.wantFigures(Figures{Inside: 1, Waiting: 2, HeadAge: 60 * time.Millisecond})
	g.moveBy(MaxAge - 61*time.Millisecond)
	g.want(second, "waiting")
	g.want(third, "waiting")
	first.Leave()
	g.want(second, "accepted")
	second.Leave()
	g.want(third, "accepted")
	fourth := g.wantEnter("waiting")
	g.moveBy(MaxAge - time.Millisecond)
	g.want(fourth, "waiting")
	g.moveBy(time.Millisecond + checkInterval)
	g.want(fourth, "shed")
	third.Leave()
	g.wantFigures(Figures{Shed: 1})
	g.wantEnter("accepted")
}

// The commands of a burst may wait for MaxAge. If the queue does not become empty, long waits do not help, so
// the bound is StandingQueueAge.
func TestStandingQueueHasTheShorterBound(t *testing.T) {
	g := newTestGate(t, Options{Places: 1})
	inside := g.wantEnter("accepted")
	burst := g.wantEnter("waiting")
	g.moveBy(MaxAge - StandingQueueAge/2)
	latecomer := g.wantEnter("waiting")
	g.moveBy(StandingQueueAge / 2)
	g.want(burst, "shed")
	g.want(latecomer, "waiting")
	g.moveBy(StandingQueueAge/2 + checkInterval)
	g.want(latecomer, "shed")
	inside.Leave() // now the queue becomes empty
	inside = g.wantEnter("accepted")
	next := g.wantEnter("waiting")
	g.moveBy(MaxAge - time.Millisecond)
	g.want(next, "waiting")
	inside.Leave()
	g.want(next, "accepted")
}

func TestOldestWaitingCommandGetsTheNextPlace(t *testing.T) {
	g := newTestGate(t, Options{Places: 2})
	first, second := g.wantEnter("accepted"), g.wantEnter("accepted")
	third, fourth := g.wantEnter("waiting"), g.wantEnter("waiting")
	first.Leave()
	g.want(third, "accepted")
	latecomer := g.wantEnter("waiting") // waits behind the fourth command
	g.want(fourth, "waiting")
	second.Leave()
	g.want(fourth, "accepted")
	g.want(latecomer, "waiting")
	third.Leave()
	g.want(latecomer, "accepted")
}

// A command does not overtake a waiting one even if a place becomes free during its Enter.
func TestNewCommandQueuesBehindWaitingOnes(t *testing.T) {
	calls := 0 // the third call is the first to report a command that waits for a provider
	g := newTestGate(t, Options{Places: 1, ProviderCalls: func() int { calls++; return calls / 3 }})
	g.wantEnter("accepted")
	second := g.wantEnter("waiting") // calls ProviderCalls once
	g.wantEnter("waiting")           // calls ProviderCalls for the second command only
	g.moveBy(checkInterval)
	g.want(second, "accepted")
}

// A command that waits for a provider uses no CPU, so it takes no place.
func TestCommandThatWaitsForAProviderFreesItsPlace(t *testing.T) {
	atProvider := 0
	g := newTestGate(t, Options{Places: 2, ProviderCalls: func() int { return atProvider }})
	g.wantEnter("accepted")
	g.wantEnter("accepted")
	next := g.wantEnter("waiting")
	g.moveBy(2 * checkInterval)
	g.want(next, "waiting")
	atProvider = 1
	g.moveBy(checkInterval)
	g.want(next, "accepted")
	atProvider = 0
	g.wantEnter("waiting") // three commands are in service again, so this one waits
}

// A command that waits for anything else gives up its place after PlaceTimeout, so that no
// organization can keep others out with commands that wait for each other.
func TestPlaceLapsesAfterItsTime(t *testing.T) {
	atProvider := 0
	g := newTestGate(t, Options{Places: 1, ProviderCalls: func() int { return atProvider }})
	slow := g.wantEnter("accepted")
	g.moveBy(PlaceTimeout - 2*checkInterval)
	next := g.wantEnter("waiting")
	g.moveBy(checkInterval)
	g.want(next, "waiting")
	g.moveBy(checkInterval)
	g.want(next, "accepted")
	g.wantFigures(Figures{Inside: 2})
	atProvider = 1 // the slow command now waits for a provider; its place has lapsed before and must not count as free a second time
	last := g.wantEnter("waiting")
	g.moveBy(2 * checkInterval)
	g.want(last, "waiting")
	slow.Leave()
	atProvider = 0
	next.Leave()
	g.want(last, "accepted")
	last.Leave()
	g.wantFigures(Figures{})
}

// Under any load each accepted command has waited at most MaxAge, and in the long run at most
// StandingQueueAge. There are never more commands inside than places, and no place stays free while
// commands wait.
func TestAcceptedCommandsNeverWaitLongerThanTheBound(t *testing.T) {
	const places, workTime, tick, arrivals = 8, 10 * time.Millisecond, 400 * time.Microsecond, 5_000
	g := newTestGate(t, Options{Places: places, Refusals: 1_000_000})
	began := g.now
	type command struct {
		place   *Place
		arrived time.Time
		ends    time.Time // zero: the command still waits
	}
	var commands []*command
	accepted := 0
	for n := 0; n < arrivals || len(commands) > 0; n++ {
		if n < arrivals { // 2,500 commands arrive per second, but only 800 can be executed
			commands = append(commands, &command{place: g.enterOrWait(), arrived: g.now})
		}
		for repeat := true; repeat; { // a command that leaves lets others in
			repeat = false
			commands = slices.DeleteFunc(commands, func(c *command) bool {
				switch outcome := c.place.outcome(); {
				case outcome == "shed":
					return true
				case outcome == "waiting":
				case c.ends.IsZero():
					accepted++
					c.ends = g.now.Add(workTime)
					waited := g.now.Sub(c.arrived)
					if waited > MaxAge || waited > StandingQueueAge+tick && g.now.Sub(began) > 2*MaxAge {
						t.Fatalf("accepted after %s, %s after the first came", waited, g.now.Sub(began))
					}
				case !g.now.Before(c.ends):
					c.place.Leave()
					repeat = true
					return true
				}
				return false
			})
		}
		if f := g.Figures(); f.Inside > places || f.Waiting > 0 && f.Inside < places {
			t.Fatalf("%+v", f)
		}
		g.moveBy(tick)
	}
	// 1,600 commands in two seconds of arrivals, and 40 that wait at the end.
	if accepted < 1_550 || accepted > 1_700 {
		t.Errorf("%d were accepted, want 1,640", accepted)
	}
	g.wantFigures(Figures{Shed: uint64(arrivals - accepted)})
}

// Refusals cost CPU too, so their rate is bounded, and further shed commands wait for their refusal.
func TestRateOfRefusalsIsBounded(t *testing.T) {
	g := newTestGate(t, Options{Places: 1, Refusals: 1_000})
	g.wantEnter("accepted")
	var places []*Place
	for range 500 {
		places = append(places, g.wantEnter("waiting"))
	}
	for _, c := range []struct {
		advance time.Duration
		want    int
	}{{MaxAge - time.Millisecond, 0}, {2 * time.Millisecond, 10}, {100 * time.Millisecond, 110}, {500 * time.Millisecond, 500}} {
		g.moveBy(c.advance)
		shed := 0
		for i, p := range places {
			if p.outcome() == "shed" {
				shed++
				if i >= c.want {
					t.Errorf("number %d is refused before others that came earlier", i)
				}
			}
		}
		if shed != c.want {
			t.Errorf("%d are refused, want %d", shed, c.want)
		}
	}
	g.wantFigures(Figures{Inside: 1, Shed: 500})
}

// This test uses the machine's clock and concurrent commands.
func TestInvariantsHoldUnderConcurrentUse(t *testing.T) {
	const places = 4
	g := New(Options{Places: places, PlaceTimeout: time.Hour, Refusals: 1_000_000})
	var inside, accepted, shed atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 500 {
				place := g.Enter()
				if place == nil {
					shed.Add(1)
					continue
				}
				accepted.Add(1)
				if n := inside.Add(1); n > places {
					t.Errorf("%d are inside", n)
				}
				inside.Add(-1)
				place.Leave()
			}
		})
	}
	wg.Wait()
	if f := g.Figures(); f != (Figures{Shed: uint64(shed.Load())}) || accepted.Load()+shed.Load() != 64*500 {
		t.Errorf("%+v, %d accepted", f, accepted.Load())
	}
}
