package simulator

import (
	"encoding/hex"
	"strings"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// A token charges a card again that was charged before. It says how the card was charged, so that
// the rail does the same again, and names the charge. An example is
//
//	sim_slow_3e0a2c5861f84b538a0a0f2f3a9c1d01
const tokenHead = "sim_"

// habits are the ways in which a card is charged. If a payer had to act the first time, later
// charges need no action: the payer has agreed to them.
var habits = map[string]decision{
	"plain":    charged,
	"slow":     slow,
	"lost":     timedOut,
	"reversed": chargedBackLater,
	"kept":     {verdict: payment.VerdictCharged, refunds: refusesRefunds},
	"delayed":  {verdict: payment.VerdictCharged, refunds: delaysRefunds},
}

// habit returns how the charge was made, as a key of habits.
func (c *charge) habit() string {
	switch {
	case c.refunds == refusesRefunds:
		return "kept"
	case c.refunds == delaysRefunds:
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

// withToken adds the token to an outcome that says that a payment was charged.
func (c *charge) withToken(o actors.Outcome, reference ledger.ID) actors.Outcome {
	if c.operation == actors.Pay && o.Verdict == payment.VerdictCharged {
		o.Token = secret.Text(tokenHead + c.habit() + "_" + hex.EncodeToString(reference[:]))
	}
	return o
}

// tokenDecision returns the rail's decision on a token.
func tokenDecision(token secret.Text) decision {
	habit, _, whole := strings.Cut(strings.TrimPrefix(string(token), tokenHead), "_")
	d, known := habits[habit]
	if !whole || !known {
		return refused(reasonToken)
	}
	return d
}
