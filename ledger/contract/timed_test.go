package contract

import (
	"strings"
	"testing"
)

// The writer never refuses a timer's entry. Therefore the action that starts the timer reserves the largest amount that the
// timer may book. No other action reserves anything.
func TestActionReservesWhatItsTimersMayBook(t *testing.T) {
	wantReserve := func(fixture *contractFixture, want string) {
		t.Helper()
		if got := fixture.decision.Reserve.String(); got != want {
			t.Errorf("the %s contract reserves %s, want %s", fixture.record.Status, got, want)
		}
	}
	// A lease reserves the rent of its term, the advance rental and the cost of its asset.
	lease := openContract(t, Lease, Secular, leaseBody())
	wantReserve(lease, "0")
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	wantReserve(lease, "0")
	lease.do(Activate)
	wantReserve(lease, "1230")
	lease.passDays(31)
	wantReserve(lease, "0")
	// A partnership reserves the rent of the ten periods of its term.
	partnership := activePartnership(t, "rental_amount", `"7"`)
	wantReserve(partnership, "70")
	partnership.do(Buyout)
	wantReserve(partnership, "0")
	wantReserve(activePartnership(t), "0")
	religious := openContract(t, Partnership, Religious, withChanges(partnershipBody(), "rental_amount", `"7"`, "compliance_review", `{"approved_by":"the board","fatwa_reference":"F-7"}`))
	wantReserve(religious, "70")
	wantReserve(activePartnership(t, "rental_amount", largest), strings.Trim(largest, `"`)+"0")
}
