package payment

import (
	"context"
	"log/slog"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// ReportInquirer is a provider that can be asked whether its rail has reversed, corrected or settled a charge
// after the charge's record here reached an end. Examine returns false if there is nothing to report.
type ReportInquirer interface {
	InquireReport(ctx context.Context, q *actors.Inquiry) (actors.Report, bool)
}

// providerUpdate says that a provider may have news of a transaction.
type providerUpdate struct{ terminal, reference ledger.ID }

// Refuse implements actors.Refusable. It does nothing: no caller waits for the update, and if the update is
// lost, a later poll reports the change.
func (*providerUpdate) Refuse(error) {}

// LogValue implements slog.LogValuer.
func (*providerUpdate) LogValue() slog.Value { return slog.StringValue("provider update") }

// ProviderUpdate inquires at once about a charge for which the terminal's provider has announced an
// update. The content of the announcement is not trusted. If no transaction has such a charge at
// the terminal, nothing happens. The error comes from the store, or is Unavailable.
func (s *Service) ProviderUpdate(org, terminal, reference ledger.ID) error {
	id, err := s.transactionOf(org, reference)
	if err != nil {
		return err
	}
	result, err := s.Find(org, id)
	switch {
	case ledger.IsRefusal(err, ledger.NotFound):
		return nil
	case err != nil:
		return err
	}
	r, m := result.Record, &providerUpdate{terminal, reference}
	if !m.isAbout(r) && r.FindRefused(terminal, reference) == nil {
		return nil
	}
	return s.registry.Command(actors.RecordKey{Org: org, ID: id}, m)
}

// ProviderNotification verifies a notification that the server of the terminal's provider has sent, and inquires at once about
// the charges that it concerns. If isKnown says that the notification with this id was handled before, nothing is done. The id
// is empty if the notification has none. The error is a *ledger.Refusal: Unauthorized if the notification is not verified,
// NotFound if the terminal's provider sends no notifications or is not served by this process, Invalid or Unavailable; or it
// comes from the store.
func (s *Service) ProviderNotification(terminal *directory.Terminal, n *actors.Notification, isKnown func(id string) bool) (id string, err error) {
	reader, ok := s.providers[terminal.Provider].(actors.NotificationReader)
	if !ok {
		return "", ledger.Refuse("payment.ProviderNotification", ledger.NotFound, "the provider sends no notifications")
	}
	ctx, cancel := context.WithTimeout(s.rt.Context(), s.providerTimeout)
	defer cancel()
	news, err := reader.ReadNotification(ctx, terminal, n)
	if err != nil || isKnown(news.ID) {
		return news.ID, err
	}
	for _, reference := range news.References {
		if err := s.ProviderUpdate(terminal.Org, terminal.ID, reference); err != nil {
			return news.ID, err
		}
	}
	return news.ID, nil
}

// isAbout reports whether the update is about the record's present charge.
func (m *providerUpdate) isAbout(r *payment.Record) bool {
	return m.terminal == r.Terminal && m.reference == r.ChargeReference()
}

// onProviderUpdate asks the provider about the charge. If a call is in progress, it asks after the call,
// because the call's answer may be older than the update.
func (t *transaction) onProviderUpdate(c *actors.Context, m *providerUpdate) {
	if !t.load() {
		return
	}
	if charge := t.record.FindRefused(m.terminal, m.reference); charge != nil {
		if err := t.onRefusedUpdate(c, m, charge); err != nil {
			t.logNotAsked(err)
		}
		return
	}
	if !m.isAbout(t.record) {
		return
	}
	if c.Expecting() > 0 || c.Committing() {
		t.deferred.update = m
		return
	}
	r := t.record
	hasEnded := r.Op == nil && (r.Status.IsFinal() || r.Status == payment.Refunded)
	if r.ReportedUnknown() && !hasEnded {
		return // after "unknown reference" the provider is not asked before the due instant; an ended charge has none
	}
	ask := payment.NoRequest
	switch {
	case r.Op != nil && r.Op.Kind != payment.OpComplete:
		ask = payment.InquireOperation
	case r.Status == payment.Authorizing, r.Status == payment.ActionRequired, r.Status.AtProvider(), r.Status.IsHeld():
		ask = payment.InquireCharge
	case hasEnded:
		if err := t.examine(c); err != nil {
			t.logNotAsked(err)
		}
	}
	if ask == payment.NoRequest {
		return
	}
	if err := t.callProvider(c, ask, true); err != nil {
		t.logNotAsked(err) // the provider is asked again at the due instant
	}
}

// examine asks the provider, if it is a ReportInquirer, about a charge whose record has reached an end.
func (t *transaction) examine(c *actors.Context) error {
	terminal, provider := t.service.provider(t.key.Org, t.record.Terminal)
	examiner, supported := provider.(ReportInquirer)
	if !supported {
		return nil
	}
	return t.inquireReport(c, examiner, t.inquiry(terminal, chargeOperation(t.record), ledger.ID{}))
}

// inquireReport asks about a charge that has ended here. The provider's answer arrives as a providerReport.
func (t *transaction) inquireReport(c *actors.Context, examiner ReportInquirer, q *actors.Inquiry) error {
	service, key := t.service, t.key
	return c.Runtime.Go(func() {
		ctx, cancel := context.WithTimeout(service.rt.Context(), service.providerTimeout)
		defer func() {
			cancel()
			service.rt.LogPanic("provider "+q.Terminal.Provider, recover())
		}()
		if report, found := examiner.InquireReport(ctx, q); found {
			service.registry.Tell(key, providerReport{report})
		}
	})
}
