package simulator

import (
	"time"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/secret"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

const (
	delay           = 5 * time.Second  // time until a slow rail has charged or refunded
	timeOut         = 10 * time.Second // time until an inquiry finds a result whose response was lost
	chargebackAfter = 60 * time.Second
	signWithin      = 60 * time.Second // how long a sequence number is reserved
)

// Reasons of refusals, failures and chargebacks.
const (
	reasonDeclined       = "card_declined"
	reasonFunds          = "insufficient_funds"
	reasonExpired        = "expired_card"
	reasonProcessing     = "processing_error"
	reasonForced         = "forced_by_terminal"
	reasonMethod         = "method_not_accepted"
	reasonNoCard         = "card_missing"
	reasonToken          = "unknown_token"
	reasonAuthentication = "authentication_failed"
	reasonDestination    = "unknown_destination"
)

// nextStep is what the rail will do next with a charge by itself. The zero value is nothing.
type nextStep string

const (
	willCharge          nextStep = "charged"
	willHold            nextStep = "held"
	willChargeBack      nextStep = "reversed" // the rail charges the charge back; if it is a hold, only after its capture
	chargebackCancelled nextStep = "kept"     // the rail would have charged it back, but it was refunded in full
)

// refundMode is how the rail handles refunds. The zero value means that it grants them at once.
type refundMode string

const (
	refusesRefunds refundMode = "refused"
	delaysRefunds  refundMode = "delayed"
)

// payerAction is what a charge's payer has to do. The zero value is nothing.
type payerAction string

const (
	asksRedirect payerAction = "redirect" // 3-D Secure: the payer is sent to the challenge page
	asksForm     payerAction = "form"     // 3-D Secure: a form is posted to the challenge page
	asksPassword payerAction = "otp"      // a one-time password
	asksPage     payerAction = "page"     // the challenge page, of which only the address is published: as a page and as a code
	asksDeposit  payerAction = "deposit"  // as asksPage, for a payment on a chain
	asksChoice   payerAction = "choice"   // the choice of a receiving institution

	asksSignature payerAction = "signature" // the signature of a payload, on a chain that reserves a sequence number
)

// isOnPage tells whether the payer acts on the challenge page.
func (a payerAction) isOnPage() bool {
	return a == asksRedirect || a == asksForm || a == asksPage || a == asksDeposit
}

// needsCardAgain tells whether the charge needs the card again to continue: the rail does not keep
// cards.
func (a payerAction) needsCardAgain() bool {
	return a == asksRedirect || a == asksForm || a == asksPassword
}

// decision is the rail's decision on a charge.
type decision struct {
	verdict     payment.Verdict
	reason      string
	next        nextStep
	after       time.Duration // until the rail takes the next step
	refunds     refundMode
	payerAction payerAction

	unreachable bool   // the provider does not respond to any charge
	returnURL   string // where the challenge page sends the payer, if there is one
}

var (
	charged          = decision{verdict: payment.VerdictCharged}
	slow             = decision{verdict: payment.VerdictPending, next: willCharge, after: delay}
	timedOut         = decision{verdict: payment.VerdictUnknown, next: willCharge, after: timeOut}
	chargedBackLater = decision{verdict: payment.VerdictCharged, next: willChargeBack, after: chargebackAfter}
)

func refused(reason string) decision {
	return decision{verdict: payment.VerdictRefused, reason: reason}
}

func failed(reason string) decision {
	return decision{verdict: payment.VerdictFailed, reason: reason}
}

func awaits(a payerAction) decision {
	return decision{verdict: payment.VerdictAction, next: willCharge, payerAction: a}
}

// authorizeOnly returns the decision for a call that only authorizes: the money is held and not charged.
func (d decision) authorizeOnly() decision {
	switch {
	case d.verdict == payment.VerdictCharged:
		d.verdict, d.after = payment.VerdictHeld, 0
	case d.next == willCharge:
		d.next = willHold
	}
	return d
}

// cards maps card numbers to decisions. A card that is not listed is charged at once, or receives its
// payout at once.
var cards = map[actors.Operation]map[string]decision{
	actors.Pay: {
		"4000000000000002": refused(reasonDeclined),
		"4000000000009995": refused(reasonFunds),
		"4000000000000069": refused(reasonExpired),
		"4000000000000119": failed(reasonProcessing),
		"4000000000003220": awaits(asksRedirect),
		"4000000000003063": awaits(asksForm),
		"4000002500003155": awaits(asksPassword),
		"4000000000000077": slow,
		"4000000000000341": timedOut,
		"4000000000000259": chargedBackLater,
		"4000000000005126": {verdict: payment.VerdictCharged, refunds: refusesRefunds},
		"4000000000007726": {verdict: payment.VerdictCharged, refunds: delaysRefunds},
	},
	actors.PayOut: {
		"4000000000000002": refused(reasonDeclined),
		"4000000000009995": refused(reasonFunds),
		"4000000000000069": refused(reasonExpired),
		"4000000000000119": failed(reasonProcessing),
		"4000000000000077": slow,
		"4000000000000341": timedOut,
	},
}

// cardDecision returns the rail's decision on a card's number.
func cardDecision(operation actors.Operation, number []byte) decision {
	if listed, ok := cards[operation][string(number)]; ok {
		return listed
	}
	return charged
}

// actionOfMethod maps the money_storage types whose payer, or recipient, has to act. All other types of
// the protocol are charged, or paid out, at once.
var actionOfMethod = map[actors.Operation]map[string]payerAction{
	actors.Pay:    {"sbp": asksPage, "qr_code": asksPage, "crypto": asksDeposit, "native_gas": asksSignature},
	actors.PayOut: {"sbp": asksPage, "qr_code": asksPage, "crypto": asksDeposit, "open_banking": asksChoice, "sepa": asksChoice},
}

// opens tells whether the operation begins a charge; all other operations continue one.
func opens(operation actors.Operation) bool {
	return operation == actors.Pay || operation == actors.PayOut
}

// accepts tells whether the rail serves a money_storage type. It serves every known type, for payments and
// payouts and for the operations that follow them.
func accepts(operation actors.Operation, method string) bool {
	_, known := payment.Method([]byte(method))
	return known && operation >= actors.Pay && operation <= actors.Refund
}

// decide returns the rail's decision on a call that opens a charge. It looks at the terminal's setting, the
// method and the card, in that order: a forced outcome applies to every charge of the terminal.
func decide(call *actors.Call, now time.Time) decision {
	assert.That(opens(call.Operation), "simulator: operation %d opens no charge", call.Operation)
	d := decideAtOnce(call, now)
	if call.Hold {
		return d.authorizeOnly()
	}
	return d
}

// decideAtOnce decides as if Hold were not set.
func decideAtOnce(call *actors.Call, now time.Time) decision {
	if forced, ok := forcedDecision(call.Terminal); ok {
		return forced
	}
	if !accepts(call.Operation, call.Method) {
		return refused(reasonMethod)
	}
	if call.Method == payment.BankCard {
		if call.Card == nil || len(call.Card.Number) == 0 {
			return failed(reasonNoCard)
		}
		if pastExpiry(call.Card, now) {
			return refused(reasonExpired)
		}
		return cardDecision(call.Operation, call.Card.Number)
	}
	if call.Token != "" {
		return tokenDecision(call.Token)
	}
	if a, ok := actionOfMethod[call.Operation][call.Method]; ok {
		return awaits(a)
	}
	return charged
}

// pastExpiry tells whether the card's last month is before the month of now, in UTC. A card without a month
// or a year, as a payout's may be, does not expire.
func pastExpiry(card *secret.Card, now time.Time) bool {
	const century = 100
	if len(card.ExpMonth) == 0 || len(card.ExpYear) == 0 {
		return false
	}
	month, year := number(card.ExpMonth), number(card.ExpYear)
	now = now.UTC()
	if len(card.ExpYear) == 2 {
		year += now.Year() / century * century
	}
	return year < now.Year() || year == now.Year() && time.Month(month) < now.Month()
}

// number parses digits; validation guarantees that there are only a few digits and nothing else.
func number(digits []byte) (n int) {
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

// forcedDecision returns the decision that the terminal's parameter "fail" requires for every charge.
func forcedDecision(terminal *directory.Terminal) (decision, bool) {
	p, _ := terminal.Parameters.(*Params)
	if p == nil {
		return decision{}, false
	}
	switch p.Fail {
	case FailRejected:
		return refused(reasonForced), true
	case FailFailed:
		return failed(reasonForced), true
	case FailTimeout:
		silent := timedOut
		silent.unreachable = true // for every card, because the provider does not respond at all
		return silent, true
	}
	return decision{}, false
}
