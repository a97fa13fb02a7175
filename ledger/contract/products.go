package contract

import "slices"

// Products lists all products. Readings lists the two readings, which are the secular and the religious form of contracts.
var (
	Products = []*Product{Certificate, Partnership, Lease, Managed, Deposit, InstalmentSale, Safekeeping}
	Readings = []*Reading{Secular, Religious}
)

// Find returns the product that has the given name in the URLs of a reading (secular or religious), or nil if there is
// none.
func Find(reading *Reading, name string) *Product {
	for _, p := range Products {
		if variant := p.Variants[reading]; variant != nil && variant.Name == name {
			return p
		}
	}
	return nil
}

// Path returns the part of a URL that follows the API's version and names the product in a reading (secular or religious).
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

// Event returns the name of a transition's event in the journal, which is the name of the transition's action. If the
// action has several transitions, the event's states from and to show which of them was made.
func (p *Product) Event(transition Action) Action {
	for _, handler := range p.Handlers {
		if slices.Contains(handler.Transitions, transition) {
			return handler.Name
		}
	}
	return transition
}

// EventNames returns the names of all events that the journal may contain for the product's contracts in a reading.
func (p *Product) EventNames(reading *Reading) []Action {
	var names []Action
	for _, transition := range p.Machine(reading).Events() {
		if name := p.Event(transition); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if p.Handler(Batch) != nil { // a batch changes no state, so it is not in the machine
		names = append(names, Batch)
	}
	return append(names, Continue)
}

// Moves tells whether the event of a transition moves money. The events of a creation and of a review never do.
func (p *Product) Moves(transition Action) MovesMoney {
	for _, handler := range p.Handlers {
		if slices.Contains(handler.Transitions, transition) {
			return handler.Moves
		}
	}
	return Never
}

// Action returns the action that has the given name in the URLs of a reading (secular or religious). It returns false if
// the product has no such action in this reading.
func (p *Product) Action(reading *Reading, name string) (Action, bool) {
	variant := p.Variants[reading]
	if variant.Actions != nil {
		action, ok := variant.Actions[name]
		return action, ok
	}
	handler := p.Handler(Action(name))
	return Action(name), handler != nil && !handler.Timer
}
