package payment

// Status is a transaction's state, spelled as the protocol spells it.
type Status string

// The statuses that this machine reaches. The vocabulary of the protocol is open.
const (
	Absent      Status = "none" // before creation: never stored
	Created     Status = "created"
	New         Status = "new"
	Authorizing Status = "authorizing"
	Charging    Status = "charging"
	Charged     Status = "charged"
	Rejected    Status = "rejected"
	Failed      Status = "failed"
	Reversed    Status = "reversed"
)

// Final tells whether business logic may run on the status (specification,
// "Statuses"). Settled money can still be returned: charged may become reversed.
func (s Status) Final() bool {
	switch s {
	case Charged, Rejected, Failed, Reversed:
		return true
	}
	return false
}
