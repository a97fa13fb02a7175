package payment

// Status is a transaction's status, as the API spells it.
type Status string

// The statuses. The protocol allows further ones: the last four are intermediate statuses of rails, which the service passes
// through.
const (
	Absent           Status = "none" // before creation; never stored
	Created          Status = "created"
	New              Status = "new"
	Authorizing      Status = "authorizing"
	ActionRequired   Status = "action_required"
	Charging         Status = "charging"
	PaymentHeld      Status = "payment_suspended"
	PayoutHeld       Status = "payout_suspended"
	Charged          Status = "charged"
	Rejected         Status = "rejected"
	Failed           Status = "failed"
	Reversed         Status = "reversed"
	Refunding        Status = "refunding"
	Refunded         Status = "refunded"
	PreAuthorized3DS Status = "pre_authorized_3ds"
	AuthRequired     Status = "auth_required"
	Unknown          Status = "unknown"
	Cancelled        Status = "cancelled"
)

// Final tells whether merchants may treat the status as the transaction's result (specification, "Statuses"). Settled money
// can still be returned: charged may become reversed.
func (s Status) Final() bool {
	switch s {
	case Charged, Rejected, Failed, Reversed:
		return true
	}
	return false
}

// Held tells whether money is held until commit or cancel.
func (s Status) Held() bool { return s == PaymentHeld || s == PayoutHeld }

// IsIntermediate tells whether the status is an intermediate state of a rail.
func (s Status) IsIntermediate() bool {
	switch s {
	case PreAuthorized3DS, AuthRequired, Unknown, Cancelled:
		return true
	}
	return false
}

// AtProvider tells whether the rail has the charge and has not reported its outcome.
func (s Status) AtProvider() bool { return s == Charging || s.IsIntermediate() }
