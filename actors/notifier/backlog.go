package notifier

import (
	"slices"
	"sync"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// Backlog is the number of deliveries to one class of receivers that wait for another attempt, or that are parked
// (given up).
type Backlog struct {
	Receivers string // merchants, operators or payers
	State     State  // Pending or Parked
	Count     int
	Oldest    time.Duration // age of the oldest delivery's event, by the business clock; 0 if there is no delivery
}

// receiverNames are the names of classes in metrics.
var receiverNames = map[receiverClass]string{merchantClass: "merchants", operatorClass: "operators", payerClass: "payers"}

const (
	maxBacklogKeys = 1 << 20     // maximum number of deliveries that one count visits, in all organizations together
	backlogMinAge  = time.Second // a count is repeated only if it is at least this old
	backlogShare   = 50          // and at least this many times its duration old, so that counting takes at most 2% of a CPU
)

// backlogCache holds the result of the last count.
type backlogCache struct {
	mu        sync.Mutex
	rows      []Backlog
	countedAt time.Time     // in real time; zero if there was no count yet
	took      time.Duration // duration of the count
}

// Backlogs returns a row for each class of receivers and each of the states Pending and Parked. Deliveries whose first attempt
// has not been made are not in these rows; InMemory counts them. The rows come from the last count. The count is repeated only
// if it is older than a second and older than 50 times its duration. A count ends after a million deliveries. The error comes
// from the store.
func (s *Service) Backlogs() ([]Backlog, error) {
	c := &s.backlog
	c.mu.Lock()
	defer c.mu.Unlock()
	if began := time.Now(); c.countedAt.IsZero() || began.Sub(c.countedAt) >= max(backlogMinAge, backlogShare*c.took) {
		rows, err := s.countBacklogs()
		if err != nil {
			return nil, err
		}
		c.rows, c.countedAt = rows, time.Now()
		c.took = c.countedAt.Sub(began)
	}
	return slices.Clone(c.rows), nil
}

// InMemory returns the number of notices that wait in memory for an attempt. Some of them were read from the store; Backlogs
// counts those, too.
func (s *Service) InMemory() int64 { return s.inMemory.Load() }

// countBacklogs counts the stored rows of pending and parked deliveries.
func (s *Service) countBacklogs() (rows []Backlog, err error) {
	view := s.runtime.Journal.View()
	defer view.Close()
	now, budget := ledger.MicrosOf(s.runtime.Clock.Now()), maxBacklogKeys
	for _, kind := range [...]struct {
		row     byte
		state   State
		keySize int
	}{{rowRetries, Pending, waitingPrefixLen + 8 + idSize}, {rowParked, Parked, waitingPrefixLen + idSize}} {
		counts, oldest := make(map[receiverClass]int), make(map[receiverClass]ledger.Micros)
		err = view.OrganizationsWith(posting.KVs, func(org ledger.ID) (bool, error) {
			err := view.KVKeys(org, []byte{kind.row}, nil, func(key []byte) ([]byte, bool, error) {
				if budget--; budget < 0 || s.stopping.Load() {
					return nil, false, nil
				}
				if len(key) != kind.keySize {
					s.logWrongRow(org, key)
					return nil, true, nil
				}
				class, booked := receiverClass(key[1]), readID(key[kind.keySize-idSize:]).Booked
				if counts[class] == 0 || booked < oldest[class] {
					oldest[class] = booked
				}
				counts[class]++
				return nil, true, nil
			})
			return budget > 0, err
		})
		if err != nil {
			return nil, err
		}
		for _, class := range receiverClasses {
			row := Backlog{Receivers: receiverNames[class], State: kind.state, Count: counts[class]}
			if row.Count > 0 {
				row.Oldest = time.Duration(max(0, now-oldest[class])) * time.Microsecond
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
