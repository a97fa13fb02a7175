package directory

import "testing"

func TestWhatIsNotAvailableYetIsRefused(t *testing.T) {
	draft := func(params string) TerminalDraft {
		return TerminalDraft{Name: "T", Provider: Simulator, Type: PaymentTerminal, ProviderParams: []byte(params)}
	}
	plain, _, err := NewTerminal(testID(1), owner, draft(`{"priority":1}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, field := range map[string]string{
		`{"two_phase":false,"settlement_currency":"","hold_ttl_seconds":60}`: "",
		`{"two_phase":true}`:                "provider_params.two_phase",
		`{"settlement_currency":"EUR"}`:     "provider_params.settlement_currency",
		`{"priority":2,"two_phase": true }`: "provider_params.two_phase",
	} {
		_, _, err := NewTerminal(testID(2), owner, draft(text))
		wantField(t, "new with "+text, err, field)
		params := []byte(text)
		_, _, err = plain.Patch(TerminalPatch{ProviderParams: &params})
		wantField(t, "patch with "+text, err, field)
	}
}

// A store may hold what an earlier release took: it opens, and such a terminal
// can be switched off.
func TestAStoredTerminalIsParsedWhateverIsAvailable(t *testing.T) {
	stored, _, err := NewTerminal(testID(1), owner, TerminalDraft{Name: "T", Provider: Simulator, Type: PaymentTerminal})
	if err != nil {
		t.Fatal(err)
	}
	stored.ProviderParams = []byte(`{"two_phase":true}`)
	if err := stored.Reparse(); err != nil || !stored.Settings.TwoPhase {
		t.Fatalf("stored: %v, two-phase %v", err, stored.Settings.TwoPhase)
	}
	off := false
	if next, _, err := stored.Patch(TerminalPatch{Active: &off}); err != nil || next.Active {
		t.Errorf("switching off: %v", err)
	}
}
