package stripestub

// refund is a Refund.
type refund struct {
	id            string
	created       int64
	charge        *charge
	amount        int64
	status        string // pending, succeeded or failed
	reason        string
	failureReason string
	metadata      map[string]string
	isRelease     bool // of an amount that was only authorized: no money has moved
	entry         *entry
	failureEntry  *entry
}

// createRefund refunds a charge, in full or in part. Cards decide whether the refund is pending first, or fails later.
func (s *Stub) createRefund(c *call) (object, *failure) {
	ch, f := s.refundable(c)
	if f != nil {
		return nil, f
	}
	if !ch.isCaptured {
		return s.refundAuthorization(c, ch)
	}
	rest := ch.amount - ch.refunded
	amount := rest
	if c.has("amount") {
		amount = c.integer("amount")
	}
	switch {
	case ch.dispute != nil && !ch.dispute.isRefundable():
		return nil, invalid("charge_disputed", "", "Charge %s has been charged back; cannot issue a refund.", ch.id)
	case rest == 0:
		return nil, invalid("charge_already_refunded", "", "Charge %s has already been refunded.", ch.id)
	case amount < 1:
		return nil, invalid("parameter_invalid_integer", "amount", "This value must be greater than or equal to 1.")
	case amount > rest:
		// Stripe's error for this has no code.
		return nil, invalid("", "amount", "Refund amount (%d %s) is greater than unrefunded amount on charge (%d %s)", amount, ch.intent.currency, rest, ch.intent.currency)
	}
	if f := checkDigits(amount, ch.intent.currency, wholeUnits); f != nil {
		return nil, f
	}
	r := &refund{id: newID("re"), created: s.now().Unix(), charge: ch, amount: amount, status: succeeded, reason: c.text("reason"), metadata: c.metadata(nil)}
	ch.refunded += amount
	s.objects[r.id], s.refunds = r, append(s.refunds, r)
	r.entry = s.addEntry(&entry{kind: "refund", category: "refund", amount: -amount, currency: ch.intent.currency, source: r.id, isAvailable: true})
	switch ch.method.card.refund {
	case "pending":
		r.status = "pending"
		s.later(s.options.AsyncDelay, func() { s.endRefund(r, "") })
	case "failed":
		s.later(s.options.AsyncDelay, func() { s.endRefund(r, "expired_or_canceled_card") })
	}
	s.emit("refund.created", r)
	s.emit("charge.refunded", ch)
	return r.json(), nil
}

// refundable returns the charge that a request to refund names.
func (s *Stub) refundable(c *call) (*charge, *failure) {
	if id := c.text("charge"); id != "" {
		if ch, ok := s.objects[id].(*charge); ok && ch.failure == nil {
			return ch, nil
		}
		return nil, missing(400, "charge", id, "charge")
	}
	id := c.text("payment_intent")
	if id == "" {
		return nil, invalid("parameter_missing", "", "One of the following params should be provided for this request: payment_intent or charge.")
	}
	in, ok := s.objects[id].(*intent)
	if !ok {
		return nil, missing(400, "payment_intent", id, "payment_intent")
	}
	if in.latest == nil || in.latest.failure != nil {
		return nil, invalid("", "payment_intent", "This PaymentIntent (%s) does not have a successful charge to refund.", id)
	}
	return in.latest, nil
}

// refundAuthorization refunds a charge that is not captured, which cancels its intent. It can only be refunded in full.
func (s *Stub) refundAuthorization(c *call, ch *charge) (object, *failure) {
	in := ch.intent
	switch {
	case in.status != requiresCapture:
		return nil, invalid("charge_already_refunded", "", "Charge %s has already been refunded.", ch.id)
	case c.has("amount") && c.integer("amount") != ch.amount:
		return nil, invalid("", "amount", "You cannot partially refund an uncaptured charge. Instead, capture the charge for an amount less than the original amount.")
	}
	s.releaseCharge(ch, ch.amount)
	r := s.refunds[len(s.refunds)-1]
	r.metadata, r.reason = c.metadata(nil), c.text("reason")
	in.status, in.capturable, in.canceledAt = canceled, 0, s.now().Unix()
	s.emit("charge.refunded", ch)
	s.emit("payment_intent.canceled", in)
	s.changed(in)
	return r.json(), nil
}

// endRefund ends a refund that was pending, or lets it fail for a reason.
func (s *Stub) endRefund(r *refund, failureReason string) {
	if r.status == "failed" {
		return
	}
	r.status = succeeded
	if failureReason != "" {
		r.status, r.failureReason = "failed", failureReason
		r.charge.refunded -= r.amount
		r.failureEntry = s.addEntry(&entry{kind: "refund_failure", category: "refund_failure", amount: r.amount, currency: r.charge.intent.currency, source: r.id, isAvailable: true})
		s.emit("refund.failed", r)
	}
	s.emit("refund.updated", r)
	s.emit("charge.refund.updated", r)
}

func (s *Stub) listRefunds(c *call) (object, *failure) {
	return listOf(c, s.refunds, func(r *refund) bool {
		return c.admits("payment_intent", r.charge.intent.id) && c.admits("charge", r.charge.id)
	})
}

func (r *refund) json() object {
	o := object{
		"id": r.id, "object": "refund", "amount": r.amount, "balance_transaction": nil, "charge": r.charge.id, "created": r.created, "currency": r.charge.intent.currency,
		"destination_details": object{"type": "card", "card": object{"reference_status": "pending", "reference_type": "acquirer_reference_number", "type": "refund"}},
		"metadata":            r.metadata, "payment_intent": r.charge.intent.id, "reason": nullable(r.reason), "receipt_number": nil, "source_transfer_reversal": nil,
		"status": r.status, "transfer_reversal": nil,
	}
	if r.isRelease {
		o["destination_details"] = object{"type": "card", "card": object{"type": "reversal"}}
	}
	if r.entry != nil {
		o["balance_transaction"] = r.entry.id
	}
	if r.status == "pending" {
		o["pending_reason"] = "processing"
	}
	if r.failureReason != "" {
		o["failure_reason"] = r.failureReason
	}
	if r.failureEntry != nil {
		o["failure_balance_transaction"] = r.failureEntry.id
	}
	return o
}
