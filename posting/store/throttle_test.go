package store

import "testing"

func TestCompactionPausesLessWithALongerLevelZero(t *testing.T) {
	for n := range levelZeroTables {
		if pause(n) != throttlePause {
			t.Errorf("%d tables in level 0: a pause of %v", n, pause(n))
		}
	}
	for n := range levelZeroStall {
		if pause(n+1) > pause(n) {
			t.Errorf("%d tables in level 0: a pause of %v, with one more of %v", n, pause(n), pause(n+1))
		}
	}
	if lastPause := pause(levelZeroStall - 3); lastPause != 0 {
		t.Errorf("three tables before groups have to wait compaction still rests for %v", lastPause)
	}
}
