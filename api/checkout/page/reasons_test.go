package page

import (
	"strings"
	"testing"
)

// The recipient of a payout has not paid, has confirmed no payment and collects nothing, so reasons about these are not shown.
func TestRecipientSeesOnlyReasonsThatAreTheirs(t *testing.T) {
	for reason, want := range map[string]string{
		"card_declined": "The card was declined.", "expired_card": "The card has expired.", "payer_action_expired": "Time ran out before you confirmed.",
		"insufficient_funds": "", "processing_error": "", "authentication_failed": "", "cancelled": "", "hold_expired": "", "interrupted": "", "anti_fraud": "",
	} {
		v := view{T: english, Page: Outcome{Order: Order{Payout: true, Sum: dollars}, Result: NotDone, Reason: reason}}
		if got := strings.Join(v.Outcome().Sentences, " "); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}
