package shed

import (
	"cmp"
	"container/list"
	"runtime"
	"sync"
	"time"
)

// The defaults of Options, and fixed bounds.
const (
	Places         = 256                    // commands in service at once
	MaxAge         = 250 * time.Millisecond // longest wait
	StandingAge    = 50 * time.Millisecond  // longest wait in a queue that has not been empty for MaxAge
	PlaceTimeout   = time.Second            // how long a command that waits for no provider keeps its place
	RefusalsOfCore = 1_000                  // refusals a second, for each core
)

// checkInterval is the interval of checks while commands wait: for commands that have waited
// too long, for commands to be refused, and for places that have become free although no
// command has left.
const checkInterval = 10 * time.Millisecond

// Options are the settings of a Gate.
type Options struct {
	Places   int           // commands in service at once; 0: Places
	Lapse    time.Duration // how long a command that waits for no provider keeps its place; 0: PlaceTimeout
	Refusals int           // refusals a second; 0: RefusalsOfCore for each core
	Clock    Clock         // nil: the machine's clock

	// ProviderCalls returns how many commands in service wait for a provider now. Their places
	// count as free. nil: no command waits for a provider.
	ProviderCalls func() int
}

// Clock is the clock that measures the waiting times of commands.
type Clock interface {
	Now() time.Time
	After(time.Duration, func()) // runs the function after the time, on a goroutine of its own
}

// machineClock is the machine's clock.
type machineClock struct{}

func (machineClock) Now() time.Time                         { return time.Now() }
func (machineClock) After(d time.Duration, function func()) { time.AfterFunc(d, function) }

// Gate bounds the commands in service. It is safe for concurrent use.
type Gate struct {
	clock         Clock
	places        int
	lapse         time.Duration
	refusals      int // refusals at each check
	providerCalls func() int

	mu             sync.Mutex
	inService      list.List // guarded by mu: *Place, in the order of entry
	lapsedCount    int       // guarded by mu: how many commands in service have lost their place after PlaceTimeout; they are not in inService
	queue          list.List // guarded by mu: *Place, in the order of arrival
	nonEmptySince  time.Time // guarded by mu: the time since which the queue has not been empty
	toRefuse       list.List // guarded by mu: *Place of shed commands whose refusal has not been sent yet
	checkScheduled bool      // guarded by mu
	shedCount      uint64    // guarded by mu: how many commands were shed
}

// Place is a command's right to be carried out.
type Place struct {
	gate     *Gate
	since    time.Time // time of arrival; for a command in service, time of entry
	admitted chan bool // buffer of one; nil: the command did not have to wait
	element  *list.Element
}

// New returns a gate.
func New(o Options) *Gate {
	g := &Gate{clock: o.Clock, places: cmp.Or(o.Places, Places), lapse: cmp.Or(o.Lapse, PlaceTimeout), providerCalls: o.ProviderCalls}
	g.refusals = max(1, cmp.Or(o.Refusals, RefusalsOfCore*runtime.GOMAXPROCS(0))/int(time.Second/checkInterval))
	if g.clock == nil {
		g.clock = machineClock{}
	}
	if g.providerCalls == nil {
		g.providerCalls = func() int { return 0 }
	}
	return g
}

// Enter waits for a place, at most MaxAge. If it returns a place, the command is accepted and
// the caller must call Leave. If it returns nil, the command is shed. If many commands are shed,
// Enter may take longer than MaxAge to return nil.
func (g *Gate) Enter() *Place {
	p := g.enterOrWait()
	if p.admitted == nil || <-p.admitted {
		return p
	}
	return nil
}

// enterOrWait takes a place, or joins the queue.
func (g *Gate) enterOrWait() *Place {
	p := &Place{gate: g, since: g.clock.Now()}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.advance(p.since)
	if g.queue.Len() > 0 || !g.hasVacancy() {
		if g.queue.Len() == 0 {
			g.nonEmptySince = p.since
		}
		p.admitted = make(chan bool, 1)
		g.queue.PushBack(p)
		g.scheduleCheck()
		return p
	}
	p.element = g.inService.PushBack(p)
	return p
}

// Leave gives the place to the next command.
func (p *Place) Leave() {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.element == nil {
		g.lapsedCount--
		return
	}
	g.inService.Remove(p.element)
	if g.queue.Len() > 0 {
		g.advance(g.clock.Now())
	}
}

// Figures are the numbers of a gate for metrics.
type Figures struct {
	Inside  int           // commands in service, including those that wait for a provider
	Waiting int           // commands that wait for a place
	HeadAge time.Duration // how long the oldest waiting command has waited
	Shed    uint64        // how many commands were shed since the start
}

// Figures returns the gate's current numbers.
func (g *Gate) Figures() Figures {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := Figures{Inside: g.inService.Len() + g.lapsedCount, Waiting: g.queue.Len(), Shed: g.shedCount}
	if head := g.queue.Front(); head != nil {
		f.HeadAge = g.clock.Now().Sub(head.Value.(*Place).since)
	}
	return f
}

// hasVacancy tells whether a place is free. A place whose command waits for a provider counts as free.
// Lapsed places are not in inService, but most of their commands wait for a provider too. So the lapsed
// places are subtracted from the provider calls: no place may count as free twice.
func (g *Gate) hasVacancy() bool {
	n := g.inService.Len()
	return n < g.places || n-max(0, g.providerCalls()-g.lapsedCount) < g.places
}

// advance gives free places to waiting commands, and moves commands that have waited too long to
// toRefuse.
func (g *Gate) advance(now time.Time) {
	bound := MaxAge
	if now.Sub(g.nonEmptySince) >= MaxAge {
		bound = StandingAge
	}
	for head := g.queue.Front(); head != nil; head = g.queue.Front() {
		p := head.Value.(*Place)
		switch {
		case now.Sub(p.since) >= bound:
			g.shedCount++
			g.queue.Remove(head)
			g.toRefuse.PushBack(p)
		case g.hasVacancy():
			g.queue.Remove(head)
			p.since, p.element = now, g.inService.PushBack(p)
			p.admitted <- true
		default:
			return
		}
	}
}

func (g *Gate) scheduleCheck() {
	if !g.checkScheduled {
		g.checkScheduled = true
		g.clock.After(checkInterval, g.check)
	}
}

func (g *Gate) check() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checkScheduled = false
	now := g.clock.Now()
	for oldest := g.inService.Front(); oldest != nil && now.Sub(oldest.Value.(*Place).since) >= g.lapse; oldest = g.inService.Front() {
		g.inService.Remove(oldest).(*Place).element = nil
		g.lapsedCount++
	}
	g.advance(now)
	for n := g.refusals; n > 0 && g.toRefuse.Len() > 0; n-- {
		g.toRefuse.Remove(g.toRefuse.Front()).(*Place).admitted <- false
	}
	if g.queue.Len()+g.toRefuse.Len() > 0 {
		g.scheduleCheck()
	}
}
