package crash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// txState is a transaction as a response shows it, with the fields that must not change once the transaction is
// final.
type txState struct {
	ID             string  `json:"id"`
	TxID           string  `json:"txid"`
	Type           string  `json:"type"`
	Status         string  `json:"status"`
	Error          string  `json:"error_code"`
	Amount         string  `json:"amount"`
	AmountWithFee  string  `json:"amount_with_fee"`
	AmountDest     string  `json:"amount_dest"`
	MerchantAmount string  `json:"merchant_amount"`
	Currency       string  `json:"currency"`
	Env            string  `json:"env"`
	Started        string  `json:"started"`
	Finished       *string `json:"finished"`
	RRN            string  `json:"rrn"`
}

// final tells whether the status never changes again.
func (r *txState) final() bool {
	return slices.Contains([]string{"charged", "rejected", "failed"}, r.Status)
}

// outcome is a final status with its error code.
type outcome struct{ status, reason string }

var charged = outcome{"charged", ""}

// interrupted is the outcome of a transaction if a kill came before the call to the provider. Nothing was submitted,
// and nothing can be submitted later, because the CVV is not stored.
var interrupted = outcome{"failed", "interrupted"}

// outcomes maps each of the simulator's cards to the outcome to which it leads.
var outcomes = map[string]outcome{
	"4242424242424242": charged,
	"5555555555554444": charged,
	"4000000000000002": {"rejected", "card_declined"},
	"4000000000009995": {"rejected", "insufficient_funds"},
	"4000000000000119": {"failed", "processing_error"},
	"4000000000000077": charged, // 5 s later
	"4000000000000341": charged, // an inquiry returns the outcome 10 s later
}

// statusesBeforeFinal are the statuses before a final one.
var statusesBeforeFinal = []string{"created", "new", "authorizing", "charging"}

const (
	cardholder = "Zebulon Quixworth-Canary"
	currency   = "USD"
	maxAmount  = 1_000 // minor units; the opening balance suffices for a hundred thousand payouts
)

// order is a transaction that clients request once or repeatedly.
type order struct {
	txid, kind, card, env string
	amount                int
	body                  []byte // body of the request, as sent
	redactedBody          []byte // the same body as it is recorded: without the CVV, and with only the last four digits of the card

	last txState // guarded by book.mu: as in the latest response; zero: none yet
}

// newOrder makes a random order. Orders with a delayed outcome are rare, because a campaign has to wait
// for them. With noDelays there are none.
func newOrder(txid string, random *rand.Rand, noDelays bool) *order {
	o := &order{txid: txid, kind: "payment", env: "prod", card: "4242424242424242", amount: 1 + random.IntN(maxAmount)}
	switch roll := random.IntN(100); {
	case roll < 50:
	case roll < 60:
		o.card = "5555555555554444"
	case roll < 70:
		o.card = "4000000000000002"
	case roll < 78:
		o.card = "4000000000009995"
	case roll < 88:
		o.card = "4000000000000119"
	case roll < 95 && !noDelays:
		o.card = "4000000000000077"
	case !noDelays:
		o.card = "4000000000000341"
	}
	if random.IntN(5) == 0 {
		o.kind = "payout"
	}
	if random.IntN(5) == 0 {
		o.env = "test"
	}
	o.body = o.render(o.card, `,"cvv":"737"`)
	o.redactedBody = o.render(o.card[len(o.card)-4:], "")
	return o
}

func (o *order) render(card, cvv string) []byte {
	return fmt.Appendf(nil, `{"params":{"txid":%q,"type":%q,"env":%q,"amount":"%d","currency":%q,`+
		`"returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed",`+
		`"money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":%q,"exp_month":"12","exp_year":"2040"%s}}}`,
		o.txid, o.kind, o.env, o.amount, currency, card, cardholder, cvv)
}

// check compares a response with the order, and with the order's state before the request was sent.
func (o *order) check(previous, got *txState) error {
	want := txState{TxID: o.txid, Type: o.kind, Amount: fmt.Sprint(o.amount), Currency: currency, Env: o.env}
	answered := txState{TxID: got.TxID, Type: got.Type, Amount: got.Amount, Currency: got.Currency, Env: got.Env}
	switch {
	case want != answered:
		return fmt.Errorf("txid %s: answered %+v, ordered was %+v", o.txid, answered, want)
	case got.ID == "" || got.Started == "":
		return fmt.Errorf("txid %s: answered without id or time: %+v", o.txid, *got)
	case previous.ID != "" && (got.ID != previous.ID || got.Started != previous.Started):
		return fmt.Errorf("txid %s: was transaction %s of %s, is now %s of %s", o.txid, previous.ID, previous.Started, got.ID, got.Started)
	case previous.final() && !sameState(previous, got):
		return fmt.Errorf("txid %s: was final as %s, is now %s", o.txid, stateText(previous), stateText(got))
	case got.final() && !o.allows(outcome{got.Status, got.Error}):
		return fmt.Errorf("txid %s: card %s ended as %s %q", o.txid, o.card[len(o.card)-4:], got.Status, got.Error)
	case !got.final() && !slices.Contains(statusesBeforeFinal, got.Status):
		return fmt.Errorf("txid %s: unexpected status %q", o.txid, got.Status)
	}
	return nil
}

// allows tells whether the order's transaction may end with the outcome.
func (o *order) allows(end outcome) bool { return end == outcomes[o.card] || end == interrupted }

func sameState(a, b *txState) bool { return stateText(a) == stateText(b) }

func stateText(r *txState) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // the struct has only strings
	}
	return string(text)
}

func TestOrderCheckDetectsWrongResponses(t *testing.T) {
	o := newOrder("t-1", rand.New(rand.NewPCG(1, 1)), true)
	o.card = "4000000000000002"
	finished := "2026-11-21T00:00:01Z"
	declined := txState{
		ID: "a", TxID: "t-1", Type: o.kind, Status: "rejected", Error: "card_declined", Amount: fmt.Sprint(o.amount),
		Currency: currency, Env: o.env, Started: "2026-11-21T00:00:00Z", Finished: &finished,
	}
	pending := declined
	pending.Status, pending.Error, pending.Finished = "authorizing", "", nil
	for _, c := range []struct {
		name     string
		previous txState
		change   func(*txState)
		isValid  bool
	}{
		{"the first response", txState{}, func(*txState) {}, true},
		{"the same final response again", declined, func(*txState) {}, true},
		{"the transaction has ended", pending, func(*txState) {}, true},
		{"interrupted", pending, func(r *txState) { r.Status, r.Error = "failed", "interrupted" }, true},
		{"a second transaction", pending, func(r *txState) { r.ID = "b" }, false},
		{"another start time", pending, func(r *txState) { r.Started = finished }, false},
		{"a final status that changes", declined, func(r *txState) { r.Status, r.Error = "failed", "interrupted" }, false},
		{"a final status taken back", declined, func(r *txState) { *r = pending }, false},
		{"another reason", declined, func(r *txState) { r.Error = "" }, false},
		{"a charge of a declined card", txState{}, func(r *txState) { r.Status, r.Error = "charged", "" }, false},
		{"another amount", txState{}, func(r *txState) { r.Amount = "0" }, false},
		{"another txid", txState{}, func(r *txState) { r.TxID = "t-2" }, false},
		{"another environment", txState{}, func(r *txState) { r.Env = "" }, false},
		{"no id", txState{}, func(r *txState) { r.ID = "" }, false},
		{"a status that no order can have", pending, func(r *txState) { r.Status = "reversed" }, false},
	} {
		got := declined
		c.change(&got)
		if err := o.check(&c.previous, &got); (err == nil) != c.isValid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
