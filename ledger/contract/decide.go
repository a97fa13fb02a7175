package contract

import (
	"encoding/json"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Decision is the outcome of an action or a timer. It is made durable as a whole, in one Change.
type Decision struct {
	Record     *Record // the record after the decision: a changed copy of the old one
	Events     []ledger.Event
	Due        ledger.Micros // when the next timer is due; 0: none
	Finish     bool          // the contract has ended
	MustRecord bool          // a timer's decision, which must not be refused

	// Reserve is the largest amount that timers may book on any shared account because of this decision.
	Reserve money.Amount

	// Dates lists the dates in the command with the fields that contain them. The writer (package posting)
	// refuses dates in closed months.
	Dates []Dated

	// NewParty is a person who becomes a party to the contract, beside its customer.
	NewParty ledger.ID

	// Subscribed is a subscription that the decision adds to the register of holders, and
	// Position is the holder's new row. If nothing is added, the Number of each is 0.
	Subscribed Subscription
	Position   Holder

	// UnderWay tells whether the decision begins or ends an action that is carried out in
	// batches. No month can be closed between these two decisions.
	UnderWay UnderWay
}

// UnderWay is the effect of a decision on an action that is carried out in batches.
type UnderWay uint8

// The effects. Most decisions are not about batches.
const (
	NotUnderWay UnderWay = iota
	Begins               // further decisions follow
	Ends                 // this is the last one
)

// Dated is a date in a field of a command.
type Dated struct {
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
	Allowed func(region string) bool // whether the organization works in the region
}

// Open decides on a new contract. The error is a *Faults.
func Open(proposal Proposal) (Decision, error) {
	faults := new(schema.Faults)
	r := &Record{ID: proposal.ID, Product: proposal.Product, Reading: proposal.Reading, Status: Absent}
	r.Values = proposal.Product.Columns.Read(proposal.Input, proposal.Reading.Requests, "", faults)
	proposal.resolveAsset(r, faults)
	c := &Case{Now: proposal.Now, Today: proposal.Now.Date(), record: r, reading: proposal.Reading, faults: faults}
	creationDay.Set(r.Values, c.Today)
	if faults.Empty() {
		proposal.Product.Open(c)
		assert.That(len(c.lines) == 0 && len(c.entries) == 0, "contract: the creation of a contract books an entry")
	}
	variant := proposal.Product.Variants[proposal.Reading]
	approval := schema.Row(nil)
	if len(variant.Opening) > 0 {
		approval = proposal.approval(faults)
	}
	if err := faults.Err(); err != nil {
		return Decision{}, err
	}
	decision := Decision{Record: r}
	decision.applyTransition(c, Create, Create)
	for _, name := range variant.Opening {
		handler := proposal.Product.Handler(name)
		c = &Case{Now: proposal.Now, Today: proposal.Now.Date(), record: r, reading: proposal.Reading, faults: faults}
		if c.input = approval; handler.Name != Pass {
			c.input = handler.input(schema.Input{}, r, faults)
		}
		if err := decision.run(c, handler); err != nil {
			return Decision{}, err
		}
	}
	return decision.finish(), nil
}

// resolveAsset sets the contract's asset. Its currency is the request's or, if the request names none, the
// region's.
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

// approval parses the review in a request for a contract.
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
	return proposal.Product.Reviews(proposal.Reading).Read(request, schema.Reader{}, Reviewed.Name+".", faults)
}

// input parses the body of an action.
func (handler *ActionHandler) input(request schema.Input, r *Record, f *schema.Faults) schema.Row {
	body := handler.Body
	if handler.Name == Pass {
		body = r.Product.Reviews(r.Reading)
	}
	if body == nil {
		return nil
	}
	return body.Read(request, r.Reading.Requests, "", f)
}

// Act decides on an action. The error is a Conflict if the state does not allow the action, and a *Faults if
// the body is wrong or a condition is not met.
func (r *Record) Act(name Action, request schema.Input, now ledger.Micros) (Decision, error) {
	handler := r.Product.Handler(name)
	if handler == nil || handler.Timer {
		return Decision{}, Unsupported(string(name))
	}
	if !handler.ChecksState && !r.allows(handler) {
		return Decision{}, refuseState(r.Status, r.Product.ActionName(r.Reading, name))
	}
	faults := new(schema.Faults)
	body := handler.input(request, r, faults)
	if err := faults.Err(); err != nil {
		return Decision{}, err
	}
	d := Decision{Record: r.next()}
	c := &Case{Now: max(now, r.Booked), Today: now.Date(), record: d.Record, input: body, reading: r.Reading, faults: faults, register: r.Register}
	if err := d.run(c, handler); err != nil {
		return Decision{}, err
	}
	return d.finish(), nil
}

// Unsupported is the error for an action that does not exist.
func Unsupported(name string) error {
	f := new(schema.Faults)
	f.Add("action", "Unsupported action: %s", name)
	return f
}

// allows tells whether the current state allows one of the handler's transitions.
func (r *Record) allows(handler *ActionHandler) bool {
	machine := r.Product.Machine(r.Reading)
	for _, action := range handler.Transitions {
		if _, ok := machine.Next(r.Status, action); ok {
			return true
		}
	}
	return false
}

// OnDue decides on the timer that is due at the instant now; false if none is due.
func (r *Record) OnDue(now ledger.Micros) (Decision, bool) {
	if r.Product.Due == nil {
		return Decision{}, false
	}
	day, name := r.Product.Due(r)
	if day == 0 || startOfDay(day) > now {
		return Decision{}, false
	}
	handler := r.Product.Handler(name)
	d := Decision{Record: r.next(), MustRecord: true}
	c := &Case{Now: max(now, r.Booked), Today: day, record: d.Record, reading: r.Reading, faults: new(schema.Faults), effectiveDate: day, register: r.Register}
	c.input = handler.input(nil, r, c.faults) // a timer has no body: optional columns take their defaults
	assert.NoError(d.run(c, handler))
	return d.finish(), true
}

// run carries out a handler on the decision's record, and adds the handler's results to the decision.
func (d *Decision) run(c *Case, handler *ActionHandler) error {
	c.transition = handler.Name
	handler.Do(c)
	if err := c.faults.Err(); err != nil {
		return err
	}
	d.NewParty, d.Reserve = c.newParty, c.reserved
	d.Subscribed, d.Position, d.UnderWay = c.subscription, c.holderPosition, c.underWay
	d.Dates = append(d.Dates, c.dated...)
	d.applyTransition(c, c.transition, handler.Name)
	return c.checkRoom()
}

// applyTransition takes the record through a transition and adds the events with the entries of the
// case. The first event has the action's name. Callers have checked that the state allows the
// transition, so an illegal transition is a bug.
func (d *Decision) applyTransition(c *Case, transition, action Action) {
	r := d.Record
	from := r.Status
	target := from // a batch does not change the state
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

// entry returns the i-th entry of the case. If the handler has set no effective date, the entry is dated on the
// clock's day. The writer's day may be later, because its instants run ahead of a clock that stands still.
func (c *Case) entry(i int) *ledger.Entry {
	day := c.effectiveDate
	if day == 0 {
		day = c.Today
	}
	return &ledger.Entry{Phase: ledger.Posted, Effective: day, Postings: c.entries[i]}
}

// finish sets the decision's next timer and whether the contract has ended.
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

// Ended tells whether the state is final and no action is being carried out in batches.
func (r *Record) Ended() bool {
	_, underWay := r.Progress()
	return r.Product.Machine(r.Reading).Final(r.Status) && !underWay
}

// startOfDay returns the first instant of a day.
func startOfDay(day ledger.Date) ledger.Micros { return ledger.MicrosOf(day.Time()) }

// must asserts that arithmetic on bounded amounts does not fail.
func must[T any](value T, err error) T {
	assert.NoError(err)
	return value
}
