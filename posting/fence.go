package posting

import (
	"sync"

	"mizan/ledger"
	"mizan/ledger/period"
)

// fences are the months that are being closed. They are in memory only: a kill takes
// them down, and the month is as open as before.
type fences struct {
	mu     sync.Mutex
	months map[ledger.ID]period.Month // guarded by mu
}

func (f *fences) of(org ledger.ID) period.Month {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.months[org]
}

// Fence keeps commands from saying a day in a month of an organization, or before it,
// until it is taken down: they are refused with Unavailable. It is for who closes the
// month while others go on dating into it, and would read its trial balance again and
// again. What a command that was ordered before has dated is in the journal after a few
// groups. An organization has one fence at a time.
func (j *Journal) Fence(org ledger.ID, m period.Month) (down func()) {
	j.fences.mu.Lock()
	defer j.fences.mu.Unlock()
	if j.fences.months == nil {
		j.fences.months = make(map[ledger.ID]period.Month)
	}
	j.fences.months[org] = m
	return func() {
		j.fences.mu.Lock()
		defer j.fences.mu.Unlock()
		delete(j.fences.months, org)
	}
}
