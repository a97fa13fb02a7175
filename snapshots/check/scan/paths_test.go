package scan

import (
	"testing"

	"mizan/ledger"
)

func TestOwnerContractIsParsedFromAPath(t *testing.T) {
	const id = "5d0d1a52-6f3e-4a43-9d9e-6a4bd8f6c001"
	for path, want := range map[string]bool{
		"A:musharaka:" + id: true, "Q:holders:" + id + ":7a1c9d40-1f0e-4f57-8a55-0b8f6f0e9a02": true, "M:arrears:" + id: true,
		"L:customer:" + id + ":current": false, "A:partner_receivable:" + id: false, "A:cash:AE": false, "I:rent": false, "A:musharaka:" + id[:35]: false,
	} {
		if got, ok := OwnerContract(ledger.Path(path)); ok != want || ok && got.String() != id {
			t.Errorf("%s is a contract's own: %v (%v)", path, ok, got)
		}
	}
}
