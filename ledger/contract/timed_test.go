package contract

import (
	"strings"
	"testing"
)

// Invariant 4: a timer's entry is never refused, so the action that starts the timer, and no
// other action, reserves room for its maximum.
func TestActionReservesWhatItsTimersMayBook(t *testing.T) {
	reserved := func(x *contractFixture, want string) {
		t.Helper()
		if got := x.d.Reserve.String(); got != want {
			t.Errorf("the %s contract reserves %s, want %s", x.r.Status, got, want)
		}
	}
	// A lease: the rent of its term and the advance rental, and its asset's cost.
	lease := openContract(t, Lease, Secular, leaseBody())
	reserved(lease, "0")
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	reserved(lease, "0")
	lease.do(Activate)
	reserved(lease, "1230")
	lease.passDays(31)
	reserved(lease, "0")
	// A partnership: the rent of its term's ten periods.
	venture := activePartnership(t, "rental_amount", `"7"`)
	reserved(venture, "70")
	venture.do(Buyout)
	reserved(venture, "0")
	reserved(activePartnership(t), "0")
	religious := openContract(t, Partnership, Religious, withChanges(shareBody(), "rental_amount", `"7"`, "compliance_review", `{"approved_by":"the board","fatwa_reference":"F-7"}`))
	reserved(religious, "70")
	reserved(activePartnership(t, "rental_amount", largest), strings.Trim(largest, `"`)+"0")
}
