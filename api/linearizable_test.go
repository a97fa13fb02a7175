package api_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience bounds how long a test waits for an event, and how long the checker (the package porcupine) searches
// for an order of requests that explains a history. The histories need milliseconds, so this bound is enough on
// any machine and disk.
const patience = 2 * time.Minute

// history records the clients' requests and responses with their times.
type history struct {
	mu         sync.Mutex
	began      time.Time
	operations []porcupine.Operation
}

func newHistory() *history { return &history{began: time.Now()} }

// step is something that a request does at one instant: its parameters and its result, for the model.
type step struct{ input, output any }

// request makes one request by calling send, and records each of its steps with the request's time span. For
// example, a payout has two steps: it takes a hold at one instant and settles it at another.
func (h *history) request(client int, send func() []step) {
	call := time.Since(h.began).Nanoseconds()
	steps := send()
	end := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range steps {
		// The two steps of a request overlap in time, and the visualization draws one row for each client. So each step gets a
		// client id of its own.
		h.operations = append(h.operations, porcupine.Operation{ClientId: 2*client + i, Input: s.input, Output: s.output, Call: call, Return: end})
	}
}

// wantLinearizable fails the test unless the history is linearizable: the model can produce the recorded results
// by taking the steps in some order, each at an instant of its request's time span. Otherwise it writes the
// history to an HTML page.
func (h *history) wantLinearizable(t *testing.T, model porcupine.Model) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(model, h.operations, patience)
	if result == porcupine.Ok {
		return
	}
	page, err := os.CreateTemp("", "history-*.html")
	must(t, err)
	defer func() { must(t, page.Close()) }()
	must(t, porcupine.Visualize(model, info, page))
	t.Errorf("the history of %d operations is %s: see %s", len(h.operations), result, page.Name())
}

// runClients runs the clients, each with its own random source, and waits for all of them.
func runClients(n int, seed uint64, client func(n int, random *rand.Rand)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { client(i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	wg.Wait()
}

// This is the model of all requests that name the same txid. Its state is the one transaction that has the txid.

// transactionState is the transaction that has the txid. The zero value means that there is none.
type transactionState struct{ id, amount, status string }

// createInput is the input of a step that creates a transaction. The step's output is a readOutput.
type createInput struct{ txid, amount, card string }

// readInput is the input of a step that reads a transaction by its id. The step's output is a readOutput. The test knows the id
// from the response to a create request with the txid.
type readInput struct{ txid, id string }

// readOutput is a transaction as a response shows it.
type readOutput struct {
	httpStatus      int
	txid, id        string
	amount          string
	status          string
	isReplay        bool   // only in the response to a create request
	mismatchedField string // the field in which a repeated create request differs from the first one
}

func outputOf(r *response) readOutput {
	return readOutput{
		r.status, r.at("txid"), r.at("id"), r.at("amount"), r.at("status"),
		r.header.Get("x-idempotent-replay") == "true", r.header.Get("x-idempotent-mismatch"),
	}
}

// isForward tells whether a transaction with the status from may later have the status to. A final status stays, except that
// settled money can be taken back.
func isForward(from, to string) bool {
	order := map[string]int{"created": 1, "new": 2, "authorizing": 3, "charging": 4, "charged": 5, "rejected": 5, "failed": 5}
	if from == to {
		return true
	}
	if to == "reversed" {
		return order[from] > 0 && from != "rejected" && from != "failed"
	}
	return order[from] > 0 && order[from] < order[to]
}

// txidModel is the model: the first create request makes the transaction, every later create request and every read
// shows that transaction, and its status only moves forward.
var txidModel = porcupine.Model{
	Partition: func(operations []porcupine.Operation) (parts [][]porcupine.Operation) {
		indexes := map[string]int{}
		for _, o := range operations {
			txid := txidOf(o.Input)
			index, known := indexes[txid]
			if !known {
				index = len(parts)
				indexes[txid], parts = index, append(parts, nil)
			}
			parts[index] = append(parts[index], o)
		}
		return parts
	},
	Init: func() any { return transactionState{} },
	Step: func(state, input, output any) (bool, any) {
		current, shown := state.(transactionState), output.(readOutput)
		next := transactionState{shown.id, shown.amount, shown.status}
		unchanged := shown.id == current.id && shown.amount == current.amount && isForward(current.status, shown.status)
		if shown.txid != txidOf(input) {
			return false, current
		}
		switch in := input.(type) {
		case createInput:
			if current == (transactionState{}) {
				return shown.httpStatus == 201 && !shown.isReplay && shown.id != "" && shown.amount == in.amount, next
			}
			hasMismatch := shown.mismatchedField == "amount"
			return shown.httpStatus == 201 && shown.isReplay && unchanged && hasMismatch == (in.amount != current.amount), next
		case readInput:
			return shown.httpStatus == 200 && current.id == in.id && unchanged, next
		}
		return false, current
	},
}

// txidOf returns the txid in the input of a create request or a read.
func txidOf(input any) string {
	if c, ok := input.(createInput); ok {
		return c.txid
	}
	return input.(readInput).txid
}

// knownIDs has the ids and txids that responses have shown so far.
type knownIDs struct {
	mu     sync.Mutex
	inputs []readInput
}

func (l *knownIDs) add(r readInput) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = append(l.inputs, r)
}

// pick returns one of the ids; false means that there is none yet.
func (l *knownIDs) pick(random *rand.Rand) (readInput, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.inputs) == 0 {
		return readInput{}, false
	}
	return l.inputs[random.IntN(len(l.inputs))], true
}

func TestHistoriesAreLinearizablePerTxid(t *testing.T) {
	t.Parallel()
	const rounds, callers, requests, txids = 5, 6, 10, 3
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := newFixture(t)
	// The first card is charged at once, the second is declined, the third is charged after 5 s, and the fourth is charged but
	// the money is taken back after 60 s.
	cards := []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000000259"}
	for round := range uint64(rounds) {
		history, known := newHistory(), &knownIDs{}
		runClients(callers, seed+round, func(client int, random *rand.Rand) {
			for range requests {
				read, hasKnown := known.pick(random)
				switch choice := random.IntN(10); {
				case choice == 0: // moving the clock is not recorded in the history: a transaction's status may change between requests
					f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":`+strconv.Itoa(random.IntN(40))+`}`).want(200, "")
				case choice < 6 && hasKnown:
					history.request(client, func() []step {
						return []step{{read, outputOf(f.partner().get(transactions + "/" + read.id))}}
					})
				default:
					create := createInput{strconv.Itoa(random.IntN(txids)) + " of " + strconv.FormatUint(round, 10), strconv.Itoa(1 + random.IntN(1000)), cards[random.IntN(len(cards))]}
					history.request(client, func() []step {
						output := outputOf(f.partner().post(transactions, strings.Replace(paymentBody(`"amount":"`+create.amount+`","currency":"USD","txid":"`+create.txid+`"`), cards[0], create.card, 1)))
						known.add(readInput{create.txid, output.id})
						return []step{{create, output}}
					})
				}
			}
		})
		history.wantLinearizable(t, txidModel)
	}
}

// This is the model of an account. Its state is the account's totals, and the payouts that hold money of the account.

// accountState is an account's totals in minor units. heldPayouts has one bit for each payout, which is set while the payout
// holds money.
type accountState struct {
	balance
	heldPayouts uint64
}

// balance has an account's totals as a response shows them. pending is the pending debits; these tests book no pending credits.
type balance struct{ credits, debits, pending int64 }

// These are the inputs of the steps on an account. The field payout is the number of the payout's bit in
// accountState.heldPayouts.
type (
	creditInput  struct{ amount int64 }
	holdInput    struct{ payout, amount int64 }
	settleInput  struct{ payout, amount int64 }
	releaseInput struct{ payout, amount int64 }
	refuseInput  struct{ amount int64 } // a payout for which the account had too little
	balanceInput struct{}               // reads the account; the output is a balance
)

// accountModel is the model of an account with an opening balance. A payout may hold money that is neither spent nor held. It may
// be refused only if there is too little of such money.
func accountModel(opening balance) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return accountState{balance: opening} },
		Step: func(state, input, output any) (bool, any) {
			account := state.(accountState)
			available := account.credits - account.debits - account.pending
			switch in := input.(type) {
			case creditInput:
				account.credits += in.amount
				return true, account
			case holdInput:
				account.pending += in.amount
				account.heldPayouts |= 1 << in.payout
				return in.amount <= available, account
			case settleInput:
				wasHeld := account.heldPayouts&(1<<in.payout) != 0
				account.pending -= in.amount
				account.debits += in.amount
				account.heldPayouts &^= 1 << in.payout
				return wasHeld, account
			case releaseInput:
				wasHeld := account.heldPayouts&(1<<in.payout) != 0
				account.pending -= in.amount
				account.heldPayouts &^= 1 << in.payout
				return wasHeld, account
			case refuseInput:
				return in.amount > available, account
			case balanceInput:
				return output.(balance) == account.balance, account
			}
			return false, account
		},
	}
}

// balanceOfCurrency returns the first partner's totals in a currency.
func (f *fixture) balanceOfCurrency(currency string) balance {
	r := f.partner().get(ledgerPath+"/accounts/L:partner:1:available?env=test&currency="+currency).want(200, "")
	number := func(column string) int64 {
		n, err := strconv.ParseInt(r.at("data.0."+column), 10, 64)
		if err != nil {
			f.t.Errorf("%s: %v", r.body, err)
		}
		return n
	}
	return balance{number("credits_posted"), number("debits_posted"), number("debits_pending")}
}

// payout makes a payout and returns the steps of the request, which depend on the outcome. number is the number of the payout's
// bit in accountState.heldPayouts.
func (f *fixture) payout(currency, card string, number, amount int64) []step {
	r := f.partner().post(transactions, `{"params":{"type":"payout","amount":"`+strconv.FormatInt(amount, 10)+`","currency":"`+currency+
		`","env":"test","money_storage":{"type":"bank_card","cardnumber":"`+card+`"}}}`).want(201, "")
	switch status, reason := r.at("status"), r.at("error_description"); {
	case status == "charged":
		return []step{{input: holdInput{number, amount}}, {input: settleInput{number, amount}}}
	case reason == "insufficient balance":
		return []step{{input: refuseInput{amount}}}
	case status == "rejected" || status == "failed":
		return []step{{input: holdInput{number, amount}}, {input: releaseInput{number, amount}}}
	}
	f.t.Errorf("payout: %s", r.body)
	return nil
}

func TestHistoriesAreLinearizablePerAccount(t *testing.T) {
	t.Parallel()
	const callers, requests = 5, 9 // each request has a bit of accountState.heldPayouts
	const _ = uint(64 - callers*requests)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := newFixture(t)
	// Payouts to the first two numbers succeed. The provider refuses those to the third, and those to the fourth fail after they
	// have begun.
	cards := []string{"4242424242424242", "4242424242424242", "4000000000000002", "4000000000000119"}
	counts := map[string]int{}
	for round, currency := range []string{"USD", "EUR", "CHF", "GBP", "TRY"} { // each currency has an account with an opening balance
		history, opening := newHistory(), f.balanceOfCurrency(currency)
		available := opening.credits - opening.debits
		runClients(callers, seed+uint64(round), func(client int, random *rand.Rand) {
			for n := range requests {
				// Between a tenth and all of the balance, so that the balance suffices for few payouts at once.
				amount := available/10 + random.Int64N(available*9/10)
				history.request(client, func() []step {
					switch random.IntN(4) {
					case 0:
						f.partner().post(transactions, paymentBody(`"amount":"`+strconv.FormatInt(amount/2, 10)+`","currency":"`+currency+`"`)).want(201, "")
						return []step{{input: creditInput{amount / 2}}}
					case 1:
						return []step{{balanceInput{}, f.balanceOfCurrency(currency)}}
					}
					return f.payout(currency, cards[random.IntN(len(cards))], int64(client*requests+n), amount)
				})
			}
		})
		history.request(0, func() []step { return []step{{balanceInput{}, f.balanceOfCurrency(currency)}} })
		history.wantLinearizable(t, accountModel(opening))
		for _, o := range history.operations {
			switch in := o.Input.(type) {
			case settleInput:
				counts["paid"]++
			case releaseInput:
				counts["released"]++
			case refuseInput:
				counts["refused"]++
			case balanceInput:
				if o.Output.(balance).pending > 0 {
					counts["read during a hold"]++
				}
			case creditInput:
				if in.amount <= 0 {
					t.Error("a payment of nothing")
				}
			}
		}
	}
	t.Log(counts)
	if counts["paid"] == 0 || counts["released"] == 0 || counts["refused"] == 0 {
		t.Errorf("payouts ended %v: the accounts were not contended", counts)
	}
}

// operationAt returns an operation for a history written by hand.
func operationAt(call, end int64, input, output any) porcupine.Operation {
	return porcupine.Operation{Input: input, Output: output, Call: call, Return: end}
}

// Each brokenHistory violates one guarantee. The correctHistory beside it is the same history without this fault, and is
// linearizable.
func TestCheckerFindsNonLinearizableHistories(t *testing.T) {
	t.Parallel()
	const forever = math.MaxInt64
	outputOfCreate := func(id, amount, status string) readOutput { return readOutput{201, "a", id, amount, status, false, ""} }
	outputOfReplay := func(id, amount, status, mismatch string) readOutput {
		return readOutput{201, "a", id, amount, status, true, mismatch}
	}
	outputOfRead := func(id, amount, status string) readOutput { return readOutput{200, "a", id, amount, status, false, ""} }
	createFive, createSix, read := createInput{"a", "5", ""}, createInput{"a", "6", ""}, readInput{"a", "x"}
	accountWith100 := accountModel(balance{credits: 100})
	type operations = []porcupine.Operation
	for name, c := range map[string]struct {
		model                         porcupine.Model
		brokenHistory, correctHistory operations
	}{
		"two transactions of one txid": {txidModel,
			operations{operationAt(0, 9, createFive, outputOfCreate("x", "5", "charged")), operationAt(0, 9, createSix, outputOfCreate("y", "6", "charged"))},
			operations{operationAt(0, 9, createFive, outputOfCreate("x", "5", "charged")), operationAt(0, 9, createSix, outputOfReplay("x", "5", "charged", "amount"))}},
		"a replay without a create": {txidModel,
			operations{operationAt(0, 9, createFive, outputOfReplay("x", "5", "charged", ""))},
			operations{operationAt(0, 9, createFive, outputOfCreate("x", "5", "charged"))}},
		"a replay before its create": {txidModel,
			operations{operationAt(0, 1, createFive, outputOfReplay("x", "5", "charged", "")), operationAt(2, 3, createFive, outputOfCreate("x", "5", "charged"))},
			operations{operationAt(0, 2, createFive, outputOfReplay("x", "5", "charged", "")), operationAt(1, 3, createFive, outputOfCreate("x", "5", "charged"))}},
		"a replay with the repeated request's amount": {txidModel,
			operations{operationAt(0, 1, createFive, outputOfCreate("x", "5", "charged")), operationAt(2, 3, createSix, outputOfReplay("x", "6", "charged", ""))},
			operations{operationAt(0, 1, createFive, outputOfCreate("x", "5", "charged")), operationAt(2, 3, createSix, outputOfReplay("x", "5", "charged", "amount"))}},
		"a status that moves back": {txidModel,
			operations{operationAt(0, 1, createFive, outputOfCreate("x", "5", "charged")), operationAt(2, 3, read, outputOfRead("x", "5", "charging"))},
			operations{operationAt(0, 1, createFive, outputOfCreate("x", "5", "charging")), operationAt(2, 3, read, outputOfRead("x", "5", "charged"))}},
		"a read that does not find the transaction": {txidModel,
			operations{operationAt(0, 1, createFive, outputOfCreate("x", "5", "charged")), operationAt(2, 3, read, readOutput{404, "(absent)", "(absent)", "(absent)", "(absent)", false, ""})},
			operations{operationAt(0, 1, createFive, outputOfCreate("x", "5", "charged")), operationAt(2, 3, read, outputOfRead("x", "5", "charged"))}},
		"an overdraft": {accountWith100,
			operations{operationAt(0, 9, holdInput{1, 60}, nil), operationAt(0, 9, settleInput{1, 60}, nil), operationAt(0, 9, holdInput{2, 60}, nil), operationAt(0, 9, settleInput{2, 60}, nil)},
			operations{operationAt(0, 9, holdInput{1, 60}, nil), operationAt(0, 9, settleInput{1, 60}, nil), operationAt(0, 9, holdInput{2, 40}, nil), operationAt(0, 9, settleInput{2, 40}, nil)}},
		"a refusal although the money suffices": {accountWith100,
			operations{operationAt(0, 9, holdInput{1, 60}, nil), operationAt(0, 9, settleInput{1, 60}, nil), operationAt(0, 9, refuseInput{40}, nil)},
			operations{operationAt(0, 9, holdInput{1, 60}, nil), operationAt(0, 9, settleInput{1, 60}, nil), operationAt(0, 9, refuseInput{41}, nil)}},
		"released money that is still missing": {accountWith100,
			operations{operationAt(0, 1, holdInput{1, 60}, nil), operationAt(0, 1, releaseInput{1, 60}, nil), operationAt(2, 3, refuseInput{100}, nil)},
			operations{operationAt(0, 2, holdInput{1, 60}, nil), operationAt(0, 2, releaseInput{1, 60}, nil), operationAt(1, 3, refuseInput{100}, nil)}},
		"a settlement without its hold": {accountWith100,
			operations{operationAt(0, 9, settleInput{1, 60}, nil)},
			operations{operationAt(0, 9, holdInput{1, 60}, nil), operationAt(0, 9, settleInput{1, 60}, nil)}},
		"a stale balance": {accountWith100,
			operations{operationAt(0, 1, creditInput{5}, nil), operationAt(2, 3, balanceInput{}, balance{credits: 100})},
			operations{operationAt(0, 2, creditInput{5}, nil), operationAt(1, 3, balanceInput{}, balance{credits: 100})}},
		"a later read of an earlier balance": {accountWith100,
			operations{operationAt(0, forever, creditInput{5}, nil), operationAt(0, 1, balanceInput{}, balance{credits: 105}), operationAt(2, 3, balanceInput{}, balance{credits: 100})},
			operations{operationAt(0, forever, creditInput{5}, nil), operationAt(0, 1, balanceInput{}, balance{credits: 100}), operationAt(2, 3, balanceInput{}, balance{credits: 105})}},
		"money that is held and spent at once": {accountWith100,
			operations{operationAt(0, 9, holdInput{1, 60}, nil), operationAt(0, 9, settleInput{1, 60}, nil), operationAt(0, 9, balanceInput{}, balance{100, 60, 60})},
			operations{operationAt(0, 9, holdInput{1, 60}, nil), operationAt(0, 9, settleInput{1, 60}, nil), operationAt(0, 9, balanceInput{}, balance{100, 0, 60})}},
	} {
		if result := porcupine.CheckOperationsTimeout(c.model, c.brokenHistory, patience); result != porcupine.Illegal {
			t.Errorf("%s: %s", name, result)
		}
		if result := porcupine.CheckOperationsTimeout(c.model, c.correctHistory, patience); result != porcupine.Ok {
			t.Errorf("not %s: %s", name, result)
		}
	}
}
