package contract

import (
	"encoding/json"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Decision is what is to become durable of a contract.
type Decision struct {
	Record  *Record // the next record; never the one decided on
	Events  []ledger.Event
	Due     ledger.Micros // when time has something to do; 0: never
	Finish  bool          // nothing leads any further
	Outcome bool          // time has come: it may not be refused

	// Reserve is the most that time may book, because of this decision, on any account
	// that contracts share; zero: nothing.
	Reserve money.Amount

	// Dated are the days that the command has dated itself, by the names of their
	// fields. They are no decision's to judge: which months are closed is known where
	// changes are ordered.
	Dated []Dated

	// Joined is who has a part in the contract from now on, beside its customer; zero:
	// nobody.
	Joined ledger.ID

	// Subscribed is a subscription that the decision adds to the register of holders, and
	// Position the holder's row as it is with it. Number 0: none.
	Subscribed Subscription
	Position   Holder

	// UnderWay says that an action begins to be carried out in batches, or that it has
	// been. No month is closed in between.
	UnderWay UnderWay
}

// UnderWay is what a decision means for an action that is carried out in batches.
type UnderWay uint8

// What a decision means. Most of them have nothing to do with batches.
const (
	NotUnderWay UnderWay = iota
	Begins               // more decisions are to follow
	Ends                 // it was the last one
)

// Dated is a day that a field of a command has said.
type Dated struct {
	Field string
	On    ledger.Date
}

// Proposal is a contract that was asked for.
type Proposal struct {
	ID      ledger.ID
	Product *Product
	Reading *Reading
	Env     money.Env
	Given   Given
	Now     ledger.Micros
	Allowed func(region string) bool // whether the organization works there
}

// Open decides on a new contract. The error is a *Faults.
func Open(d Proposal) (Decision, error) {
	faults := new(Faults)
	r := &Record{ID: d.ID, Product: d.Product, Reading: d.Reading, Status: Absent}
	r.Values = d.Product.Columns.Read(d.Given, d.Reading.Loose, "", faults)
	d.settle(r, faults)
	c := &Case{Now: d.Now, Today: d.Now.Date(), r: r, reading: d.Reading, faults: faults}
	made.Set(r.Values, c.Today)
	if faults.none() {
		d.Product.Open(c)
	}
	face := d.Product.Faces[d.Reading]
	approval := Row(nil)
	if len(face.Opening) > 0 {
		approval = d.approval(faults)
	}
	if err := faults.err(); err != nil {
		return Decision{}, err
	}
	decision := Decision{Record: r}
	decision.move(c, Create, Create)
	for _, name := range face.Opening {
		deed := d.Product.Deed(name)
		c = &Case{Now: d.Now, Today: d.Now.Date(), r: r, reading: d.Reading, faults: faults}
		if c.in = approval; deed.Name != Pass {
			c.in = deed.given(Given{}, r, faults)
		}
		if err := decision.do(c, deed); err != nil {
			return Decision{}, err
		}
	}
	return decision.end(), nil
}

// settle finds the region's currency, or the one that was asked for.
func (d *Proposal) settle(r *Record, f *Faults) {
	region, known := Regions[Region.Of(r.Values)]
	switch {
	case !Region.Has(r.Values):
	case !known:
		f.add(Region.Name, "is not supported by the chart of accounts")
	case d.Allowed != nil && !d.Allowed(region.Code):
		f.add(Region.Name, "is not one in which the organization works")
	}
	if !Currency.Has(r.Values) {
		if d.Product.Currencied {
			if !f.about(Currency.Name) {
				f.add(Currency.Name, "is required")
			}
			return
		}
		if known {
			Currency.Set(r.Values, string(region.Currency))
		}
	}
	currency := money.Currency(Currency.Of(r.Values))
	if currency != "" && !Currencies[currency] {
		f.add(Currency.Name, "is not one that contracts are made in")
	}
	r.Asset = money.Asset{Currency: currency, Env: d.Env}
}

// approval reads the review that a contract is opened with.
func (d *Proposal) approval(f *Faults) Row {
	raw := d.Given[Reviewed.Name]
	var sent Given
	if len(raw) == 0 || string(raw) == "null" {
		f.add(Reviewed.Name, "is required")
		return nil
	}
	if raw[0] != '{' || json.Unmarshal(raw, &sent) != nil {
		f.add(Reviewed.Name, "must be an object")
		return nil
	}
	return d.Product.reviews(d.Reading).Read(sent, false, Reviewed.Name+".", f)
}

// given reads what an action was given.
func (d *Deed) given(sent Given, r *Record, f *Faults) Row {
	body := d.Body
	if d.Name == Pass {
		body = r.Product.reviews(r.Reading)
	}
	if body == nil {
		return nil
	}
	return body.Read(sent, r.Reading.Loose, "", f)
}

// Act decides on an action. The error is a Conflict if the state does not have it, a
// *Faults if its conditions are not met or what was sent is wrong.
func (r *Record) Act(name Action, sent Given, now ledger.Micros) (Decision, error) {
	deed := r.Product.Deed(name)
	if deed == nil || deed.Timer {
		return Decision{}, Unsupported(string(name))
	}
	if !deed.Free && !r.has(deed) {
		return Decision{}, refuseState(r.Status, r.Product.Called(r.Reading, name))
	}
	faults := new(Faults)
	in := deed.given(sent, r, faults)
	if err := faults.err(); err != nil {
		return Decision{}, err
	}
	d := Decision{Record: r.next()}
	c := &Case{Now: max(now, r.Booked), Today: now.Date(), r: d.Record, in: in, reading: r.Reading, faults: faults, register: r.Register}
	if err := d.do(c, deed); err != nil {
		return Decision{}, err
	}
	return d.end(), nil
}

// Unsupported is the refusal of an action that nobody has heard of.
func Unsupported(name string) error {
	f := new(Faults)
	f.add("action", "Unsupported action: %s", name)
	return f
}

// has tells whether one of the deed's transitions leads out of the state.
func (r *Record) has(deed *Deed) bool {
	machine := r.Product.Machine(r.Reading)
	for _, by := range deed.Leads {
		if _, ok := machine.Next(r.Status, by); ok {
			return true
		}
	}
	return false
}

// Woken decides on what time does at the instant; false: nothing is due any more.
func (r *Record) Woken(now ledger.Micros) (Decision, bool) {
	if r.Product.Due == nil {
		return Decision{}, false
	}
	on, name := r.Product.Due(r)
	if on == 0 || at(on) > now {
		return Decision{}, false
	}
	deed := r.Product.Deed(name)
	d := Decision{Record: r.next(), Outcome: true}
	c := &Case{Now: max(now, r.Booked), Today: on, r: d.Record, reading: r.Reading, faults: new(Faults), on: on, register: r.Register}
	c.in = deed.given(nil, r, c.faults) // time says nothing: what may be left out has its default
	assert.NoError(d.do(c, deed))
	return d.end(), true
}

// do runs a deed on the decision's record.
func (d *Decision) do(c *Case, deed *Deed) error {
	c.event = deed.Name
	deed.Do(c)
	if err := c.faults.err(); err != nil {
		return err
	}
	d.Joined, d.Reserve = c.joined, c.timed
	d.Subscribed, d.Position, d.UnderWay = c.subscribed, c.position, c.underWay
	d.Dated = append(d.Dated, c.dated...)
	d.move(c, c.event, deed.Name)
	return c.full()
}

// move takes the record through a transition and books what the case has gathered,
// under the action's name. An illegal step is our own mistake: what may happen was
// looked at before.
func (d *Decision) move(c *Case, by, name Action) {
	r := d.Record
	from := r.Status
	to := from // of a batch
	if by != Batch {
		step, ok := r.Product.Machine(r.Reading).Next(from, by)
		assert.That(ok, "contract: %s in state %s", by, from)
		to = step.To
	}
	r.Status = to
	if from == Absent {
		from = ""
	}
	if len(c.lines) > 0 {
		c.entries = append(c.entries, c.lines)
	}
	first := ledger.Event{Name: string(name), From: string(from), To: string(to)}
	if len(c.entries) > 0 {
		first.Entry = c.entry(0)
	}
	d.Events = append(d.Events, first)
	for i := 1; i < len(c.entries); i++ {
		d.Events = append(d.Events, ledger.Event{
			Name: string(Continue), From: string(to), To: string(to), Entry: c.entry(i),
		})
	}
}

// entry is dated by the clock where the action has no day: the writer's could be
// another one, since its instants run ahead of a clock that stands still.
func (c *Case) entry(i int) *ledger.Entry {
	on := c.on
	if on == 0 {
		on = c.Today
	}
	return &ledger.Entry{Phase: ledger.Posted, Effective: on, Postings: c.entries[i]}
}

// end says when time has something to do, and whether anything leads further.
func (d *Decision) end() Decision {
	r := d.Record
	if r.Product.Due != nil {
		if on, _ := r.Product.Due(r); on != 0 {
			d.Due = at(on)
		}
	}
	d.Finish = r.Ended()
	return *d
}

// Ended tells that nothing leads any further, and that everything has been carried out.
func (r *Record) Ended() bool {
	_, under := r.Progress()
	return r.Product.Machine(r.Reading).Final(r.Status) && !under
}

// at is the instant at which a day begins.
func at(on ledger.Date) ledger.Micros { return ledger.MicrosOf(on.Time()) }

// must ends a decision on arithmetic that cannot fail.
func must[T any](value T, err error) T {
	assert.NoError(err)
	return value
}
