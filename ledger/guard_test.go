package ledger_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
)

// The keys are stored with every counter: a changed key would begin a new counter at zero.
func TestVolumeCounterKeysHaveLimitWindowAndSubject(t *testing.T) {
	limit := uuid.MustParse("0f1e2d3c-4b5a-4697-8786-756453423120")
	for _, c := range []struct{ window, subject, counted, settled string }{
		{"2026-11-21", "", "volume/0f1e2d3c-4b5a-4697-8786-756453423120/2026-11-21/", "settled/0f1e2d3c-4b5a-4697-8786-756453423120/2026-11-21/"},
		{"2026-11", "f00d", "volume/0f1e2d3c-4b5a-4697-8786-756453423120/2026-11/f00d", "settled/0f1e2d3c-4b5a-4697-8786-756453423120/2026-11/f00d"},
	} {
		counted, settled := ledger.VolumeKeys(limit, c.window, c.subject)
		if counted != c.counted || settled != c.settled {
			t.Errorf("%s and %s, want %s and %s", counted, settled, c.counted, c.settled)
		}
		if got := ledger.VolumeKey(limit, c.window, c.subject); got != c.counted {
			t.Errorf("VolumeKey is %s, want %s", got, c.counted)
		}
		if got := ledger.SettledKey(limit, c.window, c.subject); got != c.settled {
			t.Errorf("SettledKey is %s, want %s", got, c.settled)
		}
	}
}

// windowNumbers are computed by hand: days, months and years since 1970, times three.
var windowNumbers = map[string]uint64{
	"1970-01-01": 0, "1970-01-02": 3, "1970-02-01": 93, "2026-11-21": 62_334, "2028-02-29": 63_729, "9999-12-31": 8_798_688,
	"1970-01": 1, "1970-02": 4, "1971-01": 37, "2026-11": 2_047, "9999-12": 289_078,
	"1970": 2, "1971": 5, "2026": 170, "9999": 24_089,
}

func TestWindowNumberRoundTrip(t *testing.T) {
	for window, want := range windowNumbers {
		if n, ok := ledger.WindowNumber(window); !ok || n != want {
			t.Errorf("%s is %d (%v), want %d", window, n, ok, want)
		}
		if got, ok := ledger.WindowOf(want); !ok || got != window {
			t.Errorf("%d is %q (%v), want %q", want, got, ok, window)
		}
	}
}

// If a number were decoded as another window, another window's counter would be changed.
func TestInvalidWindowHasNoNumber(t *testing.T) {
	for _, text := range []string{
		"", "202", "1969", "+026", "2026-1", "2026-00", "2026-13", "2026/11", "2026-1a", "+026-11", "20a6-11", "1969-12", "2026-11-", "2026-11-2", "2026-11-00",
		"2026-11-31", "2026-02-29", "2026-11-2x", "2026-11/21", "1969-12-31", "10000-01-01", "10000-01", "2026-11-21 ", "２０26-11", "2026-11-+1",
	} {
		if n, ok := ledger.WindowNumber(text); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
	for _, n := range []uint64{8_798_691, 289_081, 24_092, 1 << 40, 1<<63 + 2, 1<<64 - 1, 1<<64 - 2} {
		if window, ok := ledger.WindowOf(n); ok {
			t.Errorf("%d is %q", n, window)
		}
	}
}

func TestEveryWindowUntil2134HasItsOwnNumber(t *testing.T) {
	for d := ledger.Date(1); d < 60_000; d++ { // from 1970 to 2134
		day := ledger.DayWindow(d)
		for _, window := range []string{day, day[:7], day[:4]} {
			n, ok := ledger.WindowNumber(window)
			if decoded, known := ledger.WindowOf(n); !ok || !known || decoded != window {
				t.Fatalf("%s is %d (%v), which is %q (%v)", window, n, ok, decoded, known)
			}
		}
	}
}
