package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tests of the specification's section "money_storage (payer credentials)".

func TestPaymentCardHasFiveKeys(t *testing.T) {
	m := sandboxMerchant(t)
	for _, key := range []string{"cardnumber", "cardholder", "exp_month", "exp_year", "cvv"} {
		m.send(paymentWith(card(good).with(key, absent))).refuses("money_storage."+key, key+" is required")
	}
	m.create(paymentWith(card(good))).has("status", "charged")
}

func TestPayoutCardNeedsItsNumberOnly(t *testing.T) {
	m := sandboxMerchant(t)
	m.create(payout(good)).has("status", "charged")
	m.send(payout(good, "money_storage", params{"type": "bank_card"})).refuses("money_storage.cardnumber", "cardnumber is required")
}

func TestDirectDebitNeedsItsScheme(t *testing.T) {
	m := sandboxMerchant(t)
	const detail = "direct_debit requires scheme: ach, acss, or bacs"
	m.send(paymentWith(params{"type": "direct_debit"})).refuses("money_storage.scheme", detail)
	m.send(paymentWith(params{"type": "direct_debit", "scheme": "sepa", "account_number": "1"})).refuses("money_storage.scheme", detail)
	m.send(paymentWith(params{"type": "direct_debit", "scheme": ""})).refuses("money_storage.scheme", detail)
}

func TestEachDirectDebitSchemeHasItsKeys(t *testing.T) {
	merchant := sandboxMerchant(t)
	for scheme, keys := range map[string][]string{
		"ach": {"routing_number", "account_number"}, "bacs": {"sort_code", "account_number"},
		"acss": {"institution_number", "transit_number", "account_number"},
	} {
		complete := params{"type": "direct_debit", "scheme": scheme}
		for _, key := range keys {
			complete[key] = "12345678"
		}
		merchant.create(paymentWith(complete)).has("status", "charged")
		for _, key := range keys {
			merchant.send(paymentWith(complete.with(key, absent))).refuses("money_storage."+key, key+" is required")
		}
	}
}

func TestAcssIsForPaymentsOnly(t *testing.T) {
	m := sandboxMerchant(t)
	m.send(payout(good, "money_storage", params{
		"type": "direct_debit", "scheme": "acss", "institution_number": "1", "transit_number": "2", "account_number": "3",
	})).refuses("money_storage.scheme", "acss is accepted for payments only")
	m.create(payout(good, "money_storage", params{"type": "direct_debit", "scheme": "ach", "routing_number": "1", "account_number": "2"})).
		has("status", "charged")
}

func TestCardNumbersAreDigitsThatPassTheLuhnCheck(t *testing.T) {
	m := sandboxMerchant(t)
	for _, number := range []any{"4242424242424241", "4242 4242 4242 4242", "4242-4242-4242-4242", "424242424242424x", "", "0", 4242424242424242} {
		m.send(paymentWith(card(good).with("cardnumber", number))).refuses("money_storage.cardnumber", "invalid cardnumber")
		m.send(payout(good, "money_storage", params{"type": "bank_card", "cardnumber": number})).
			refuses("money_storage.cardnumber", "invalid cardnumber")
	}
	for _, number := range []string{"378282246310005", "6011111111111117", "30569309025904"} {
		m.create(paymentWith(card(number))).has("status", "charged")
	}
}

func TestCVVIsExactlyThreeDigits(t *testing.T) {
	m := sandboxMerchant(t)
	for _, cvv := range []any{"7373", "73", "", "73x", "７３７", 737} {
		m.send(paymentWith(card(good).with("cvv", cvv))).refuses("money_storage.cvv", "invalid cvv")
	}
	m.create(paymentWith(card(good).with("cvv", "007"))).has("status", "charged")
}

func TestExpiryMonthHasOneOrTwoDigits(t *testing.T) {
	m := sandboxMerchant(t)
	for _, month := range []string{"1", "01", "12"} {
		m.create(paymentWith(card(good).with("exp_month", month).with("exp_year", "99"))).has("status", "charged")
	}
	for _, month := range []any{"", "012", "x", "1x", 1} {
		m.send(paymentWith(card(good).with("exp_month", month))).refuses("money_storage.exp_month", "invalid exp_month")
	}
}

func TestExpiryYearHasTwoOrFourDigits(t *testing.T) {
	m := sandboxMerchant(t)
	for _, year := range []string{"30", "2030"} {
		m.create(paymentWith(card(good).with("exp_year", year))).has("status", "charged")
	}
	for _, year := range []any{"", "3", "203", "20300", "2o30", 2030} {
		m.send(paymentWith(card(good).with("exp_year", year))).refuses("money_storage.exp_year", "invalid exp_year")
	}
}

// The types of a money_storage that every provider may accept, and those of single providers, with their names in
// the specification. bank_card and direct_debit are left out because there are rules for their keys.
const (
	universalStorageTypes = "bank_account sbp qr_code crypto e_wallet phone_payment bnpl open_banking apple_pay google_pay voucher gift_card"
	providerStorageTypes  = "totp provider_token square_nonce sepa upi netbanking boleto revolut_payout encrypted_qr native_gas username_subscription " +
		"pix oxxo klarna alipay wechat_pay paynow grabpay ideal bancontact paypal_account venmo emi interac_present mollie_redirect " +
		"revolut_checkout open_banking_redirect"
)

func TestUniversalStorageTypesAreAccepted(t *testing.T) {
	m := sandboxMerchant(t)
	for kind := range strings.FieldsSeq(universalStorageTypes) {
		if got := m.create(paymentWith(params{"type": kind})).at("status"); got != "charged" && got != "action_required" {
			t.Errorf("%s is %s", kind, got)
		}
	}
}

func TestProviderSpecificStorageTypesAreAccepted(t *testing.T) {
	m := sandboxMerchant(t)
	for kind := range strings.FieldsSeq(providerStorageTypes) {
		status := "charged"
		if kind == "native_gas" {
			status = "action_required" // a crypto payment waits for a signature
		}
		m.create(paymentWith(params{"type": kind})).has("status", status)
	}
}

func TestUnknownStorageTypeIsRefused(t *testing.T) {
	m := sandboxMerchant(t)
	for _, kind := range []string{"ach", "acss", "bacs", "card", "bankcard", "bank card", "BANK_CARD", "cash", ""} {
		m.send(paymentWith(params{"type": kind})).refuses("money_storage.type", "invalid money_storage type "+kind)
	}
}

func TestNoEndpointListsTheStorageTypes(t *testing.T) {
	m := sandboxMerchant(t)
	for _, path := range []string{"/money_storage", "/money_storage_types", "/money_storage/types", "/types"} {
		m.get(v1 + path).want(404)
	}
}

// Texts that no response, log or file may contain.
const watchedHolder, watchedCard = "CANARY HOLDER", "4000000000001000"

func TestCredentialsAreInNoResponseAndNoLog(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	secrets := card(watchedCard).with("cardholder", watchedHolder)
	responses := []*response{
		m.create(paymentWith(secrets)).has("status", "charged"), m.send(paymentWith(secrets.with("cvv", "7373"))), m.send(paymentWith(secrets, "amount", 5)),
		m.post(transactions, `{"params":{"money_storage":{"cardnumber":"`+watchedCard+`"}}`),
		m.continueWith(m.create(hosted()).at("id"), params{"money_storage": secrets}).want(200).has("status", "charged"),
		m.get(transactions + "?env=test"),
	}
	for _, a := range responses {
		if strings.Contains(a.body, watchedHolder) || strings.Contains(a.body, watchedCard) || strings.Contains(a.body, `"737"`) {
			t.Errorf("%s answered with credentials: %s", a.called, a.body)
		}
	}
	log := testServer(t).Stderr() + testServer(t).Stdout()
	rail, err := os.ReadFile(filepath.Join(testServer(t).Dir, "simulator.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, written := range []string{log, string(rail)} {
		if strings.Contains(written, watchedHolder) || strings.Contains(written, watchedCard) {
			t.Error("a log holds credentials")
		}
	}
}

func TestStoredCardIsSealedOnTheDisk(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	r := m.create(paymentWith(card(redirected).with("cardholder", watchedHolder))).has("status", "action_required")
	if found := fileContaining(t, testServer(t).Dir, redirected); found != "" {
		t.Errorf("%s holds an open card number", found)
	}
	approvePayment(t, r).wantRedirectedTo(returnURL) // the server decrypts the card and sends it to the provider
	m.read(r.at("id")).has("status", "charged")
}

// fileContaining returns a file below the directory that contains the text; empty if there is none.
func fileContaining(t testing.TB, folder, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // the store has deleted the file
		}
		if strings.Contains(string(content), text) {
			found = path
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return found
}
