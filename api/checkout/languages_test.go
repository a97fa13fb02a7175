package checkout

import (
	"strings"
	"testing"

	"mizan/api/web/locale"
	"mizan/ledger/directory"
)

func TestPagesHaveTheLanguagesOfTransactions(t *testing.T) {
	if got, want := "must be one of "+strings.Join(locale.Languages(), ", "), directory.LanguageRule; got != want {
		t.Errorf("texts exist in other languages than a transaction accepts: %q, want %q", got, want)
	}
}
