package api_test

import (
	"fmt"
	"testing"

	paymentactor "mizan/actors/payment"
	"mizan/api"
	"mizan/api/payments"
)

// recordingPayments is a payment service that records its calls.
type recordingPayments struct {
	payments.Transactions
	material paymentactor.Material
	proceed  paymentactor.Continue
	card     string // a copy of Continue's card, which is wiped later
	create   paymentactor.Create
}

// Create implements payments.Transactions.
func (l *recordingPayments) Create(c paymentactor.Create) (paymentactor.Result, error) {
	l.create = c
	return l.Transactions.Create(c)
}

// Complete implements payments.Transactions.
func (l *recordingPayments) Complete(m paymentactor.Material) (paymentactor.Result, error) {
	l.material = m
	return l.Read(m.Org, m.Partner, m.ID)
}

// Continue implements payments.Transactions.
func (l *recordingPayments) Continue(c paymentactor.Continue) (paymentactor.Result, error) {
	l.proceed = c
	if k := c.Card; k != nil {
		l.card = fmt.Sprintf("%s|%s|%s|%s|%s", k.Number, k.Holder, k.ExpMonth, k.ExpYear, k.CVV)
	}
	return l.Read(c.Org, c.Partner, c.ID)
}

func newRecordingFixture(t *testing.T) (*fixture, *recordingPayments) {
	l := new(recordingPayments)
	f := newFixture(t, func(cfg *api.Config) {
		l.Transactions = cfg.Payments
		cfg.Payments = l
	})
	return f, l
}

// A status in the material is removed, however JSON spells it; everything else is passed on as
// it was sent.
func TestMaterialIsPassedOnWithoutItsStatus(t *testing.T) {
	t.Parallel()
	h, l := newRecordingFixture(t)
	path := operation("additional_params_for_auth", h.createHosted("").at("id"))
	for body, want := range map[string]string{
		`{"additional_params_for_auth":{"otp":"1","n":1.50,"o":{"status":"x"}}}`:               `{"otp":"1","n":1.50,"o":{"status":"x"}}`,
		`{"additional_params_for_auth":{"a":1,"status":"charged","b":[ 2 ]}}`:                  `{"a":1,"b":[ 2 ]}`,
		`{"additional_params_for_auth":{"st\u0061tus":null,"Status":1}}`:                       `{"Status":1}`,
		`{"params":{"status":"charged","otp":"1"}}`:                                            `{"otp":"1"}`,
		`{"params":{"additional_params_for_auth":{"in":1},"otp":"1"}}`:                         `{"in":1}`,
		`{"additional_params_for_auth":{"bare":1},"params":{"additional_params_for_auth":{}}}`: `{"bare":1}`,
		`{"params":{"additional_params_for_auth":{"in":1}},"additional_params_for_auth":null}`: `{"in":1}`,
		`{"additional_params_for_auth":{"\u0022":"\u00e9"}}`:                                   `{"\"":"\u00e9"}`,
	} {
		h.partner().post(path, body).want(200, "")
		if got := string(l.material.Object); got != want {
			t.Errorf("%s was handed on as %s, want %s", body, got, want)
		}
	}
}

func TestContinueIsPassedToTheService(t *testing.T) {
	t.Parallel()
	h, l := newRecordingFixture(t)
	id := h.createHosted("").at("id")
	h.partner().keyed("k").post(operation("continue", id), `{`+goodCard+`,"route":"simulator","browser_data":{ "timezone":-180 },"extra":1}`).want(200, "")
	c := &l.proceed
	if c.ID.String() != id || c.Org != h.seed.First.Org || c.Partner != 1 || c.Key.Text != "k" || c.Key.Scope != "partner/1" {
		t.Errorf("%+v", c.Command)
	}
	if c.Route != "simulator" || string(c.Browser) != `{ "timezone":-180 }` || l.card != good+"|JOHN DOE|12|2030|123" {
		t.Errorf("route %q, browser %s, card %q", c.Route, c.Browser, l.card)
	}
	if k := c.Credentials; k.Method != "bank_card" || k.CardBIN != "424242" || k.CardLast4 != "4242" || k.CardFingerprint != h.Keyring.Fingerprint([]byte(good)) {
		t.Errorf("%+v", k)
	}
	h.partner().post(operation("continue", id), `{"money_storage":{"type":"sbp"}}`).want(200, "")
	if l.proceed.Card != nil || l.proceed.Credentials.Method != "sbp" || l.proceed.Browser != nil || l.proceed.Route != "" || l.proceed.Key.Text != "" {
		t.Errorf("without a card: %+v", l.proceed)
	}
}

func TestHostedCreateIsPassedOnWithoutCredentials(t *testing.T) {
	t.Parallel()
	h, l := newRecordingFixture(t)
	h.createHosted(`,` + goodCard)
	if c := &l.create; !c.Hosted || c.Card != nil || c.Request.Method != "" || c.Request.CardFingerprint != "" {
		t.Errorf("%+v", c)
	}
	h.charge(good)
	if l.create.Hosted || l.create.Request.Method != "bank_card" {
		t.Errorf("%+v", l.create)
	}
}
