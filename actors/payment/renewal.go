package payment

import (
	"log/slog"
	"unicode/utf8"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// TokenSealer encrypts the tokens that providers return for charged cards; *secret.Keyring implements it.
// If Options.Sealer does not implement TokenSealer, no token is stored, so no payment can be renewed.
type TokenSealer interface {
	Seal(plaintext, context []byte) ([]byte, error)
	Open(sealed, context []byte) ([]byte, error)
}

var _ TokenSealer = (*secret.Keyring)(nil)

// renewMessage is the message that begins a subscription's renewal. No caller waits for a reply; if the message
// is lost, the subscription sends it again.
type renewMessage struct{ actors.Renewal }

// LogValue implements slog.LogValuer.
func (m renewMessage) LogValue() slog.Value { return slog.StringValue("renewal " + m.ID.String()) }

// Renew begins a renewal's payment, unless the payment exists. The request may be lost if the process ends, so
// the caller checks with ChargeProgress and, if necessary, calls Renew again. Renew is never refused, and
// repeated calls make one payment.
func (s *Service) Renew(r actors.Renewal) {
	s.registry.Tell(actors.RecordKey{Org: r.Org, ID: r.ID}, renewMessage{r})
}

// ChargeProgress returns the state of a renewal's payment. The error comes from the store.
func (s *Service) ChargeProgress(org, id ledger.ID) (actors.ChargeProgress, error) {
	result, found, err := s.load(org, id)
	if err != nil || !found {
		return 0, err
	}
	return chargeProgress(result.Record), nil
}

func chargeProgress(r *payment.Record) actors.ChargeProgress {
	switch paid, ended := r.ChargeProgress(); {
	case paid:
		return actors.ChargePaid
	case ended:
		return actors.ChargeUnpaid
	}
	return actors.ChargeUnderWay
}

// Payment returns a stored transaction of any partner. If the transaction does not exist, Payment returns false.
func (s *Service) Payment(org, id ledger.ID) (*payment.Record, bool, error) {
	result, found, err := s.load(org, id)
	return result.Record, found, err
}

// OnRenewal registers a function. For each renewal whose payment has ended, the function is called at least
// once, on the goroutine of the payment's actor. OnRenewal must be called before the runtime starts.
func (s *Service) OnRenewal(fn func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool)) {
	s.onRenewal = fn
}

// notifySubscription calls onRenewal if the transaction is a renewal that has ended.
func (t *transaction) notifySubscription() {
	r := t.record
	if r.Renewal == nil || t.service.onRenewal == nil {
		return
	}
	if paid, ended := r.ChargeProgress(); ended {
		t.service.onRenewal(t.key.Org, r.Renewal, r.ID, paid)
	}
}

// renew begins the renewal's payment, unless the payment exists. The payment is created like any other, but its
// unique key is the renewal's key and not a txid.
func (t *transaction) renew(c *actors.Context, m renewMessage) {
	if t.create != nil {
		return
	}
	if t.load() {
		t.notifySubscription() // if the payment has ended, the subscription has missed the notification
		return
	}
	service := t.service
	initial, found, err := service.load(m.Org, m.Initial)
	if err != nil {
		panic(err) // the subscription will begin the renewal again
	}
	if !found {
		service.rt.Log.Error("a renewal's initial payment does not exist", "transaction", m.ID.String())
		return
	}
	partner, known := service.directory.Partner(m.Org, initial.Record.Partner)
	if !known {
		service.rt.Log.Error("a renewal's partner does not exist", "transaction", m.ID.String())
		return
	}
	newPayment := &createMessage{
		Create: Create{Org: m.Org, Partner: partner, Request: renewalRequest(&m.Renewal, initial.Record), Key: m.Key(), Author: ledger.BySystem.Author()},
		id:     m.ID,
	}
	newPayment.stoppedWaiting.Store(true) // no caller waits
	t.beginCreate(c, newPayment)
}

// renewalRequest repeats the initial payment's request, including the payer's IP address, so that
// limits and the block list see the same payer.
func renewalRequest(r *actors.Renewal, initial *payment.Record) payment.Request {
	return payment.Request{
		Type: payment.Payment, Amount: r.Amount, Asset: initial.Asset, Method: payment.ProviderToken,
		Customer: initial.Customer, PayerIP: initial.PayerIP, MerchantMeta: r.Meta, Lang: initial.Lang,
		CardBIN: initial.CardBIN, CardLast4: initial.CardLast4, CardFingerprint: initial.CardFingerprint,
		Renewal: &payment.Renewal{
			Subscription: r.Subscription, Number: r.Number, Initial: r.Initial, Terminal: initial.Terminal,
		},
	}
}

// sealedAnswer returns a provider's answer in the form that is stored. If the provider's token is to be
// stored, the answer contains the encrypted token.
func (t *transaction) sealedAnswer(m *providerAnswer) payment.ProviderAnswer {
	a := toAnswer(m)
	r := t.record
	storesToken := a.Verdict == payment.VerdictCharged && r.Type == payment.Payment && r.Method == payment.BankCard && r.Token == nil
	if n := len(m.Token); !storesToken || n == 0 || n > actors.MaxToken || !utf8.ValidString(string(m.Token)) {
		return a
	}
	sealer, supported := t.service.sealer.(TokenSealer)
	if !supported {
		return a
	}
	sealed, err := sealer.Seal([]byte(m.Token), tokenContext(t.key.Org, r.ID))
	if err != nil {
		// The charge is stored even without its token, because the money has moved.
		t.service.rt.Log.Error("a provider's token can't be sealed and is not kept", "transaction", r.ID.String(), "error", err)
		return a
	}
	a.Token = sealed
	return a
}

// addToken adds the stored token to the call if the charge is a renewal. It returns false if the token is
// missing or cannot be decrypted.
func (t *transaction) addToken(call *actors.Call) bool {
	renewal := t.record.Renewal
	if renewal == nil {
		return true
	}
	initial, found, err := t.service.load(t.key.Org, renewal.Initial)
	if err != nil {
		panic(err)
	}
	sealer, supported := t.service.sealer.(TokenSealer)
	if !supported || !found || initial.Record.Token == nil {
		return false
	}
	token, err := sealer.Open(initial.Record.Token, tokenContext(t.key.Org, renewal.Initial))
	if err != nil {
		t.service.rt.Log.Error("a provider's token can't be opened", "transaction", renewal.Initial.String(), "error", err)
		return false
	}
	call.Token = secret.Text(token)
	clear(token)
	return true
}

// tokenMissing returns the outcome of a renewal whose stored token is missing: the charge was never sent.
func tokenMissing() actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: payment.Failure{Code: payment.ProcessingError, Detail: "The stored credential is no longer available."}}
}

// tokenContext returns the encryption context that binds a token to its payment. It differs from the
// context of a card (cardContext).
func tokenContext(org, id ledger.ID) []byte {
	const label = "token"
	context := append(make([]byte, 0, len(label)+2*len(id)), label...)
	return append(append(context, org[:]...), id[:]...)
}
