package store

import "testing"

func TestCompactionPausesLessWithALongerLevelZero(t *testing.T) {
	for tables := range levelZeroTables {
		if pause(tables) != throttlePause {
			t.Errorf("%d tables in level 0: a pause of %v", tables, pause(tables))
		}
	}
	for tables := range levelZeroStall {
		if pause(tables+1) > pause(tables) {
			t.Errorf("%d tables in level 0: a pause of %v, with one more of %v", tables, pause(tables), pause(tables+1))
		}
	}
	if lastPause := pause(levelZeroStall - 3); lastPause != 0 {
		t.Errorf("three tables before groups have to wait compaction still rests for %v", lastPause)
	}
}
