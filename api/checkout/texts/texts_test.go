package texts

import (
	"strings"
	"testing"
	"time"

	"mizan/ledger/money"
)

// usd is the asset of most tests.
var usd = money.Asset{Currency: "USD", Env: money.Prod}

func parsed(t *testing.T, digits string) money.Amount {
	t.Helper()
	amount, err := money.Parse(digits)
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

func TestDatesAndRemainingTimesAreWrittenInTheLanguage(t *testing.T) {
	at := time.Date(2026, 8, 5, 16, 7, 9, 0, time.FixedZone("", 2*60*60))
	for lang, want := range map[string][3]string{
		"en": {"August 5, 2026, 14:07 UTC", "1 minute left", "59 seconds left"},
		"ru": {"5 августа 2026 г., 14:07 UTC", "Осталась 1 минута", "Осталось 59 секунд"},
	} {
		texts := In(lang)
		got := [3]string{texts.Date(at), texts.Left(119 * time.Second), texts.Left(59*time.Second + 999*time.Millisecond)}
		if got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
	if got := In("en").Left(-time.Second); got != "0 seconds left" {
		t.Errorf("a time that has passed: %q", got)
	}
}

// ordinarySpaces replaces the spaces that do not break a line, so that a test reads well.
func ordinarySpaces(text string) string {
	return strings.NewReplacer(space, " ", narrowSpace, " ").Replace(text)
}
