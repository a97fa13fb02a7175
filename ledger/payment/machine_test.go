package payment_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"testing"

	"mizan/ledger/payment"
)

var update = flag.Bool("update", false, "rewrite the machine's report")

// steps are the transitions out of a status. For each event it has the next status. Any other event is refused.
type steps map[payment.Event]payment.Status

// vocabulary lists every event, copied by hand, so that a new event must be added to the test.
var vocabulary = []payment.Event{
	"create", "refuse", "route", "authorise", "reroute", "prepare", "process", "act", "reissue", "submit", "hold_payment", "hold_payout", "settle", "decline", "fail", "await",
	"end_attempt", "abandon", "settle_attempt",
	"pass_pre_authorized_3ds", "pass_auth_required", "pass_unknown", "pass_cancelled",
	"commit", "capture", "commit_refused", "cancel", "void", "void_failed", "lapse", "expire",
	"refund", "refund_pending", "refund_done", "refund_refused", "further_refund_refused",
	"reverse", "return", "correct", "settle_late", "give_back", "gave_back", "give_back_failed", "take_back_late",
}

// grid is the specification's transition table, row by row. It also has the steps of intents, which leave the status as it is
// until the provider's answer changes it.
var grid = map[payment.Status]steps{
	// (none) → created. A return is a transaction of its own, settled from the start. Money that moves for a refused attempt
	// of a hosted payment also gets a transaction of its own.
	"none": {"create": "created", "return": "charged", "settle_attempt": "rejected"},
	// created → new when a terminal accepts. A refusal before that leads to rejected, and a cancel by the payer to failed.
	"created": {"route": "new", "refuse": "rejected", "expire": "rejected", "abandon": "failed"},
	// new → authorizing.
	"new": {"authorise": "authorizing"},
	// authorizing → charging. It goes back to new while routing tries several terminals, and back to created while the payer
	// of a hosted payment has attempts left.
	"authorizing": {"process": "charging", "decline": "rejected", "reroute": "new", "prepare": "authorizing", "fail": "failed", "await": "authorizing", "end_attempt": "created"},
	// charging → action_required, charged, failed, rejected, or held on a two-phase terminal.
	"charging": atRailSteps("charging", steps{}),
	// action_required → charging with the material, rejected by a refusal or at the end of the
	// payer's time.
	"action_required": {
		"submit": "charging", "decline": "rejected", "act": "action_required", "reissue": "action_required", "await": "action_required",
		"cancel": "action_required", "lapse": "action_required", "void": "failed", "expire": "rejected", "void_failed": "action_required",
		"end_attempt": "created",
	},
	// Intermediate statuses of rails, which the specification's table does not show. They have the steps of charging, and one
	// more back to charging.
	"pre_authorized_3ds": atRailSteps("pre_authorized_3ds", steps{"process": "charging"}),
	"auth_required":      atRailSteps("auth_required", steps{"process": "charging"}),
	"unknown":            atRailSteps("unknown", steps{"process": "charging"}),
	"cancelled":          atRailSteps("cancelled", steps{"process": "charging"}),
	// held, two-phase → charged by commit, failed by cancel or expiry.
	"payment_suspended": suspendedSteps("payment_suspended"),
	"payout_suspended":  suspendedSteps("payout_suspended"),
	// charged → refunded, refunding, reversed.
	"charged": {
		"refund": "charged", "refund_pending": "refunding", "refund_done": "refunded", "refund_refused": "charged",
		"reverse": "reversed",
	},
	// refunding → refunded, or back to the previous status.
	"refunding": {
		"await": "refunding", "refund_done": "refunded", "refund_refused": "charged", "further_refund_refused": "refunded",
	},
	// refunded is not final: more of the amount can be refunded, and the rest can be reversed.
	"refunded": {
		"refund": "refunded", "refund_pending": "refunding", "refund_done": "refunded", "further_refund_refused": "refunded",
		"reverse": "reversed",
	},
	// rejected → failed if the rail corrects its answer. Money that moves after all is given back.
	"rejected": {
		"correct":     "failed",
		"settle_late": "rejected", "give_back": "rejected", "gave_back": "rejected", "give_back_failed": "rejected", "take_back_late": "rejected", "await": "rejected",
	},
	"failed": {
		"settle_late": "failed", "give_back": "failed", "gave_back": "failed", "give_back_failed": "failed", "take_back_late": "failed", "await": "failed",
	},
	"reversed": {},
}

// atRailSteps returns the steps out of a status in which the rail has the charge, and the given steps.
func atRailSteps(status payment.Status, added steps) steps {
	row := steps{
		"act": "action_required", "settle": "charged", "fail": "failed", "decline": "rejected",
		"hold_payment": "payment_suspended", "hold_payout": "payout_suspended",
		"await": status, "submit": status, "cancel": status, "void": "failed", "void_failed": status, "end_attempt": "created",
		"pass_pre_authorized_3ds": "pre_authorized_3ds", "pass_auth_required": "auth_required", "pass_unknown": "unknown", "pass_cancelled": "cancelled",
	}
	delete(row, "pass_"+payment.Event(status)) // no event leads from a rail's status to itself
	maps.Copy(row, added)
	return row
}

// suspendedSteps returns the steps out of a status in which money is held.
func suspendedSteps(status payment.Status) steps {
	return steps{
		"commit": status, "capture": "charged", "commit_refused": status, "cancel": status, "lapse": status, "void": "failed", "void_failed": status,
		"await": status, "settle": "charged", "fail": "failed",
	}
}

func TestTheMachineIsTheSpecificationsTable(t *testing.T) {
	if got := payment.Machine.Events(); !slices.Equal(got, vocabulary) {
		t.Errorf("events %q, want %q", got, vocabulary)
	}
	if got, want := len(payment.Machine.States()), len(grid); got != want {
		t.Errorf("%d states, want %d", got, want)
	}
	for state, row := range grid {
		if !payment.Machine.HasState(state) {
			t.Errorf("no state %s", state)
		}
		for _, event := range vocabulary {
			step, ok := payment.Machine.Next(state, event)
			want, legal := row[event]
			if ok != legal || step.To != want {
				t.Errorf("%s on %s = %q, want %q", state, event, step.To, want)
			}
		}
	}
}

func TestTheMachinesReportIsCommitted(t *testing.T) {
	got := payment.Machine.Report()
	if *update {
		if err := os.WriteFile("testdata/machine.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("testdata/machine.txt"); err != nil || got != string(want) {
		t.Errorf("testdata/machine.txt is not the machine's report (%v): run go test -update and review the difference", err)
	}
}

// The expected values are those of the specification's table "Statuses", column "Final". An intermediate status of a rail is
// not final.
func TestFinalStatusesAreTheSpecifications(t *testing.T) {
	for status, want := range map[payment.Status]bool{
		"created": false, "new": false, "authorizing": false, "action_required": false, "charging": false, "charged": true, "rejected": true,
		"failed": true, "reversed": true, "refunded": false,
		"cancelled": false, "payment_suspended": false, "payout_suspended": false, "pre_authorized_3ds": false, "auth_required": false,
		"refunding": false, "unknown": false, "some_rails_own": false,
	} {
		if got := status.IsFinal(); got != want {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
}
