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

// History calls fn once for each stored attempt that a partner has made in an environment since a given time, until fn returns
// false. It begins with the attempt that was booked (made durable) last. attemptedAt is never later than bookedAt.
type History func(org ledger.ID, partner int64, env money.Env, since ledger.Micros,
	fn func(bookedAt, attemptedAt ledger.Micros, a *directory.Attempt) (more bool)) error

// SetHistory sets the History. Call it before the first attempt is counted.
func (s *Service) SetHistory(h History) { s.history = h }

// Count counts an attempt of a partner towards every given velocity limit that applies to it, and answers with the first limit
// that the attempt exceeds, or nil. The caller must pass all of the partner's limits. The function isRepetition, which may be
// nil, tells whether the attempt repeats a stored one. Count calls isRepetition only if a limit is nearly reached. If the
// attempt is then found to be a repetition, Count does not count it, and refuses it with ClaimTaken. Count calls answer exactly
// once, on the velocity actor's goroutine.
func (s *Service) Count(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt,
	isRepetition func() (bool, error), answer func(breached *directory.Limit, err error)) {
	m := &countMessage{limits: limits, at: at, attempt: *a, isRepetition: isRepetition, answer: answer}
	if err := s.velocities.Command(velocityKey{org, partner, a.Asset.Env}, m); err != nil {
		m.Refuse(err)
	}
}

// Uncount removes a counted attempt that has turned out to be a repetition.
func (s *Service) Uncount(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) {
	s.velocities.Tell(velocityKey{org, partner, a.Asset.Env}, &uncountMessage{limits: limits, at: at, attempt: *a})
}

// velocityKey identifies whose attempts are counted: a partner in an environment.
type velocityKey struct {
	org     ledger.ID
	partner int64
	env     money.Env
}

// countMessage is the message that Count sends to a velocity actor.
type countMessage struct {
	limits       []*directory.Limit
	at           ledger.Micros
	attempt      directory.Attempt
	isRepetition func() (bool, error)
	answer       func(*directory.Limit, error)
}

// nearLimitMargin says when a limit is nearly reached: when at most this number of attempts are left. From then on, the store
// is asked first whether an attempt is a repetition, and a repetition is not counted. Before that, a repetition is counted, and
// uncounted a moment later. In between, the limit has enough room, so that no other attempt is refused because of the
// repetition.
const nearLimitMargin = 4_096

// refuseRepetition returns a refusal if a limit is nearly reached and the attempt repeats a stored attempt.
func (v *velocityActor) refuseRepetition(m *countMessage) error {
	if m.isRepetition == nil || !slices.ContainsFunc(v.appliedLimits, func(a appliedLimit) bool {
		return a.window.within(a.subject, m.at)+nearLimitMargin >= a.limit.MaxCount
	}) {
		return nil
	}
	isRepetition, err := m.isRepetition()
	if err == nil && isRepetition {
		return ledger.Refuse("account.Count", ledger.ClaimTaken, "the attempt is a repetition")
	}
	return err
}

// Refuse implements actors.Refusable. An attempt that was not counted is not admitted.
func (m *countMessage) Refuse(err error) { m.answer(nil, err) }

// LogValue implements slog.LogValuer.
func (m *countMessage) LogValue() slog.Value { return slog.StringValue("count") }

// uncountMessage is the message that Uncount sends to a velocity actor.
type uncountMessage struct {
	limits  []*directory.Limit
	at      ledger.Micros
	attempt directory.Attempt
}

// LogValue implements slog.LogValuer.
func (m *uncountMessage) LogValue() slog.Value { return slog.StringValue("uncount") }

// usageQuery asks how many attempts of a subject count towards a limit.
type usageQuery struct {
	limit   *directory.Limit
	subject string
	answer  func(count int64, resets ledger.Micros, err error)
}

// Refuse implements actors.Refusable.
func (m *usageQuery) Refuse(err error) { m.answer(0, 0, err) }

// LogValue implements slog.LogValuer.
func (m *usageQuery) LogValue() slog.Value { return slog.StringValue("usage") }

// velocityActor counts one partner's attempts. Its windows are in memory only; a new actor builds
// them from the attempts in the store.
type velocityActor struct {
	service *Service
	key     velocityKey

	mu             sync.Mutex // the actor holds mu while it works; CountNow only tries to lock mu
	windows        map[ledger.ID]*window
	countsUntil    ledger.Micros  // time from which on no counted attempt counts any more
	reportedUntil  ledger.Micros  // the value of countsUntil that KeepUntil returned last
	appliedLimits  []appliedLimit // limits that apply to the current attempt; the slice is reused
	isUnregistered bool           // CountNow must not use this actor, because attempts that it counts now would be lost
}

// appliedLimit is a limit that applies to the current attempt, with the limit's window and the attempt's subject (such as a
// card).
type appliedLimit struct {
	limit   *directory.Limit
	window  *window
	subject string
}

// Receive implements actors.Behaviour.
func (v *velocityActor) Receive(c *actors.Context, message any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.register()
	now := ledger.MicrosOf(c.Now())
	switch m := message.(type) {
	case *countMessage:
		breached, err := v.count(m, now)
		m.answer(breached, err)
	case *uncountMessage:
		for _, l := range m.limits {
			subject, applies := l.AppliesTo(&m.attempt)
			if window := v.windows[l.ID]; window != nil && applies {
				window.uncount(subject, m.at)
			}
		}
	case *usageQuery:
		window, err := v.windowFor(m.limit, now)
		if err != nil {
			m.Refuse(err)
			return
		}
		n, resets := window.usage(m.subject, now)
		m.answer(n, resets, nil)
	default:
		panic(fmt.Sprintf("account: unexpected message %T", message))
	}
}

// count counts the attempt towards every limit that applies, even if one of these limits refuses the attempt. If the history of
// one limit cannot be read, it counts the attempt towards no limit.
func (v *velocityActor) count(m *countMessage, now ledger.Micros) (breached *directory.Limit, err error) {
	v.appliedLimits = v.appliedLimits[:0]
	for _, l := range m.limits {
		if subject, applies := l.AppliesTo(&m.attempt); applies {
			v.appliedLimits = append(v.appliedLimits, appliedLimit{l, v.windows[l.ID], subject})
		}
	}
	if err := v.loadHistory(v.appliedLimits, min(m.at, now)); err != nil {
		return nil, err
	}
	if err := v.refuseRepetition(m); err != nil {
		return nil, err
	}
	for i := range v.appliedLimits {
		a := &v.appliedLimits[i]
		if a.window.count(a.subject, m.at, a.limit.MaxCount) && breached == nil {
			breached = a.limit
		}
		v.countsUntil = max(v.countsUntil, m.at+windowLength(a.limit))
	}
	return breached, nil
}

// loadHistory completes the windows that may lack attempts. A window may lack attempts if the actor is new. It may also lack
// attempts if its limit was changed, because before the change the limit may have been off or have counted fewer attempts. All
// incomplete windows are read from the store together. Attempts that are not durable yet are not in the store, so they are
// taken from the old windows.
func (v *velocityActor) loadHistory(applied []appliedLimit, at ledger.Micros) error {
	var limits []*directory.Limit
	for i := range applied {
		if !applied[i].window.isCompleteFor(applied[i].limit) {
			limits = append(limits, applied[i].limit)
		}
	}
	if limits == nil {
		return nil
	}
	newWindows, err := v.readWindows(limits, at)
	if err != nil {
		return err
	}
	for i, l := range limits {
		if oldWindow := v.windows[l.ID]; oldWindow != nil {
			newWindows[i].previousLimit = oldWindow.limit
			newWindows[i].merge(oldWindow)
		}
		v.windows[l.ID] = newWindows[i]
		v.countsUntil = max(v.countsUntil, at+windowLength(l))
	}
	for i := range applied {
		applied[i].window = v.windows[applied[i].limit.ID]
	}
	return nil
}

// windowFor returns a limit's window, to answer a question about the limit's usage. The actor keeps no window for a limit that
// is off, so the attempts that such a limit would have counted are read from the store each time.
func (v *velocityActor) windowFor(l *directory.Limit, now ledger.Micros) (*window, error) {
	if l.Active {
		applied := []appliedLimit{{limit: l, window: v.windows[l.ID]}}
		err := v.loadHistory(applied, now)
		return applied[0].window, err
	}
	activeLimit := *l
	activeLimit.Active = true
	windows, err := v.readWindows([]*directory.Limit{&activeLimit}, now)
	if err != nil {
		return nil, err
	}
	return windows[0], nil
}

// readWindows reads from the store the windows of limits that end at a time.
func (v *velocityActor) readWindows(limits []*directory.Limit, at ledger.Micros) ([]*window, error) {
	// Concurrent attempts arrive in any order, so attempts that were made shortly before the window are read too.
	const disorder = ledger.Micros(time.Second / time.Microsecond)
	windows, readFrom := make([]*window, len(limits)), at
	for i, l := range limits {
		windows[i] = newWindow(l)
		readFrom = min(readFrom, windows[i].since(at)-disorder)
	}
	err := v.service.history(v.key.org, v.key.partner, v.key.env, readFrom, func(bookedAt, attemptedAt ledger.Micros, a *directory.Attempt) (more bool) {
		for i, l := range limits {
			w := windows[i]
			since := w.since(at) - disorder
			if subject, applies := l.AppliesTo(a); applies && attemptedAt > since {
				w.addStored(subject, attemptedAt)
			}
			more = more || bookedAt > since && w.hasRoomBefore(bookedAt)
		}
		return more
	})
	if err != nil {
		return nil, fmt.Errorf("attempts of partner %d: %w", v.key.partner, err)
	}
	for _, w := range windows {
		w.sortSubjects()
	}
	return windows, nil
}

// windowLength returns the length of a limit's window.
func windowLength(l *directory.Limit) ledger.Micros {
	return ledger.Micros(l.Window / time.Microsecond)
}

// Committed implements actors.Behaviour. It is never called, because a velocity actor writes nothing.
func (v *velocityActor) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour. If CountNow has changed countsUntil since the last call of KeepUntil, Idle returns false,
// so that KeepUntil is called again.
func (v *velocityActor) Idle() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.countsUntil != v.reportedUntil {
		return false
	}
	if ledger.MicrosOf(v.service.rt.Clock.Now()) >= v.countsUntil {
		v.unregister()
	}
	return true
}

// KeepUntil implements actors.RetainedBehaviour. The actor is not stopped while any attempt counts, because attempts that are
// not durable yet are in memory only.
func (v *velocityActor) KeepUntil() ledger.Micros {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reportedUntil = v.countsUntil
	return v.reportedUntil
}

// Failed implements actors.Behaviour.
func (v *velocityActor) Failed(*actors.Context) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.unregister()
}
