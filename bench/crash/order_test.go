package crash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// reading has those fields of a response about a transaction that must never change once the
// transaction is final.
type reading struct {
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

func (r *reading) final() bool {
	return slices.Contains([]string{"charged", "rejected", "failed"}, r.Status)
}

// outcome is a final status with its reason.
type outcome struct{ status, reason string }

var charged = outcome{"charged", ""}

// interrupted is the outcome of a transaction whose provider call was prevented by a kill:
// nothing was submitted, and without the CVV nothing can be submitted later.
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

	last reading // guarded by book.mu: the latest response; zero: none yet
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

// check compares a response with the order and with the last response before the request was sent.
func (o *order) check(before, got *reading) error {
	want := reading{TxID: o.txid, Type: o.kind, Amount: fmt.Sprint(o.amount), Currency: currency, Env: o.env}
	answered := reading{TxID: got.TxID, Type: got.Type, Amount: got.Amount, Currency: got.Currency, Env: got.Env}
	switch {
	case want != answered:
		return fmt.Errorf("txid %s: answered %+v, ordered was %+v", o.txid, answered, want)
	case got.ID == "" || got.Started == "":
		return fmt.Errorf("txid %s: answered without id or time: %+v", o.txid, *got)
	case before.ID != "" && (got.ID != before.ID || got.Started != before.Started):
		return fmt.Errorf("txid %s: was transaction %s of %s, is now %s of %s", o.txid, before.ID, before.Started, got.ID, got.Started)
	case before.final() && !sameReading(before, got):
		return fmt.Errorf("txid %s: was final as %s, is now %s", o.txid, readingText(before), readingText(got))
	case got.final() && !o.allows(outcome{got.Status, got.Error}):
		return fmt.Errorf("txid %s: card %s ended as %s %q", o.txid, o.card[len(o.card)-4:], got.Status, got.Error)
	case !got.final() && !slices.Contains(statusesBeforeFinal, got.Status):
		return fmt.Errorf("txid %s: unexpected status %q", o.txid, got.Status)
	}
	return nil
}

func (o *order) allows(end outcome) bool { return end == outcomes[o.card] || end == interrupted }

func sameReading(a, b *reading) bool { return readingText(a) == readingText(b) }

func readingText(r *reading) string {
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
	declinedReading := reading{
		ID: "a", TxID: "t-1", Type: o.kind, Status: "rejected", Error: "card_declined", Amount: fmt.Sprint(o.amount),
		Currency: currency, Env: o.env, Started: "2026-11-21T00:00:00Z", Finished: &finished,
	}
	openReading := declinedReading
	openReading.Status, openReading.Error, openReading.Finished = "authorizing", "", nil
	for _, c := range []struct {
		name    string
		before  reading
		change  func(*reading)
		isValid bool
	}{
		{"the first response", reading{}, func(*reading) {}, true},
		{"the same final response again", declinedReading, func(*reading) {}, true},
		{"the transaction has ended", openReading, func(*reading) {}, true},
		{"interrupted", openReading, func(r *reading) { r.Status, r.Error = "failed", "interrupted" }, true},
		{"a second transaction", openReading, func(r *reading) { r.ID = "b" }, false},
		{"another start time", openReading, func(r *reading) { r.Started = finished }, false},
		{"a final status that changes", declinedReading, func(r *reading) { r.Status, r.Error = "failed", "interrupted" }, false},
		{"a final status taken back", declinedReading, func(r *reading) { *r = openReading }, false},
		{"another reason", declinedReading, func(r *reading) { r.Error = "" }, false},
		{"a charge of a declined card", reading{}, func(r *reading) { r.Status, r.Error = "charged", "" }, false},
		{"another amount", reading{}, func(r *reading) { r.Amount = "0" }, false},
		{"another txid", reading{}, func(r *reading) { r.TxID = "t-2" }, false},
		{"another environment", reading{}, func(r *reading) { r.Env = "" }, false},
		{"no id", reading{}, func(r *reading) { r.ID = "" }, false},
		{"a status that no order can have", openReading, func(r *reading) { r.Status = "reversed" }, false},
	} {
		got := declinedReading
		c.change(&got)
		if err := o.check(&c.before, &got); (err == nil) != c.isValid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
