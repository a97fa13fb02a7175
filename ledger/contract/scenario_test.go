package contract

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// randomLives configures a test with random lives of a product. A life is a new contract and the random actions
// that the test tries on it.
type randomLives struct {
	product               *Product
	reading               *Reading
	body                  func(*dice) schema.Input
	bodies                map[Action]func(*dice, schema.Row) schema.Input // an action that is missing here has no body
	checkColumns          func(*contractFixture)                          // checks that the columns agree with each other
	openStems             []string                                        // stems (paths without the contract's id) of accounts that may hold money after the end
	endStates             []Status                                        // states in each of which some life must end
	rareActions           []Action                                        // actions that are tried rarely, because they end the contract
	impossibleTransitions []Action                                        // transitions that cannot occur in any life
}

// dice draws random values, for example for bodies of requests.
type dice struct {
	*rapid.T
	looseAmounts bool // amounts may also be JSON integers
}

func (d *dice) pick(words ...string) string       { return rapid.SampledFrom(words).Draw(d.T, "word") }
func (d *dice) number(low, high int) int          { return rapid.IntRange(low, high).Draw(d.T, "number") }
func (d *dice) quotedWord(words ...string) string { return `"` + d.pick(words...) + `"` }
func (d *dice) numberText(low, high int) string   { return strconv.Itoa(d.number(low, high)) }
func (d *dice) chance(percent int) bool           { return d.number(1, 100) <= percent }

// amountText draws an amount, as JSON. It is usually at most the bound; sometimes it is a power of ten, zero or
// malformed.
func (d *dice) amountText(bound money.Amount) string {
	digits := bound.String()
	switch n := d.number(1, 20); {
	case n == 1:
		digits = "1" + strings.Repeat("0", d.number(0, 73))
	case n == 2:
		digits = d.pick("0", "01", "1.5", "", "-1")
	case n <= 5:
	default:
		if small, fits := bound.Uint64(); fits {
			digits = strconv.Itoa(d.number(1, int(min(max(small, 1), 5000))))
		}
	}
	if d.looseAmounts && digits != "" && digits[0] != '0' && digits[0] != '-' && !strings.Contains(digits, ".") && d.chance(50) {
		return digits
	}
	return `"` + digits + `"`
}

// day draws one of the 401 days from 2026-01-02 on.
func (d *dice) day() string {
	return startOfDay(ledger.Date(20_455 + d.number(0, 400))).Time().Format(`"2006-01-02"`)
}

// periodEndFrom draws the last day of a period that begins on start. The day may also be invalid: before the
// start, or in the future.
func (d *dice) periodEndFrom(start ledger.Date) string {
	return startOfDay(max(20_000, start) + ledger.Date(d.number(0, 12)) - 2).Time().Format(`"2006-01-02"`)
}

func (d *dice) ratio() string {
	bank := d.number(0, 100)
	return `{"bank":` + strconv.Itoa(bank) + `,"customer":` + strconv.Itoa(100-bank) + `}`
}

// setSometimes sets a member of a body with a probability of one half.
func (d *dice) setSometimes(body schema.Input, name, value string) {
	if d.chance(50) {
		body[name] = []byte(value)
	}
}

// livesPerCheck returns how many lives one check of rapid runs. Rapid makes a hundred checks, or twenty with
// -short, so there are 2000 lives in both cases. With fewer lives, some runs miss the rarest handlers.
func livesPerCheck() int {
	if testing.Short() {
		return 100
	}
	return 20
}

// check runs random lives of a product. After any sequence of requests, entries balance and the accounts agree with the
// columns. A refused action changes nothing. An action is refused as a conflict exactly if the state does not allow it.
// An ended contract holds nothing.
func (lives randomLives) check(t *testing.T) {
	if seed := os.Getenv("MIZAN_SEED"); seed != "" { // rapid prints its seed on failure
		if err := flag.Set("rapid.seed", seed); err != nil {
			t.Fatal(err)
		}
	}
	endings, transitionCounts := make(map[Status]int), make(map[Action]int)
	rapid.Check(t, func(rt *rapid.T) {
		for range livesPerCheck() {
			lives.runLife(&dice{T: rt, looseAmounts: lives.reading.ParseOptions.LooseAmounts}, endings, transitionCounts)
		}
	})
	for _, status := range lives.endStates {
		if endings[status] == 0 {
			t.Errorf("no life ended as %s: %v", status, endings)
		}
	}
	for _, handler := range lives.product.Handlers {
		for _, action := range handler.Transitions {
			if slices.Contains(lives.product.Machine(lives.reading).Events(), action) && (transitionCounts[action] == 0) != slices.Contains(lives.impossibleTransitions, action) {
				t.Errorf("%d lives have had the transition %s", transitionCounts[action], action)
			}
		}
	}
	t.Logf("lives ended as %v", endings)
}

// runLife opens a contract with a random body and tries random actions on it. It counts the contract's last state in
// endings, and its transitions in transitionCounts.
func (lives randomLives) runLife(d *dice, endings map[Status]int, transitionCounts map[Action]int) {
	opened, err := Open(Proposal{
		ID: uuid.UUID{4, byte(d.number(0, 255))}, Product: lives.product, Reading: lives.reading, Env: money.Prod,
		Input: lives.body(d), Now: newOrgFixture(d.T, "2026-01-01").now,
	})
	if err != nil {
		if fieldsOf(d.T, err); opened.Record != nil {
			d.Fatalf("a request was refused, but the decision is not empty: %v", err)
		}
		return
	}
	fixture := &contractFixture{orgFixture: newOrgFixture(d.T, "2026-01-01"), placeholders: strings.NewReplacer()}
	reviewed := false
	for _, e := range opened.Events {
		transitionCounts[Action(e.Name)]++
		reviewed = reviewed || e.Name == string(Approve)
		if e.Entry != nil && lives.reading.ReviewFirst && !reviewed {
			d.Fatalf("%s moves money without a review", e.Name)
		}
	}
	fixture.apply(opened)
	for range d.number(0, 40) {
		if d.chance(30) {
			lives.wait(fixture, d.number(1, 60), transitionCounts)
		}
		lives.step(fixture, d, transitionCounts)
		if lives.checkColumns != nil {
			lives.checkColumns(fixture)
		}
	}
	endings[fixture.record.Status]++
}

// wait moves the clock by days and runs the due timers. It checks that each due timer runs once, and that its entry is dated
// on the due day.
func (lives randomLives) wait(fixture *contractFixture, days int, transitionCounts map[Action]int) {
	fixture.now += ledger.Micros(days) * oneDay
	for {
		expectedDue := fixture.decision.Due
		decision, due := fixture.onDue(fixture.record, fixture.now)
		if due != (expectedDue != 0 && expectedDue <= fixture.now) {
			fixture.t.Fatalf("the timer that was due at %v has run: %v", expectedDue, due)
		}
		if !due {
			return
		}
		lives.applyAndCheck(fixture, decision, transitionCounts)
		for _, e := range decision.Events {
			if e.Entry != nil && e.Entry.Effective != expectedDue.Date() {
				fixture.t.Fatalf("the entry of the timer that was due on %v is dated %v", expectedDue.Date(), e.Entry.Effective)
			}
		}
	}
}

// step tries a random action, with a random body.
func (lives randomLives) step(fixture *contractFixture, d *dice, transitionCounts map[Action]int) {
	handler := rapid.SampledFrom(lives.product.Handlers).Draw(d.T, "handler")
	if !d.chance(10) { // try an action that the state allows
		handler = lives.allowedHandler(fixture, d, handler)
	}
	body := schema.Input{}
	if handler.Name == Approve {
		body = boardReview()
	}
	if makeBody := lives.bodies[handler.Name]; makeBody != nil {
		body = makeBody(d, fixture.record.Values)
	}
	if d.chance(25) { // not every time, because the check makes a decision for each action
		fixture.checkAvailable(fixture.record, fixture.now)
	}
	before := AppendRecord(nil, fixture.record)
	decision, err := fixture.decide(fixture.record, handler.Name, body, fixture.now)
	if string(before) != string(AppendRecord(nil, fixture.record)) {
		d.Fatalf("%s has changed the record before the decision", handler.Name)
	}
	if err == nil {
		lives.applyAndCheck(fixture, decision, transitionCounts)
		return
	}
	if decision.Record != nil || decision.Events != nil {
		d.Fatalf("%s was refused, but the decision is not empty", handler.Name)
	}
	var faults *schema.Faults
	switch {
	case errors.As(err, &faults):
		if !handler.ChecksState && !handler.Timer && !fixture.record.allows(handler) {
			d.Fatalf("%s in state %s is refused for %v, although the state must be checked first", handler.Name, fixture.record.Status, err)
		}
	case !ledger.IsRefusal(err, ledger.Conflict) || fixture.record.allows(handler):
		d.Fatalf("%s in state %s: %v", handler.Name, fixture.record.Status, err)
	}
}

// allowedHandler draws a handler that the state allows. It returns drawn if the state allows none.
func (lives randomLives) allowedHandler(fixture *contractFixture, d *dice, drawn *ActionHandler) *ActionHandler {
	var legalHandlers []*ActionHandler
	for _, handler := range lives.product.Handlers {
		if !handler.Timer && fixture.record.allows(handler) {
			legalHandlers = append(legalHandlers, handler)
		}
	}
	commonHandlers := slices.DeleteFunc(slices.Clone(legalHandlers), func(handler *ActionHandler) bool { return slices.Contains(lives.rareActions, handler.Name) })
	switch {
	case len(legalHandlers) == 0:
		return drawn
	case len(commonHandlers) > 0 && d.chance(90):
		return rapid.SampledFrom(commonHandlers).Draw(d.T, "common action")
	}
	return rapid.SampledFrom(legalHandlers).Draw(d.T, "legal action")
}

// transition returns the action's transition from one state to another; empty if there is none.
func transition(p *Product, machine *Machine, name Action, from, to Status) Action {
	transitions := []Action{name}
	if handler := p.Handler(name); handler != nil {
		transitions = handler.Transitions
	}
	for _, action := range transitions {
		if step, ok := machine.Next(from, action); ok && step.To == to {
			return action
		}
	}
	return ""
}

// applyAndCheck applies a decision and checks its events. If the decision ends the contract, applyAndCheck also
// checks that the contract holds nothing.
func (lives randomLives) applyAndCheck(fixture *contractFixture, decision Decision, transitionCounts map[Action]int) {
	from := fixture.record.Status
	machine := lives.product.Machine(lives.reading)
	for i, e := range decision.Events {
		if i == 0 {
			action := transition(lives.product, machine, Action(e.Name), from, Status(e.To))
			if action == "" || e.From != string(from) {
				fixture.t.Fatalf("%s leads from %s to %s", e.Name, e.From, e.To)
			}
			transitionCounts[action]++
		} else if e.Name != string(Continue) || e.Entry == nil || e.From != e.To {
			fixture.t.Fatalf("%s follows in the same decision", e.Name)
		}
		if e.Entry != nil && lives.reading.ReviewFirst && !Reviewed.Get(decision.Record.Values).IsGiven() {
			fixture.t.Fatalf("%s moves money without a review", e.Name)
		}
	}
	fixture.apply(decision)
	if decision.Finish != machine.IsFinal(fixture.record.Status) {
		fixture.t.Fatalf("%s: finished: %v", fixture.record.Status, decision.Finish)
	}
	if decision.Finish {
		lives.checkHoldsNothing(fixture)
	}
}

// checkHoldsNothing checks that the accounts of an ended contract are empty, except those in openStems.
func (lives randomLives) checkHoldsNothing(fixture *contractFixture) {
	for _, totals := range []map[ledger.Path]money.Amount{fixture.debit, fixture.credit} {
		for path := range totals {
			ofContract := strings.Contains(string(path), fixture.record.ID.String())
			mayStayOpen := slices.ContainsFunc(lives.openStems, func(stem string) bool { return strings.HasPrefix(string(path), stem+":") })
			if ofContract && !mayStayOpen && !fixture.balance(path).IsZero() {
				fixture.t.Fatalf("%s holds %v, and the contract is %s", path, fixture.balance(path), fixture.record.Status)
			}
		}
	}
}

// needsReview tells whether a required review must come before a transition.
func needsReview(p *Product, action Action) bool {
	return p.Moves(action) != Never || slices.ContainsFunc(p.Handlers, func(handler *ActionHandler) bool {
		return handler.AfterReview && slices.Contains(handler.Transitions, action)
	})
}

// amountsOf returns a function that draws a body with one amount. The amount is usually at most the bound, which is computed
// from the contract's values.
func amountsOf(name string, bound func(schema.Row) money.Amount) func(*dice, schema.Row) schema.Input {
	return func(d *dice, v schema.Row) schema.Input { return input(name, d.amountText(bound(v))) }
}

// defaultBound is the bound of amounts for which the contract's values set no bound.
func defaultBound(schema.Row) money.Amount { return money.FromUint64(1000) }

func reasonBody(*dice, schema.Row) schema.Input { return input("reason", `"enough"`) }

func TestEveryLifeOfASaleBalances(t *testing.T) {
	for _, reading := range Readings {
		t.Run(reading.Name, func(t *testing.T) {
			lives := randomLives{product: InstalmentSale, reading: reading, checkColumns: checkSaleColumns, endStates: []Status{Completed, Cancelled, Refused}}
			if reading.ReviewFirst {
				lives.endStates = []Status{Completed, Refused}
			}
			lives.body = func(d *dice) schema.Input {
				body := withChanges(saleBody(), "asset_cost", d.amountText(money.FromUint64(5000)), "markup_rate", d.numberText(0, 100), "instalments", d.numberText(1, 40))
				for _, name := range []string{"down_payment", "earnest_deposit"} {
					if delete(body, name); d.chance(60) {
						body[name] = []byte(`"` + d.numberText(0, 300) + `"`)
					}
				}
				return body
			}
			lives.bodies = map[Action]func(*dice, schema.Row) schema.Input{
				Reject: reasonBody,
				OrderAsset: func(d *dice, _ schema.Row) schema.Input {
					body := schema.Input{}
					d.setSometimes(body, "supplier_deposit", d.amountText(money.FromUint64(2000)))
					return body
				},
				PurchaseAsset: func(d *dice, v schema.Row) schema.Input {
					body := input("ownership_documents", d.pick(`["invoice"]`, `["invoice"]`, `[]`))
					d.setSometimes(body, "actual_cost", d.amountText(slCost.Get(v)))
					return body
				},
				RecordPayment:     amountsOf("amount", slOutstanding.Get),
				RecordDelinquency: amountsOf("amount", slInstalmentAmount.Get),
				SettleEarly:       amountsOf("rebate", slDeferred.Get),
			}
			lives.rareActions = []Action{Submit, Reject, Cancel, SettleEarly}
			lives.check(t)
		})
	}
}

func TestEveryLifeOfSafekeepingBalances(t *testing.T) {
	for _, reading := range Readings {
		t.Run(reading.Name, func(t *testing.T) {
			lives := randomLives{product: Safekeeping, reading: reading, checkColumns: checkSafekeepingColumns, endStates: []Status{Active, Closed}}
			lives.body = func(d *dice) schema.Input {
				return withChanges(keepingBody(), "custody_type", d.quotedWord("guaranteed", "trust"), "initial_amount", d.amountText(money.FromUint64(2000)),
					"compliance_review", `{"approved_by":"the board","fatwa_reference":"F-7"}`)
			}
			lives.bodies = map[Action]func(*dice, schema.Row) schema.Input{
				DepositMoney: amountsOf("amount", defaultBound),
				Withdraw:     amountsOf("amount", skBalance.Get),
				GrantHibah: func(d *dice, _ schema.Row) schema.Input {
					return input("amount", d.amountText(money.FromUint64(50)), "granted_by", d.quotedWord("the board", "the board", ""))
				},
				Close: func(d *dice, _ schema.Row) schema.Input { return input("closed_by", d.quotedWord("teller 7", "")) },
			}
			lives.rareActions = []Action{Close}
			lives.check(t)
		})
	}
}
