package backup

import "time"

// Figures are numbers about backups, for metrics. Times are real ones.
type Figures struct {
	LastSuccess time.Time     // when the newest backup of the schedule was complete; zero: there is none
	LastTook    time.Duration // how long it took; 0: an earlier process took it
	LastBytes   int64         // its size; 0: an earlier process took it

	Succeeded, Failed             uint64 // backups of the schedule
	StreamsEnded, StreamsCutShort uint64 // backups that clients have requested: completely sent, and not
}

// Figures returns the present numbers.
func (s *Service) Figures() Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.figures
}

// noteEarlier records that the directory has a backup from the given time.
func (s *Service) noteEarlier(at time.Time) {
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
