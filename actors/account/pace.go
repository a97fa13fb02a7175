package account

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// History tells of a partner's attempts in an environment that the store knows
// and that came after an instant. It calls fn with each, the last booked first,
// until fn wants no more; none was attempted later than it was booked, and none
// is told of twice.
type History func(org ledger.ID, partner int64, env money.Env, since ledger.Micros,
	fn func(booked, at ledger.Micros, a *directory.Attempt) (more bool)) error

// Recall says where the past is known. It is to be called before the first
// attempt is counted.
func (s *Service) Recall(h History) { s.history = h }

// Count adds an attempt of a partner to the velocity limits that bound it, all of
// which are given, and answers with the first of them that it is one too many
// for; nil: it is not. Where a limit is nearly reached, and repeats is given, it
// is asked first: a repetition of what is stored is answered with a refusal,
// ClaimTaken, and takes no place. The answer comes on the counting actor's
// goroutine, exactly once.
func (s *Service) Count(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt,
	repeats func() (bool, error), answer func(breached *directory.Limit, err error)) {
	m := &count{limits: limits, at: at, attempt: *a, repeats: repeats, answer: answer}
	if err := s.paces.Command(paceKey{org, partner, a.Asset.Env}, m); err != nil {
		m.Refuse(err)
	}
}

// Uncount takes an attempt back that turned out to be a repetition.
func (s *Service) Uncount(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) {
	s.paces.Tell(paceKey{org, partner, a.Asset.Env}, &uncount{limits: limits, at: at, attempt: *a})
}

// paceKey names who is counted: a partner in an environment.
type paceKey struct {
	org     ledger.ID
	partner int64
	env     money.Env
}

type count struct {
	limits  []*directory.Limit
	at      ledger.Micros
	attempt directory.Attempt
	repeats func() (bool, error)
	answer  func(*directory.Limit, error)
}

// near is how close to its bound a limit is when repetitions are looked for
// before they are counted: further away none of them can take another's place
// before it is taken back.
const near = 4_096

// repeated refuses an attempt that repeats what is stored.
func (p *pace) repeated(m *count) error {
	if m.repeats == nil || !slices.ContainsFunc(p.asked, func(a asked) bool {
		return a.tally.within(a.subject, m.at)+near >= a.limit.MaxCount
	}) {
		return nil
	}
	taken, err := m.repeats()
	if err == nil && taken {
		return ledger.Refuse("account.Count", ledger.ClaimTaken, "the attempt is a repetition")
	}
	return err
}

// Refuse implements actors.Refusable. What was not counted is not let through.
func (m *count) Refuse(err error) { m.answer(nil, err) }

// LogValue implements slog.LogValuer.
func (m *count) LogValue() slog.Value { return slog.StringValue("count") }

type uncount struct {
	limits  []*directory.Limit
	at      ledger.Micros
	attempt directory.Attempt
}

// LogValue implements slog.LogValuer.
func (m *uncount) LogValue() slog.Value { return slog.StringValue("uncount") }

// used asks how many attempts of a subject count.
type used struct {
	limit   *directory.Limit
	subject string
	answer  func(count int64, resets ledger.Micros, err error)
}

// Refuse implements actors.Refusable.
func (m *used) Refuse(err error) { m.answer(0, 0, err) }

// LogValue implements slog.LogValuer.
func (m *used) LogValue() slog.Value { return slog.StringValue("used") }

// pace is the actor that counts one partner's attempts. Its windows are in
// memory only: what it has forgotten the store knows.
type pace struct {
	service *Service
	key     paceKey

	mu      sync.Mutex // the actor holds it while it works; CountNow never waits for it
	tallies map[ledger.ID]*tally
	busy    ledger.Micros // until when some attempt counts
	kept    ledger.Micros // busy as the registry has heard it
	asked   []asked       // of the attempt being counted; its memory is used again
	gone    bool          // CountNow does not see it: nobody would remember what it counts here
}

// asked is a limit that an attempt is counted by, and as whose.
type asked struct {
	limit   *directory.Limit
	tally   *tally
	subject string
}

// Receive implements actors.Behaviour.
func (p *pace) Receive(c *actors.Context, message any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.appear()
	now := ledger.MicrosOf(c.Now())
	switch m := message.(type) {
	case *count:
		breached, err := p.count(m, now)
		m.answer(breached, err)
	case *uncount:
		for _, l := range m.limits {
			subject, bounds := l.Bounds(&m.attempt)
			if t := p.tallies[l.ID]; t != nil && bounds {
				t.uncount(subject, m.at)
			}
		}
	case *used:
		t, err := p.told(m.limit, now)
		if err != nil {
			m.Refuse(err)
			return
		}
		n, resets := t.used(m.subject, now)
		m.answer(n, resets, nil)
	default:
		panic(fmt.Sprintf("account: unexpected message %T", message))
	}
}

// count adds the attempt to every limit, whichever refuses; where one of them
// can't be told what was attempted before, to none.
func (p *pace) count(m *count, now ledger.Micros) (breached *directory.Limit, err error) {
	p.asked = p.asked[:0]
	for _, l := range m.limits {
		if subject, bounds := l.Bounds(&m.attempt); bounds {
			p.asked = append(p.asked, asked{l, p.tallies[l.ID], subject})
		}
	}
	if err := p.tell(p.asked, min(m.at, now)); err != nil {
		return nil, err
	}
	if err := p.repeated(m); err != nil {
		return nil, err
	}
	for i := range p.asked {
		a := &p.asked[i]
		if a.tally.count(a.subject, m.at, a.limit.MaxCount) && breached == nil {
			breached = a.limit
		}
		p.busy = max(p.busy, m.at+windowOf(a.limit))
	}
	return breached, nil
}

// tell completes what is remembered for the limits. What may lack something is
// read from the store, all of it at once: the actor is young, or a limit was
// changed, so that it was off for a while or counts more than before. What is
// not durable yet is in no store, and is kept.
func (p *pace) tell(all []asked, at ledger.Micros) error {
	var limits []*directory.Limit
	for i := range all {
		if !all[i].tally.knows(all[i].limit) {
			limits = append(limits, all[i].limit)
		}
	}
	if limits == nil {
		return nil
	}
	fresh, err := p.read(limits, at)
	if err != nil {
		return err
	}
	for i, l := range limits {
		if old := p.tallies[l.ID]; old != nil {
			fresh[i].before = old.limit
			fresh[i].merge(old)
		}
		p.tallies[l.ID] = fresh[i]
		p.busy = max(p.busy, at+windowOf(l))
	}
	for i := range all {
		all[i].tally = p.tallies[all[i].limit.ID]
	}
	return nil
}

// told is the tally of a limit whose usage is asked for. One that is off counts
// nothing: what it would have counted is read each time.
func (p *pace) told(l *directory.Limit, now ledger.Micros) (*tally, error) {
	if l.Active {
		one := []asked{{limit: l, tally: p.tallies[l.ID]}}
		err := p.tell(one, now)
		return one[0].tally, err
	}
	on := *l
	on.Active = true
	read, err := p.read([]*directory.Limit{&on}, now)
	if err != nil {
		return nil, err
	}
	return read[0], nil
}

// read is what the store knows of the attempts that limits count at an instant.
func (p *pace) read(limits []*directory.Limit, at ledger.Micros) ([]*tally, error) {
	// Attempts that are judged at the same time come in any order.
	const disorder = ledger.Micros(time.Second / time.Microsecond)
	tallies, from := make([]*tally, len(limits)), at
	for i, l := range limits {
		tallies[i] = newTally(l)
		from = min(from, tallies[i].since(at)-disorder)
	}
	err := p.service.history(p.key.org, p.key.partner, p.key.env, from, func(booked, tried ledger.Micros, a *directory.Attempt) (more bool) {
		for i, l := range limits {
			t := tallies[i]
			since := t.since(at) - disorder
			if subject, bounds := l.Bounds(a); bounds && tried > since {
				t.remember(subject, tried)
			}
			more = more || booked > since && !t.full(booked)
		}
		return more
	})
	if err != nil {
		return nil, fmt.Errorf("attempts of partner %d: %w", p.key.partner, err)
	}
	for _, t := range tallies {
		t.remembered()
	}
	return tallies, nil
}

func windowOf(l *directory.Limit) ledger.Micros { return ledger.Micros(l.Window / time.Microsecond) }

// Committed implements actors.Behaviour; counting writes nothing.
func (p *pace) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour. What was counted directly since KeepUntil was
// asked is heard of the next time.
func (p *pace) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy != p.kept {
		return false
	}
	if ledger.MicrosOf(p.service.rt.Clock.Now()) >= p.busy {
		p.vanish()
	}
	return true
}

// KeepUntil implements actors.Keeper: while attempts count they are kept, because
// one that is not durable yet is in no store.
func (p *pace) KeepUntil() ledger.Micros {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = p.busy
	return p.kept
}

// Failed implements actors.Behaviour.
func (p *pace) Failed(*actors.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.vanish()
}
