package contract

import (
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Availability tells whether an action is possible at present, which request body the action needs, and which steps of the
// state machine the action may make.
type Availability struct {
	Handler *ActionHandler
	Name    string // name of the action in URLs

	// Refusal is the reason why the action is not possible now, or nil if the action is possible. If somebody requested the
	// action now, with the smallest body that the columns accept, Act would return this error.
	Refusal error

	From   []Status    // statuses in which the action is possible
	Steps  []Step      // steps that the action may make from the present status
	Before []Action    // shortest sequence of actions to a status in From: empty if none is needed, nil if none exists
	Fields []BodyField // columns of the request body
}

// BodyField is a column of an action's body, together with the bounds that the contract's present state sets for the column's
// value.
type BodyField struct {
	*schema.Column
	Required        bool
	AtLeast, AtMost *money.Amount // bounds that the contract sets for an amount or integer; nil if it sets none
}

// Bounds returns the smallest and the largest number that both the column and the contract allow. If there is no bound, it
// returns nil.
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

// leastIn returns the smallest number that the column, which contains amounts or integers, allows.
func leastIn(c *schema.Column) money.Amount {
	if c.Kind == schema.KindAmount && !c.AllowZero {
		return amountOf(1)
	}
	return amountOf(c.Min)
}

// RequestHandlers returns the handlers of the actions that have a URL in a reading (secular or religious), in the order in
// which the product declares them.
func (p *Product) RequestHandlers(reading *Reading) (handlers []*ActionHandler) {
	for _, handler := range p.Handlers {
		if action, hasURL := p.Action(reading, p.ActionName(reading, handler.Name)); hasURL && action == handler.Name {
			handlers = append(handlers, handler)
		}
	}
	return handlers
}

// BodyOf returns the columns of the request body of an action in a reading (secular or religious). If the action needs no body,
// it returns nil.
func (p *Product) BodyOf(reading *Reading, handler *ActionHandler) *schema.Table {
	if handler.Name == Approve {
		return p.Reviews(reading)
	}
	return handler.Body
}

// IsReviewed tells whether contracts of the product can be approved by an action, in the given reading (secular or religious).
func (p *Product) IsReviewed(reading *Reading) bool {
	return p.Variants[reading] != nil && slices.ContainsFunc(p.RequestHandlers(reading), func(handler *ActionHandler) bool { return handler.Name == Approve })
}

// AwaitsReview tells whether the contract is waiting for a review.
func (r *Record) AwaitsReview() bool {
	_, ok := r.Product.Machine(r.Reading).Next(r.Status, Approve)
	return ok
}

// Available returns the Availability of all actions that the contract's reading has. It makes the checks of Act that do not
// depend on a request body. Act may still refuse an action that is available: because of its body, because a total would exceed
// ledger.MaxAmount, or because the record is full. The journal's writer (package posting) may refuse the action if its date is
// in a closed month.
func (r *Record) Available(now ledger.Micros) (all []Availability) {
	machine := r.Product.Machine(r.Reading)
	for _, handler := range r.Product.RequestHandlers(r.Reading) {
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
		c := r.newActionContext(now)
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

// newActionContext returns an ActionContext for a decision at the time now.
func (r *Record) newActionContext(now ledger.Micros) *ActionContext {
	return &ActionContext{
		Now: max(now, r.Booked), Today: now.Date(), caller: r.Caller, record: r.next(), reading: r.Reading, faults: new(schema.Faults), register: r.Register,
	}
}

// checkBefore makes the checks that come before the body is read. It returns an error if the contract's status does not allow
// the action, or if the person in r.Caller may not request the action.
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

// MayApprove returns nil if the person in r.Caller may approve the contract now, and otherwise the error with which the
// approval would be refused.
func (r *Record) MayApprove() error { return r.checkBefore(r.Product.Handler(Approve)) }

// checkConditions first calls the handler's function Needs, which adds a fault for each unmet condition. Then it checks the
// handler's Bounds, and adds a fault for the first value of the body that is outside its bounds. If there is no request yet,
// body is nil. Then each value is assumed to be the smallest value that the lower bounds allow.
func (c *ActionContext) checkConditions(handler *ActionHandler, body schema.Row) {
	if handler.Needs != nil {
		handler.Needs(c)
	}
	for i := 0; c.noFaults() && i < len(handler.Bounds); i++ {
		limit := &handler.Bounds[i]
		value := c.smallest(handler, limit.Column)
		if body != nil {
			value = amountIn(limit.Column.Stored(body))
		}
		if bound, isSet := limit.Bound(c); isSet && limit.excludes(value, bound) {
			c.refuse(limit.Column.Name, "%s", limit.Message(c, bound))
		}
	}
}

// BodyBound is a bound for a value in the body of an action. The bound is computed from the contract's columns.
type BodyBound struct {
	Column    *schema.Column // column of amounts or integers that is required or has a default
	IsMinimum bool           // whether the bound is the smallest allowed value; otherwise it is the largest
	Bound     func(c *ActionContext) (bound money.Amount, isSet bool)
	Message   func(c *ActionContext, bound money.Amount) string
}

// atMost returns a BodyBound that sets the largest allowed value. message is a format string with one verb, which stands for
// the bound.
func atMost(column *schema.Column, bound func(r *Record) money.Amount, message string) BodyBound {
	return BodyBound{
		Column: column, Bound: func(c *ActionContext) (money.Amount, bool) { return bound(c.record), true },
		Message: func(_ *ActionContext, bound money.Amount) string { return fmt.Sprintf(message, bound) },
	}
}

// valueOf returns a function for the argument bound of atMost. The bound is the contract's value in the column.
func valueOf(column schema.TypedColumn[money.Amount]) func(r *Record) money.Amount {
	return func(r *Record) money.Amount { return column.Get(r.Values) }
}

func (l *BodyBound) excludes(value, bound money.Amount) bool {
	if l.IsMinimum {
		return value.Less(bound)
	}
	return bound.Less(value)
}

// amountIn returns the value of a field that is an amount or a non-negative integer.
func amountIn(value any) money.Amount {
	if n, isInteger := value.(int64); isInteger {
		return amountOf(n)
	}
	return value.(money.Amount)
}

// smallest returns the smallest value that is allowed by both the column and the lower bounds in the handler's Bounds.
func (c *ActionContext) smallest(handler *ActionHandler, column *schema.Column) money.Amount {
	least := leastIn(column)
	for i := range handler.Bounds {
		if l := &handler.Bounds[i]; l.IsMinimum && l.Column == column {
			if bound, isSet := l.Bound(c); isSet && least.Less(bound) {
				least = bound
			}
		}
	}
	return least
}

// bodyFields returns the columns of an action's body, together with the bounds that the contract sets for their values.
func (c *ActionContext) bodyFields(handler *ActionHandler) (fields []BodyField) {
	body := c.record.Product.BodyOf(c.reading, handler)
	if body == nil {
		return nil
	}
	for _, column := range body.Members(schema.Use{InRequest: true}) {
		field := BodyField{Column: column, Required: handler.requires(column, c.record)}
		for i := range handler.Bounds {
			l := &handler.Bounds[i]
			bound, isSet := l.Bound(c)
			switch {
			case l.Column != column || !isSet:
			case l.IsMinimum:
				field.AtLeast = &bound
			case field.AtMost == nil || bound.Less(*field.AtMost):
				field.AtMost = &bound
			}
		}
		fields = append(fields, field)
	}
	return fields
}

// requires tells whether the action's body must have a value in the column.
func (handler *ActionHandler) requires(column *schema.Column, r *Record) bool {
	return column.Required || column == handler.ReviewIn && r.Reading.ReviewFirst || slices.ContainsFunc(handler.RequiredUnlessSet, func(pair RequiredUnlessSet) bool {
		return pair.BodyColumn == column && pair.Column.Stored(r.Values) == nil
	})
}

// actionsBefore returns the shortest sequence of actions that leads from the present status to one of the statuses in to. If
// the present status is in to, the sequence is empty. If no sequence leads to such a status, the result is nil.
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
		for _, handler := range r.Product.RequestHandlers(r.Reading) {
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
