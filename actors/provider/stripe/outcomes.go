package stripe

import (
	"context"
	"net/url"
	"time"

	"github.com/stripe/stripe-go/v85"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// payerInquiryInterval is the time between inquiries about a charge that waits for its payer. They are needed because the
// payer may authenticate and never return to us.
const payerInquiryInterval = time.Minute

// chargeOutcome returns the charge's outcome according to its intent.
func (p *Provider) chargeOutcome(ctx context.Context, s *subject, in *stripe.PaymentIntent) actors.Outcome {
	switch in.Status {
	case stripe.PaymentIntentStatusSucceeded:
		p.checkReceived(s, in)
		return actors.Outcome{Verdict: payment.VerdictCharged, Token: savedCard(in)}
	case stripe.PaymentIntentStatusRequiresCapture:
		return actors.Outcome{Verdict: payment.VerdictHeld}
	case stripe.PaymentIntentStatusRequiresPaymentMethod:
		if s.hasElements {
			return p.elementsOutcome(ctx, s, in)
		}
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: failureOf(in.LastPaymentError)}
	case stripe.PaymentIntentStatusCanceled:
		return actors.Outcome{Verdict: payment.VerdictFailed, Failure: cancelFailure(in)}
	case stripe.PaymentIntentStatusRequiresAction:
		if s.hasElements { // Stripe's script, which runs in the payer's browser, carries the action out
			return actors.Outcome{Verdict: payment.VerdictAction, InquireAfter: payerInquiryInterval}
		}
		return p.actionOutcome(ctx, s, in)
	case stripe.PaymentIntentStatusProcessing:
		return actors.Outcome{Verdict: payment.VerdictPending}
	}
	p.log.Error("Stripe shows a status that the charge can't have", "reference", s.reference.String(), "terminal", s.terminal.ID.String(), "intent", s.intent)
	return actors.Outcome{Verdict: payment.VerdictUnknown}
}

// actionOutcome sends the payer to the bank's page for 3-D Secure, which leads back to our own page. If nobody can be sent there,
// because a saved card is charged or there is no such page, the charge has failed, and the intent is cancelled.
func (p *Provider) actionOutcome(ctx context.Context, s *subject, in *stripe.PaymentIntent) actors.Outcome {
	page := ""
	if next := in.NextAction; next != nil && next.RedirectToURL != nil {
		page = webAddress(next.RedirectToURL.URL)
	}
	if s.isOffSession || page == "" {
		return p.abandon(ctx, s, refused(payment.AuthenticationFailed))
	}
	o := actors.Outcome{Verdict: payment.VerdictAction, InquireAfter: payerInquiryInterval}
	if !s.ActionKnown || s.operation == actors.Complete {
		o.Action = &payment.Action{Type: "redirect", Method: "get", URL: page}
	}
	return o
}

// webAddress returns the text if a payer's browser can open it as a web address. Otherwise it returns the empty string.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return text
}

// cancelFailure returns the reason for which an intent was cancelled.
func cancelFailure(in *stripe.PaymentIntent) payment.Failure {
	switch in.CancellationReason {
	case stripe.PaymentIntentCancellationReasonAutomatic, stripe.PaymentIntentCancellationReasonExpired:
		return payment.Failure{Code: payment.HoldExpired}
	}
	return payment.Failure{Code: payment.ProcessingError}
}

// savedCard returns the token of the card that an intent has charged, or an empty text if the card was not saved.
func savedCard(in *stripe.PaymentIntent) (token secret.Text) {
	if in.SetupFutureUsage != stripe.PaymentIntentSetupFutureUsageOffSession || in.Customer == nil || in.PaymentMethod == nil {
		return ""
	}
	return tokenOf(in.Customer.ID, in.PaymentMethod.ID)
}

// checkReceived logs that Stripe has charged another amount than our ledger has, for example because somebody has captured a part
// at Stripe. Our ledger has the amount that we asked for; the difference appears in the settlement.
func (p *Provider) checkReceived(s *subject, in *stripe.PaymentIntent) {
	want := s.ChargedAmount
	if s.operation == actors.Capture {
		want = s.amount
	}
	asset := money.Asset{Currency: money.Currency(upper(in.Currency)), Env: s.terminal.Env}
	if minor, ok := stripeAmount(want, asset, false); !ok || minor != in.AmountReceived {
		p.log.Error("Stripe has charged another amount than it was asked to", "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
			"operation", s.operation.String(), "asked", want.String(), "currency", string(in.Currency), "charged_minor_units", in.AmountReceived)
	}
}
