package posting

import (
	"sync"

	"mizan/ledger"
	"mizan/ledger/period"
)

// fences has the months that are being closed. It is in memory only: after a crash no month is
// fenced.
type fences struct {
	mu     sync.Mutex
	months map[ledger.ID]period.Month // guarded by mu
}

func (f *fences) of(org ledger.ID) period.Month {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.months[org]
}

// Fence makes the writer refuse commands that name a day in or before the month of an
// organization, with Unavailable, until down is called. Without it, commands that date entries
// into the month while it is being closed would force the closer to read the trial balance again
// and again. Entries of commands that were ordered before the fence are in the journal after a
// few groups. An organization has at most one fence at a time.
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
