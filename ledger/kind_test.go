package ledger_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
)

// The names are part of the API, so this table is written by hand.
func TestWordsOfKindsAndWhichAreOfTheAdministration(t *testing.T) {
	administration := map[string]ledger.Kind{
		"platform": 'f', "organization": 'o', "partner": 'p', "terminal": 'n', "api_key": 'k', "user": 'u', "settlement": 'b', "limit": 'l',
		"blocklist_entry": 'z', "rate": 'r', "period": 'm', "reconciled_day": 'D',
	}
	others := map[string]ledger.Kind{
		"transaction": 't', "session": 's', "admin_reply": 'a', "reply": 'y', "subscription": 'v', "contract": 'c', "screening": 'q', "retention": 'd',
		"link": 'w', "product": 'g', "image": 'i', "transfer": 'x', "settlement_report": 'e', "settlement_lines": 'h', "difference": 'j',
	}
	if got, want := len(ledger.Kinds()), len(administration)+len(others); got != want {
		t.Errorf("%d kinds, want %d", got, want)
	}
	for word, kind := range administration {
		if kind.Word() != word || !kind.IsAdministration() {
			t.Errorf("%c: %q, administration %v", kind, kind.Word(), kind.IsAdministration())
		}
		for author, want := range map[ledger.AuthorKind]bool{ledger.ByAdminToken: true, ledger.BySession: true, ledger.BySystem: false} {
			e := ledger.Event{Source: ledger.Source{Kind: kind}, Author: author.Author()}
			if e.IsAdministrationChange() != want {
				t.Errorf("an event of %q by %v is a change of the administration: %v", word, author, !want)
			}
		}
	}
	for word, kind := range others {
		if kind.Word() != word || kind.IsAdministration() {
			t.Errorf("%c: %q, administration %v", kind, kind.Word(), kind.IsAdministration())
		}
	}
	if word := ledger.Kind('?').Word(); word != "?" {
		t.Errorf("an unknown kind has the word %q", word)
	}
}

func TestSeqInAnID(t *testing.T) {
	for _, seq := range []uint64{0, 1, 1<<64 - 1} {
		if got, ok := ledger.SeqOf(ledger.SeqID(seq)); got != seq || !ok {
			t.Errorf("%d became %d (%v)", seq, got, ok)
		}
	}
	if _, ok := ledger.SeqOf(uuid.MustParse("00112233-4455-4677-8899-aabbccddeeff")); ok {
		t.Error("an id that SeqID did not make has a seq")
	}
}
