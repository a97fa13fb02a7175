package account

import (
	"context"
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// Usage returns how much of a limit a subject has used at the clock's time. The subject comes from directory.Payer.Subject;
// it is empty if the limit's scope is the partner. If no answer came before ctx ended, or if too many actors have work, the
// error is a *ledger.Refusal with Unavailable. Any other error says why the store could not be read.
func (s *Service) Usage(ctx context.Context, l *directory.Limit, subject string) (directory.Usage, error) {
	now := s.rt.Clock.Now()
	switch {
	case l.Kind.Measure() == directory.Attempts:
		return s.velocityUsage(ctx, l, subject)
	case l.Kind.IsVolume():
		return s.volumeUsage(l, subject, now)
	}
	return directory.Usage{}, nil
}

func (s *Service) volumeUsage(l *directory.Limit, subject string, now time.Time) (u directory.Usage, err error) {
	view := s.rt.Journal.View()
	defer view.Close()
	window := l.CounterWindow(ledger.DayWindow(ledger.DateOf(now)))
	total, err := view.Counter(l.Org, ledger.VolumeKey(l.ID, window, subject), "")
	if err != nil {
		return u, err
	}
	if u.SettledAmount, err = view.Counter(l.Org, ledger.SettledKey(l.ID, window, subject), ""); err != nil {
		return u, err
	}
	if u.ReservedAmount, err = total.Sub(u.SettledAmount); err != nil {
		// The counter of the total (reserved and settled amounts) has stopped at its maximum, but the counter of settled
		// amounts has grown further, because outcomes are always recorded. The settled amounts are now larger than the
		// total, so the reserved amount is not known.
		u.ReservedAmount = money.Amount{}
	}
	u.ResetsAt = ledger.MicrosOf(l.Kind.PeriodEnd(now))
	return u, nil
}

func (s *Service) velocityUsage(ctx context.Context, l *directory.Limit, subject string) (directory.Usage, error) {
	type answer struct {
		usage directory.Usage
		err   error
	}
	reply := make(chan answer, 1)
	m := &usageQuery{limit: l, subject: subject, answer: func(n int64, resets ledger.Micros, err error) {
		reply <- answer{directory.Usage{Count: n, ResetsAt: resets}, err}
	}}
	if err := s.velocities.Command(velocityKey{l.Org, l.Partner, l.Asset.Env}, m); err != nil {
		return directory.Usage{}, err
	}
	select {
	case a := <-reply:
		return a.usage, a.err
	case <-ctx.Done():
		return directory.Usage{}, ledger.Refuse("account.Usage", ledger.Unavailable, "no answer in time")
	}
}
