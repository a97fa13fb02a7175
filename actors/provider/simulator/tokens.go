package simulator

import (
	"encoding/hex"
	"strings"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// tokenPrefix is the beginning of each token. With a token, a card that was charged before can be charged again.
// The token says how the first charge went, so that the next charge goes the same way, and ends with the reference
// of the first charge. An example is
//
//	sim_slow_3e0a2c5861f84b538a0a0f2f3a9c1d01
const tokenPrefix = "sim_"

// chargeKinds maps each kind of charge that a token may name to the rail's decision. A charge with a token never
// requires an action of the payer, even if the first charge did: the payer has agreed to later charges.
var chargeKinds = map[string]decision{
	"plain":    chargedDecision,
	"slow":     slowDecision,
	"lost":     timedOutDecision,
	"reversed": chargedBackDecision,
	"kept":     {verdict: payment.VerdictCharged, refundMode: refusesRefunds},
	"delayed":  {verdict: payment.VerdictCharged, refundMode: delaysRefunds},
}

// kind returns the kind of the charge, which is a key of chargeKinds.
func (c *charge) kind() string {
	switch {
	case c.refundMode == refusesRefunds:
		return "kept"
	case c.refundMode == delaysRefunds:
		return "delayed"
	case c.next == willChargeBack || c.next == chargebackCancelled:
		return "reversed"
	case c.verdict == payment.VerdictPending:
		return "slow"
	case c.verdict == payment.VerdictUnknown:
		return "lost"
	}
	return "plain"
}

// withToken adds a token to the outcome of a charged payment. It returns any other outcome unchanged.
func (c *charge) withToken(o actors.Outcome, reference ledger.ID) actors.Outcome {
	if c.operation == actors.Pay && o.Verdict == payment.VerdictCharged {
		o.Token = secret.Text(tokenPrefix + c.kind() + "_" + hex.EncodeToString(reference[:]))
	}
	return o
}

// tokenDecision returns the rail's decision on a charge with a token.
func tokenDecision(token secret.Text) decision {
	kind, _, hasReference := strings.Cut(strings.TrimPrefix(string(token), tokenPrefix), "_")
	d, known := chargeKinds[kind]
	if !hasReference || !known {
		return refusedDecision(reasonToken)
	}
	return d
}
