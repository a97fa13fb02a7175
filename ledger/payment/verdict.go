package payment

// Verdict is what a provider says of an operation, or that it says nothing.
type Verdict uint8

// The verdicts. The zero value is invalid.
const (
	VerdictCharged  Verdict = iota + 1 // done: money moved, was captured, was given up, was returned
	VerdictPending                     // accepted, the rail is still at it
	VerdictRefused                     // nothing moved and nothing will: declined
	VerdictFailed                      // nothing moved: a processing error
	VerdictUnknown                     // time-out or broken connection: inquire, never assume
	VerdictNotFound                    // an inquiry's answer: the operation never arrived
	VerdictHeld                        // authorised, the money is held
	VerdictAction                      // the payer has to act: Answer.Action says how
	VerdictReady                       // the payer has acted: Complete is awaited
	VerdictNotSent                     // the call never left: another terminal may be tried
)

// IsValid tells whether the verdict is one of the above.
func (v Verdict) IsValid() bool { return v >= VerdictCharged && v <= VerdictNotSent }

// String names the verdict.
func (v Verdict) String() string {
	names := [...]string{"invalid", "charged", "pending", "refused", "failed", "unknown", "unknown_reference", "held", "action", "ready", "not_sent"}
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}
