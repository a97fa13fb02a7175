package payment

import (
	"context"
	"log/slog"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// Examiner is a provider that can be asked what became of a charge that is closed
// here: whether its rail has taken it back, corrected itself or settled it after
// all. The answer is false if there is nothing to report.
type Examiner interface {
	Examine(ctx context.Context, q *actors.Question) (actors.Report, bool)
}

// hint says that something may have become of a transaction at its terminal.
type providerUpdate struct{ terminal ledger.ID }

// Refuse implements actors.Refusable: nobody waits, and what is lost is polled for.
func (*providerUpdate) Refuse(error) {}

// LogValue implements slog.LogValuer.
func (*providerUpdate) LogValue() slog.Value { return slog.StringValue("hint") }

// Hint has the provider asked at once how a transaction stands that the terminal
// says it has news of. Nothing is taken from the news itself. A transaction that
// is not there, or not on that terminal, is left alone. The error is the store's,
// or Unavailable.
func (s *Service) Hint(org, terminal, id ledger.ID) error {
	found, err := s.Find(org, id)
	if ledger.IsRefusal(err, ledger.NotFound) || err == nil && found.Record.Terminal != terminal {
		return nil
	}
	if err != nil {
		return err
	}
	return s.registry.Command(actors.RecordKey{Org: org, ID: id}, &providerUpdate{terminal})
}

// hinted asks the provider; later, if it is being asked something: the answer that
// is on its way may be older than the news.
func (t *transaction) hinted(c *actors.Context, m *providerUpdate) {
	if !t.load() || t.record.Terminal != m.terminal {
		return
	}
	if c.Expecting() > 0 || c.Committing() {
		t.deferred.update = m
		return
	}
	r := t.record
	if r.NotKnown() {
		return // a second "unknown reference" is not sought before its instant
	}
	what := payment.AskNothing
	switch {
	case r.Op != nil && r.Op.Kind != payment.OpComplete:
		what = payment.AskInquireOp
	case r.Status == payment.Authorizing, r.Status == payment.ActionRequired, r.Status.Moving(), r.Status.Held():
		what = payment.AskInquire
	case r.Status.Final(), r.Status == payment.Refunded:
		if err := t.examine(c); err != nil {
			t.unasked(err)
		}
	}
	if what == payment.AskNothing {
		return
	}
	if err := t.ask(c, what, true); err != nil {
		t.unasked(err) // its due instant asks again
	}
}

// examine asks what became of a charge that is closed here.
func (t *transaction) examine(c *actors.Context) error {
	service, key := t.service, t.key
	terminal, provider := service.provider(key.Org, t.record.Terminal)
	examiner, able := provider.(Examiner)
	if !able {
		return nil
	}
	q, err := t.question(payment.AskInquire, terminal)
	if err != nil {
		return err
	}
	return c.Runtime.Go(func() {
		ctx, cancel := context.WithTimeout(service.rt.Context(), service.inquire)
		defer func() {
			cancel()
			service.rt.Recovered("provider "+terminal.Provider, recover())
		}()
		if report, found := examiner.Examine(ctx, q.inquiry); found {
			service.registry.Tell(key, reported{report})
		}
	})
}
