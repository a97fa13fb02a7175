package contract

import "slices"

// Products lists all products, and Readings lists all readings: the secular and the religious form of contracts.
var (
	Products = []*Product{Certificate, Partnership, Lease, Managed, Deposit, InstalmentSale, Safekeeping}
	Readings = []*Reading{Secular, Religious}
)

// Find returns the product with this name in the URLs of a reading (secular or religious); nil if there is none.
func Find(reading *Reading, name string) *Product {
	for _, p := range Products {
		if variant := p.Variants[reading]; variant != nil && variant.Name == name {
			return p
		}
	}
	return nil
}

// Path returns the part of URLs, after the API's version, that all contracts of the product in a reading (secular or
// religious) share.
func (p *Product) Path(reading *Reading) string {
	return reading.Path + "/" + p.Variants[reading].Name
}

// ActionName returns an action's name in the URLs of a reading (secular or religious).
func (p *Product) ActionName(reading *Reading, action Action) string {
	for name, candidate := range p.Variants[reading].Actions {
		if candidate == action {
			return name
		}
	}
	return string(action)
}

// Event returns the name that a transition's event has in the journal: the name of the transition's action. If the
// action has several transitions, the event's from and to states tell which of them it was.
func (p *Product) Event(transition Action) Action {
	for _, handler := range p.Handlers {
		if slices.Contains(handler.Transitions, transition) {
			return handler.Name
		}
	}
	return transition
}

// EventNames returns the names of the events that the product's contracts have in the journal in a reading.
func (p *Product) EventNames(reading *Reading) []Action {
	var names []Action
	for _, transition := range p.Machine(reading).Events() {
		if name := p.Event(transition); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if p.Handler(Batch) != nil { // a batch is no transition
		names = append(names, Batch)
	}
	return append(names, Continue)
}

// Moves tells whether the event of a transition moves money. A creation and a review never do.
func (p *Product) Moves(transition Action) MovesMoney {
	for _, handler := range p.Handlers {
		if slices.Contains(handler.Transitions, transition) {
			return handler.Moves
		}
	}
	return Never
}

// Action returns the action with this name in the URLs of a reading (secular or religious); false if the product has no such
// action there.
func (p *Product) Action(reading *Reading, name string) (Action, bool) {
	variant := p.Variants[reading]
	if variant.Actions != nil {
		action, ok := variant.Actions[name]
		return action, ok
	}
	handler := p.Handler(Action(name))
	return Action(name), handler != nil && !handler.Timer
}
