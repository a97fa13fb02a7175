package stripe

import (
	"context"

	"github.com/stripe/stripe-go/v85"

	"mizan/actors"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// This file is about payments on our own page in which the payer gives the card to Stripe: in fields that Stripe's script shows
// (its "elements"), so that the number never comes here. The intent is made without a card. The script confirms it from the payer's
// browser, with the intent's secret and the account's publishable key, and carries out 3-D Secure. Then Stripe sends the payer back
// to our page, and the intent tells what has happened. So neither an answer to us nor the payer's return is needed to know whether
// anything was charged.

var _ actors.CardCollector = (*Provider)(nil)

// CollectsCards implements actors.CardCollector.
func (p *Provider) CollectsCards(t *directory.Terminal) bool {
	c := connectionOf(t)
	return !c.RawCards && c.PublishableKey != ""
}

// elementsAction is the payer's action in a charge whose card Stripe asks for.
func (p *Provider) elementsAction(s *subject, in *stripe.PaymentIntent, returnURL string) *payment.Action {
	return &payment.Action{Type: payment.StripeElements, Params: payment.ActionParams(map[string]string{
		payment.StripeKey: connectionOf(s.terminal).PublishableKey, payment.StripeSecret: in.ClientSecret, payment.StripeReturn: returnURL,
	})}
}

// elementsOutcome is the outcome of an intent that waits for a card. While the payer has the page, a declined card is no outcome: the
// script says so, and the payer tries again. If the payer has come back from Stripe without success, the attempt is over, and the
// intent is cancelled so that another tab can't charge it.
func (p *Provider) elementsOutcome(ctx context.Context, s *subject, in *stripe.PaymentIntent) actors.Outcome {
	if s.operation != actors.Complete || in.LastPaymentError == nil {
		return actors.Outcome{Verdict: payment.VerdictAction, InquireAfter: payerInquiryInterval}
	}
	return p.abandon(ctx, s, actors.Outcome{Verdict: payment.VerdictRefused, Failure: failureOf(in.LastPaymentError)})
}
