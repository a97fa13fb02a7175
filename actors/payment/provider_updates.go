package payment

import (
	"context"
	"log/slog"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// Examiner is a provider that can be asked whether its rail has reversed, corrected or settled a charge
// after the charge's record here reached an end. Examine returns false if there is nothing to report.
type Examiner interface {
	Examine(ctx context.Context, q *actors.Question) (actors.Report, bool)
}

// providerUpdate says that a provider may have news of a transaction.
type providerUpdate struct{ terminal ledger.ID }

// Refuse implements actors.Refusable. No caller waits for the update, and a later poll reports what a
// lost update announced.
func (*providerUpdate) Refuse(error) {}

// LogValue implements slog.LogValuer.
func (*providerUpdate) LogValue() slog.Value { return slog.StringValue("provider update") }

// ProviderUpdate inquires at once about a transaction for which the terminal's provider has announced
// an update. The content of the announcement is not trusted. If the transaction does not exist, or is
// at another terminal, nothing happens. The error is the store's, or Unavailable.
func (s *Service) ProviderUpdate(org, terminal, id ledger.ID) error {
	result, err := s.Find(org, id)
	if ledger.IsRefusal(err, ledger.NotFound) || err == nil && result.Record.Terminal != terminal {
		return nil
	}
	if err != nil {
		return err
	}
	return s.registry.Command(actors.RecordKey{Org: org, ID: id}, &providerUpdate{terminal})
}

// onProviderUpdate inquires of the provider. If a call is in progress, it inquires afterwards, because
// the call's answer may be older than the update.
func (t *transaction) onProviderUpdate(c *actors.Context, m *providerUpdate) {
	if !t.load() || t.record.Terminal != m.terminal {
		return
	}
	if c.Expecting() > 0 || c.Committing() {
		t.deferred.update = m
		return
	}
	r := t.record
	if r.NotKnown() {
		return // after "unknown reference" the provider is not asked before the due instant
	}
	ask := payment.AskNothing
	switch {
	case r.Op != nil && r.Op.Kind != payment.OpComplete:
		ask = payment.AskInquireOp
	case r.Status == payment.Authorizing, r.Status == payment.ActionRequired, r.Status.AtProvider(), r.Status.Held():
		ask = payment.AskInquire
	case r.Status.Final(), r.Status == payment.Refunded:
		if err := t.examine(c); err != nil {
			t.logNotAsked(err)
		}
	}
	if ask == payment.AskNothing {
		return
	}
	if err := t.ask(c, ask, true); err != nil {
		t.logNotAsked(err) // the provider is asked again at the due instant
	}
}

// examine asks the provider, if it is an Examiner, about a charge whose record has reached an end.
func (t *transaction) examine(c *actors.Context) error {
	service, key := t.service, t.key
	terminal, provider := service.provider(key.Org, t.record.Terminal)
	examiner, supported := provider.(Examiner)
	if !supported {
		return nil
	}
	q, err := t.buildRequest(payment.AskInquire, terminal)
	if err != nil {
		return err
	}
	return c.Runtime.Go(func() {
		ctx, cancel := context.WithTimeout(service.rt.Context(), service.providerTimeout)
		defer func() {
			cancel()
			service.rt.Recovered("provider "+terminal.Provider, recover())
		}()
		if report, found := examiner.Examine(ctx, q.inquiry); found {
			service.registry.Tell(key, providerReport{report})
		}
	})
}
