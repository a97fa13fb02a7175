package store

import "time"

// Badger compacts in bursts: five goroutines merge and a dozen more write tables
// through memory maps, all at once and with as much of the processors as they get.
// On two cores a burst of some seconds leaves groups a tenth to a third of their rate.
// The same work, a table at a time, takes longer and hardly disturbs them; it only
// has to be done before level 0 is so long that flushing waits for it.
const (
	throttlePause = 50 * time.Millisecond // between two tables: about 40 MB/s
	throttleStep  = 10 * time.Millisecond // taken off for each table of level 0 beyond paceFrom
	throttleFrom  = levelZeroTables + 2
)

// pause is how long compaction rests before its next table, with so many tables in
// level 0: ever less as it grows, and nothing long before groups would have to wait.
func pause(levelZero int) time.Duration {
	return max(0, min(throttlePause, throttlePause-time.Duration(levelZero-throttleFrom)*throttleStep))
}

// throttle lets compactors pass one after another, a pause apart.
func (s *Store) throttle() {
	s.throttled.mu.Lock()
	defer s.throttled.mu.Unlock()
	if s.ready.Load() && !s.closing.Load() {
		time.Sleep(time.Until(s.throttled.last.Add(pause(s.db.Levels()[0].NumTables))))
	}
	s.throttled.last = time.Now()
}
