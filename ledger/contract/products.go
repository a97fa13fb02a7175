package contract

import "slices"

// Products are all products, and Readings all readings.
var (
	Products = []*Product{Certificate, Partnership, Lease, Managed, Deposit, InstalmentSale, Safekeeping}
	Readings = []*Reading{Secular, Religious}
)

// Find is the product that has the name in the addresses of a reading; nil: none
// has.
func Find(reading *Reading, name string) *Product {
	for _, p := range Products {
		if face := p.Faces[reading]; face != nil && face.Name == name {
			return p
		}
	}
	return nil
}

// Called is the name that an address of a reading has for an action of the kernel.
func (p *Product) Called(reading *Reading, action Action) string {
	for name, known := range p.Faces[reading].Actions {
		if known == action {
			return name
		}
	}
	return string(action)
}

// Event is the name that a transition has in the journal: that of the action which
// leads to it. Which transition of the action it was, its states say.
func (p *Product) Event(transition Action) Action {
	for _, d := range p.Deeds {
		if slices.Contains(d.Leads, transition) {
			return d.Name
		}
	}
	return transition
}

// Action is what an action is called in the kernel that an address calls by a name;
// false: the product has no such action there. Where a face names none, they are
// called as they are.
func (p *Product) Action(reading *Reading, name string) (Action, bool) {
	face := p.Faces[reading]
	if face.Actions != nil {
		action, ok := face.Actions[name]
		return action, ok
	}
	deed := p.Deed(Action(name))
	return Action(name), deed != nil && !deed.Timer
}
