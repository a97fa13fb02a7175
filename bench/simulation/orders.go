package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// This file is the model of payments and payouts. It defines which answers a client may get about an order, and which final
// statuses the order may have. The model is written from the specification and from the sandbox's table of cards, not from the
// code.

// outcome is a final status and its error code.
type outcome struct{ status, code string }

var (
	charged     = outcome{"charged", ""}
	interrupted = outcome{"failed", "interrupted"}      // the process ended or the request was lost before it reached the provider
	unsent      = outcome{"failed", "processing_error"} // the payer's password did not reach the provider
	cancelled   = outcome{"failed", "cancelled"}
	expired     = outcome{"rejected", "payer_action_expired"}
	released    = outcome{"failed", "hold_expired"}
	noTerminal  = outcome{"rejected", "no_terminal"} // too many calls were lost, so the service pauses the terminal for a while
	overLimit   = outcome{"rejected", "limit_exceeded"}
	overFunds   = outcome{"rejected", "insufficient_balance"}
)

// paymentMeans is a means of payment, and describes how the provider simulator treats it.
type paymentMeans struct {
	number   string    // card number
	method   string    // type of money_storage; empty means bank_card
	outcomes []outcome // possible outcomes if there is no fault
	asks     payerAction
	reverses bool // the provider takes a charge back a minute later
}

// payerAction is what the payer of a payment or the recipient of a payout must do before money moves.
type payerAction uint8

const (
	asksNothing   payerAction = iota
	asksPassword              // a one-time password
	asksDecision              // the decision, on the page of the payer's bank, to approve or refuse
	asksSignature             // the signature of a payload that is valid for a minute
	asksBank                  // the choice of the receiving bank
)

// storage returns the JSON value of money_storage for a request.
func (m *paymentMeans) storage() string {
	if m.method != "" {
		return fmt.Sprintf(`{"type":%q}`, m.method)
	}
	return fmt.Sprintf(`{"type":"bank_card","cardnumber":%q,"cardholder":"ZOE QUIX","exp_month":"12","exp_year":"2040","cvv":"737"}`, m.number)
}

// String returns the payment method, or the last four digits of the card.
func (m *paymentMeans) String() string {
	if m.method != "" {
		return m.method
	}
	return "card " + m.number[12:]
}

// authenticated are the possible outcomes of a charge that the payer has to confirm.
var authenticated = []outcome{charged, {"rejected", "authentication_failed"}, expired}

var cards = []paymentMeans{
	{number: "4242424242424242", outcomes: []outcome{charged}},
	{number: "5555555555554444", outcomes: []outcome{charged}},
	{number: "4000000000000002", outcomes: []outcome{{"rejected", "card_declined"}}},
	{number: "4000000000009995", outcomes: []outcome{{"rejected", "insufficient_funds"}}},
	{number: "4000000000000069", outcomes: []outcome{{"rejected", "expired_card"}}},
	{number: "4000000000000119", outcomes: []outcome{{"failed", "processing_error"}}},
	{number: "4000000000000077", outcomes: []outcome{charged}},
	{number: "4000000000000341", outcomes: []outcome{charged}},
	{number: "4000002500003155", outcomes: authenticated, asks: asksPassword},
	{number: "4000000000003220", outcomes: authenticated, asks: asksDecision},
	{number: "4000000000003063", outcomes: authenticated, asks: asksDecision},
	{number: "4000000000000259", outcomes: []outcome{charged, {"reversed", ""}}, reverses: true},
	{number: "4000000000005126", outcomes: []outcome{charged}},
	{number: "4000000000007726", outcomes: []outcome{charged}},
}

// otherMeans are the means of payment other than cards, by the kind of transaction.
var otherMeans = map[string][]paymentMeans{
	"payment": {
		{method: "qr_code", outcomes: authenticated, asks: asksDecision},
		{method: "native_gas", outcomes: authenticated, asks: asksSignature},
	},
	"payout": {
		{method: "sepa", outcomes: []outcome{charged, expired}, asks: asksBank},
		{method: "open_banking", outcomes: []outcome{charged, expired}, asks: asksBank},
	},
}

// Each currency is used for one kind of transaction. Payments in holdCurrency are held until a client commits them. Payments in
// limitedCurrency have a daily limit. For payments in feeCurrency the terminal charges a fee. scarceCurrency is only used for
// payouts, and the partner can afford only one such payout. plainCurrency is used for all other transactions.
const (
	plainCurrency   = "USD"
	holdCurrency    = "EUR"
	limitedCurrency = "GBP"
	feeCurrency     = "CHF"
	scarceCurrency  = "CAD"
	dailyLimit      = 8_000 // minor units of limitedCurrency
	feeBasisPoints  = 290
	feeFixed        = 30         // minor units
	scarceAmount    = 60_000_000 // minor units; the smallest amount of a payout in scarceCurrency
)

// fee returns the fee that the terminal charges for a payment in feeCurrency: floor(amount × bps ÷ 10000) + fixed.
func fee(amount int) int { return amount*feeBasisPoints/10_000 + feeFixed }

// order is a transaction that a client requests. Clients may send the create request of an order several times.
type order struct {
	number   int
	txid     string
	kind     string // payment or payout
	currency string
	amount   int
	means    *paymentMeans // nil if the payer chooses the means of payment on a page
	isLinked bool          // a payer begins the order at the payment link; it has no txid, so no client can repeat its create
	body     string
	key      string // idempotency key of the create request; empty if there is none

	// The fields below record what clients know about the order, and which requests they sent. world.mu guards these fields.
	id           string
	status       string
	code         string
	creates      int             // number of create requests that were sent
	keyedAnswer  string          // with an idempotency key, the answer to the first create request; a repetition must get the same answer
	seenStatuses []string        // statuses of the order in the answers, oldest first
	disturbed    bool            // a crash or a lost call came before the order was final
	cancels      bool            // a cancel request was sent
	tries        []*paymentMeans // if the payer chooses the means of payment, those that the payer has tried
	isLate       bool            // when the order ended, the payer's time was over, so the payer had no further attempt
	commits      []int           // amounts of the commits that were sent
	refunds      []refund
}

// refund is a client's request for a refund.
type refund struct {
	amount int
	status int // HTTP status of the answer; 0 if no answer arrived
}

func (o *order) isFinal() bool {
	return slices.Contains([]string{"charged", "rejected", "failed", "reversed", "refunded"}, o.status)
}

// book records all orders and other requests of the clients, and what the answers have shown.
type book struct {
	world        *world
	orders       []*order
	contracts    []*contractCase
	months       []string // months that were closed, according to the answers
	settlements  []settlement
	renewals     []string // ids of subscriptions
	heads        []head
	savedBackups []*savedBackup
}

func newBook(w *world) *book { return &book{world: w} }

// newOrder makes a random order.
func (b *book) newOrder(random *rand.Rand) *order {
	kind, currency, m := "payment", plainCurrency, &cards[0]
	if random.IntN(3) > 0 {
		m = &cards[random.IntN(len(cards))]
	}
	isPlain := m.asks == asksNothing && !m.reverses
	switch random.IntN(12) {
	case 0:
		currency = holdCurrency
	case 1:
		currency = limitedCurrency
	case 2:
		if !m.reverses {
			currency = feeCurrency
		}
	case 3:
		if isPlain {
			kind, currency = "payout", scarceCurrency
		}
	case 4:
		if isPlain {
			kind = "payout"
		}
	case 5, 6:
		m, currency = nil, []string{plainCurrency, holdCurrency, feeCurrency}[random.IntN(3)]
	case 7:
		m = &otherMeans[kind][random.IntN(len(otherMeans[kind]))]
	case 8:
		kind = "payout"
		m = &otherMeans[kind][random.IntN(len(otherMeans[kind]))]
	}
	return b.newOrderOf(random, kind, currency, m)
}

// newOrderOf makes an order with the given kind, currency and means of payment.
func (b *book) newOrderOf(random *rand.Rand, kind, currency string, m *paymentMeans) *order {
	o := &order{number: len(b.orders), kind: kind, currency: currency, means: m}
	o.txid = fmt.Sprintf("order-%d", o.number)
	o.amount = 1_000 + 7*o.number // unique, so that calls and notifications can be told apart
	if currency == scarceCurrency {
		o.amount += scarceAmount
	}
	if random.IntN(4) == 0 {
		o.key = "key-" + o.txid
	}
	payer := `"hosted":true`
	if m != nil {
		payer = `"money_storage":` + m.storage()
	}
	o.body = fmt.Sprintf(`{"params":{"txid":%q,"type":%q,"env":"prod","amount":"%d","currency":%q,"returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed",%s}}`,
		o.txid, o.kind, o.amount, o.currency, payer)
	b.orders = append(b.orders, o)
	return o
}

// recent returns a random order for which matches is true, usually one of the last such orders. If there is none, it returns
// nil.
func (b *book) recent(random *rand.Rand, matches func(*order) bool) *order {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	var list []*order
	for _, o := range b.orders {
		if matches(o) {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1-min(int(random.ExpFloat64()*6), len(list)-1)]
}

// disturb records that a crash or a lost call may have interrupted the orders that are not final.
func (b *book) disturb() {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	for _, o := range b.orders {
		if !o.isFinal() {
			o.disturbed = true
		}
	}
}

// hostedAttempts is the number of attempts to pay that a payer has on a page. If the last attempt is refused, the order is
// rejected.
const hostedAttempts = 3

// sent returns the means of payment that clients have sent for the order.
func (o *order) sent() []*paymentMeans {
	if o.means != nil {
		return []*paymentMeans{o.means}
	}
	return o.tries
}

// hasSent returns whether matches is true for one of the means of payment that were sent.
func (o *order) hasSent(matches func(*paymentMeans) bool) bool {
	return slices.ContainsFunc(o.sent(), matches)
}

// String describes the order.
func (o *order) String() string {
	return fmt.Sprintf("%s (%s of %d %s by %v)", o.txid, o.kind, o.amount, o.currency, o.sent())
}

// allows returns whether the model allows the outcome e for the order.
func (o *order) allows(w *world, e outcome) bool {
	switch {
	case o.kind == "payment" && o.currency == limitedCurrency && e == overLimit,
		o.currency == scarceCurrency && e == overFunds,
		e == interrupted && (o.disturbed || w.plan.Faults.LostCalls),
		e == noTerminal && w.plan.Faults.LostCalls,
		e == unsent && (o.disturbed || w.plan.Faults.LostCalls) && o.hasSent(func(m *paymentMeans) bool { return m.asks != asksNothing }),
		e == cancelled && o.cancels,
		e == expired && o.means == nil,
		e == released && o.currency == holdCurrency:
		return true
	case e.status == "reversed":
		return o.kind == "payment" && o.hasSent(func(m *paymentMeans) bool { return m.reverses })
	case e.status == "refunded" || e.status == "refunding":
		return len(o.refunds) > 0
	case e.status == "rejected" && o.means == nil && len(o.tries) < hostedAttempts && !o.isLate:
		return false
	}
	return o.hasSent(func(m *paymentMeans) bool { return slices.Contains(m.outcomes, e) })
}

// before lists the statuses that may come before a final status. after lists charged and the statuses that may follow charged.
var (
	before = []string{"created", "new", "authorizing", "charging", "action_required", "payment_suspended", "payout_suspended", "unknown", "cancelled", "auth_required", "pre_authorized_3ds"}
	after  = []string{"charged", "reversed", "refunding", "refunded"}
)

// checkAnswer checks an answer about the order and records the new status. shown is what clients knew about the order when the
// request was sent.
func (o *order) checkAnswer(w *world, shown order, a answer) {
	got := outcome{a.get("status"), a.get("error_code")}
	id := a.get("id")
	started, startedErr := time.Parse(time.RFC3339, a.get("started"))
	finished, finishedErr := time.Parse(time.RFC3339, a.get("finished"))
	w.mu.Lock()
	defer w.mu.Unlock()
	// One second is subtracted, because the payer's time begins when the request arrives, which is shortly before the time
	// started.
	o.isLate = startedErr == nil && finishedErr == nil && finished.Sub(started) > actionTTL-time.Second
	fail := func(format string, values ...any) {
		w.violations = append(w.violations, fmt.Sprintf("%v: %s; known before: %s %q, seen %v; answer %s",
			o, fmt.Sprintf(format, values...), shown.status, shown.code, o.seenStatuses, a.body))
	}
	switch {
	case id == "" || a.get("txid") != o.txid && a.get("txid") != "":
		fail("the answer is about something else")
	case o.id != "" && o.id != id:
		fail("two transactions, %s and %s", o.id, id)
	case a.get("amount") != strconv.Itoa(o.amount):
		fail("another amount, %s", a.get("amount"))
	case slices.Contains(before, got.status):
		if shown.isFinal() {
			fail("a final status was taken back")
		}
	case slices.Contains(after, got.status):
		if shown.isFinal() && !slices.Contains(after, shown.status) {
			fail("money moved after all")
		}
		if !o.allows(w, got) && got.status != "charged" || got.status == "charged" && !o.allows(w, charged) {
			fail("the order does not allow this outcome")
		}
	default:
		if !o.allows(w, got) {
			fail("the order does not allow this outcome")
		}
		if shown.isFinal() && (shown.status != got.status || shown.code != got.code) {
			fail("a final status has changed")
		}
	}
	o.id = id
	if !o.isFinal() || slices.Contains(after, got.status) {
		if o.status != got.status {
			o.seenStatuses = append(o.seenStatuses, got.status)
		}
		o.status, o.code = got.status, got.code
	}
}

func (o *order) known(w *world) order {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *o
}

const transactionsPath = "/api/v1/transactions"

// create sends the order's create request, for the first time or again.
func (o *order) create(c *client) {
	c.world.locked(func() { o.creates++ })
	shown := o.known(c.world)
	switch a := c.request(byPartner, http.MethodPost, transactionsPath, o.key, o.body); a.status {
	case 0, http.StatusServiceUnavailable, http.StatusConflict:
	case http.StatusCreated:
		if o.key == "" || o.checkKeyedAnswer(c.world, a, shown.creates == 1) {
			o.checkAnswer(c.world, shown, a)
		}
	default:
		c.world.recordViolation("%s: create answered %d: %s", o.txid, a.status, a.body)
	}
}

// withoutAction returns an answer without the members about the payer's next action. A repeated answer contains these members
// only as long as the action is possible.
func withoutAction(a answer) string {
	var members map[string]any
	if json.Unmarshal(a.body, &members) != nil {
		return string(a.body)
	}
	for _, name := range []string{"widget_url", "simple_auth_redirect_url", "auth_params", "additional_params_for_auth", "expires_at", "availble_destinations"} {
		delete(members, name)
	}
	return fmt.Sprint(members) // Sprint sorts the members by name
}

// checkKeyedAnswer checks the answer to a create request with an idempotency key. If the first request was answered, every
// repetition must get the same answer. If it was not answered, a repetition may get the present state of the transaction or an
// earlier state. If isFirst is true, the answer belongs to the first request. checkKeyedAnswer returns isFirst, because only
// the first answer is certain to show the present state.
func (o *order) checkKeyedAnswer(w *world, a answer, isFirst bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := withoutAction(a)
	if isFirst {
		o.keyedAnswer = text
	} else if o.keyedAnswer != "" && o.keyedAnswer != text {
		w.violations = append(w.violations, fmt.Sprintf("%s: the same key was answered %s, before %s", o.txid, text, o.keyedAnswer))
	}
	if id := a.get("id"); o.id == "" {
		o.id = id
	} else if o.id != id {
		w.violations = append(w.violations, fmt.Sprintf("%s: two transactions, %s and %s", o.txid, o.id, id))
	}
	return isFirst
}

// read requests the order's transaction and returns the answer.
func (o *order) read(c *client) answer {
	shown := o.known(c.world)
	a := c.request(byPartner, http.MethodGet, transactionsPath+"/"+shown.id, "", "")
	switch a.status {
	case 0, http.StatusServiceUnavailable:
	case http.StatusOK:
		o.checkAnswer(c.world, shown, a)
	default:
		c.world.recordViolation("%s: %s, which was answered, is answered %d: %s", o.txid, shown.id, a.status, a.body)
	}
	return a
}

// act sends a command about the order's transaction. The service may refuse the command.
func (o *order) act(c *client, method, path, body string) answer {
	shown := o.known(c.world)
	a := c.request(byPartner, method, path, "", body)
	switch a.status {
	case 0, http.StatusServiceUnavailable, http.StatusConflict, http.StatusUnprocessableEntity:
	case http.StatusOK:
		o.checkAnswer(c.world, shown, a)
	default:
		c.world.recordViolation("%s: %s %s answered %d: %s", o.txid, method, path, a.status, a.body)
	}
	return a
}

// cancel asks the service to cancel the order's transaction.
func (o *order) cancel(c *client) {
	c.world.locked(func() { o.cancels = true })
	o.act(c, http.MethodPut, transactionsPath+"/"+o.known(c.world).id, `{"params":{"type":"cancel"}}`)
}

// commit asks the service to capture an amount of a held payment or payout.
func (o *order) commit(c *client, amount int) {
	c.world.locked(func() { o.commits = append(o.commits, amount) })
	o.act(c, http.MethodPost, transactionsPath+"/commit/"+o.known(c.world).id, fmt.Sprintf(`{"params":{"amount":"%d"}}`, amount))
}

// requestRefund requests a refund of the amount.
func (o *order) requestRefund(c *client, amount int) {
	var index int
	c.world.locked(func() {
		index = len(o.refunds)
		o.refunds = append(o.refunds, refund{amount: amount})
	})
	a := o.act(c, http.MethodPut, transactionsPath+"/"+o.known(c.world).id, fmt.Sprintf(`{"params":{"type":"refund","amount":"%d"}}`, amount))
	c.world.locked(func() { o.refunds[index].status = a.status })
}
