package stripe

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/stripe/stripe-go/v85"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// Keys of metadata at Stripe.
const (
	metaReference = "reference" // of an intent: our reference of the charge; of a refund: the refund's id
	metaTerminal  = "terminal"  // our terminal's id
)

// chargeMeta is stored with the charge (Outcome.Meta), and shown in merchant_meta.
type chargeMeta struct {
	Intent       string `json:"stripe_payment_intent,omitempty"`
	IsOffSession bool   `json:"stripe_off_session,omitempty"`
	HasElements  bool   `json:"stripe_elements,omitempty"`
	Payout       string `json:"stripe_payout,omitempty"`
}

// maxID bounds the length of an id of Stripe, in bytes.
const maxID = 255

// isID tells whether a text is an id of Stripe with the prefix, which can stand in a URL.
func isID(text, prefix string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	return ok && rest != "" && len(text) <= maxID && !strings.ContainsFunc(rest, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_'
	})
}

// readMeta reads the stored ids of the charge.
func (s *subject) readMeta() {
	var m chargeMeta
	if json.Unmarshal(s.Meta, &m) == nil && isID(m.Intent, "pi_") {
		s.intent, s.isOffSession, s.hasElements = m.Intent, m.IsOffSession, m.HasElements
	}
}

func encodeMeta(m chargeMeta) []byte {
	text, _ := json.Marshal(m) // cannot fail with these values
	return text
}

// Tokens. A saved card's token is the customer's id and the PaymentMethod's id, with a slash between them. A PaymentMethod that
// Stripe's form has made for a payer who is present has no customer yet.
func tokenOf(customer, method string) secret.Text { return secret.Text(customer + "/" + method) }

// parseToken returns the ids in a token. customer is empty if the payer is present.
func parseToken(token secret.Text) (customer, method string, ok bool) {
	customer, method, isSaved := strings.Cut(string(token), "/")
	if !isSaved {
		return "", customer, isID(customer, "pm_")
	}
	return customer, method, isID(customer, "cus_") && isID(method, "pm_")
}

// prepare makes the charge's PaymentIntent, which is not confirmed. So nothing can be charged yet, whatever happens to the answers.
// What was made for an answer that is lost stays at Stripe unused.
func (p *Provider) prepare(ctx context.Context, call *actors.Call, s *subject) actors.Outcome {
	connection := connectionOf(call.Terminal)
	if call.Card != nil && !connection.RawCards {
		return refused(payment.RawCardsNotAllowed)
	}
	amount, isExact := stripeAmount(call.Amount, call.Asset, false)
	if !isExact {
		return refused(payment.AmountOutOfRange)
	}
	account := p.clientOf(s)
	params := &stripe.PaymentIntentCreateParams{
		Amount: &amount, Currency: stripe.String(currencyCode(call.Asset)), PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		CaptureMethod: stripe.String("automatic"), Confirm: stripe.Bool(false), Metadata: s.metadata(),
	}
	if call.Hold {
		params.CaptureMethod = stripe.String("manual")
	}
	if connection.Descriptor != "" {
		params.StatementDescriptorSuffix = &connection.Descriptor
	}
	customer, method, isToken := parseToken(call.Token)
	isOffSession := customer != ""
	switch {
	case call.Card != nil:
		created, f := do(ctx, account, func(ctx context.Context, c *client) (*stripe.PaymentMethod, error) {
			return c.createMethod(ctx, call.Card, *p.windowKey(s, "method"))
		})
		if f != nil {
			return p.preparationFailed(s, f, "method")
		}
		method = created.ID
	case call.Token == "" && p.CollectsCards(call.Terminal) && call.ReturnURL != nil:
		s.hasElements = true // the payer gives the card to Stripe
	case !isToken:
		return refused(payment.UnexpectedCard)
	}
	if connection.SavesCards && !isOffSession {
		owner, f := do(ctx, account, func(ctx context.Context, c *client) (*stripe.Customer, error) {
			params := &stripe.CustomerCreateParams{Metadata: s.metadata()}
			params.IdempotencyKey = p.windowKey(s, "customer")
			return c.V1Customers.Create(ctx, params)
		})
		if f != nil {
			return p.preparationFailed(s, f, "customer")
		}
		customer = owner.ID
		params.SetupFutureUsage = stripe.String("off_session")
	}
	if !s.hasElements {
		params.PaymentMethod = &method
	}
	if customer != "" {
		params.Customer = &customer
	}
	in, f := do(ctx, account, func(ctx context.Context, c *client) (*stripe.PaymentIntent, error) {
		params.IdempotencyKey = p.windowKey(s, "intent-"+method)
		return c.V1PaymentIntents.Create(ctx, params)
	})
	if f != nil {
		return p.preparationFailed(s, f, "intent")
	}
	if !isID(in.ID, "pi_") || in.Amount != amount || string(in.Currency) != *params.Currency || in.Metadata[metaReference] != s.reference.String() {
		p.logOther(s, in.ID)
		return notSent(&fault{})
	}
	meta := encodeMeta(chargeMeta{Intent: in.ID, IsOffSession: isOffSession, HasElements: s.hasElements})
	if s.hasElements {
		return actors.Outcome{Verdict: payment.VerdictAction, Meta: meta, InquireAfter: payerInquiryInterval, Action: p.elementsAction(s, in, call.ReturnURL())}
	}
	return actors.Outcome{Verdict: payment.VerdictPrepared, Meta: meta}
}

func (s *subject) metadata() map[string]string {
	return map[string]string{metaReference: s.reference.String(), metaTerminal: s.terminal.ID.String()}
}

// preparationFailed returns the outcome of a preparation that Stripe has refused, or that has failed.
func (p *Provider) preparationFailed(s *subject, f *fault, step string) actors.Outcome {
	if f.err == nil || f.err.Type != stripe.ErrorTypeCard {
		p.logFault(s, f, step)
	}
	if f.isDefinite() {
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: failureOf(f.err)}
	}
	return notSent(f)
}

// confirm charges the intent. The intent's id is stored, so the result can be inquired.
func (p *Provider) confirm(ctx context.Context, call *actors.Call, s *subject) actors.Outcome {
	if call.Repetition > 0 {
		in, f := p.read(ctx, s)
		if f != nil {
			return unknown(f)
		}
		if in.Status != stripe.PaymentIntentStatusRequiresConfirmation {
			return p.chargeOutcome(ctx, s, in)
		}
	}
	params := &stripe.PaymentIntentConfirmParams{}
	switch {
	case s.isOffSession:
		params.OffSession = stripe.Bool(true)
	case call.ReturnURL != nil:
		params.ReturnURL = stripe.String(call.ReturnURL())
	}
	// Each repetition has a key of its own, because Stripe would answer an earlier key with an earlier failure. An intent is
	// charged at most once, whatever the keys are.
	params.IdempotencyKey = s.key("confirm", s.intent, strconv.Itoa(int(call.Repetition)))
	in, f := do(ctx, p.clientOf(s), func(ctx context.Context, c *client) (*stripe.PaymentIntent, error) {
		return c.V1PaymentIntents.Confirm(ctx, s.intent, params)
	})
	switch {
	case f == nil && s.isAbout(in):
		return p.chargeOutcome(ctx, s, in)
	case f == nil:
		p.logOther(s, in.ID)
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	case f.isDefinite():
		return p.confirmationRefused(ctx, s, f)
	}
	return p.notRefused(call, s, f, "confirm")
}

// confirmationRefused returns the outcome of a confirmation that Stripe has refused. A declined card is an outcome. After another
// refusal the intent tells what has happened; if it can still be confirmed, it is cancelled.
func (p *Provider) confirmationRefused(ctx context.Context, s *subject, f *fault) actors.Outcome {
	if in := f.err.PaymentIntent; f.err.Type == stripe.ErrorTypeCard && in != nil && s.isAbout(in) && in.Status == stripe.PaymentIntentStatusRequiresPaymentMethod {
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: failureOf(f.err)}
	}
	p.logFault(s, f, "confirm")
	in, readFault := p.read(ctx, s)
	switch {
	case readFault != nil:
		return unknown(readFault)
	case in.Status == stripe.PaymentIntentStatusRequiresConfirmation:
		return p.abandon(ctx, s, actors.Outcome{Verdict: payment.VerdictRefused, Failure: failureOf(f.err)})
	}
	return p.chargeOutcome(ctx, s, in)
}

// abandon cancels an intent that can still be charged. If Stripe confirms it, the outcome is the given one.
func (p *Provider) abandon(ctx context.Context, s *subject, cancelled actors.Outcome) actors.Outcome {
	in, f := p.cancel(ctx, s, p.windowKey(s, "abandon-"+s.intent))
	if f != nil {
		p.logFault(s, f, "cancel")
		if in, f = p.read(ctx, s); f != nil {
			return unknown(f)
		}
	}
	switch in.Status {
	case stripe.PaymentIntentStatusCanceled:
		return cancelled
	case stripe.PaymentIntentStatusRequiresPaymentMethod:
		if s.hasElements { // the payer may still give a card, so the outcome is unknown until an inquiry or the end of the payer's time
			return actors.Outcome{Verdict: payment.VerdictUnknown}
		}
	case stripe.PaymentIntentStatusRequiresConfirmation, stripe.PaymentIntentStatusRequiresAction:
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	return p.chargeOutcome(ctx, s, in)
}

// inquireCharge returns the outcome of the charge according to its intent. Without an intent nothing can have been charged. An intent
// that was not confirmed is cancelled, so that a confirmation that is still on its way charges nothing; only the charge of a
// saved card can be submitted again.
func (p *Provider) inquireCharge(ctx context.Context, s *subject) actors.Outcome {
	if s.intent == "" {
		return actors.Outcome{Verdict: payment.VerdictNotFound}
	}
	in, f := p.read(ctx, s)
	switch {
	case f != nil:
		return unknown(f)
	case in.Status != stripe.PaymentIntentStatusRequiresConfirmation:
		return p.chargeOutcome(ctx, s, in)
	case s.isOffSession:
		return actors.Outcome{Verdict: payment.VerdictNotFound}
	}
	return p.abandon(ctx, s, actors.Outcome{Verdict: payment.VerdictFailed, Failure: payment.Failure{Code: payment.Interrupted}})
}

// read reads the charge's intent. It logs every fault.
func (p *Provider) read(ctx context.Context, s *subject, expand ...string) (*stripe.PaymentIntent, *fault) {
	in, f := do(ctx, p.clientOf(s), func(ctx context.Context, c *client) (*stripe.PaymentIntent, error) {
		params := &stripe.PaymentIntentRetrieveParams{}
		for _, path := range expand {
			params.AddExpand(path)
		}
		return c.V1PaymentIntents.Retrieve(ctx, s.intent, params)
	})
	if f != nil {
		p.logFault(s, f, "read")
	}
	return p.ownIntent(s, in, f)
}

// cancel cancels the charge's intent.
func (p *Provider) cancel(ctx context.Context, s *subject, key *string) (*stripe.PaymentIntent, *fault) {
	in, f := do(ctx, p.clientOf(s), func(ctx context.Context, c *client) (*stripe.PaymentIntent, error) {
		params := &stripe.PaymentIntentCancelParams{}
		params.IdempotencyKey = key
		return c.V1PaymentIntents.Cancel(ctx, s.intent, params)
	})
	return p.ownIntent(s, in, f)
}

// ownIntent passes an answer on, unless it is about another charge: that is a fault.
func (p *Provider) ownIntent(s *subject, in *stripe.PaymentIntent, f *fault) (*stripe.PaymentIntent, *fault) {
	if f == nil && !s.isAbout(in) {
		p.logOther(s, in.ID)
		return nil, &fault{mayHaveArrived: true, status: 200, cause: "it is about another charge"}
	}
	return in, f
}

// isAbout tells whether an answer is about the subject's charge.
func (s *subject) isAbout(in *stripe.PaymentIntent) bool {
	return in.ID == s.intent && in.Metadata[metaReference] == s.reference.String()
}

// logOther logs that an answer is about another object than the request. The id is logged only if it has the form of one.
func (p *Provider) logOther(s *subject, id string) {
	if !isID(id, "") {
		id = ""
	}
	p.log.Error("Stripe has answered about another charge", "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
		"operation", s.operation.String(), "intent", s.intent, "answered", id)
}

// parseReference returns our id in an object's metadata.
func parseReference(metadata map[string]string, key string) (id ledger.ID, ok bool) {
	text := metadata[key]
	return id, len(text) == len(id.String()) && id.UnmarshalText([]byte(text)) == nil
}
