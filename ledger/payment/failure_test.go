package payment_test

import (
	"strings"
	"testing"
	"unicode"

	"mizan/ledger/payment"
)

// error_description is in the partner's language if there are texts in that language, else in English. If the specification
// prescribes an English text, error_description is exactly that text.
func TestFailuresAreDescribedInThePartnersLanguage(t *testing.T) {
	for _, c := range []struct {
		lang    string
		failure payment.Failure
		want    string
	}{
		{"", payment.Failure{Code: "unexpected_card"}, "unexpected card"},
		{"en", payment.Failure{Code: "unexpected_card"}, "unexpected card"},
		{"de", payment.Failure{Code: "unexpected_card"}, "unexpected card"},
		{"ru", payment.Failure{Code: "unexpected_card"}, "карта не указана"},
		{"ru", payment.Failure{Code: "card_declined"}, "Карта отклонена."},
		{"fa", payment.Failure{Code: "card_declined"}, "The card was declined."},
		{"ru", payment.Failure{}, ""},
		{"en", payment.Failure{Code: "limit_exceeded", Detail: "daily_volume"}, "limit exceeded: daily_volume"},
		{"ru", payment.Failure{Code: "limit_exceeded", Detail: "daily_volume"}, "превышен лимит: daily_volume"},
		{"ru", payment.Failure{Code: "anti_fraud", Detail: "bin"}, "отклонено системой защиты от мошенничества: bin"},
		{"ru", payment.Failure{Code: "processing_error", Detail: "some rail's own words"}, "some rail's own words"},
		{"ru", payment.Failure{Detail: "words"}, "words"},
		{"", payment.Failure{Code: "no_such_code"}, ""},
	} {
		if got := c.failure.Describe(c.lang); got != c.want {
			t.Errorf("%+v in %q: %q, want %q", c.failure, c.lang, got, c.want)
		}
	}
}

// The list of codes is closed. Here it is written by hand, with the English texts that the specification prescribes. An empty
// text means that the specification prescribes none.
func TestEveryCodeHasASentenceInEachLanguageOfTheCatalogue(t *testing.T) {
	exact := map[string]string{
		"unexpected_card": "unexpected card", "return_urls_missing": "return_url/fail_url params not specified", "no_terminal": "no terminal available",
		"insufficient_balance": "insufficient balance", "fee_exceeds_amount": "fee exceeds amount", "amount_out_of_range": "amount out of range",
		"no_exchange_rate": "no exchange rate", "limit_exceeded": "limit exceeded: velocity", "anti_fraud": "anti-fraud: velocity", "card_declined": "",
		"insufficient_funds": "", "expired_card": "", "processing_error": "", "authentication_failed": "", "payer_action_expired": "payer action expired",
		"interrupted": "", "forced_by_terminal": "", "hold_expired": "hold expired", "cancelled": "", "refund_refused": "", "raw_cards_not_allowed": "",
	}
	codes := payment.Codes()
	if len(codes) != len(exact) {
		t.Errorf("there are %d codes, want %d", len(codes), len(exact))
	}
	for _, code := range codes {
		f := payment.Failure{Code: code}
		if code == payment.LimitExceeded || code == payment.AntiFraud {
			f.Detail = "velocity"
		}
		want, listed := exact[string(code)]
		english, russian := f.Describe("en"), f.Describe("ru")
		switch {
		case !listed || !code.IsPublished():
			t.Errorf("%s is none of the published codes", code)
		case want != "" && english != want, want == "" && (strings.Contains(english, "_") || !strings.HasSuffix(english, ".")):
			t.Errorf("%s: %q, want %q", code, english, want)
		case !strings.ContainsFunc(russian, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }):
			t.Errorf("%s: %q is not Russian", code, russian)
		}
	}
	if payment.TakenBack.IsPublished() || payment.Code("").IsPublished() {
		t.Error("success or a reversal has a published code")
	}
}
