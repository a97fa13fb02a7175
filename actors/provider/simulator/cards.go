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
	delay           = 5 * time.Second  // until a slow rail has charged, or returned
	timeOut         = 10 * time.Second // until an inquiry finds what a lost answer hid
	chargebackAfter = 60 * time.Second
	signWithin      = 60 * time.Second // how long a sequence number is reserved
)

// The reasons of what the rail refuses, fails or takes back.
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

// fate is what the rail does next with a charge, without being asked. The zero
// value is nothing.
type fate string

const (
	charges  fate = "charged"
	holds    fate = "held"
	reverses fate = "reversed" // takes it back; of a hold: once it is captured
	keeps    fate = "kept"     // would have taken it back, but it was refunded wholly
)

// refunding is what the rail makes of refunds. The zero value grants them at once.
type refunding string

const (
	refusesRefunds refunding = "refused"
	delaysRefunds  refunding = "delayed"
)

// ask is how a charge's payer has to act. The zero value is not at all.
type ask string

const (
	asksRedirect ask = "redirect" // 3-D Secure: the payer is sent to the challenge page
	asksForm     ask = "form"     // 3-D Secure: a form is posted to it
	asksPassword ask = "otp"      // a one-time password
	asksPage     ask = "page"     // the challenge page, and no action is published
	asksDeposit  ask = "deposit"  // the same for money on a chain
	asksChoice   ask = "choice"   // of a receiving institution

	asksSignature ask = "signature" // of a payload, on a chain that reserves a sequence number
)

// onPage tells whether the payer answers on the challenge page.
func (a ask) onPage() bool {
	return a == asksRedirect || a == asksForm || a == asksPage || a == asksDeposit
}

// ofCard tells whether the charge is a card's: the rail has not kept the card,
// so it needs it again to go on.
func (a ask) ofCard() bool { return a == asksRedirect || a == asksForm || a == asksPassword }

// decision is what the rail makes of a charge.
type decision struct {
	verdict payment.Verdict
	reason  string
	then    fate
	after   time.Duration
	refunds refunding
	ask     ask

	down      bool   // the provider gives no sign of life, for whatever charge
	returnURL string // where the challenge page sends the payer, if there is one
}

var (
	charged   = decision{verdict: payment.VerdictCharged}
	slow      = decision{verdict: payment.VerdictPending, then: charges, after: delay}
	timedOut  = decision{verdict: payment.VerdictUnknown, then: charges, after: timeOut}
	takenBack = decision{verdict: payment.VerdictCharged, then: reverses, after: chargebackAfter}
)

func refused(reason string) decision {
	return decision{verdict: payment.VerdictRefused, reason: reason}
}

func failed(reason string) decision {
	return decision{verdict: payment.VerdictFailed, reason: reason}
}

func waitsFor(a ask) decision {
	return decision{verdict: payment.VerdictAction, then: charges, ask: a}
}

// held is the decision for a call that asks to authorise only.
func (d decision) held() decision {
	switch {
	case d.verdict == payment.VerdictCharged:
		d.verdict, d.after = payment.VerdictHeld, 0
	case d.then == charges:
		d.then = holds
	}
	return d
}

// cards says what the rail makes of a card; one that is not listed is charged,
// or paid, at once.
var cards = map[actors.Operation]map[string]decision{
	actors.Pay: {
		"4000000000000002": refused(reasonDeclined),
		"4000000000009995": refused(reasonFunds),
		"4000000000000069": refused(reasonExpired),
		"4000000000000119": failed(reasonProcessing),
		"4000000000003220": waitsFor(asksRedirect),
		"4000000000003063": waitsFor(asksForm),
		"4000002500003155": waitsFor(asksPassword),
		"4000000000000077": slow,
		"4000000000000341": timedOut,
		"4000000000000259": takenBack,
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

// ofCard is what the rail makes of a card's number.
func ofCard(operation actors.Operation, number []byte) decision {
	if listed, ok := cards[operation][string(number)]; ok {
		return listed
	}
	return charged
}

// asking are the money_storage types whose payer, or recipient, has to act. All
// others of the specification are charged, or paid, at once.
var asking = map[actors.Operation]map[string]ask{
	actors.Pay:    {"sbp": asksPage, "qr_code": asksPage, "crypto": asksDeposit, "native_gas": asksSignature},
	actors.PayOut: {"sbp": asksPage, "qr_code": asksPage, "crypto": asksDeposit, "open_banking": asksChoice, "sepa": asksChoice},
}

// opens tells whether the operation begins a charge; all others go on with one.
func opens(operation actors.Operation) bool {
	return operation == actors.Pay || operation == actors.PayOut
}

// accepts tells whether the rail serves the type: it serves all of them, both
// ways, and what is begun with a type it also goes on with.
func accepts(operation actors.Operation, method string) bool {
	_, known := payment.Method([]byte(method))
	return known && operation >= actors.Pay && operation <= actors.Refund
}

// decide looks at the terminal's setting, the method and the card, in that
// order: a forced outcome is for every charge of the terminal.
func decide(call *actors.Call, now time.Time) decision {
	assert.That(opens(call.Operation), "simulator: operation %d opens no charge", call.Operation)
	d := decideAtOnce(call, now)
	if call.Hold {
		return d.held()
	}
	return d
}

// decideAtOnce leaves aside whether the money is only to be held.
func decideAtOnce(call *actors.Call, now time.Time) decision {
	if forced, ok := force(call.Terminal); ok {
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
		return ofCard(call.Operation, call.Card.Number)
	}
	if call.Token != "" {
		return ofToken(call.Token)
	}
	if a, ok := asking[call.Operation][call.Method]; ok {
		return waitsFor(a)
	}
	return charged
}

// pastExpiry tells whether the card's month lies before that of now, in UTC. A card
// without a month or a year, as a payout's may be, does not expire.
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

// number reads digits, which validation has seen to be a few digits and nothing else.
func number(digits []byte) (n int) {
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

// force is what the terminal's setting "fail" makes of every charge.
func force(terminal *directory.Terminal) (decision, bool) {
	switch terminal.Settings.Fail {
	case directory.FailRejected:
		return refused(reasonForced), true
	case directory.FailFailed:
		return failed(reasonForced), true
	case directory.FailTimeout:
		silent := timedOut
		silent.down = true // whatever the card: that is what a provider that is down looks like
		return silent, true
	}
	return decision{}, false
}
