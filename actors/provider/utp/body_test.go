package utp

import (
	"testing"
	"time"
)

func TestBothTimeFormatsAreParsed(t *testing.T) {
	want := time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
	for _, text := range []string{
		"2026-09-03T10:15:30.123456+00:00", "2026-09-03T10:15:30.123456Z", "2026-09-03T13:15:30.123456+03:00", "2026-09-03 10:15:30.123456 Etc/UTC",
	} {
		if got := parseTime(text); !got.Equal(want) {
			t.Errorf("%s is %v", text, got)
		}
	}
	for _, text := range []string{"", "2026-09-03", "1788430530", "2026-09-03 10:15:30.123456 Europe/Berlin"} {
		if got := parseTime(text); !got.IsZero() {
			t.Errorf("%s is %v", text, got)
		}
	}
}

// Every response of another platform is either accepted or refused, without a panic. An accepted transaction has
// an id and a status.
func FuzzTransactionsAreReadOrRefused(f *testing.F) {
	f.Add([]byte(`{"id":"a","txid":"b","status":"charged","amount":"1","auth_params":{"type":"none"},"merchant_meta":{"utp_terminal":"x"}}`))
	f.Add([]byte(`{"id":"a","status":"action_required","additional_params_for_auth":{"expires_at":7},"availble_destinations":[{"target_bank_id":"1"},7]}`))
	f.Add([]byte(`{"id":"a","id":"b","status":"x"}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tx, err := readTransaction(text)
		if err != nil {
			return
		}
		if !isIdentifier(tx.id) || tx.status == "" {
			t.Errorf("read without an id or a status: %q", text)
		}
		if id, _ := storedIDs(tx.idsToStore(tx.refundID)); id != tx.id {
			t.Errorf("kept %q of %q", id, tx.id)
		}
		if o := tx.chargeOutcome(nil); o.Verdict == 0 {
			t.Errorf("no verdict of %q", text)
		}
	})
}
