package store

import (
	"runtime"
	"testing"
)

// The lag is the number of groups that the tables lack, and that a start would replay from the log. A flush of a memtable
// reduces the lag.
func TestLagIsWhatAStartReplays(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	hist := history{seed: 1, rows: 20, value: 4000, keys: 4000}
	hist.continueTo(t, s, 5)
	if f := s.Figures(); f.LagGroups != 5 || f.LagBytes == 0 || f.Segments < 1 || f.LogBytes == 0 {
		t.Errorf("after five groups: %+v", f)
	}
	greatest := uint64(0)
	for n := uint64(10); n <= 400; n += 10 {
		hist.continueTo(t, s, n)
		waitForReleases(s)
		greatest = max(greatest, s.Figures().LagGroups)
	}
	f := s.Figures()
	if f.LagGroups >= 400 || greatest >= 400 || f.LagBytes == 0 {
		t.Errorf("after 400 groups: %+v, at most %d behind", f, greatest)
	}
	abandonStore(t, s)
	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, s)
	if again := s.Figures(); again.LagGroups > f.LagGroups || again.LagBytes > f.LagBytes {
		t.Errorf("a start has replayed %d groups, more than the %d that were behind", again.LagGroups, f.LagGroups)
	}
}

func TestCompactionsAreCounted(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	before := s.Figures()
	compactLevelZero(t, s, history{seed: 1, rows: 20, value: 4000, keys: 500})
	after := s.Figures()
	for after.Compactions == before.Compactions { // Badger reports the end of a compaction a little after its tables are visible
		runtime.Gosched()
		after = s.Figures()
	}
	if after.CompactedTables == before.CompactedTables || after.LevelZero == 0 || after.WaitingCompactions != 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
