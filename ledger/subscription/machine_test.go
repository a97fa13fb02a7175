package subscription_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	"mizan/ledger/subscription"
)

var update = flag.Bool("update", false, "rewrite the machine's report")

// steps are the transitions out of a state. For each event they have the next state. Any other event is refused.
type steps map[subscription.Event]subscription.State

var allEvents = []subscription.Event{
	"create", "renew", "wait", "await", "renewed", "payment_failed", "pause", "resume", "cancel",
}

// transitions are the expected transitions, written by hand. Pausing and cancelling do not wait for the outcome of a
// renewal under way, and cancelled is final.
var transitions = map[subscription.State]steps{
	"none":     {"create": "active"},
	"active":   {"renew": "renewing", "wait": "active", "pause": "paused", "cancel": "cancelled"},
	"past_due": {"renew": "renewing", "wait": "past_due", "pause": "paused", "cancel": "cancelled"},
	"paused":   {"resume": "active", "cancel": "cancelled"},
	"renewing": {
		"renewed": "active", "payment_failed": "past_due", "await": "renewing", "pause": "paused_renewing", "cancel": "cancelled_renewing",
	},
	"paused_renewing": {
		"renewed": "paused", "payment_failed": "paused", "await": "paused_renewing", "resume": "renewing", "cancel": "cancelled_renewing",
	},
	"cancelled_renewing": {"renewed": "cancelled", "payment_failed": "cancelled", "await": "cancelled_renewing"},
	"cancelled":          {},
}

func TestMachineHasExactlyTheExpectedTransitions(t *testing.T) {
	if got := subscription.Machine.Events(); !slices.Equal(got, allEvents) {
		t.Errorf("events %q, want %q", got, allEvents)
	}
	if got, want := len(subscription.Machine.States()), len(transitions); got != want {
		t.Errorf("%d states, want %d", got, want)
	}
	for state, nextStates := range transitions {
		for _, event := range allEvents {
			step, ok := subscription.Machine.Next(state, event)
			want, legal := nextStates[event]
			if ok != legal || step.To != want {
				t.Errorf("%s on %s = %q, want %q", state, event, step.To, want)
			}
			from := string(state)
			if state == "none" {
				from = ""
			}
			if legal != subscription.IsLegalTransition(string(event), from, string(want)) && legal {
				t.Errorf("%s on %s to %q is not legal", state, event, want)
			}
			if subscription.IsLegalTransition(string(event), from, "nowhere") {
				t.Errorf("%s on %s to an unknown state is legal", state, event)
			}
		}
	}
}

func TestTheMachinesReportIsCommitted(t *testing.T) {
	got := subscription.Machine.Report()
	if *update {
		if err := os.WriteFile("testdata/machine.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("testdata/machine.txt"); err != nil || got != string(want) {
		t.Errorf("testdata/machine.txt is not the machine's report (%v): run go test -update and review the difference", err)
	}
}

// Notifications have the names of lifecycle events in the specification, "Events".
func TestTheLifecycleEventsAreTheSpecifications(t *testing.T) {
	want := map[subscription.Event]string{
		"renewed": "subscription.renewed", "payment_failed": "subscription.payment_failed", "cancel": "subscription.cancelled",
		"pause": "subscription.paused", "resume": "subscription.resumed",
	}
	for _, event := range allEvents {
		name, notified := event.NotificationName()
		if name != want[event] || notified != (want[event] != "") {
			t.Errorf("%s is called %q in notifications (%v), want %q", event, name, notified, want[event])
		}
	}
}
