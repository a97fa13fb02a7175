package api_test

import (
	"fmt"
	"testing"

	paymentactor "mizan/actors/payment"
	"mizan/api"
	"mizan/api/payments"
)

// recordingPayments is a payment service that records the last call of each kind. Complete and Continue record the call but do
// not execute it.
type recordingPayments struct {
	payments.Transactions
	lastMaterial paymentactor.PayerSubmission
	lastContinue paymentactor.Continue
	lastCard     string // the card of lastContinue, copied because the original is wiped later
	lastCreate   paymentactor.Create
}

// Create implements payments.Transactions.
func (l *recordingPayments) Create(c paymentactor.Create) (paymentactor.Result, error) {
	l.lastCreate = c
	return l.Transactions.Create(c)
}

// Complete implements payments.Transactions.
func (l *recordingPayments) Complete(m paymentactor.PayerSubmission) (paymentactor.Result, error) {
	l.lastMaterial = m
	return l.Read(m.Org, m.Partner, m.ID)
}

// Continue implements payments.Transactions.
func (l *recordingPayments) Continue(c paymentactor.Continue) (paymentactor.Result, error) {
	l.lastContinue = c
	if card := c.Card; card != nil {
		l.lastCard = fmt.Sprintf("%s|%s|%s|%s|%s", card.Number, card.Holder, card.ExpMonth, card.ExpYear, card.CVV)
	}
	return l.Read(c.Org, c.Partner, c.ID)
}

func newRecordingFixture(t *testing.T) (*fixture, *recordingPayments) {
	recorded := new(recordingPayments)
	f := newFixture(t, func(cfg *api.Config) {
		recorded.Transactions = cfg.Payments
		cfg.Payments = recorded
	})
	return f, recorded
}

// Material is what the payer enters to authenticate, such as a password. The server removes a member "status" from it, even if
// escapes in the JSON hide the name. It passes all other members on as they were sent.
func TestMaterialIsPassedOnWithoutItsStatus(t *testing.T) {
	t.Parallel()
	f, recorded := newRecordingFixture(t)
	path := operation("additional_params_for_auth", f.createHosted("").at("id"))
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
		f.partner().post(path, body).want(200, "")
		if got := string(recorded.lastMaterial.Object); got != want {
			t.Errorf("%s was handed on as %s, want %s", body, got, want)
		}
	}
}

func TestContinueIsPassedToTheService(t *testing.T) {
	t.Parallel()
	f, recorded := newRecordingFixture(t)
	id := f.createHosted("").at("id")
	f.partner().keyed("k").post(operation("continue", id), `{`+goodCard+`,"route":"simulator","browser_data":{ "timezone":-180 },"extra":1}`).want(200, "")
	c := &recorded.lastContinue
	if c.ID.String() != id || c.Org != f.seed.First.Org || c.Partner != 1 || c.Key.Text != "k" || c.Key.Scope != "partner/1" {
		t.Errorf("%+v", c.Command)
	}
	if c.Route != "simulator" || string(c.Browser) != `{ "timezone":-180 }` || recorded.lastCard != good+"|JOHN DOE|12|2030|123" {
		t.Errorf("route %q, browser %s, card %q", c.Route, c.Browser, recorded.lastCard)
	}
	if k := c.Credentials; k.Method != "bank_card" || k.CardBIN != "424242" || k.CardLast4 != "4242" || k.CardFingerprint != f.Keyring.Fingerprint([]byte(good)) {
		t.Errorf("%+v", k)
	}
	f.partner().post(operation("continue", id), `{"money_storage":{"type":"sbp"}}`).want(200, "")
	if recorded.lastContinue.Card != nil || recorded.lastContinue.Credentials.Method != "sbp" || recorded.lastContinue.Browser != nil || recorded.lastContinue.Route != "" || recorded.lastContinue.Key.Text != "" {
		t.Errorf("without a card: %+v", recorded.lastContinue)
	}
}

func TestHostedCreateIsPassedOnWithoutCredentials(t *testing.T) {
	t.Parallel()
	f, recorded := newRecordingFixture(t)
	f.createHosted(`,` + goodCard)
	if c := &recorded.lastCreate; !c.Hosted || c.Card != nil || c.Request.Method != "" || c.Request.CardFingerprint != "" {
		t.Errorf("%+v", c)
	}
	f.charge(good)
	if recorded.lastCreate.Hosted || recorded.lastCreate.Request.Method != "bank_card" {
		t.Errorf("%+v", recorded.lastCreate)
	}
}
