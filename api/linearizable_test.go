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

// patience bounds how long a test waits for an event, and how long the checker searches for an
// order that explains a history. The histories need milliseconds, so it is enough for any
// machine and disk.
const patience = 2 * time.Minute

// history records the clients' requests and responses with their times.
type history struct {
	mu         sync.Mutex
	began      time.Time
	operations []porcupine.Operation
}

func newHistory() *history { return &history{began: time.Now()} }

// step is one change at one instant within a request.
type step struct{ input, output any }

// request makes one request by calling send, and records all its steps with the request's time span. For
// example, a payout takes its hold at one instant and settles it at another.
func (h *history) request(client int, send func() []step) {
	call := time.Since(h.began).Nanoseconds()
	steps := send()
	end := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range steps {
		// Steps of one request overlap, and the visualization needs a row for each.
		h.operations = append(h.operations, porcupine.Operation{ClientId: 2*client + i, Input: s.input, Output: s.output, Call: call, Return: end})
	}
}

// linearizable fails the test unless an order of the steps explains the history. It writes a
// history that cannot be explained to an HTML page.
func (h *history) linearizable(t *testing.T, model porcupine.Model) {
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

// The model of a txid: the one transaction that it names.

// transactionState is the transaction of a txid; the zero value means none.
type transactionState struct{ id, amount, status string }

// createInput is a create's input; its output is a readOutput.
type createInput struct{ txid, amount, card string }

// readInput is a read's input; its output is a readOutput. id is from the response to the create with the
// txid.
type readInput struct{ txid, id string }

// readOutput is a transaction as a response shows it. Only the response to a create can have replay.
type readOutput struct {
	http       int
	txid, id   string
	amount     string
	status     string
	replay     bool
	mismatched string
}

func outputOf(r *response) readOutput {
	return readOutput{
		r.status, r.at("txid"), r.at("id"), r.at("amount"), r.at("status"),
		r.header.Get("x-idempotent-replay") == "true", r.header.Get("x-idempotent-mismatch"),
	}
}

// isForward tells whether a partner that has seen one status may later see the other. Final statuses
// stay, except that settled money can be taken back.
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

// txids is the model: the first create makes its transaction, every later create and every read
// shows it, and its status only moves forward.
var txids = porcupine.Model{
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
		now, saw := state.(transactionState), output.(readOutput)
		next := transactionState{saw.id, saw.amount, saw.status}
		unchanged := saw.id == now.id && saw.amount == now.amount && isForward(now.status, saw.status)
		if saw.txid != txidOf(input) {
			return false, now
		}
		switch in := input.(type) {
		case createInput:
			if now == (transactionState{}) {
				return saw.http == 201 && !saw.replay && saw.id != "" && saw.amount == in.amount, next
			}
			mismatch := saw.mismatched == "amount"
			return saw.http == 201 && saw.replay && unchanged && mismatch == (in.amount != now.amount), next
		case readInput:
			return saw.http == 200 && now.id == in.id && unchanged, next
		}
		return false, now
	},
}

func txidOf(input any) string {
	if c, ok := input.(createInput); ok {
		return c.txid
	}
	return input.(readInput).txid
}

// knownIDs are the ids that responses have shown so far, with their txids.
type knownIDs struct {
	mu     sync.Mutex
	inputs []readInput
}

func (l *knownIDs) add(r readInput) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = append(l.inputs, r)
}

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
	const rounds, callers, requests, contended = 5, 6, 10, 3
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := newFixture(t)
	// Charged at once, declined, charged after 5 s, and taken back after 60 s.
	cards := []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000000259"}
	for round := range uint64(rounds) {
		history, known := newHistory(), &knownIDs{}
		runClients(callers, seed+round, func(client int, random *rand.Rand) {
			for range requests {
				id, hasKnown := known.pick(random)
				switch what := random.IntN(10); {
				case what == 0: // not recorded: a transaction's status also changes between requests
					f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":`+strconv.Itoa(random.IntN(40))+`}`).want(200, "")
				case what < 6 && hasKnown:
					history.request(client, func() []step {
						return []step{{id, outputOf(f.partner().get(transactions + "/" + id.id))}}
					})
				default:
					in := createInput{strconv.Itoa(random.IntN(contended)) + " of " + strconv.FormatUint(round, 10), strconv.Itoa(1 + random.IntN(1000)), cards[random.IntN(len(cards))]}
					history.request(client, func() []step {
						out := outputOf(f.partner().post(transactions, strings.Replace(paymentBody(`"amount":"`+in.amount+`","currency":"USD","txid":"`+in.txid+`"`), cards[0], in.card, 1)))
						known.add(readInput{in.txid, out.id})
						return []step{{in, out}}
					})
				}
			}
		})
		history.linearizable(t, txids)
	}
}

// The model of an account: its totals, and the payouts that hold its money.

// funds is a state: totals in minor units, and the payouts with a hold, one bit each.
type funds struct {
	balance
	held uint64
}

// balance is an account's totals as a response shows them; credits are never pending here.
type balance struct{ credits, debits, pending int64 }

// The steps that change an account. payout is a bit of funds.held.
type (
	credit      struct{ amount int64 }
	hold        struct{ payout, amount int64 }
	settle      struct{ payout, amount int64 }
	release     struct{ payout, amount int64 }
	refuse      struct{ amount int64 } // a payout for which the account had too little
	readBalance struct{}               // its output is a balance
)

// balances is the model of an account with an opening balance: money that is neither spent nor
// held can be held, and a payout is refused only if that is too little.
func balances(opening balance) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return funds{balance: opening} },
		Step: func(state, input, output any) (bool, any) {
			account := state.(funds)
			available := account.credits - account.debits - account.pending
			switch in := input.(type) {
			case credit:
				account.credits += in.amount
				return true, account
			case hold:
				account.pending += in.amount
				account.held |= 1 << in.payout
				return in.amount <= available, account
			case settle:
				wasHeld := account.held&(1<<in.payout) != 0
				account.pending -= in.amount
				account.debits += in.amount
				account.held &^= 1 << in.payout
				return wasHeld, account
			case release:
				wasHeld := account.held&(1<<in.payout) != 0
				account.pending -= in.amount
				account.held &^= 1 << in.payout
				return wasHeld, account
			case refuse:
				return in.amount > available, account
			case readBalance:
				return output.(balance) == account.balance, account
			}
			return false, account
		},
	}
}

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

// payout makes a payout and returns its steps, which depend on its outcome.
func (f *fixture) payout(currency, card string, number, amount int64) []step {
	r := f.partner().post(transactions, `{"params":{"type":"payout","amount":"`+strconv.FormatInt(amount, 10)+`","currency":"`+currency+
		`","env":"test","money_storage":{"type":"bank_card","cardnumber":"`+card+`"}}}`).want(201, "")
	switch status, reason := r.at("status"), r.at("error_description"); {
	case status == "charged":
		return []step{{input: hold{number, amount}}, {input: settle{number, amount}}}
	case reason == "insufficient balance":
		return []step{{input: refuse{amount}}}
	case status == "rejected" || status == "failed":
		return []step{{input: hold{number, amount}}, {input: release{number, amount}}}
	}
	f.t.Errorf("payout: %s", r.body)
	return nil
}

func TestHistoriesAreLinearizablePerAccount(t *testing.T) {
	t.Parallel()
	const callers, requests = 5, 9 // each request has a bit of funds.held
	const _ = uint(64 - callers*requests)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := newFixture(t)
	// Half succeed; the others are refused by the provider, or fail after they have begun.
	cards := []string{"4242424242424242", "4242424242424242", "4000000000000002", "4000000000000119"}
	ends := map[string]int{}
	for round, currency := range []string{"USD", "EUR", "CHF", "GBP", "TRY"} { // one account each, with its opening balance
		history, opening := newHistory(), f.balanceOfCurrency(currency)
		available := opening.credits - opening.debits
		runClients(callers, seed+uint64(round), func(client int, random *rand.Rand) {
			for n := range requests {
				// Between a tenth and all of the balance, so that few payouts fit at once.
				amount := available/10 + random.Int64N(available*9/10)
				history.request(client, func() []step {
					switch random.IntN(4) {
					case 0:
						f.partner().post(transactions, paymentBody(`"amount":"`+strconv.FormatInt(amount/2, 10)+`","currency":"`+currency+`"`)).want(201, "")
						return []step{{input: credit{amount / 2}}}
					case 1:
						return []step{{readBalance{}, f.balanceOfCurrency(currency)}}
					}
					return f.payout(currency, cards[random.IntN(len(cards))], int64(client*requests+n), amount)
				})
			}
		})
		history.request(0, func() []step { return []step{{readBalance{}, f.balanceOfCurrency(currency)}} })
		history.linearizable(t, balances(opening))
		for _, o := range history.operations {
			switch in := o.Input.(type) {
			case settle:
				ends["paid"]++
			case release:
				ends["released"]++
			case refuse:
				ends["refused"]++
			case readBalance:
				if o.Output.(balance).pending > 0 {
					ends["looks at a hold"]++
				}
			case credit:
				if in.amount <= 0 {
					t.Error("a payment of nothing")
				}
			}
		}
	}
	t.Log(ends)
	if ends["paid"] == 0 || ends["released"] == 0 || ends["refused"] == 0 {
		t.Errorf("payouts ended %v: the accounts were not contended", ends)
	}
}

// operationAt returns an operation for a history written by hand.
func operationAt(call, end int64, input, output any) porcupine.Operation {
	return porcupine.Operation{Input: input, Output: output, Call: call, Return: end}
}

// Each of these histories violates one guarantee. The history beside it, in which that fault is
// corrected, can be explained.
func TestCheckerFindsNonLinearizableHistories(t *testing.T) {
	t.Parallel()
	const forever = math.MaxInt64
	firstOutput := func(id, amount, status string) readOutput { return readOutput{201, "a", id, amount, status, false, ""} }
	replayOutput := func(id, amount, status, mismatch string) readOutput {
		return readOutput{201, "a", id, amount, status, true, mismatch}
	}
	got := func(id, amount, status string) readOutput { return readOutput{200, "a", id, amount, status, false, ""} }
	five, six, read := createInput{"a", "5", ""}, createInput{"a", "6", ""}, readInput{"a", "x"}
	hundred := balances(balance{credits: 100})
	type operations = []porcupine.Operation
	for name, c := range map[string]struct {
		model         porcupine.Model
		broken, sound operations
	}{
		"two transactions of one txid": {txids,
			operations{operationAt(0, 9, five, firstOutput("x", "5", "charged")), operationAt(0, 9, six, firstOutput("y", "6", "charged"))},
			operations{operationAt(0, 9, five, firstOutput("x", "5", "charged")), operationAt(0, 9, six, replayOutput("x", "5", "charged", "amount"))}},
		"only replays": {txids,
			operations{operationAt(0, 9, five, replayOutput("x", "5", "charged", ""))},
			operations{operationAt(0, 9, five, firstOutput("x", "5", "charged"))}},
		"a replay before what it replays": {txids,
			operations{operationAt(0, 1, five, replayOutput("x", "5", "charged", "")), operationAt(2, 3, five, firstOutput("x", "5", "charged"))},
			operations{operationAt(0, 2, five, replayOutput("x", "5", "charged", "")), operationAt(1, 3, five, firstOutput("x", "5", "charged"))}},
		"the replay's amount": {txids,
			operations{operationAt(0, 1, five, firstOutput("x", "5", "charged")), operationAt(2, 3, six, replayOutput("x", "6", "charged", ""))},
			operations{operationAt(0, 1, five, firstOutput("x", "5", "charged")), operationAt(2, 3, six, replayOutput("x", "5", "charged", "amount"))}},
		"a status that moves back": {txids,
			operations{operationAt(0, 1, five, firstOutput("x", "5", "charged")), operationAt(2, 3, read, got("x", "5", "charging"))},
			operations{operationAt(0, 1, five, firstOutput("x", "5", "charging")), operationAt(2, 3, read, got("x", "5", "charged"))}},
		"a read that misses": {txids,
			operations{operationAt(0, 1, five, firstOutput("x", "5", "charged")), operationAt(2, 3, read, readOutput{404, "(absent)", "(absent)", "(absent)", "(absent)", false, ""})},
			operations{operationAt(0, 1, five, firstOutput("x", "5", "charged")), operationAt(2, 3, read, got("x", "5", "charged"))}},
		"an overdraft": {hundred,
			operations{operationAt(0, 9, hold{1, 60}, nil), operationAt(0, 9, settle{1, 60}, nil), operationAt(0, 9, hold{2, 60}, nil), operationAt(0, 9, settle{2, 60}, nil)},
			operations{operationAt(0, 9, hold{1, 60}, nil), operationAt(0, 9, settle{1, 60}, nil), operationAt(0, 9, hold{2, 40}, nil), operationAt(0, 9, settle{2, 40}, nil)}},
		"a refusal without need": {hundred,
			operations{operationAt(0, 9, hold{1, 60}, nil), operationAt(0, 9, settle{1, 60}, nil), operationAt(0, 9, refuse{40}, nil)},
			operations{operationAt(0, 9, hold{1, 60}, nil), operationAt(0, 9, settle{1, 60}, nil), operationAt(0, 9, refuse{41}, nil)}},
		"money released and still missing": {hundred,
			operations{operationAt(0, 1, hold{1, 60}, nil), operationAt(0, 1, release{1, 60}, nil), operationAt(2, 3, refuse{100}, nil)},
			operations{operationAt(0, 2, hold{1, 60}, nil), operationAt(0, 2, release{1, 60}, nil), operationAt(1, 3, refuse{100}, nil)}},
		"settled without its hold": {hundred,
			operations{operationAt(0, 9, settle{1, 60}, nil)},
			operations{operationAt(0, 9, hold{1, 60}, nil), operationAt(0, 9, settle{1, 60}, nil)}},
		"a stale balance": {hundred,
			operations{operationAt(0, 1, credit{5}, nil), operationAt(2, 3, readBalance{}, balance{credits: 100})},
			operations{operationAt(0, 2, credit{5}, nil), operationAt(1, 3, readBalance{}, balance{credits: 100})}},
		"looks that go back": {hundred,
			operations{operationAt(0, forever, credit{5}, nil), operationAt(0, 1, readBalance{}, balance{credits: 105}), operationAt(2, 3, readBalance{}, balance{credits: 100})},
			operations{operationAt(0, forever, credit{5}, nil), operationAt(0, 1, readBalance{}, balance{credits: 100}), operationAt(2, 3, readBalance{}, balance{credits: 105})}},
		"a torn balance": {hundred,
			operations{operationAt(0, 9, hold{1, 60}, nil), operationAt(0, 9, settle{1, 60}, nil), operationAt(0, 9, readBalance{}, balance{100, 60, 60})},
			operations{operationAt(0, 9, hold{1, 60}, nil), operationAt(0, 9, settle{1, 60}, nil), operationAt(0, 9, readBalance{}, balance{100, 0, 60})}},
	} {
		if result := porcupine.CheckOperationsTimeout(c.model, c.broken, patience); result != porcupine.Illegal {
			t.Errorf("%s: %s", name, result)
		}
		if result := porcupine.CheckOperationsTimeout(c.model, c.sound, patience); result != porcupine.Ok {
			t.Errorf("not %s: %s", name, result)
		}
	}
}
