package payment

import (
	"fmt"
	"sync"
	"time"

	"mizan/actors"
)

// poll polls a provider for its rail's reports since the last successful poll. After a restart it
// requests all reports; one that is already stored changes nothing.
func (s *Service) poll(p actors.Provider) {
	scheduled, ok := p.(interface {
		NextReport(since time.Time) (time.Time, bool)
	})
	if !ok {
		return
	}
	var mu sync.Mutex // guards since, which Run changes on the pool's goroutine and Next reads on the clock's
	var since time.Time
	lastPoll := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return since
	}
	s.rt.Poll(actors.Poll{
		Next: func() (time.Time, bool) { return scheduled.NextReport(lastPoll()) },
		Run: func(now time.Time) error {
			found, err := p.Reports(s.rt.Context(), lastPoll(), now)
			if err != nil {
				return fmt.Errorf("reports of %s: %w", p.Name(), err)
			}
			for _, r := range found {
				s.registry.Tell(actors.RecordKey{Org: r.Org, ID: r.Reference}, providerReport{r})
			}
			mu.Lock()
			defer mu.Unlock()
			since = now
			return nil
		},
	})
}
