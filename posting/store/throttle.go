package store

import "time"

// Badger compacts in bursts: five goroutines merge and a dozen more write tables through memory maps,
// all at once and with as much processor time as they can get. On two cores a burst of some seconds
// reduces the rate of groups to between a tenth and a third. The same work, one table at a time, takes
// longer and hardly slows down groups. The compaction only has to finish before level 0, the list of tables
// flushed from memory, is so long that flushing waits.
const (
	throttlePause = 50 * time.Millisecond // between two tables: about 40 MB/s
	throttleStep  = 10 * time.Millisecond // subtracted from the pause for each table of level 0 beyond throttleFrom
	throttleFrom  = levelZeroTables + 2   // number of tables in level 0
)

// pause returns how long compaction waits before it makes its next table, given the number of tables in
// level 0. The pause is shorter the longer level 0 is, and zero long before groups would have to wait.
func pause(levelZero int) time.Duration {
	return max(0, min(throttlePause, throttlePause-time.Duration(levelZero-throttleFrom)*throttleStep))
}

// throttle lets Badger's compactors pass one at a time, with a pause after each.
func (s *Store) throttle() {
	s.pacing.mu.Lock()
	defer s.pacing.mu.Unlock()
	if s.ready.Load() && !s.mayClose.Load() {
		time.Sleep(time.Until(s.pacing.lastTable.Add(pause(s.db.Levels()[0].NumTables))))
	}
	s.pacing.lastTable = time.Now()
}
