package ledger_test

import (
	"testing"

	"mizan/ledger"
)

// The grid is written by hand from the list of kinds in docs/audit.md.
func TestKindsOfAuthorsAndTheirRecords(t *testing.T) {
	grid := []struct {
		kind    ledger.AuthorKind
		value   byte
		word    string
		records string // the letters of the kinds of records that authors of the kind may refer to
	}{
		{ledger.ByAdminToken, 1, "admin_token", ""},
		{ledger.ByAPIKey, 2, "api_key", "k"},
		{ledger.BySession, 3, "session", "ups"},
		{ledger.ByPayer, 4, "payer", ""},
		{ledger.ByProvider, 5, "provider", ""},
		{ledger.BySystem, 6, "system", ""},
	}
	if got := len(ledger.AuthorKinds()); got != len(grid) {
		t.Errorf("%d kinds, want %d", got, len(grid))
	}
	for _, row := range grid {
		found, exists := ledger.AuthorKindOf(row.word)
		if byte(row.kind) != row.value || row.kind.String() != row.word || found != row.kind || !exists {
			t.Errorf("%s has the value %d and the word %q", row.word, row.kind, row.kind.String())
		}
		for letter := byte('a'); letter <= 'z'; letter++ {
			want := false
			for i := range row.records {
				want = want || row.records[i] == letter
			}
			if got := row.kind.MayRefer(ledger.Kind(letter)); got != want {
				t.Errorf("%s may refer to %c: %v", row.word, letter, got)
			}
		}
		hasRecord := row.records != ""
		if with, without := (ledger.Author{Kind: row.kind, Seq: 7}).IsValid(), (ledger.Author{Kind: row.kind}).IsValid(); with != hasRecord || without == hasRecord {
			t.Errorf("%s: valid with a record %v, without one %v", row.word, with, without)
		}
	}
	for _, kind := range []ledger.AuthorKind{0, 7, 255} {
		if kind.IsValid() || kind.String() != "" || kind.MayRefer(ledger.User) || (ledger.Author{Kind: kind}).IsValid() {
			t.Errorf("kind %d exists", kind)
		}
	}
	if _, exists := ledger.AuthorKindOf(""); exists {
		t.Error("a kind has the empty name")
	}
}
