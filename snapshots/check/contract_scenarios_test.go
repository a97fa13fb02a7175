package check_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// randomInput draws random requests for contracts.
type randomInput struct {
	*rand.Rand
	now time.Time // days near this time are drawn
}

func (d randomInput) day() string { return d.now.AddDate(0, 0, d.IntN(200)-100).Format(`"2006-01-02"`) }

// value draws a value for a column, in most cases a valid one.
func (d randomInput) value(c *schema.Column) string {
	switch c.Kind {
	case schema.KindEnum:
		return strconv.Quote(c.Words[d.IntN(len(c.Words))])
	case schema.KindID:
		return strconv.Quote(fixture.NewID().String())
	case schema.KindInteger, schema.KindPercent:
		return strconv.FormatInt(c.Min+d.Int64N(min(c.Max-c.Min+1, 9)), 10)
	case schema.KindBool:
		return strconv.FormatBool(d.IntN(2) == 0)
	case schema.KindAmount:
		return strconv.Quote(strconv.Itoa(d.IntN(400)))
	case schema.KindDate:
		return d.day()
	case contract.KindShares:
		bank := d.IntN(101)
		return fmt.Sprintf(`{"bank":%d,"customer":%d}`, bank, 100-bank)
	case contract.KindReview:
		return fatwa
	case schema.KindList, schema.KindTexts:
		return `["a deed"]`
	}
	return `"said by somebody"`
}

// body draws a value for every required column of a table and for some of the optional ones.
func (d randomInput) body(table *schema.Table) schema.Input {
	input := make(schema.Input)
	if table == nil {
		return input
	}
	for _, c := range table.Columns {
		if c.Settable && c.Kind != schema.KindRows && c.Kind != schema.KindObject && (c.Required || d.IntN(2) == 0) {
			input[c.Name] = []byte(d.value(c))
		}
	}
	return input
}

// creationBody draws the body that creates a contract of a product.
func (d randomInput) creationBody(t testing.TB, p *contract.Product) schema.Input {
	t.Helper()
	input := d.body(p.Columns)
	bank, customer, faceValue := 100+d.IntN(900), 1+d.IntN(500), 1+d.IntN(40)
	total := bank + customer
	if p == contract.Certificate {
		total = faceValue * (10 + d.IntN(30))
	}
	for name, value := range parseInput(t, fmt.Sprintf(`{"region":"AE","currency":"AED","screening_id":null,"compliance_review":%s,`+
		`"total_value":"%d","bank_contribution":"%d","customer_contribution":"%d","certificate_value":"%d","underlying_asset_value":"%d",`+
		`"capital_amount":"%d","initial_amount":"%d","asset_cost":"%d","monthly_rental":"%d"}`,
		fatwa, total, bank, customer, faceValue, total+5, total, total, 400+total, 1+d.IntN(90))) {
		input[name] = value
	}
	if p == contract.Certificate {
		input["min_subscription"] = []byte("null")
	}
	return input
}

// After random requests and random passage of time, the checker finds no fault in the contracts.
func TestRandomContractRequestsBreakNoRule(t *testing.T) {
	seed := testseed.Seed(t)
	random := randomInput{rand.New(rand.NewPCG(seed, 0)), fixture.StartTime}
	w := fixture.Copy(t)
	acceptedCounts := make(map[string]int) // product in a reading (religious or secular) → number of accepted requests
	func() {
		server := fixture.Start(t, w)
		defer server.Close()
		service := contractactor.New(server.Runtime)
		for range 6 {
			for _, p := range contract.Products {
				for _, reading := range contract.Readings { // a fixed order, so that a seed repeats a run
					if variant := p.Variants[reading]; variant != nil {
						acceptedCounts[variant.Name] += random.runContract(t, service, w.FirstDemo.Org, p, reading)
					}
				}
			}
			server.Advance(time.Duration(random.IntN(60)) * 24 * time.Hour)
			random.now = server.Clock.Now()
		}
	}()
	for name, n := range acceptedCounts {
		if n == 0 {
			t.Errorf("nothing has happened to %s: %v", name, acceptedCounts)
		}
	}
	report := w.Check(t, check.Inputs{})
	t.Logf("%v: %+v", acceptedCounts, report.Counts)
	fixture.WantBroken(t, report)
}

// runContract creates a contract, makes random requests about it, and returns how many of these requests were
// accepted.
func (d randomInput) runContract(t testing.TB, service *contractactor.Service, org ledger.ID, p *contract.Product, reading *contract.Reading) (accepted int) {
	t.Helper()
	latest := d.createAccepted(t, service, contractactor.Create{Author: ledger.ByAdminToken.Author(), Org: org, Product: p, Reading: reading, Env: []money.Env{money.Prod, money.Test}[d.IntN(2)]})
	for range 30 {
		handler := p.Handlers[d.IntN(len(p.Handlers))]
		if handler.Timer || !keepsContractOpen(latest.Record, handler) && d.IntN(10) > 0 {
			continue
		}
		act := contractactor.ActionRequest{Author: ledger.ByAdminToken.Author(), Org: org, ID: latest.Record.ID, Product: p, Reading: reading, Action: handler.Name, Input: d.body(handler.Body), Key: d.key()}
		if handler.Name == contract.Approve {
			act.Input = parseInput(t, fatwa)
		}
		if result, err := service.Act(act); err == nil {
			latest = result
			accepted++
		}
	}
	return accepted
}

// createAccepted creates a contract: it draws bodies until one is accepted.
func (d randomInput) createAccepted(t testing.TB, service *contractactor.Service, c contractactor.Create) contractactor.Result {
	t.Helper()
	var err error
	for range 1_000 {
		c.Input, c.Key = d.creationBody(t, c.Product), d.key()
		var r contractactor.Result
		if r, err = service.Create(c); err == nil {
			return r
		}
	}
	t.Fatal(err)
	return contractactor.Result{}
}

// keepsContractOpen tells whether an action is possible in the contract's status and can leave the contract
// open. handler is the function that carries out the action.
func keepsContractOpen(r *contract.Record, handler *contract.ActionHandler) bool {
	machine := r.Product.Machine(r.Reading)
	for _, transition := range handler.Transitions {
		if step, ok := machine.Next(r.Status, transition); ok && !machine.IsFinal(step.To) {
			return true
		}
	}
	return false
}

// key draws an idempotency key for every third request on average; the other requests have none.
func (d randomInput) key() actors.Key {
	if d.IntN(3) > 0 {
		return actors.Key{}
	}
	return actors.Key{Scope: actors.UserKeyScope, Text: fixture.NewID().String(), Hash: [32]byte{1}}
}
