package actors_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/actors"
)

func TestListenersAreCountedByOrganization(t *testing.T) {
	var l actors.ListenerCounts
	org, other := uuid.New(), uuid.New()
	if l.HasListener(org) {
		t.Error("a new value has a listener")
	}
	removeFirst, removeSecond := l.Add(org), l.Add(org)
	if !l.HasListener(org) || l.HasListener(other) || l.Count(org) != 2 || l.Total() != 2 {
		t.Errorf("counts %d and %d of %d", l.Count(org), l.Count(other), l.Total())
	}
	removeFirst()
	removeFirst() // the second call of removeFirst changes nothing
	if !l.HasListener(org) || l.Total() != 1 {
		t.Errorf("counts %d of %d after one has left", l.Count(org), l.Total())
	}
	removeSecond()
	if l.HasListener(org) || l.Total() != 0 {
		t.Error("a listener is left")
	}
}
