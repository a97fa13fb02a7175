package linearizable

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// The simulator's cards.
const (
	chargedCard  = "4242424242424242"
	declinedCard = "4000000000000002"
	failedCard   = "4000000000000119"
)

// cards are the cards among which clients choose; repeated ones are chosen more often.
var cards = []string{chargedCard, chargedCard, chargedCard, declinedCard, failedCard}

// transactionBody returns the body of a create, and the same body as it is recorded: without the CVV and with the card's last four
// digits only.
func transactionBody(kind string, amount int64, a *asset, txid, card string) (body, recorded string) {
	render := func(card, cvv string) string {
		return fmt.Sprintf(`{"params":{"txid":%q,"type":%q,"env":%q,"amount":"%d","currency":%q,"returnUrl":"https://shop.example/paid",`+
			`"failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":"A B","exp_month":"12","exp_year":"2040"%s}}}`,
			txid, kind, a.env, amount, a.currency, card, cvv)
	}
	return render(card, `,"cvv":"737"`), render(card[len(card)-4:], "")
}

// txView has the members of a transaction that the models need.
type txView struct {
	ID, Status, Amount string
	Error              string `json:"error_code"`
}

// create creates a transaction, and returns its response.
func (e *epoch) create(a *asset, kind string, amount int64, txid, card, idempotencyKey string) *answer {
	body, recorded := transactionBody(kind, amount, a, txid, card)
	return e.do(partnerCaller(a.key), "POST", "/api/v1/transactions", body, recorded, idempotencyKey)
}

// unexpected is a prefix: the status of a txView begins with it if the specification does not allow the response.
const unexpected = "unexpected response: "

// takingSteps returns the steps of a request that takes an amount, such as a payout or a refund. status is the transaction's
// status and reason its error code in the response. From them it follows whether the amount was settled, refused, or held and
// released. An empty status means that the outcome is unknown.
func takingSteps(n, amount int64, status, reason string) []step {
	switch {
	case strings.HasPrefix(status, unexpected):
		return []step{{input: status}} // no model allows it
	case status == "charged", status == "refunded":
		return []step{{input: holdInput{n: n, amount: amount}}, {input: settleInput{n: n, amount: amount}}}
	case reason == "insufficient_balance", reason == "limit_exceeded":
		return []step{{input: refuseInput{amount}}}
	case status == "rejected", status == "failed":
		return []step{{input: holdInput{n: n, amount: amount}}, {input: releaseInput{n: n, amount: amount}}}
	}
	hold := step{input: holdInput{n, amount, true}, isUnknown: true}
	if status != "" { // the transaction is under way, so it has held the amount
		hold = step{input: holdInput{n: n, amount: amount}}
	}
	return []step{hold, {input: settleInput{n, amount, true}, isUnknown: true}, {input: releaseInput{n, amount, true}, isUnknown: true}}
}

// statusOf returns the transaction that a response shows. isDone is false if the server was too busy to do anything. If the
// outcome of the request is unknown, the transaction is empty.
func statusOf(a *answer) (tx txView, isDone bool) {
	if a.isNothingDone() {
		return tx, false
	}
	switch {
	case a.isUnknown():
	case a.status >= 300:
		tx.Status = unexpected + strconv.Itoa(a.status) + " " + string(a.body)
	default:
		a.into(&tx)
	}
	return tx, true
}

// accountWork is a new account from which several clients try to take more than it has.
type accountWork struct {
	asset
	opening     int64
	withRefunds bool // payments are refunded too, and the account always has enough

	mu      sync.Mutex
	charged []txView // payments that can be refunded
}

func openAccount(c *campaign, e *epoch, random *rand.Rand, withRefunds bool) (*work, error) {
	a, err := c.supply.next(e)
	if err != nil {
		return nil, err
	}
	w := &accountWork{asset: a, opening: 1_000 + random.Int64N(9_000), withRefunds: withRefunds}
	if withRefunds {
		w.opening = 1_000_000_000
	}
	path := "/partners/" + strconv.FormatInt(a.partner, 10) + "/settlements"
	body := fmt.Sprintf(`{"direction":"in","amount":"%d","currency":%q,"env":%q,"reference":"opening-%s-%s"}`, w.opening, a.currency, a.env, a.currency, a.env)
	if err := e.make(path, body, new(struct{})); err != nil {
		return nil, err
	}
	name, kind := fmt.Sprintf("account of partner %d, %s %s", a.partner, a.currency, a.env), "account"
	if withRefunds {
		kind = "account with refunds"
	}
	return &work{newHistory(kind, name, amountsModel(w.opening)), w.request}, nil
}

func (w *accountWork) request(e *epoch, n int64, random *rand.Rand) ([]step, bool) {
	switch roll := random.IntN(100); {
	case roll < 20:
		return w.pay(e, 1+random.Int64N(w.opening/10))
	case roll < 35 && w.withRefunds:
		if tx, found := w.takePayment(); found {
			return w.refund(e, n, &tx)
		}
		return w.pay(e, 1+random.Int64N(w.opening/10))
	case roll < 60:
		amount := w.opening/10 + random.Int64N(w.opening/2)
		if w.withRefunds {
			amount = 1 + random.Int64N(w.opening/100)
		}
		a := e.create(&w.asset, "payout", amount, "", cards[random.IntN(len(cards))], "")
		tx, isDone := statusOf(a)
		if !isDone {
			return nil, true
		}
		return takingSteps(n, amount, tx.Status, tx.Error), a.status != 0
	}
	return w.read(e, random.IntN(2) == 0)
}

// pay makes a payment that is charged.
func (w *accountWork) pay(e *epoch, amount int64) ([]step, bool) {
	a := e.create(&w.asset, "payment", amount, "", chargedCard, "")
	tx, isDone := statusOf(a)
	switch {
	case !isDone:
		return nil, true
	case strings.HasPrefix(tx.Status, unexpected):
		return []step{{input: tx.Status}}, true
	case tx.Status == "charged":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.charged = append(w.charged, tx)
		return []step{{input: addInput{amount}}}, true
	}
	return []step{{input: addInput{amount}, isUnknown: true}}, a.status != 0
}

// takePayment returns a charged payment that no client has refunded, and removes it from charged.
func (w *accountWork) takePayment() (tx txView, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.charged) == 0 {
		return tx, false
	}
	tx, w.charged = w.charged[0], w.charged[1:]
	return tx, true
}

func (w *accountWork) refund(e *epoch, n int64, tx *txView) ([]step, bool) {
	const body = `{"params":{"type":"refund"}}`
	amount, err := strconv.ParseInt(tx.Amount, 10, 64)
	if err != nil {
		return []step{{input: err}}, true // no model allows it
	}
	a := e.do(partnerCaller(w.key), "PUT", "/api/v1/transactions/"+tx.ID, body, body, "")
	refunded, isDone := statusOf(a)
	if !isDone {
		return nil, true
	}
	return takingSteps(n, amount, refunded.Status, refunded.Error), a.status != 0
}

// read reads the balance, either as a merchant sees it or as an auditor does.
func (w *accountWork) read(e *epoch, asAuditor bool) ([]step, bool) {
	if !asAuditor {
		a := e.do(partnerCaller(w.key), "GET", "/api/v1/balances?env="+w.env+"&currency="+w.currency, "", "", "")
		if a.status != 200 {
			return nil, a.status != 0
		}
		var list struct{ Data []struct{ Available string } }
		if a.into(&list); len(list.Data) != 1 {
			return []step{{input: string(a.body)}}, true
		}
		return []step{{input: readInput{}, output: amountsOutput{available: number(list.Data[0].Available)}}}, true
	}
	a := e.do(partnerCaller(w.key), "GET", fmt.Sprintf("/api/v1/ledger/accounts/L:partner:%d:available?env=%s&currency=%s", w.partner, w.env, w.currency), "", "", "")
	if a.status != 200 {
		return nil, a.status != 0
	}
	var list struct {
		Data []struct {
			Credits string `json:"credits_posted"`
			Debits  string `json:"debits_posted"`
			Held    string `json:"debits_pending"`
		}
	}
	if a.into(&list); len(list.Data) != 1 {
		return []step{{input: string(a.body)}}, true
	}
	out := amountsOutput{hasAll: true, added: number(list.Data[0].Credits), taken: number(list.Data[0].Debits), held: number(list.Data[0].Held)}
	out.available = out.added - out.taken - out.held
	return []step{{input: readInput{}, output: out}}, true
}

// number parses an amount. A text that is not a number becomes an amount that no model allows.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// limitWork is a new daily limit of a partner or of a terminal. Several clients make payments until the limit is reached.
type limitWork struct {
	asset
	id  string
	max int64
}

func openLimit(c *campaign, e *epoch, random *rand.Rand, ofTerminal bool) (*work, error) {
	a, err := c.supply.next(e)
	if err != nil {
		return nil, err
	}
	w := &limitWork{asset: a, max: 1_000 + random.Int64N(9_000)}
	terminal, kind := "null", "daily limit of a partner"
	if ofTerminal {
		terminal, kind = strconv.Quote(a.paymentTerminal), "daily limit of a terminal"
	}
	var made struct{ Data struct{ ID string } }
	body := fmt.Sprintf(`{"partner_id":%d,"terminal_id":%s,"kind":"daily_volume","currency":%q,"env":%q,"max_amount":"%d"}`, a.partner, terminal, a.currency, a.env, w.max)
	if err := e.make("/limits", body, &made); err != nil {
		return nil, err
	}
	w.id = made.Data.ID
	return &work{newHistory(kind, fmt.Sprintf("limit %s of partner %d, %s %s", w.id, a.partner, a.currency, a.env), amountsModel(w.max)), w.request}, nil
}

func (w *limitWork) request(e *epoch, n int64, random *rand.Rand) ([]step, bool) {
	if random.IntN(3) == 0 {
		a := e.do(e.admin(), "GET", "/api/v1/limits/"+w.id+"/usage", "", "", "")
		if a.status != 200 {
			return nil, a.status != 0
		}
		var usage struct {
			Data struct{ Used, Reserved, Remaining string }
		}
		a.into(&usage)
		out := amountsOutput{number(usage.Data.Remaining), true, w.max, number(usage.Data.Used), number(usage.Data.Reserved)}
		return []step{{input: readInput{}, output: out}}, true
	}
	amount := w.max/20 + random.Int64N(w.max/3)
	a := e.create(&w.asset, "payment", amount, "", cards[random.IntN(len(cards))], "")
	tx, isDone := statusOf(a)
	if !isDone {
		return nil, true
	}
	return takingSteps(n, amount, tx.Status, tx.Error), a.status != 0
}
