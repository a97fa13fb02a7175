package linearizable

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// sandboxAsset returns an asset of the sandbox's own partner. It may be used by several histories at once, because their models
// do not know the balance.
func sandboxAsset(e *epoch) *asset {
	return &asset{key: e.sandbox.APIKey, currency: "USD", env: "test"}
}

// txidWork is a new txid, with which several clients create transactions.
type txidWork struct {
	txid string

	mu  sync.Mutex
	ids []string // the ids of transactions that responses have shown
}

func openTxid(c *campaign, _ *epoch, _ *rand.Rand) (*work, error) {
	w := &txidWork{txid: "txid-" + c.nextName()}
	return &work{newHistory("txid", w.txid, txidModel), w.request}, nil
}

func (w *txidWork) request(e *epoch, _ int64, random *rand.Rand) ([]step, bool) {
	w.mu.Lock()
	ids := w.ids
	w.mu.Unlock()
	if len(ids) > 0 && random.IntN(3) == 0 {
		id := ids[random.IntN(len(ids))]
		a := e.do(partnerCaller(e.sandbox.APIKey), "GET", "/api/v1/transactions/"+id, "", "", "")
		if a.status == 0 || a.isNothingDone() {
			return nil, a.status != 0
		}
		return []step{{input: readByIDInput{id}, output: w.output(a)}}, true
	}
	amount := 1 + random.Int64N(3)
	a := e.create(sandboxAsset(e), "payment", amount, w.txid, cards[random.IntN(len(cards))], "")
	create := step{input: createInput{strconv.FormatInt(amount, 10)}}
	switch {
	case a.isNothingDone():
		return nil, true
	case a.isUnknown():
		create.isUnknown = true
		return []step{create}, a.status != 0
	}
	out := w.output(a)
	w.mu.Lock()
	w.ids = append(w.ids, out.id)
	w.mu.Unlock()
	create.output = out
	return []step{create}, true
}

func (w *txidWork) output(a *answer) txidOutput {
	var tx txView
	a.into(&tx)
	return txidOutput{a.status, tx.ID, tx.Amount, tx.Status, a.header.Get("x-idempotent-replay") == "true", a.header.Get("x-idempotent-mismatch") == "amount"}
}

// keyWork is work on a new Idempotency-Key: several clients send requests with it, each with one of two bodies.
type keyWork struct {
	key          string
	path         string
	bodies       [2]string
	recorded     [2]string // the bodies as they are recorded
	isByEmployee bool      // sent with a session, not with a partner's key
}

func openKey(c *campaign, e *epoch, random *rand.Rand) (*work, error) {
	w := &keyWork{key: "key-" + c.nextName()}
	kind := ""
	switch random.IntN(3) {
	case 0:
		kind, w.path = "Idempotency-Key of a payment", "/api/v1/transactions"
		for i := range w.bodies {
			w.bodies[i], w.recorded[i] = transactionBody("payment", int64(1+i), sandboxAsset(e), "", chargedCard)
		}
	case 1:
		kind, w.path = "Idempotency-Key of a product", "/api/v1/products"
		w.bodies = [2]string{`{"header":"a","text":"b"}`, `{"header":"a","text":"c"}`}
		w.recorded = w.bodies
	default:
		kind, w.path, w.isByEmployee = "Idempotency-Key of a contract", investmentsPath, true
		w.bodies = [2]string{investmentBody("trade"), investmentBody("crafts")}
		w.recorded = w.bodies
	}
	return &work{newHistory(kind, w.key, keyModel), w.request}, nil
}

func (w *keyWork) request(e *epoch, _ int64, random *rand.Rand) ([]step, bool) {
	i, as := random.IntN(len(w.bodies)), partnerCaller(e.sandbox.APIKey)
	if w.isByEmployee {
		as = e.session()
	}
	a := e.do(as, "POST", w.path, w.bodies[i], w.recorded[i], w.key)
	s := step{input: keyInput{w.bodies[i]}}
	switch {
	case a.isNothingDone():
		return nil, true
	case a.isUnknown():
		s.isUnknown = true
		return []step{s}, a.status != 0
	}
	s.output = keyOutput{a.status, a.header.Get("x-idempotent-replay") == "true", idOf(a), string(a.body)}
	return []step{s}, true
}

// idOf returns the id of the record that a response shows.
func idOf(a *answer) string {
	var record struct {
		ID   string
		Data struct{ ID string }
	}
	a.into(&record)
	if record.ID != "" {
		return record.ID
	}
	return record.Data.ID
}

const investmentsPath = "/api/v1/pfp/managed-investments"

// investmentBody returns the body that creates a managed investment with the model's terms.
func investmentBody(business string) string {
	return fmt.Sprintf(`{"customer_id":%q,"region":"SA","currency":"SAR","env":"test","capital_amount":"%d","business_type":%q,`+
		`"profit_sharing_ratio":{"bank":%d,"customer":%d},"term_months":12}`, uuid.NewString(), capital, business, bankShare, 100-bankShare)
}

// contractWork is a new contract on which several clients perform actions.
type contractWork struct {
	path  string // of the contract
	today string
}

func openContract(c *campaign, e *epoch, _ *rand.Rand) (*work, error) {
	body := investmentBody("trade")
	a := e.do(e.session(), "POST", investmentsPath, body, body, "")
	if a.isNothingDone() || a.isUnknown() {
		return nil, errKilled
	}
	if a.status != 201 {
		return nil, fmt.Errorf("the contract: %d %s", a.status, a.body)
	}
	w := &contractWork{path: investmentsPath + "/" + idOf(a), today: c.today}
	return &work{newHistory("contract", w.path, contractModel), w.request}, nil
}

// contractActions are the actions among which clients choose; repeated ones are chosen more often. The first actions of the
// lifecycle and the last one are rare, because they can succeed only once.
var contractActions = strings.Fields("submit review reject fund fund activate activate profit profit profit profit loss loss loss loss complete read read read read")

func (w *contractWork) request(e *epoch, _ int64, random *rand.Rand) ([]step, bool) {
	in, members := actionInput{action: contractActions[random.IntN(len(contractActions))]}, map[string]string{}
	switch in.action {
	case "review":
		members["approved_by"] = "board"
	case "reject":
		members["reason"] = "none"
	case "profit":
		in.amount = 100 * random.Int64N(1_000)
		members["gross_profit"], members["period_end_date"] = strconv.FormatInt(in.amount, 10), w.today
	case "loss":
		in.amount = 1 + random.Int64N(capital/2)
		members["amount"], members["period_end_date"] = strconv.FormatInt(in.amount, 10), w.today
	case "complete":
		if in.amount = random.Int64N(2 * capital); random.IntN(4) > 0 { // otherwise a read, so that most contracts are not completed early
			in = actionInput{action: "read"}
		}
		members["final_value"] = strconv.FormatInt(in.amount, 10)
	}
	method, path, body := "POST", w.path+"/"+in.action, ""
	if in.action == "read" {
		method, path = "GET", w.path
	} else {
		text, err := json.Marshal(members)
		if err != nil {
			panic(err) // impossible: members is a map of strings
		}
		body = string(text)
	}
	a := e.do(e.session(), method, path, body, body, "")
	s := step{input: in}
	switch {
	case a.isNothingDone(), in.action == "read" && a.isUnknown():
		return nil, a.status != 0
	case a.isUnknown():
		s.isUnknown = true
		return []step{s}, a.status != 0
	}
	var contract struct {
		Data struct {
			Status string
			Value  string `json:"current_value"`
		}
	}
	a.into(&contract)
	s.output = contractOutput{a.status, contract.Data.Status, number(contract.Data.Value)}
	return []step{s}, true
}
