package transactions

import (
	"math/big"

	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks the refunds that transactions' records list. A record
// lists the refunds that the transaction's events requested, in order and with their outcomes. Failed refunds may be
// missing, because a record drops failed refunds to make room for new ones.

// checkRefundRecords compares the refunds in the record with the refunds that the transaction's events requested.
func (c *Check) checkRefundRecords(r *scan.Record, p *payment.Record, bookedRefunds []bookedRefund) {
	if p.LateSettlement {
		c.checkLateRefund(r, p)
		return
	}
	recordedRefunds := p.Refunds
	droppedCount := 0
	for _, refund := range bookedRefunds {
		if len(recordedRefunds) > 0 && scan.BigAmount(recordedRefunds[0].Amount).Cmp(refund.amount) == 0 && scan.BigAmount(recordedRefunds[0].RefundedFee).Cmp(refund.fee) == 0 && statusMatches(recordedRefunds[0].Status, refund.state) {
			recordedRefunds = recordedRefunds[1:]
			continue
		}
		if refund.state != scan.RefundRefused {
			c.Fault(r, "has refunded %v, and does not name it", refund.amount)
			return
		}
		droppedCount++
	}
	switch {
	case len(recordedRefunds) > 0:
		c.Fault(r, "names refund %v, and none of its events requested it", recordedRefunds[0].ID)
	case droppedCount > 0 && len(p.Refunds) < payment.MaxRefunds-1:
		c.Fault(r, "has dropped %d refunds, and had room for them", droppedCount)
	}
	c.checkRefundStatuses(r, p)
}

// bookedRefund is a refund with the amounts that its entry books.
type bookedRefund struct {
	amount, fee *big.Int
	state       scan.RefundState
}

// statusMatches tells whether a refund's status in the record is the status to which the refund's events have led.
func statusMatches(status payment.RefundStatus, state scan.RefundState) bool {
	switch state {
	case scan.RefundDone:
		return status == payment.RefundSucceeded
	case scan.RefundRefused:
		return status == payment.RefundFailed
	}
	return status.IsPending()
}

// checkLateRefund checks the refund of money that arrived after the transaction was closed. There is at most one such
// refund, and it is for the whole amount.
func (c *Check) checkLateRefund(r *scan.Record, p *payment.Record) {
	if len(p.Refunds) > 1 || len(p.Refunds) == 1 && p.Refunds[0].Amount != p.Amount {
		c.Fault(r, "refunds another amount than arrived too late")
	}
	c.checkRefundStatuses(r, p)
}

// checkRefundStatuses checks that the status, the times and the failure of each refund do not contradict each other.
func (c *Check) checkRefundStatuses(r *scan.Record, p *payment.Record) {
	for i := range p.Refunds {
		refund := &p.Refunds[i]
		isPending, isFailed := refund.Status.IsPending(), refund.Status == payment.RefundFailed
		switch {
		case isPending != (refund.FinishedAt == 0), isFailed == refund.Failure.IsZero():
			c.Fault(r, "has a refund that is %v, and its times or its failure contradict that", refund.Status)
		case isPending && (i < len(p.Refunds)-1 || p.Op == nil || p.Op.Kind != payment.OpRefund || p.Op.ID != refund.ID):
			c.Fault(r, "has a pending refund without an open request")
		case !isPending && refund.FinishedAt < refund.CreatedAt:
			c.Fault(r, "has a refund that ended before it was requested")
		}
	}
}
