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
	Lapse          = time.Second            // how long a command keeps its place
	RefusalsOfCore = 1_000                  // refusals a second, for each core
)

// checkInterval is the interval of checks while commands wait: for commands that have waited
// too long, for commands to be refused, and for places that have become free although no
// command has left.
const checkInterval = 10 * time.Millisecond

// Options are what New needs.
type Options struct {
	Places   int           // commands in service at once; 0: Places
	Lapse    time.Duration // how long a command keeps its place; 0: Lapse
	Refusals int           // refusals a second; 0: RefusalsOfCore for each core
	Clock    Clock         // nil: the machine's

	// ProviderCalls returns how many commands in service wait for a provider now, and so leave
	// their places to others; nil: none.
	ProviderCalls func() int
}

// Clock is the clock by which commands wait.
type Clock interface {
	Now() time.Time
	After(time.Duration, func()) // runs the function, on a goroutine of its own
}

type machine struct{}

func (machine) Now() time.Time                         { return time.Now() }
func (machine) After(d time.Duration, function func()) { time.AfterFunc(d, function) }

// Gate bounds the commands in service. It is safe for concurrent use.
type Gate struct {
	clock         Clock
	places        int
	lapse         time.Duration
	refusals      int // refusals at each check
	providerCalls func() int

	mu          sync.Mutex
	inside      list.List // guarded by mu: *Place, in the order of entry
	lapsed      int       // guarded by mu: commands in service whose place has lapsed
	waiting     list.List // guarded by mu: *Place, in the order of arrival
	standsSince time.Time // guarded by mu: since when the queue has not been empty
	toRefuse    list.List // guarded by mu: *Place of shed commands whose refusal has not been sent yet
	watched     bool      // guarded by mu: check is scheduled
	shed        uint64    // guarded by mu: commands that got no place
}

// Place is a command's right to be carried out.
type Place struct {
	gate     *Gate
	since    time.Time // time of arrival; for a command inside, time of entry
	admitted chan bool // buffer of one; nil: the command did not have to wait
	element  *list.Element
}

// New returns a gate.
func New(o Options) *Gate {
	g := &Gate{clock: o.Clock, places: cmp.Or(o.Places, Places), lapse: cmp.Or(o.Lapse, Lapse), providerCalls: o.ProviderCalls}
	g.refusals = max(1, cmp.Or(o.Refusals, RefusalsOfCore*runtime.GOMAXPROCS(0))/int(time.Second/checkInterval))
	if g.clock == nil {
		g.clock = machine{}
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
	if g.waiting.Len() > 0 || !g.vacant() {
		if g.waiting.Len() == 0 {
			g.standsSince = p.since
		}
		p.admitted = make(chan bool, 1)
		g.waiting.PushBack(p)
		g.watch()
		return p
	}
	p.element = g.inside.PushBack(p)
	return p
}

// Leave gives the place to the next command.
func (p *Place) Leave() {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.element == nil {
		g.lapsed--
		return
	}
	g.inside.Remove(p.element)
	if g.waiting.Len() > 0 {
		g.advance(g.clock.Now())
	}
}

// Figures are the numbers that describe a gate.
type Figures struct {
	Inside  int           // commands in service, including those that wait for a provider
	Waiting int           // commands that wait for a place
	HeadAge time.Duration // how long the oldest waiting command has waited
	Shed    uint64        // commands that got no place, since the start
}

// Figures returns the gate's current numbers.
func (g *Gate) Figures() Figures {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := Figures{Inside: g.inside.Len() + g.lapsed, Waiting: g.waiting.Len(), Shed: g.shed}
	if head := g.waiting.Front(); head != nil {
		f.HeadAge = g.clock.Now().Sub(head.Value.(*Place).since)
	}
	return f
}

// vacant tells whether a place is free. A place whose command waits for a provider counts as free.
// The places of lapsed commands are free already. Most of these commands wait for a provider, so
// their number is subtracted from that of the provider calls: no place may count as free twice.
func (g *Gate) vacant() bool {
	n := g.inside.Len()
	return n < g.places || n-max(0, g.providerCalls()-g.lapsed) < g.places
}

// advance gives free places to waiting commands, and sets aside those that have waited too
// long.
func (g *Gate) advance(now time.Time) {
	bound := MaxAge
	if now.Sub(g.standsSince) >= MaxAge {
		bound = StandingAge
	}
	for head := g.waiting.Front(); head != nil; head = g.waiting.Front() {
		p := head.Value.(*Place)
		switch {
		case now.Sub(p.since) >= bound:
			g.shed++
			g.waiting.Remove(head)
			g.toRefuse.PushBack(p)
		case g.vacant():
			g.waiting.Remove(head)
			p.since, p.element = now, g.inside.PushBack(p)
			p.admitted <- true
		default:
			return
		}
	}
}

func (g *Gate) watch() {
	if !g.watched {
		g.watched = true
		g.clock.After(checkInterval, g.check)
	}
}

func (g *Gate) check() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watched = false
	now := g.clock.Now()
	for first := g.inside.Front(); first != nil && now.Sub(first.Value.(*Place).since) >= g.lapse; first = g.inside.Front() {
		g.inside.Remove(first).(*Place).element = nil
		g.lapsed++
	}
	g.advance(now)
	for n := g.refusals; n > 0 && g.toRefuse.Len() > 0; n-- {
		g.toRefuse.Remove(g.toRefuse.Front()).(*Place).admitted <- false
	}
	if g.waiting.Len()+g.toRefuse.Len() > 0 {
		g.watch()
	}
}
