package simulator

import (
	"maps"
	"time"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

const (
	delay           = 5 * time.Second  // until a slow rail has charged
	timeOut         = 10 * time.Second // until an inquiry finds what a lost answer hid
	chargebackAfter = 60 * time.Second
)

// The reasons of what the rail refuses, fails or takes back.
const (
	reasonDeclined   = "card_declined"
	reasonFunds      = "insufficient_funds"
	reasonExpired    = "expired_card"
	reasonProcessing = "processing_error"
	reasonForced     = "forced_by_terminal"
	reasonAction     = "payer_action_unavailable"
	reasonMethod     = "method_not_accepted"
	reasonNoCard     = "card_missing"
	reasonUnwritable = "simulator_log_unwritable"
	reasonChargeback = "chargeback"
)

// fate is what the rail does after it has answered. The zero value is nothing.
type fate string

const (
	charges  fate = "charged"
	reverses fate = "reversed"
)

// decision is what the rail makes of a call.
type decision struct {
	verdict actors.Verdict
	reason  string
	then    fate
	after   time.Duration
}

var (
	charged   = decision{verdict: actors.VerdictCharged}
	slow      = decision{verdict: actors.VerdictPending, then: charges, after: delay}
	timedOut  = decision{verdict: actors.VerdictUnknown, then: charges, after: timeOut}
	takenBack = decision{verdict: actors.VerdictCharged, then: reverses, after: chargebackAfter}
)

func refused(reason string) decision {
	return decision{verdict: actors.VerdictRefused, reason: reason}
}

func failed(reason string) decision {
	return decision{verdict: actors.VerdictFailed, reason: reason}
}

// cards says what the rail makes of a card; one that is not listed is charged,
// or paid, at once.
var cards = map[actors.Operation]map[string]decision{
	actors.Pay: {
		"4000000000000002": refused(reasonDeclined),
		"4000000000009995": refused(reasonFunds),
		"4000000000000069": refused(reasonExpired),
		"4000000000000119": failed(reasonProcessing),
		"4000000000003220": refused(reasonAction),
		"4000000000003063": refused(reasonAction),
		"4000002500003155": refused(reasonAction),
		"4000000000000077": slow,
		"4000000000000341": timedOut,
		"4000000000000259": takenBack,
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

// reach says which operations a money_storage type is charged or paid at once for.
type reach struct{ pay, payOut bool }

// exceptions need the payer, or the choice of a bank, which the rail has no
// word for. All other types of the specification are served both ways.
var exceptions = map[string]reach{
	"sbp": {}, "qr_code": {}, "crypto": {},
	"open_banking": {pay: true}, "sepa": {pay: true},
}

var methods = reachOf(payment.Methods(), exceptions)

func reachOf(types []string, exceptions map[string]reach) map[string]reach {
	all := make(map[string]reach, len(types))
	for _, method := range types {
		all[method] = reach{pay: true, payOut: true}
	}
	maps.Copy(all, exceptions)
	return all
}

// accepts tells whether the rail serves the type for the operation.
func accepts(operation actors.Operation, method string) bool {
	switch operation {
	case actors.Pay:
		return methods[method].pay
	case actors.PayOut:
		return methods[method].payOut
	}
	return false
}

// decide looks at the terminal's setting, the method and the card, in that
// order: a forced outcome is for every call of the terminal.
func decide(call *actors.Call) decision {
	assert.That(call.Operation == actors.Pay || call.Operation == actors.PayOut, "simulator: operation %d", call.Operation)
	if forced, ok := force(call.Terminal); ok {
		return forced
	}
	if !accepts(call.Operation, call.Method) {
		return refused(reasonMethod)
	}
	if call.Method != payment.BankCard {
		return charged
	}
	if call.Card == nil || len(call.Card.Number) == 0 {
		return failed(reasonNoCard)
	}
	if listed, ok := cards[call.Operation][string(call.Card.Number)]; ok {
		return listed
	}
	return charged
}

// force is what the terminal's setting "fail" makes of every call.
func force(terminal *directory.Terminal) (decision, bool) {
	switch terminal.Settings.Fail {
	case directory.FailRejected:
		return refused(reasonForced), true
	case directory.FailFailed:
		return failed(reasonForced), true
	case directory.FailTimeout:
		return timedOut, true
	}
	return decision{}, false
}
