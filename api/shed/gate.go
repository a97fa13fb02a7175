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
	Places           = 256                    // commands in service at once
	MaxAge           = 250 * time.Millisecond // longest wait
	StandingQueueAge = 50 * time.Millisecond  // longest wait if commands have been waiting all the time for MaxAge
	PlaceTimeout     = time.Second            // time after which a command that waits for no provider loses its place
	RefusalsOfCore   = 1_000                  // refusals per second and processor core
)

// checkInterval is the time between two checks while commands wait. A check finds commands that have
// waited too long, commands whose refusal is due, and places that have become free although no command
// has left.
const checkInterval = 10 * time.Millisecond

// Options are the settings of a Gate.
type Options struct {
	Places       int           // commands in service at once; if 0, the constant Places
	PlaceTimeout time.Duration // a command that waits for no provider loses its place after this time; if 0, PlaceTimeout
	Refusals     int           // refusals per second; if 0, RefusalsOfCore for each processor core
	Clock        Clock         // if nil, the machine's clock

	// ProviderCalls returns the number of commands in service that wait for a provider now. Their
	// places count as free. If ProviderCalls is nil, no command ever waits for a provider.
	ProviderCalls func() int
}

// Clock is the clock that measures the waiting times of commands.
type Clock interface {
	Now() time.Time
	After(time.Duration, func()) // calls the function after the duration, on its own goroutine
}

// machineClock is the Clock that reads the time of the machine.
type machineClock struct{}

func (machineClock) Now() time.Time                         { return time.Now() }
func (machineClock) After(d time.Duration, function func()) { time.AfterFunc(d, function) }

// Gate limits the number of commands in service, and the time for which commands wait. It is safe for
// concurrent use.
type Gate struct {
	clock         Clock
	places        int
	placeTimeout  time.Duration
	refusals      int // refusals at each check
	providerCalls func() int

	mu             sync.Mutex
	inService      list.List // guarded by mu: *Place, in the order of entry
	timedOutCount  int       // guarded by mu: commands in service that lost their place after PlaceTimeout; they are not in inService
	queue          list.List // guarded by mu: *Place, in the order of arrival
	nonEmptySince  time.Time // guarded by mu: the time since which the queue has not been empty
	toRefuse       list.List // guarded by mu: *Place of shed commands whose refusal has not been sent yet
	checkScheduled bool      // guarded by mu
	shedCount      uint64    // guarded by mu: number of commands that were shed
}

// Place represents a command that has called Enter: it is in service, or it waits in the queue.
type Place struct {
	gate     *Gate
	since    time.Time // time of arrival; for a command in service, time of entry
	admitted chan bool // has a buffer for one value; nil if the command did not have to wait
	element  *list.Element
}

// New returns a gate.
func New(o Options) *Gate {
	g := &Gate{clock: o.Clock, places: cmp.Or(o.Places, Places), placeTimeout: cmp.Or(o.PlaceTimeout, PlaceTimeout), providerCalls: o.ProviderCalls}
	g.refusals = max(1, cmp.Or(o.Refusals, RefusalsOfCore*runtime.GOMAXPROCS(0))/int(time.Second/checkInterval))
	if g.clock == nil {
		g.clock = machineClock{}
	}
	if g.providerCalls == nil {
		g.providerCalls = func() int { return 0 }
	}
	return g
}

// Enter waits for a place, at most MaxAge. If it returns a place, the command is accepted, and the
// caller must call Leave after the command. If it returns nil, the command is shed. When many commands
// are shed, Enter may return nil later than after MaxAge.
func (g *Gate) Enter() *Place {
	p := g.enterOrWait()
	if p.admitted == nil || <-p.admitted {
		return p
	}
	return nil
}

// enterOrWait takes a free place. If there is none, it appends the command to the queue.
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
		g.timedOutCount--
		return
	}
	g.inService.Remove(p.element)
	if g.queue.Len() > 0 {
		g.advance(g.clock.Now())
	}
}

// Figures are numbers about a gate, for metrics.
type Figures struct {
	Inside  int           // commands in service, including those that wait for a provider
	Waiting int           // commands that wait for a place
	HeadAge time.Duration // time for which the oldest waiting command has waited
	Shed    uint64        // number of commands that were shed since the start
}

// Figures returns the gate's current numbers.
func (g *Gate) Figures() Figures {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := Figures{Inside: g.inService.Len() + g.timedOutCount, Waiting: g.queue.Len(), Shed: g.shedCount}
	if head := g.queue.Front(); head != nil {
		f.HeadAge = g.clock.Now().Sub(head.Value.(*Place).since)
	}
	return f
}

// hasVacancy tells whether a place is free. If the command in a place waits for a provider, the place
// counts as free. Commands that lost their place are not in inService, but most of them wait for a
// provider, too. They are therefore subtracted from the provider calls, so that no place counts as free
// twice.
func (g *Gate) hasVacancy() bool {
	n := g.inService.Len()
	return n < g.places || n-max(0, g.providerCalls()-g.timedOutCount) < g.places
}

// advance gives free places to waiting commands. Commands that have waited too long are moved to the
// list toRefuse.
func (g *Gate) advance(now time.Time) {
	bound := MaxAge
	if now.Sub(g.nonEmptySince) >= MaxAge {
		bound = StandingQueueAge
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
	for oldest := g.inService.Front(); oldest != nil && now.Sub(oldest.Value.(*Place).since) >= g.placeTimeout; oldest = g.inService.Front() {
		g.inService.Remove(oldest).(*Place).element = nil
		g.timedOutCount++
	}
	g.advance(now)
	for n := g.refusals; n > 0 && g.toRefuse.Len() > 0; n-- {
		g.toRefuse.Remove(g.toRefuse.Front()).(*Place).admitted <- false
	}
	if g.queue.Len()+g.toRefuse.Len() > 0 {
		g.scheduleCheck()
	}
}
