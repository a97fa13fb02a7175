package backup

import "time"

// Figures are numbers about backups, for metrics. Times are real times, even if the server runs on a manual clock.
type Figures struct {
	LastSuccess time.Time     // when the newest scheduled backup was complete; zero: there is none
	LastTook    time.Duration // how long the newest scheduled backup took; 0 if an earlier process took it
	LastBytes   int64         // size of the newest scheduled backup in bytes; 0 if an earlier process took it

	Succeeded, Failed             uint64 // numbers of scheduled backups that succeeded and that failed
	StreamsEnded, StreamsCutShort uint64 // numbers of backups that were sent to a client completely, and that broke off
}

// Figures returns the current figures.
func (s *Service) Figures() Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.figures
}

// recordEarlierBackup records the time of a backup that an earlier process has taken.
func (s *Service) recordEarlierBackup(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.figures.LastSuccess) {
		s.figures.LastSuccess = at
	}
}

func (s *Service) countSuccess(began time.Time, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.figures
	f.LastSuccess, f.LastBytes = time.Now(), bytes
	f.LastTook = f.LastSuccess.Sub(began)
	f.Succeeded++
}

func (s *Service) countFailure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.Failed++
}

// countStream counts a backup that a client has requested.
func (s *Service) countStream(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.figures.StreamsCutShort++
	} else {
		s.figures.StreamsEnded++
	}
}
