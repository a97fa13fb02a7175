package page

import (
	"strings"
	"testing"
)

// A payout's recipient does not pay, so the page hides failure reasons that concern a payment, its confirmation or its collection.
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
