package payment

// Status is a transaction's status in the API's spelling.
type Status string

// The statuses. The last four are intermediate statuses of rails, which the protocol allows and which the service passes
// on unchanged.
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

// IsFinal tells whether merchants may treat the status as the transaction's result (specification, "Statuses"). Even a
// final status can change: charged may become reversed.
func (s Status) IsFinal() bool {
	switch s {
	case Charged, Rejected, Failed, Reversed:
		return true
	}
	return false
}

// IsHeld tells whether money is held until commit or cancel.
func (s Status) IsHeld() bool { return s == PaymentHeld || s == PayoutHeld }

// IsIntermediate tells whether the status is an intermediate state of a rail.
func (s Status) IsIntermediate() bool {
	switch s {
	case PreAuthorized3DS, AuthRequired, Unknown, Cancelled:
		return true
	}
	return false
}

// AtProvider tells whether the rail is processing the charge and has not reported its outcome yet.
func (s Status) AtProvider() bool { return s == Charging || s.IsIntermediate() }
