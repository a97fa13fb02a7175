package payment

// Verdict is the outcome of a call to a provider: what the provider reported, or that it did not answer.
type Verdict uint8

// The verdicts. The zero value is invalid.
const (
	VerdictCharged  Verdict = iota + 1 // the money was moved, captured, voided or returned
	VerdictPending                     // accepted, but the rail has not finished
	VerdictRefused                     // declined: nothing moved and nothing will
	VerdictFailed                      // a processing error: nothing moved
	VerdictUnknown                     // time-out or broken connection; the provider must be asked for the outcome
	VerdictNotFound                    // answer to an inquiry: the operation never arrived
	VerdictHeld                        // authorised; the money is held
	VerdictAction                      // the payer has to act; ProviderAnswer.Action describes how
	VerdictReady                       // the payer has acted, and the rail waits for the operation OpComplete
	VerdictNotSent                     // the call was never sent; another terminal may be tried
	VerdictPrepared                    // nothing moved: ProviderAnswer.Meta identifies the charge at the provider, which has to be submitted once more
)

// IsValid tells whether the verdict is one of the constants above.
func (v Verdict) IsValid() bool { return v >= VerdictCharged && v <= VerdictPrepared }

// String returns the verdict's name.
func (v Verdict) String() string {
	names := [...]string{"invalid", "charged", "pending", "refused", "failed", "unknown", "unknown_reference", "held", "action", "ready", "not_sent", "prepared"}
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}
