package stripestub

import (
	"fmt"
	"net/http"
	"strings"
)

// dispute is a Dispute: the payer's bank takes the money of a charge back.
type dispute struct {
	id             string
	created        int64
	charge         *charge
	amount         int64
	reason, status string
	evidence       string
	submissions    int64
	metadata       map[string]string
	entries        []*entry // withdrawn, and perhaps reinstated
}

// Statuses of disputes.
const (
	needsResponse        = "needs_response"
	underReview          = "under_review"
	disputeWon           = "won"
	disputeLost          = "lost"
	warningNeedsResponse = "warning_needs_response"
	warningUnderReview   = "warning_under_review"
	warningClosed        = "warning_closed"
)

// OpenDispute disputes what is left of a captured charge, for a reason of Stripe's such as fraudulent, and returns the dispute's
// id. It is what a payer can do at any time.
func (s *Stub) OpenDispute(chargeID, reason string) (string, error) {
	s.lock()
	defer s.mu.Unlock()
	ch, ok := s.objects[chargeID].(*charge)
	if !ok || !ch.isCaptured || ch.dispute != nil || ch.refunded == ch.amount {
		return "", fmt.Errorf("stripestub: %s is no charge that can be disputed", chargeID)
	}
	return s.openDispute(ch, ch.amount-ch.refunded, reason, false).id, nil
}

// OpenPartialDispute is like OpenDispute, but disputes only an amount in minor units, which must be less than what is left.
func (s *Stub) OpenPartialDispute(chargeID string, amount int64, reason string) (string, error) {
	s.lock()
	defer s.mu.Unlock()
	ch, ok := s.objects[chargeID].(*charge)
	if !ok || !ch.isCaptured || ch.dispute != nil || amount < 1 || amount >= ch.amount-ch.refunded {
		return "", fmt.Errorf("stripestub: %s is no charge of which %d can be disputed", chargeID, amount)
	}
	return s.openDispute(ch, amount, reason, false).id, nil
}

func (s *Stub) openDispute(ch *charge, amount int64, reason string, isInquiry bool) *dispute {
	d := &dispute{id: newID("du"), created: s.now().Unix(), charge: ch, amount: amount, reason: reason, status: needsResponse, metadata: map[string]string{}}
	if isInquiry {
		d.status = warningNeedsResponse
	}
	s.objects[d.id], s.disputes, ch.dispute = d, append(s.disputes, d), d
	s.emit("charge.dispute.created", d)
	if !isInquiry {
		s.moveDisputed(d, -d.amount, s.options.DisputeFee, "dispute")
		s.emit("charge.dispute.funds_withdrawn", d)
	}
	return d
}

func (s *Stub) moveDisputed(d *dispute, amount, fee int64, category string) {
	d.entries = append(d.entries, s.addEntry(&entry{kind: "adjustment", category: category, amount: amount, fee: fee, currency: d.charge.intent.currency, source: d.id, isAvailable: true}))
}

// CloseDispute decides an open dispute, as the payer's bank does. If it is won, the amount returns to the balance; the fee does
// not. An inquiry is closed without a movement.
func (s *Stub) CloseDispute(id string, isWon bool) error {
	s.lock()
	defer s.mu.Unlock()
	d, ok := s.objects[id].(*dispute)
	if !ok || !d.isOpen() {
		return fmt.Errorf("stripestub: %s is no open dispute", id)
	}
	s.decideDispute(d, isWon)
	return nil
}

func (d *dispute) isOpen() bool {
	return d.status != disputeWon && d.status != disputeLost && d.status != warningClosed
}

func (d *dispute) isInquiry() bool { return strings.HasPrefix(d.status, "warning_") }

// isRefundable tells whether the disputed charge can still be refunded.
func (d *dispute) isRefundable() bool { return d.isInquiry() || d.status == disputeWon }

func (s *Stub) decideDispute(d *dispute, isWon bool) {
	switch {
	case d.isInquiry():
		d.status = warningClosed
	case isWon:
		d.status = disputeWon
		s.moveDisputed(d, d.amount, 0, "dispute_reversal")
		s.emit("charge.dispute.funds_reinstated", d)
	default:
		d.status = disputeLost
	}
	s.emit("charge.dispute.closed", d)
}

// updateDispute submits evidence. As in Stripe's test mode, the texts winning_evidence and losing_evidence decide the dispute
// later; any other evidence waits for CloseDispute.
func (s *Stub) updateDispute(c *call) (object, *failure) {
	d, ok := s.objects[c.id].(*dispute)
	switch {
	case !ok:
		return nil, missing(http.StatusNotFound, "dispute", c.id, "dispute")
	case !d.isOpen():
		return nil, invalid("", "", "This dispute is already closed")
	}
	d.metadata = c.metadata(d.metadata)
	if c.has("evidence[uncategorized_text]") {
		d.evidence = c.text("evidence[uncategorized_text]")
		if !c.has("submit") || c.isTrue("submit") {
			d.submissions++
			d.status = map[bool]string{true: warningUnderReview, false: underReview}[d.isInquiry()]
			if isWon := d.evidence == "winning_evidence"; isWon || d.evidence == "losing_evidence" {
				s.later(s.options.AsyncDelay, func() {
					if d.isOpen() {
						s.decideDispute(d, isWon)
					}
				})
			}
		}
	}
	s.emit("charge.dispute.updated", d)
	return d.json(), nil
}

// closeDispute accepts a dispute as lost.
func (s *Stub) closeDispute(c *call) (object, *failure) {
	d, ok := s.objects[c.id].(*dispute)
	switch {
	case !ok:
		return nil, missing(http.StatusNotFound, "dispute", c.id, "dispute")
	case !d.isOpen():
		return nil, invalid("", "", "This dispute is already closed")
	}
	s.decideDispute(d, false)
	return d.json(), nil
}

func (s *Stub) listDisputes(c *call) (object, *failure) {
	return listOf(c, s.disputes, func(d *dispute) bool {
		return c.admits("payment_intent", d.charge.intent.id) && c.admits("charge", d.charge.id)
	})
}

// evidenceFields are the members of a dispute's evidence, without uncategorized_text.
var evidenceFields = strings.Fields(`access_activity_log billing_address cancellation_policy cancellation_policy_disclosure cancellation_rebuttal
	customer_communication customer_email_address customer_name customer_purchase_ip customer_signature duplicate_charge_documentation
	duplicate_charge_explanation duplicate_charge_id product_description receipt refund_policy refund_policy_disclosure refund_refusal_explanation
	service_date service_documentation shipping_address shipping_carrier shipping_date shipping_documentation shipping_tracking_number uncategorized_file`)

func (d *dispute) json() object {
	evidence := object{"enhanced_evidence": object{}, "uncategorized_text": nullable(d.evidence)}
	for _, name := range evidenceFields {
		evidence[name] = nil
	}
	movements := make([]any, len(d.entries))
	for i, e := range d.entries {
		movements[i] = e.json()
	}
	brand := d.charge.method.card.brandName()
	caseType := map[bool]string{true: "inquiry", false: "chargeback"}[d.isInquiry()]
	return object{
		"id": d.id, "object": "dispute", "amount": d.amount, "balance_transactions": movements, "charge": d.charge.id, "created": d.created, "currency": d.charge.intent.currency,
		"enhanced_eligibility_types": []any{}, "evidence": evidence,
		"evidence_details":     object{"due_by": d.created + 7*24*3600, "enhanced_eligibility": object{}, "has_evidence": d.evidence != "", "past_due": false, "submission_count": d.submissions},
		"is_charge_refundable": d.isRefundable(), "livemode": false, "metadata": d.metadata, "payment_intent": d.charge.intent.id,
		"payment_method_details": object{"type": "card", "card": object{"brand": brand, "case_type": caseType, "network": brand, "network_reason_code": "83"}},
		"reason":                 d.reason, "status": d.status,
	}
}
