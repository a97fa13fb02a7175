package payment_test

import (
	"testing"

	"mizan/ledger/payment"
)

// Error_description is shown in the partner's language where the catalogue has
// it; the specification's exact texts are the English ones and the default.
func TestReasonsAreShownInThePartnersLanguage(t *testing.T) {
	for _, c := range []struct{ lang, reason, want string }{
		{"", "unexpected card", "unexpected card"},
		{"en", "unexpected card", "unexpected card"},
		{"de", "unexpected card", "unexpected card"},
		{"ru", "unexpected card", "карта не указана"},
		{"ru-RU", "card_declined", "карта отклонена"},
		{"rus", "card_declined", "card_declined"},
		{"ru", "", ""},
		{"ru", "limit exceeded: daily_volume", "превышен лимит: daily_volume"},
		{"ru", "anti-fraud: bin", "отклонено системой защиты от мошенничества: bin"},
		{"ru", "some rail's own: words", "some rail's own: words"},
		{"ru", "limit exceeded:", "limit exceeded:"},
	} {
		if got := payment.Describe(c.lang, c.reason); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.reason, c.lang, got, c.want)
		}
	}
}

// What the service and the simulator say of a transaction has its Russian text.
func TestEveryReasonOfOursIsInTheCatalogue(t *testing.T) {
	for _, reason := range []string{
		"unexpected card", "return_url/fail_url params not specified", "amount out of range", "no terminal available", "no exchange rate",
		"fee exceeds amount", "insufficient balance", "interrupted", "cancelled", "hold expired", "payer action expired",
		"card_declined", "insufficient_funds", "expired_card", "processing_error", "authentication_failed", "limit exceeded: velocity", "anti-fraud: ip",
	} {
		if payment.Describe("ru", reason) == reason {
			t.Errorf("%q has no text", reason)
		}
	}
}
