package contract

import (
	"encoding/json"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Decision is the outcome of an action or a timer. It is stored in one Change, as a whole or not at all.
type Decision struct {
	Record     *Record // the record after the decision: a changed copy of the old one
	Events     []ledger.Event
	Due        ledger.Micros // when the next timer is due; 0: none
	Finish     bool          // the contract has ended
	MustRecord bool          // set for a timer's decision, which the writer (package posting) must not refuse

	// Reserve is for the timers that this decision starts: it is the largest amount that they may book on any shared
	// account.
	Reserve money.Amount

	// Dates lists the dates in the request, each with the name of its field. If a date is in a closed month, the writer
	// (package posting) refuses the decision.
	Dates []RequestDate

	// NewParty is a person who becomes a party to the contract in addition to the customer. It is zero if there is none.
	NewParty ledger.ID

	// NewSubscription is a subscription that the decision adds to the register of holders, and InvestorPosition is the
	// holder's new row. If the decision adds no subscription, both have the Number 0.
	NewSubscription  Subscription
	InvestorPosition Holder

	// BatchPhase tells whether the decision begins or ends an action that is carried out in batches. No month can be closed
	// while such an action is unfinished.
	BatchPhase BatchPhase
}

// BatchPhase tells whether a decision begins or ends an action that is carried out in batches.
type BatchPhase uint8

// The phases. NotUnderWay is the phase of every decision that neither begins nor ends an action in batches.
const (
	NotUnderWay BatchPhase = iota
	BatchBegins            // later decisions book the batches
	BatchEnds              // this decision books the last batch
)

// RequestDate is a date in a request, with the name of the field that contains it.
type RequestDate struct {
	Field string
	On    ledger.Date
}

// Proposal is a request for a new contract.
type Proposal struct {
	ID      ledger.ID
	Product *Product
	Reading *Reading
	Env     money.Env
	Input   schema.Input
	Now     ledger.Micros
	Caller  Caller
	Allowed func(region string) bool // whether the organization works in the region; nil allows all regions
}

// Open returns the decision on a request for a new contract. If the request is refused, the error is a *schema.Faults.
func Open(proposal Proposal) (Decision, error) {
	faults := new(schema.Faults)
	r := &Record{ID: proposal.ID, Product: proposal.Product, Reading: proposal.Reading, Status: Absent}
	r.Values = proposal.Product.Columns.Read(proposal.Input, proposal.Reading.ParseOptions, "", faults)
	proposal.resolveAsset(r, faults)
	c := &ActionContext{Now: proposal.Now, Today: proposal.Now.Date(), record: r, reading: proposal.Reading, faults: faults}
	c.caller = proposal.Caller
	c.setCaller(RequestedBy)
	creationDay.Set(r.Values, c.Today)
	if faults.IsEmpty() {
		proposal.Product.Open(c)
		assert.That(len(c.lines) == 0 && len(c.entries) == 0, "contract: the creation of a contract books an entry")
	}
	variant := proposal.Product.Variants[proposal.Reading]
	approval := schema.Row(nil)
	if len(variant.CreationActions) > 0 {
		approval = proposal.approval(faults)
	}
	if err := faults.Err(); err != nil {
		return Decision{}, err
	}
	decision := Decision{Record: r}
	decision.applyTransition(c, Create, Create)
	for _, name := range variant.CreationActions {
		handler := proposal.Product.Handler(name)
		c = &ActionContext{Now: proposal.Now, Today: proposal.Now.Date(), record: r, reading: proposal.Reading, faults: faults}
		if c.input = approval; handler.Name != Approve {
			c.input = handler.input(schema.Input{}, r, faults)
		}
		if err := decision.run(c, handler); err != nil {
			return Decision{}, err
		}
	}
	return decision.finish(), nil
}

// resolveAsset sets the contract's asset, which is a currency in an environment. If the request names no currency, the
// region's currency is used, unless the product requires a currency in the request.
func (proposal *Proposal) resolveAsset(r *Record, faults *schema.Faults) {
	region, known := Regions[Region.Get(r.Values)]
	switch {
	case !Region.Has(r.Values):
	case !known:
		faults.Add(Region.Name, "is not supported by the chart of accounts")
	case proposal.Allowed != nil && !proposal.Allowed(region.Code):
		faults.Add(Region.Name, "is not one in which the organization works")
	}
	if !Currency.Has(r.Values) {
		if proposal.Product.NeedsCurrency {
			if !faults.Has(Currency.Name) {
				faults.Add(Currency.Name, "is required")
			}
			return
		}
		if known {
			Currency.Set(r.Values, string(region.Currency))
		}
	}
	currency := money.Currency(Currency.Get(r.Values))
	if currency != "" && !Currencies[currency] {
		faults.Add(Currency.Name, "is not one that contracts are made in")
	}
	r.Asset = money.Asset{Currency: currency, Env: proposal.Env}
}

// approval parses the compliance review that the request for a new contract contains.
func (proposal *Proposal) approval(faults *schema.Faults) schema.Row {
	raw := proposal.Input[Reviewed.Name]
	var request schema.Input
	if len(raw) == 0 || string(raw) == "null" {
		faults.Add(Reviewed.Name, "is required")
		return nil
	}
	if raw[0] != '{' || json.Unmarshal(raw, &request) != nil {
		faults.Add(Reviewed.Name, "must be an object")
		return nil
	}
	return proposal.Product.Reviews(proposal.Reading).Read(request, schema.ParseOptions{}, Reviewed.Name+".", faults)
}

// input parses the body of an action.
func (handler *ActionHandler) input(request schema.Input, r *Record, f *schema.Faults) schema.Row {
	body := r.Product.BodyOf(r.Reading, handler)
	if body == nil {
		return nil
	}
	row := body.Read(request, r.Reading.ParseOptions, "", f)
	for _, column := range body.Columns {
		if !column.Required && handler.requires(column, r) && column.Stored(row) == nil && !f.Has(column.Name) {
			f.Add(column.Name, "is required")
		}
	}
	return row
}

// Act returns the decision on an action. If the state does not allow the action, the error has the code Conflict. If the
// user in r.Caller may not approve the contract, it has the code Forbidden. If the body is wrong or a condition is not met,
// it is a *schema.Faults.
func (r *Record) Act(name Action, request schema.Input, now ledger.Micros) (Decision, error) {
	handler := r.Product.Handler(name)
	if handler == nil || handler.Timer {
		return Decision{}, Unsupported(string(name))
	}
	if err := r.checkBefore(handler); err != nil {
		return Decision{}, err
	}
	c := r.newActionContext(now)
	c.input = handler.input(request, r, c.faults)
	if err := c.faults.Err(); err != nil {
		return Decision{}, err
	}
	d := Decision{Record: c.record}
	if err := d.run(c, handler); err != nil {
		return Decision{}, err
	}
	return d.finish(), nil
}

// Unsupported returns the error for an action that does not exist.
func Unsupported(name string) error {
	f := new(schema.Faults)
	f.Add("action", "Unsupported action: %s", name)
	return f
}

// allows tells whether the current state allows at least one of the handler's transitions.
func (r *Record) allows(handler *ActionHandler) bool {
	machine := r.Product.Machine(r.Reading)
	for _, action := range handler.Transitions {
		if _, ok := machine.Next(r.Status, action); ok {
			return true
		}
	}
	return false
}

// OnDue returns the decision of the timer that is due at the instant now. If no timer is due, it returns false.
func (r *Record) OnDue(now ledger.Micros) (Decision, bool) {
	if r.Product.Due == nil {
		return Decision{}, false
	}
	day, name := r.Product.Due(r)
	if day == 0 || startOfDay(day) > now {
		return Decision{}, false
	}
	handler := r.Product.Handler(name)
	c := r.newActionContext(now)
	c.Today, c.effectiveDate = day, day
	d := Decision{Record: c.record, MustRecord: true}
	c.input = handler.input(nil, r, c.faults) // a timer has no body, so optional columns take their defaults
	assert.NoError(d.run(c, handler))
	return d.finish(), true
}

// run checks the handler's conditions, calls the handler, and adds the handler's results to the decision.
func (d *Decision) run(c *ActionContext, handler *ActionHandler) error {
	c.transition = handler.Name
	if c.checkConditions(handler, c.input); c.noFaults() {
		handler.Do(c)
	}
	if err := c.faults.Err(); err != nil {
		return err
	}
	d.NewParty, d.Reserve = c.newParty, c.reserve
	d.NewSubscription, d.InvestorPosition, d.BatchPhase = c.subscription, c.holderPosition, c.batchPhase
	d.Dates = append(d.Dates, c.requestDates...)
	d.applyTransition(c, c.transition, handler.Name)
	return c.checkRoom()
}

// applyTransition moves the record to the next state and appends the transition's events with their ledger entries. The
// first event has the action's name. The caller has already checked that the state allows the transition, so an illegal
// transition is a bug.
func (d *Decision) applyTransition(c *ActionContext, transition, action Action) {
	r := d.Record
	from := r.Status
	target := from // the transition Batch does not change the state
	if transition != Batch {
		step, ok := r.Product.Machine(r.Reading).Next(from, transition)
		assert.That(ok, "contract: %s in state %s", transition, from)
		target = step.To
	}
	r.Status = target
	if from == Absent {
		from = ""
	}
	if len(c.lines) > 0 {
		c.entries = append(c.entries, c.lines)
	}
	event := ledger.Event{Name: string(action), From: string(from), To: string(target)}
	if len(c.entries) > 0 {
		event.Entry = c.entry(0)
	}
	d.Events = append(d.Events, event)
	for i := 1; i < len(c.entries); i++ {
		d.Events = append(d.Events, ledger.Event{
			Name: string(Continue), From: string(target), To: string(target), Entry: c.entry(i),
		})
	}
}

// entry returns the i-th entry of the case. If the handler has set no effective date, the effective date is today. The
// journal's writer may book the entry on a later day, because the writer's timestamps increase even while the clock stands
// still.
func (c *ActionContext) entry(i int) *ledger.Entry {
	day := c.effectiveDate
	if day == 0 {
		day = c.Today
	}
	return &ledger.Entry{Phase: ledger.Posted, Effective: day, Postings: c.entries[i]}
}

// finish records in the decision when the next timer is due and whether the contract has ended.
func (d *Decision) finish() Decision {
	r := d.Record
	if r.Product.Due != nil {
		if day, _ := r.Product.Due(r); day != 0 {
			d.Due = startOfDay(day)
		}
	}
	d.Finish = r.Ended()
	return *d
}

// Ended tells whether the contract's state is final and no action in batches is unfinished.
func (r *Record) Ended() bool {
	_, underWay := r.Progress()
	return r.Product.Machine(r.Reading).IsFinal(r.Status) && !underWay
}

// startOfDay returns the first instant of a day.
func startOfDay(day ledger.Date) ledger.Micros { return ledger.MicrosOf(day.Time()) }

// must returns the value and asserts that there is no error. It is for arithmetic on bounded amounts, which cannot fail.
func must[T any](value T, err error) T {
	assert.NoError(err)
	return value
}
