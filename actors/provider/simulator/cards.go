package simulator

import (
	"time"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/secret"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Delays of the decisions below. The card number or the money_storage type of a charge selects its decision.
const (
	slowDelay         = 5 * time.Second  // how long a slow charge or refund takes
	lostResponseDelay = 10 * time.Second // if a response is lost, inquiries find the result after this time
	chargebackAfter   = 60 * time.Second
	signingTime       = 60 * time.Second // how long a payload may be signed and keeps its sequence number
)

// Reasons why a charge is refused or fails.
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

// nextStep is what the rail (the simulated payment network) will do with a charge on its own, without a
// further call. It is empty if the rail will do nothing.
type nextStep string

const (
	willCharge          nextStep = "charged"
	willHold            nextStep = "held"
	willChargeBack      nextStep = "reversed" // the rail takes the money back, but of a hold only after its capture
	chargebackCancelled nextStep = "kept"     // there will be no chargeback after all, because the charge was refunded in full
)

// refundMode says how the rail handles refunds. If the mode is empty, the rail grants every refund at once.
type refundMode string

const (
	refusesRefunds refundMode = "refused"
	delaysRefunds  refundMode = "delayed"
)

// payerAction is what the payer of a charge has to do. It is empty if the payer has to do nothing.
type payerAction string

const (
	actionRedirect payerAction = "redirect" // 3-D Secure: the payer is sent to the challenge page
	actionForm     payerAction = "form"     // 3-D Secure: a form is posted to the challenge page
	actionPassword payerAction = "otp"      // a one-time password
	actionPage     payerAction = "page"     // the payer opens the challenge page (Action.Page and Action.Code)
	actionDeposit  payerAction = "deposit"  // a deposit on a chain, which the payer confirms on the challenge page
	actionChoice   payerAction = "choice"   // the choice of a receiving institution

	actionSignature payerAction = "signature" // the signature of a payload that has a reserved sequence number
)

// isOnPage tells whether the payer carries out the action on the challenge page.
func (a payerAction) isOnPage() bool {
	return a == actionRedirect || a == actionForm || a == actionPage || a == actionDeposit
}

// needsCardAgain tells whether the charge needs the card again to continue, because the rail keeps
// no cards.
func (a payerAction) needsCardAgain() bool {
	return a == actionRedirect || a == actionForm || a == actionPassword
}

// decision is the rail's decision on a charge.
type decision struct {
	verdict     payment.Verdict
	reason      string
	next        nextStep
	nextIn      time.Duration // time until the rail takes the next step
	refundMode  refundMode
	payerAction payerAction

	unreachable bool   // the provider responds to no charge at all
	returnURL   string // where the challenge page sends the payer; empty if the charge has no such page
}

var (
	chargedDecision     = decision{verdict: payment.VerdictCharged}
	slowDecision        = decision{verdict: payment.VerdictPending, next: willCharge, nextIn: slowDelay}
	timedOutDecision    = decision{verdict: payment.VerdictUnknown, next: willCharge, nextIn: lostResponseDelay}
	chargedBackDecision = decision{verdict: payment.VerdictCharged, next: willChargeBack, nextIn: chargebackAfter}
)

func refusedDecision(reason string) decision {
	return decision{verdict: payment.VerdictRefused, reason: reason}
}

func failedDecision(reason string) decision {
	return decision{verdict: payment.VerdictFailed, reason: reason}
}

func awaitingDecision(a payerAction) decision {
	return decision{verdict: payment.VerdictAction, next: willCharge, payerAction: a}
}

// authorizedOnly returns the decision for a call that only authorizes the payment: the money is held instead of
// charged.
func (d decision) authorizedOnly() decision {
	switch {
	case d.verdict == payment.VerdictCharged:
		d.verdict, d.nextIn = payment.VerdictHeld, 0
	case d.next == willCharge:
		d.next = willHold
	}
	return d
}

// listedCards maps card numbers to decisions. A payment from a card that is not listed is charged at once, and a payout to
// such a card is made at once.
var listedCards = map[actors.Operation]map[string]decision{
	actors.Pay: {
		"4000000000000002": refusedDecision(reasonDeclined),
		"4000000000009995": refusedDecision(reasonFunds),
		"4000000000000069": refusedDecision(reasonExpired),
		"4000000000000119": failedDecision(reasonProcessing),
		"4000000000003220": awaitingDecision(actionRedirect),
		"4000000000003063": awaitingDecision(actionForm),
		"4000002500003155": awaitingDecision(actionPassword),
		"4000000000000077": slowDecision,
		"4000000000000341": timedOutDecision,
		"4000000000000259": chargedBackDecision,
		"4000000000005126": {verdict: payment.VerdictCharged, refundMode: refusesRefunds},
		"4000000000007726": {verdict: payment.VerdictCharged, refundMode: delaysRefunds},
	},
	actors.PayOut: {
		"4000000000000002": refusedDecision(reasonDeclined),
		"4000000000009995": refusedDecision(reasonFunds),
		"4000000000000069": refusedDecision(reasonExpired),
		"4000000000000119": failedDecision(reasonProcessing),
		"4000000000000077": slowDecision,
		"4000000000000341": timedOutDecision,
	},
}

// cardDecision returns the rail's decision on a card's number.
func cardDecision(operation actors.Operation, number []byte) decision {
	if listed, ok := listedCards[operation][string(number)]; ok {
		return listed
	}
	return chargedDecision
}

// actionOfMethod lists the money_storage types for which the payer of a payment, or the recipient of a
// payout, has to act. A charge or a payout of any other type is made at once.
var actionOfMethod = map[actors.Operation]map[string]payerAction{
	actors.Pay:    {"sbp": actionPage, "qr_code": actionPage, "crypto": actionDeposit, "native_gas": actionSignature},
	actors.PayOut: {"sbp": actionPage, "qr_code": actionPage, "crypto": actionDeposit, "open_banking": actionChoice, "sepa": actionChoice},
}

// beginsCharge tells whether the operation begins a charge; all other operations continue an existing charge.
func beginsCharge(operation actors.Operation) bool {
	return operation == actors.Pay || operation == actors.PayOut
}

// Accepts tells whether the rail supports a money_storage type. It supports every known type, for payments
// and payouts and for the operations that follow them.
func Accepts(operation actors.Operation, method string) bool {
	_, known := payment.Method([]byte(method))
	return known && operation >= actors.Pay && operation <= actors.Refund
}

// decide returns the rail's decision on a call that opens a charge. The terminal's forced outcome comes
// first, because it applies to every charge of the terminal; then the method decides, then the card.
func decide(call *actors.Call, now time.Time) decision {
	assert.That(beginsCharge(call.Operation), "simulator: operation %d opens no charge", call.Operation)
	d := decideWithoutHold(call, now)
	if call.Hold {
		return d.authorizedOnly()
	}
	return d
}

// decideWithoutHold decides on a call as if call.Hold were not set.
func decideWithoutHold(call *actors.Call, now time.Time) decision {
	if forced, ok := forcedDecision(call.Terminal); ok {
		return forced
	}
	if !Accepts(call.Operation, call.Method) {
		return refusedDecision(reasonMethod)
	}
	if call.Method == payment.BankCard {
		if call.Card == nil || len(call.Card.Number) == 0 {
			return failedDecision(reasonNoCard)
		}
		if isExpired(call.Card, now) {
			return refusedDecision(reasonExpired)
		}
		return cardDecision(call.Operation, call.Card.Number)
	}
	if call.Token != "" {
		return tokenDecision(call.Token)
	}
	if a, ok := actionOfMethod[call.Operation][call.Method]; ok {
		return awaitingDecision(a)
	}
	return chargedDecision
}

// isExpired tells whether the last month in which the card is valid has ended, in UTC. A card without a
// month or a year does not expire; the card of a payout may be such a card.
func isExpired(card *secret.Card, now time.Time) bool {
	const century = 100
	if len(card.ExpMonth) == 0 || len(card.ExpYear) == 0 {
		return false
	}
	month, year := parseDigits(card.ExpMonth), parseDigits(card.ExpYear)
	now = now.UTC()
	if len(card.ExpYear) == 2 {
		year += now.Year() / century * century
	}
	return year < now.Year() || year == now.Year() && time.Month(month) < now.Month()
}

// parseDigits parses a decimal number. The request's validation has ensured that there are only a few digits and
// nothing else.
func parseDigits(digits []byte) (n int) {
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

// forcedDecision returns the decision that the terminal's parameter "fail" forces on every charge, if the parameter
// is set.
func forcedDecision(terminal *directory.Terminal) (decision, bool) {
	p, _ := terminal.Parameters.(*Params)
	if p == nil {
		return decision{}, false
	}
	switch p.Fail {
	case FailRejected:
		return refusedDecision(reasonForced), true
	case FailFailed:
		return failedDecision(reasonForced), true
	case FailTimeout:
		unreachable := timedOutDecision
		unreachable.unreachable = true // the provider responds to no call at all, whatever the card
		return unreachable, true
	}
	return decision{}, false
}
