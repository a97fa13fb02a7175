package contract

import (
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Availability tells whether an action is possible at present, which body the action takes, and which steps of the state
// machine it may take.
type Availability struct {
	Handler *ActionHandler
	Name    string // the action's name in URLs

	// Refusal is the reason why the action is not possible now; nil: it is possible. It equals the error that Act returns
	// for the smallest body that the columns accept.
	Refusal error

	From   []Status    // the statuses in which the action is possible
	Steps  []Step      // the steps that the action may take from the present status
	Before []Action    // the shortest sequence of actions to a status in From; empty: none is needed; nil: there is none
	Fields []BodyField // the columns of the body
}

// BodyField is a column of an action's body, with the bounds that the contract sets at present for the column's value.
type BodyField struct {
	*schema.Column
	Required        bool
	AtLeast, AtMost *money.Amount // bounds that the contract sets for an amount or integer; nil: none beside the column's own
}

// Bounds returns the smallest and the largest number that the column and the contract allow; nil: there is no bound.
func (f *BodyField) Bounds() (smallest, largest *money.Amount) {
	switch f.Kind {
	case schema.KindAmount:
		least := leastIn(f.Column)
		smallest = &least
	case schema.KindInteger, schema.KindPercent:
		least, most := leastIn(f.Column), amountOf(f.Max)
		smallest, largest = &least, &most
	}
	if f.AtLeast != nil && smallest.Less(*f.AtLeast) {
		smallest = f.AtLeast
	}
	if f.AtMost != nil && (largest == nil || f.AtMost.Less(*largest)) {
		largest = f.AtMost
	}
	return smallest, largest
}

// leastIn returns the smallest number that a column of amounts or integers allows.
func leastIn(c *schema.Column) money.Amount {
	if c.Kind == schema.KindAmount && !c.AllowZero {
		return amountOf(1)
	}
	return amountOf(c.Min)
}

// Offered returns the handlers of the actions that have a URL in a reading (secular or religious), in the order of their
// declaration.
func (p *Product) Offered(reading *Reading) (handlers []*ActionHandler) {
	for _, handler := range p.Handlers {
		if action, hasURL := p.Action(reading, p.ActionName(reading, handler.Name)); hasURL && action == handler.Name {
			handlers = append(handlers, handler)
		}
	}
	return handlers
}

// BodyOf returns the columns of an action's body in a reading (secular or religious); nil if the action takes no body.
func (p *Product) BodyOf(reading *Reading, handler *ActionHandler) *schema.Table {
	if handler.Name == Approve {
		return p.Reviews(reading)
	}
	return handler.Body
}

// IsReviewed tells whether the product has, in a reading (secular or religious), an action that approves its contracts.
func (p *Product) IsReviewed(reading *Reading) bool {
	return p.Variants[reading] != nil && slices.ContainsFunc(p.Offered(reading), func(handler *ActionHandler) bool { return handler.Name == Approve })
}

// Waits tells whether the contract waits for a review.
func (r *Record) Waits() bool {
	_, ok := r.Product.Machine(r.Reading).Next(r.Status, Approve)
	return ok
}

// Available returns the present Availability of all actions of the contract's reading. It applies the checks of Act that do
// not depend on a body. Act may still refuse an available action: for its body, because a total would exceed
// ledger.MaxAmount, or because the record is full. The writer (package posting) may refuse a date in a closed month.
func (r *Record) Available(now ledger.Micros) (all []Availability) {
	machine := r.Product.Machine(r.Reading)
	for _, handler := range r.Product.Offered(r.Reading) {
		a := Availability{Handler: handler, Name: r.Product.ActionName(r.Reading, handler.Name)}
		for _, status := range machine.States() {
			if slices.ContainsFunc(handler.Transitions, func(a Action) bool { _, ok := machine.Next(status, a); return ok }) {
				a.From = append(a.From, status)
			}
		}
		for _, transition := range handler.Transitions {
			if step, ok := machine.Next(r.Status, transition); ok {
				a.Steps = append(a.Steps, step)
			}
		}
		c := r.newCase(now)
		if a.Refusal = r.checkBefore(handler); a.Refusal == nil {
			c.checkConditions(handler, nil)
			a.Refusal = c.faults.Err()
		}
		a.Before = r.actionsBefore(a.From)
		a.Fields = c.bodyFields(handler)
		all = append(all, a)
	}
	return all
}

// newCase returns a case for a decision at an instant.
func (r *Record) newCase(now ledger.Micros) *Case {
	return &Case{
		Now: max(now, r.Booked), Today: now.Date(), caller: r.Caller, record: r.next(), reading: r.Reading, faults: new(schema.Faults), register: r.Register,
	}
}

// checkBefore returns why an action is refused before its body is read: the status does not allow the action, or the person
// in r.Caller may not request it. The result is nil if neither is so.
func (r *Record) checkBefore(handler *ActionHandler) error {
	switch {
	case !handler.ChecksState && !r.allows(handler):
		return ledger.Refuse("contract", ledger.Conflict, "%s is not possible in status %s", r.Product.ActionName(r.Reading, handler.Name), r.Status)
	case handler.Name != Approve || !r.Caller.DualControl:
	case r.Caller.User == (ledger.ID{}):
		return ledger.Refuse("contract", ledger.Forbidden, "the organization demands dual control: log in as a user to approve")
	case r.Caller.User == RequestedBy.Get(r.Values), r.Caller.User == submittedBy.Get(r.Values):
		return ledger.Refuse("contract", ledger.Forbidden, "the organization demands dual control: you have created or submitted this contract, so another user has to approve it")
	}
	return nil
}

// MayApprove returns the error with which an approval by the person in r.Caller would be refused now; nil: the person may
// approve.
func (r *Record) MayApprove() error { return r.checkBefore(r.Product.Handler(Approve)) }

// checkConditions adds a fault for each unmet condition in the handler's Needs, and for the first value of the body outside
// the handler's Limits. A nil body means that there is no request yet. Each value then counts as the smallest one that the
// lower bounds allow.
func (c *Case) checkConditions(handler *ActionHandler, body schema.Row) {
	if handler.Needs != nil {
		handler.Needs(c)
	}
	for i := 0; c.noFaults() && i < len(handler.Limits); i++ {
		limit := &handler.Limits[i]
		value := c.smallest(handler, limit.Column)
		if body != nil {
			value = amountIn(limit.Column.Stored(body))
		}
		if bound, isSet := limit.Bound(c); isSet && limit.excludes(value, bound) {
			c.refuse(limit.Column.Name, "%s", limit.Message(c, bound))
		}
	}
}

// Limit is a bound on a value of an action's body. The bound is computed from the contract's columns.
type Limit struct {
	Column  *schema.Column // an amount or an integer, which is required or has a default
	Least   bool           // the bound is the smallest allowed value; false: the largest
	Bound   func(c *Case) (bound money.Amount, isSet bool)
	Message func(c *Case, bound money.Amount) string
}

// atMost returns a Limit with the largest allowed value. The message is a format string with one verb, for the bound.
func atMost(column *schema.Column, bound func(r *Record) money.Amount, message string) Limit {
	return Limit{
		Column: column, Bound: func(c *Case) (money.Amount, bool) { return bound(c.record), true },
		Message: func(_ *Case, bound money.Amount) string { return fmt.Sprintf(message, bound) },
	}
}

// valueOf returns a bound for atMost: the contract's value in a column.
func valueOf(column schema.Cell[money.Amount]) func(r *Record) money.Amount {
	return func(r *Record) money.Amount { return column.Get(r.Values) }
}

func (l *Limit) excludes(value, bound money.Amount) bool {
	if l.Least {
		return value.Less(bound)
	}
	return bound.Less(value)
}

// amountIn returns the value of an amount or of an integer that is not negative.
func amountIn(value any) money.Amount {
	if n, isInteger := value.(int64); isInteger {
		return amountOf(n)
	}
	return value.(money.Amount)
}

// smallest returns the smallest value that the column and the lower bounds of the handler allow.
func (c *Case) smallest(handler *ActionHandler, column *schema.Column) money.Amount {
	least := leastIn(column)
	for i := range handler.Limits {
		if l := &handler.Limits[i]; l.Least && l.Column == column {
			if bound, isSet := l.Bound(c); isSet && least.Less(bound) {
				least = bound
			}
		}
	}
	return least
}

// bodyFields returns the columns of an action's body with the bounds that the contract sets.
func (c *Case) bodyFields(handler *ActionHandler) (fields []BodyField) {
	body := c.record.Product.BodyOf(c.reading, handler)
	if body == nil {
		return nil
	}
	for _, column := range body.Members(schema.Use{InRequest: true}) {
		field := BodyField{Column: column, Required: handler.requires(column, c.record)}
		for i := range handler.Limits {
			l := &handler.Limits[i]
			bound, isSet := l.Bound(c)
			switch {
			case l.Column != column || !isSet:
			case l.Least:
				field.AtLeast = &bound
			case field.AtMost == nil || bound.Less(*field.AtMost):
				field.AtMost = &bound
			}
		}
		fields = append(fields, field)
	}
	return fields
}

// requires tells whether the body must have a value in the column.
func (handler *ActionHandler) requires(column *schema.Column, r *Record) bool {
	return column.Required || column == handler.ReviewIn && r.Reading.ReviewFirst || slices.ContainsFunc(handler.RequiredUnlessSet, func(pair RequiredUnlessSet) bool {
		return pair.BodyColumn == column && pair.Column.Stored(r.Values) == nil
	})
}

// actionsBefore returns the shortest sequence of actions that leads from the present status to one of the given statuses.
// It is empty if the contract is in one of them already, and nil if no sequence leads to one.
func (r *Record) actionsBefore(to []Status) []Action {
	type path struct {
		end     Status
		actions []Action
	}
	machine, reached := r.Product.Machine(r.Reading), map[Status]bool{r.Status: true}
	for queue := []path{{r.Status, []Action{}}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if slices.Contains(to, at.end) {
			return at.actions
		}
		for _, handler := range r.Product.Offered(r.Reading) {
			for _, transition := range handler.Transitions {
				if step, ok := machine.Next(at.end, transition); ok && !reached[step.To] {
					reached[step.To] = true
					queue = append(queue, path{step.To, append(slices.Clone(at.actions), handler.Name)})
				}
			}
		}
	}
	return nil
}
