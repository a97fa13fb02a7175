package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// This file has histories of whole accounts: concurrent payments without a txid or a key, so that a payment that is carried out twice
// counts twice, and reads of the balance through any node.

const (
	partnersForAccounts = 3  // of each tenant; each has an account for each of the currencies and environments below
	clientsOfAccounts   = 3  // of each tenant
	maxOfAccount        = 80 // requests of an account's history
	maxUnknown          = 6  // payments of unknown outcome after which a history ends, so that the search for an order ends soon
	accountEvery        = 100 * time.Millisecond
	chargedCard         = "4242424242424242"
)

var (
	accountCurrencies   = []string{"RUB", "UAH", "AZN", "USD", "EUR", "GBP", "CHF", "TRY", "KZT", "CAD", "SGD", "IDR"}
	accountEnvironments = []string{"prod", "test"}
)

// account is a partner's account in one currency and environment, with all requests about it.
type account struct {
	name          string
	owner         *partner
	currency, env string

	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu, like all fields below
	begun      int                   // number of requests that have begun
	unknown    int                   // number of payments of unknown outcome
}

// begin counts a request that is about to be sent. It returns false if the history is full.
func (a *account) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun >= maxOfAccount || a.unknown >= maxUnknown {
		return false
	}
	a.begun++
	return true
}

// end records a request.
func (a *account) end(input, output any, isUnknown bool, call, end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if isUnknown {
		a.unknown++
		end = forever
	}
	a.operations = append(a.operations, porcupine.Operation{ClientId: len(a.operations), Input: input, Output: output, Call: call, Return: end})
}

// makeAccounts makes partners with accounts for a tenant.
func (p *pool) makeAccounts(tn *tenant, create func(path, body string, into any) (int, error)) error {
	for i := range partnersForAccounts {
		owner, err := makePartner(fmt.Sprintf("accounts-%d", i+1), accountEnvironments, create)
		if err != nil {
			return err
		}
		for _, currency := range accountCurrencies {
			for _, env := range accountEnvironments {
				name := fmt.Sprintf("account of partner %d, %s %s", owner.id, currency, env)
				tn.accounts = append(tn.accounts, &account{name: name, owner: owner, currency: currency, env: env})
			}
		}
	}
	return nil
}

// workOnAccounts acts as one client until ctx ends, or until the histories of all accounts are full.
func (p *pool) workOnAccounts(ctx context.Context, tn *tenant, random *rand.Rand) {
	tick := time.NewTicker(accountEvery)
	defer tick.Stop()
	for _, a := range tn.accounts {
		for a.begin() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if node := random.IntN(len(p.urls)); random.IntN(100) < 60 {
				p.payInto(tn, a, node, 1+random.Int64N(1000))
			} else {
				p.readBalance(tn, a, node)
			}
		}
	}
}

// payInto makes a payment that the provider charges.
func (p *pool) payInto(tn *tenant, a *account, node int, amount int64) {
	render := func(card, cvv string) string {
		return fmt.Sprintf(`{"params":{"type":"payment","env":%q,"amount":"%d","currency":%q,"returnUrl":"https://shop.example/paid",`+
			`"failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":"A B","exp_month":"12","exp_year":"2040"%s}}}`,
			a.env, amount, a.currency, card, cvv)
	}
	call := p.now()
	answer := p.call(tn, a.owner, node, http.MethodPost, "/api/v1/transactions", render(chargedCard, `,"cvv":"737"`), render(chargedCard[len(chargedCard)-4:], ""), "")
	end := p.now()
	p.count("payment into an account: " + answer.outcome())
	switch v := answer.view(); {
	case answer.isNothingDone():
	case answer.isUnknown(), answer.status == http.StatusCreated && !isFinal(v.Status):
		a.end(addInput{amount}, nil, true, call, end)
	case answer.status != http.StatusCreated || v.Status != "charged" || v.isReplay:
		p.complain("%s: node %s answered a payment with %d: %s", a.name, p.names[node], answer.status, answer.body)
	default:
		a.end(addInput{amount}, nil, false, call, end)
	}
}

// readBalance reads the balance. An account without postings has none, which counts as 0.
func (p *pool) readBalance(tn *tenant, a *account, node int) (isRead bool) {
	call := p.now()
	answer := p.call(tn, a.owner, node, http.MethodGet, "/api/v1/balances?env="+a.env+"&currency="+a.currency, "", "", "")
	end := p.now()
	p.count("balance: " + answer.outcome())
	if answer.isNothingDone() || answer.isUnknown() {
		return false
	}
	var list struct{ Data []struct{ Available string } }
	err := json.Unmarshal(answer.body, &list)
	available := int64(0)
	if err == nil && len(list.Data) == 1 {
		available, err = strconv.ParseInt(list.Data[0].Available, 10, 64)
	}
	if err != nil || len(list.Data) > 1 || answer.status != http.StatusOK {
		p.complain("%s: node %s answered a read with %d: %s", a.name, p.names[node], answer.status, answer.body)
		return true
	}
	a.end(balanceInput{}, available, false, call, end)
	return true
}

// readAccounts reads the balance of every used account through every node.
func (c *campaign) readAccounts() {
	for _, tn := range c.tenants {
		for _, a := range tn.accounts {
			if len(a.operations) == 0 {
				continue
			}
			for node := range c.urls {
				c.await("the balance is read", func() bool { return c.readBalance(tn, a, node) })
			}
		}
	}
}

// balanceState is the state of the model of an account.
type balanceState struct {
	sum    int64
	isOver bool
}

// The inputs. The output of a balanceInput is the balance. A payment of unknown outcome may count at any time, or never.
type (
	addInput     struct{ amount int64 }
	balanceInput struct{}
)

var balanceModel = porcupine.Model{
	Init: func() any { return balanceState{} },
	Step: func(state, input, output any) (bool, any) {
		s := state.(balanceState)
		switch in := input.(type) {
		case endInput:
			s.isOver = true
		case addInput:
			if !s.isOver {
				s.sum += in.amount
			}
		case balanceInput:
			return output.(int64) == s.sum, s
		}
		return true, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%T%+v → %+v", input, input, output) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

func TestBalanceModelRefusesWhatIsNotAllowed(t *testing.T) {
	add := func(call, end, amount int64) porcupine.Operation {
		return porcupine.Operation{Input: addInput{amount}, Call: call, Return: end}
	}
	read := func(call, end, balance int64) porcupine.Operation {
		return porcupine.Operation{Input: balanceInput{}, Output: balance, Call: call, Return: end}
	}
	for _, c := range []struct {
		name       string
		operations []porcupine.Operation
		isAllowed  bool
	}{
		{"concurrent payments", []porcupine.Operation{add(1, 5, 10), add(2, 6, 20), read(3, 4, 20), read(7, 8, 30)}, true},
		{"a payment of unknown outcome that counts late", []porcupine.Operation{add(1, forever, 10), read(3, 4, 0), read(5, 6, 10)}, true},
		{"a payment of unknown outcome that never counts", []porcupine.Operation{add(1, forever, 10), read(3, 4, 0)}, true},
		{"a lost payment", []porcupine.Operation{add(1, 2, 10), read(3, 4, 0)}, false},
		{"a doubled payment", []porcupine.Operation{add(1, 2, 10), read(3, 4, 20)}, false},
		{"a payment of unknown outcome that counts twice", []porcupine.Operation{add(1, forever, 10), read(3, 4, 20)}, false},
		{"a stale read", []porcupine.Operation{add(1, 2, 10), read(3, 4, 10), add(5, 6, 1), read(7, 8, 10)}, false},
		{"a balance that goes back", []porcupine.Operation{add(1, forever, 10), read(3, 4, 10), read(5, 6, 0)}, false},
	} {
		if got := porcupine.CheckOperationsTimeout(balanceModel, withEnd(c.operations), searchTime) == porcupine.Ok; got != c.isAllowed {
			t.Errorf("%s: allowed is %v", c.name, got)
		}
	}
}
