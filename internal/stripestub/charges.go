package stripestub

// charge is a Charge: one attempt to take money for an intent.
type charge struct {
	id              string
	created         int64
	intent          *intent
	method          *method
	metadata        map[string]string // of the intent when the charge was made
	amount          int64
	captured        int64 // 0: only authorized, or failed
	refunded        int64 // including what a partial capture or a cancellation has released
	isCaptured      bool
	isAuthenticated bool
	failure         *failure // nil: the card was accepted
	entry           *entry   // nil: not captured, or not settled yet
	dispute         *dispute
}

func (s *Stub) addCharge(in *intent, isAuthenticated bool) *charge {
	ch := &charge{id: newID("ch"), created: s.now().Unix(), intent: in, method: in.method, metadata: in.metadata, amount: in.amount, isAuthenticated: isAuthenticated}
	s.objects[ch.id], s.charges, in.latest = ch, append(s.charges, ch), ch
	return ch
}

func (s *Stub) addFailedCharge(in *intent, m *method, reason *failure) *charge {
	ch := s.addCharge(in, false)
	ch.method, ch.failure = m, reason
	return ch
}

// settleCharge captures an amount and releases the rest. With capture_method automatic_async the balance transaction follows
// later, as at Stripe.
func (s *Stub) settleCharge(ch *charge, amount int64) {
	ch.isCaptured, ch.captured = true, amount
	if rest := ch.amount - amount; rest > 0 {
		s.releaseCharge(ch, rest)
	}
	settle := func() {
		ch.entry = s.addEntry(&entry{kind: "charge", category: "charge", amount: amount, fee: s.options.Fee(amount, ch.intent.currency), currency: ch.intent.currency, source: ch.id, isAvailable: ch.method.card.isAvailable})
	}
	if ch.intent.capture != "automatic_async" {
		settle()
		return
	}
	s.later(s.options.AsyncDelay, func() {
		settle()
		s.emit("charge.updated", ch)
	})
}

// releaseCharge gives an authorized amount back, of which nothing was captured. Stripe shows this as a refund without a balance
// transaction.
func (s *Stub) releaseCharge(ch *charge, amount int64) {
	ch.refunded += amount
	r := &refund{id: newID("re"), created: s.now().Unix(), charge: ch, amount: amount, status: "succeeded", isRelease: true, metadata: map[string]string{}}
	s.objects[r.id], s.refunds = r, append(s.refunds, r)
}

func (s *Stub) listCharges(c *call) (object, *failure) {
	return listOf(c, s.charges, func(ch *charge) bool {
		return c.admits("payment_intent", ch.intent.id) && c.admits("customer", ch.intent.customer)
	})
}

func (ch *charge) status() string {
	if ch.failure != nil {
		return "failed"
	}
	return "succeeded"
}

func (ch *charge) json() object {
	in, m := ch.intent, ch.method
	o := object{
		"id": ch.id, "object": "charge", "amount": ch.amount, "amount_captured": ch.captured, "amount_refunded": ch.refunded, "application": nil,
		"application_fee": nil, "application_fee_amount": nil, "balance_transaction": nil, "billing_details": m.billingDetails(),
		"calculated_statement_descriptor": "STRIPESTUB", "captured": ch.isCaptured, "created": ch.created, "currency": in.currency, "customer": nullable(in.customer),
		"description": nullable(in.description), "disputed": ch.dispute != nil, "failure_balance_transaction": nil, "failure_code": nil, "failure_message": nil,
		"fraud_details": object{}, "livemode": false, "metadata": ch.metadata, "on_behalf_of": nil, "outcome": ch.outcome(), "paid": ch.failure == nil,
		"payment_intent": in.id, "payment_method": m.id, "payment_method_details": object{"type": "card", "card": ch.cardDetails()}, "receipt_email": nullable(in.receiptEmail),
		"receipt_number": nil, "receipt_url": nil, "refunded": ch.refunded > 0 && ch.refunded == ch.amount, "review": nil, "shipping": nil, "source_transfer": nil,
		"statement_descriptor": nil, "statement_descriptor_suffix": nullable(in.suffix), "status": ch.status(), "transfer_data": nil, "transfer_group": nil,
	}
	if in.suffix != "" {
		o["calculated_statement_descriptor"] = "STRIPESTUB* " + in.suffix
	}
	if ch.entry != nil {
		o["balance_transaction"] = ch.entry.id
	}
	if ch.failure != nil {
		o["failure_code"], o["failure_message"] = ch.failure.code, ch.failure.message
	}
	return o
}

func (ch *charge) outcome() object {
	o := object{
		"advice_code": nil, "network_advice_code": nil, "network_decline_code": nil, "network_status": "approved_by_network", "reason": nil,
		"risk_level": "normal", "risk_score": int64(12), "seller_message": "Payment complete.", "type": "authorized",
	}
	if ch.failure != nil {
		o["network_status"], o["reason"], o["type"] = "declined_by_network", nullable(ch.failure.declineCode), "issuer_declined"
		o["seller_message"] = "The bank did not return any further details with this decline."
	}
	if ch.failure == fraudDecline {
		o["network_status"], o["reason"], o["type"], o["risk_level"] = "not_sent_to_network", "highest_risk_level", "blocked", "highest"
	}
	return o
}

func (ch *charge) cardDetails() object {
	m, in := ch.method, ch.intent
	o := object{
		"amount_authorized": ch.amount, "authorization_code": nil, "brand": m.card.brandName(), "checks": m.checks(), "country": "US", "exp_month": m.expMonth, "exp_year": m.expYear,
		"extended_authorization": object{"status": "disabled"}, "fingerprint": m.fingerprint(), "funding": m.card.fundingName(), "incremental_authorization": object{"status": "unavailable"},
		"installments": nil, "last4": m.card.last4(), "mandate": nil, "multicapture": object{"status": "unavailable"}, "network": m.card.brandName(),
		"network_token": object{"used": false}, "network_transaction_id": nil, "overcapture": object{"maximum_amount_capturable": ch.amount, "status": "unavailable"},
		"regulated_status": "unregulated", "three_d_secure": nil, "wallet": nil,
	}
	if ch.isAuthenticated {
		o["three_d_secure"] = object{
			"authentication_flow": "challenge", "electronic_commerce_indicator": "05", "exemption_indicator": nil, "result": "authenticated",
			"result_reason": nil, "transaction_id": nil, "version": "2.2.0",
		}
	}
	if in.capture == "manual" && !ch.isCaptured && ch.failure == nil {
		o["capture_before"] = ch.created + int64(authorizationLifetime.Seconds())
	}
	return o
}
