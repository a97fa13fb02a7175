package payment

import (
	"fmt"
	"sync"
	"time"

	"mizan/actors"
)

// PollAgain makes the next poll of each provider request all reports, as after a restart. It is called when an organization was
// moved into this store, because earlier polls have left out its reports.
func (s *Service) PollAgain() {
	for _, reset := range s.resetPolls {
		reset()
	}
}

// schedulePolls makes the runtime poll a provider regularly. Each poll requests the rail's reports since the
// last successful poll. After a restart, the first poll requests all reports; a report that was handled
// before changes nothing.
func (s *Service) schedulePolls(p actors.Provider) {
	scheduled, ok := p.(interface {
		NextReport(since time.Time) (time.Time, bool)
	})
	if !ok {
		return
	}
	var mu sync.Mutex // guards lastPoll, which Run changes on the pool's goroutine and Next reads on the clock's
	var lastPoll time.Time
	readLastPoll := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return lastPoll
	}
	s.resetPolls = append(s.resetPolls, func() {
		mu.Lock()
		defer mu.Unlock()
		lastPoll = time.Time{}
	})
	s.rt.AddPoll(actors.Poll{
		Next: func() (time.Time, bool) { return scheduled.NextReport(readLastPoll()) },
		Run: func(now time.Time) error {
			since := readLastPoll()
			reports, err := p.Reports(s.rt.Context(), since, now)
			if err != nil {
				return fmt.Errorf("reports of %s: %w", p.Name(), err)
			}
			for _, r := range reports {
				if _, exists := s.directory.Organization(r.Org); !exists {
					continue // in a cluster, another shard has the organization
				}
				id, err := s.transactionOf(r.Org, r.Reference)
				if err != nil {
					return err // the next poll gets the same reports
				}
				key := actors.RecordKey{Org: r.Org, ID: id}
				if r.Kind == actors.Change {
					s.registry.Tell(key, &providerUpdate{r.Terminal, r.Reference})
				} else {
					s.registry.Tell(key, providerReport{r})
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if lastPoll == since { // otherwise PollAgain was called meanwhile
				lastPoll = now
			}
			return nil
		},
	})
}
