package orders

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
)

// State is a transaction as a response shows it. It contains only fields that must not change once the transaction is final.
type State struct {
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

// Final returns whether the status is final, so that it never changes again.
func (s *State) Final() bool {
	return slices.Contains([]string{"charged", "rejected", "failed"}, s.Status)
}

// Outcome is a final status and its error code (Reason).
type Outcome struct{ Status, Reason string }

var charged = Outcome{"charged", ""}

// Interrupted is the outcome of a transaction if the server was killed before it called the provider. Nothing was submitted to
// the provider, and nothing can be submitted later, because the CVV is not stored.
var Interrupted = Outcome{"failed", "interrupted"}

// unserved is the outcome of a transaction that the provider could not carry out, because a fault kept the provider
// from writing its log.
var unserved = Outcome{"failed", "processing_error"}

// Outcomes maps each test card of the provider simulator to the outcome of a transaction with that card.
var Outcomes = map[string]Outcome{
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

// Constants that all orders share.
const (
	Cardholder = "Zebulon Quixworth-Canary"
	Currency   = "USD"
	maxAmount  = 1_000 // in minor units; so small that the opening balance suffices for a hundred thousand payouts
)

// Order is a transaction that clients request once or repeatedly.
type Order struct {
	TxID, Kind, Card, Env string
	Amount                int
	body                  []byte // body of the request, as sent
	redactedBody          []byte // the body as it is recorded: without the CVV, and with only the last four digits of the card

	Last State // state in the latest response, zero if there is none; guarded by Book.mu while clients make requests
}

// newOrder makes a random order. Orders with a delayed outcome are rare, because a campaign has to wait for them. If noDelays
// is true, no outcome is delayed.
func newOrder(txid string, random *rand.Rand, noDelays bool) *Order {
	o := &Order{TxID: txid, Kind: "payment", Env: "prod", Card: "4242424242424242", Amount: 1 + random.IntN(maxAmount)}
	switch roll := random.IntN(100); {
	case roll < 50:
	case roll < 60:
		o.Card = "5555555555554444"
	case roll < 70:
		o.Card = "4000000000000002"
	case roll < 78:
		o.Card = "4000000000009995"
	case roll < 88:
		o.Card = "4000000000000119"
	case roll < 95 && !noDelays:
		o.Card = "4000000000000077"
	case !noDelays:
		o.Card = "4000000000000341"
	}
	if random.IntN(5) == 0 {
		o.Kind = "payout"
	}
	if random.IntN(5) == 0 {
		o.Env = "test"
	}
	o.body = o.render(o.Card, `,"cvv":"737"`)
	o.redactedBody = o.render(o.Card[len(o.Card)-4:], "")
	return o
}

func (o *Order) render(card, cvv string) []byte {
	return fmt.Appendf(nil, `{"params":{"txid":%q,"type":%q,"env":%q,"amount":"%d","currency":%q,`+
		`"returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed",`+
		`"money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":%q,"exp_month":"12","exp_year":"2040"%s}}}`,
		o.TxID, o.Kind, o.Env, o.Amount, Currency, card, Cardholder, cvv)
}

// check compares a response with the order, and with the state that the order had when the request was sent.
func (o *Order) check(previous, got *State, withFault bool) error {
	want := State{TxID: o.TxID, Type: o.Kind, Amount: fmt.Sprint(o.Amount), Currency: Currency, Env: o.Env}
	answered := State{TxID: got.TxID, Type: got.Type, Amount: got.Amount, Currency: got.Currency, Env: got.Env}
	switch {
	case want != answered:
		return fmt.Errorf("txid %s: answered %+v, ordered was %+v", o.TxID, answered, want)
	case got.ID == "" || got.Started == "":
		return fmt.Errorf("txid %s: answered without id or time: %+v", o.TxID, *got)
	case previous.ID != "" && (got.ID != previous.ID || got.Started != previous.Started):
		return fmt.Errorf("txid %s: was transaction %s of %s, is now %s of %s", o.TxID, previous.ID, previous.Started, got.ID, got.Started)
	case previous.Final() && !sameState(previous, got):
		return fmt.Errorf("txid %s: was final as %s, is now %s", o.TxID, StateText(previous), StateText(got))
	case got.Final() && !o.allows(Outcome{got.Status, got.Error}, withFault):
		return fmt.Errorf("txid %s: card %s ended as %s %q", o.TxID, o.Card[len(o.Card)-4:], got.Status, got.Error)
	case !got.Final() && !slices.Contains(statusesBeforeFinal, got.Status):
		return fmt.Errorf("txid %s: unexpected status %q", o.TxID, got.Status)
	}
	return nil
}

// allows returns whether the order's transaction may end with this outcome. If withFault is true, the provider may also have
// failed to carry out the transaction.
func (o *Order) allows(end Outcome, withFault bool) bool {
	return end == Outcomes[o.Card] || end == Interrupted || withFault && end == unserved
}

func sameState(a, b *State) bool { return StateText(a) == StateText(b) }

// StateText returns a state as JSON.
func StateText(r *State) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // the struct has only strings
	}
	return string(text)
}
