package check

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// The checker's table of entry rules is complete. The expected phases are those of the entry that the event must have:
// first for a transaction without a hold, then for one with a hold. Without a phase, the event must have no entry.
func TestEveryTransactionEventHasAnEntryRule(t *testing.T) {
	const noEntry = ledger.Phase(0)
	requiredPhases := map[payment.Event][2]ledger.Phase{
		"create": {}, "refuse": {}, "route": {}, "prepare": {}, "process": {}, "act": {}, "reissue": {}, "submit": {}, "await": {}, "end_attempt": {}, "abandon": {},
		"pass_pre_authorized_3ds": {}, "pass_auth_required": {}, "pass_unknown": {}, "pass_cancelled": {},
		"commit": {}, "commit_refused": {}, "cancel": {}, "lapse": {}, "void_failed": {}, "refund_pending": {},
		"reverse": {}, "correct": {}, "give_back": {}, "give_back_failed": {},
		"hold_payout": {}, // no entry, because the money was held when the payout was sent

		"authorise": {ledger.Pending, ledger.Pending}, "hold_payment": {ledger.Pending, ledger.Pending}, "refund": {ledger.Pending, ledger.Pending},
		"settle": {ledger.Posted, ledger.Capture}, "capture": {ledger.Capture, ledger.Capture}, "refund_done": {ledger.Capture, ledger.Capture},
		"refund_refused": {ledger.Void, ledger.Void}, "further_refund_refused": {ledger.Void, ledger.Void},
		"decline": {noEntry, ledger.Void}, "fail": {noEntry, ledger.Void}, "void": {noEntry, ledger.Void}, "expire": {noEntry, ledger.Void},
		"reroute": {noEntry, ledger.Void},
		"return":  {ledger.Posted, ledger.Posted}, "settle_late": {ledger.Posted, ledger.Posted}, "gave_back": {ledger.Posted, ledger.Posted},
		"settle_attempt": {ledger.Posted, ledger.Posted}, "take_back_late": {ledger.Posted, ledger.Posted},
	}
	for _, event := range payment.Machine.Events() {
		want, known := requiredPhases[event]
		rule := entryRuleOf(ledger.Transaction, string(event))
		if got := [2]ledger.Phase{rule.Phase(false), rule.Phase(true)}; !known || got != want {
			t.Errorf("%s: %v, want %v (known: %v)", event, got, want, known)
		}
		if (rule == scan.MayHold) != (event == "authorise") {
			t.Errorf("%s may be without its hold: %v", event, rule == scan.MayHold)
		}
		delete(requiredPhases, event)
	}
	if len(requiredPhases) != 0 {
		t.Errorf("%v are no events", requiredPhases)
	}
}
