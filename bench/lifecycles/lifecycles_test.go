package lifecycles

import (
	"slices"
	"testing"

	"mizan/ledger/contract"
)

// `mizan bench contracts --reading both` would not measure a product without a lifecycle.
func TestEveryProductHasALifecycleInEachReading(t *testing.T) {
	for _, p := range contract.Products {
		for reading, variant := range p.Variants {
			path := "/api/v1" + p.Path(reading)
			i := slices.IndexFunc(All, func(l Lifecycle) bool { return l.Path == path })
			if i < 0 {
				t.Errorf("%s have no lifecycle in the %s reading: add one with the path %s to All", variant.Name, reading.Name, path)
				continue
			}
			l := All[i]
			if l.Reading != reading.Name || l.Product != p.Variants[contract.Secular].Name {
				t.Errorf("the lifecycle with the path %s is of %s in the %s reading; want %s, %s", path, l.Product, l.Reading, p.Variants[contract.Secular].Name, reading.Name)
			}
			for _, step := range l.Steps {
				if _, known := p.Action(reading, step.Action); !known {
					t.Errorf("the lifecycle with the path %s has the action %s, which does not exist", path, step.Action)
				}
			}
		}
	}
}
