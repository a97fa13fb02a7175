package stripestub

import "time"

// usedMethodText is Stripe's answer if a PaymentMethod without customer is used a second time.
const usedMethodText = "The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment, shared with a connected account without Customer attachment, or was detached from a Customer. It may not be used again. To use a PaymentMethod multiple times, you must attach it to a Customer first."

// returnURLText is Stripe's answer if a payment may redirect the payer but says not where to.
const returnURLText = "This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because some of these payment methods might redirect your customer off of your page, you must provide a `return_url`. If you don't want to accept redirect-based payment methods, set `automatic_payment_methods[enabled]` to `true` and `automatic_payment_methods[allow_redirects]` to `never` when creating Setup Intents and Payment Intents."

func (s *Stub) confirmIntent(c *call) (object, *failure) {
	in, f := s.findIntent(c.id)
	if f != nil {
		return nil, f
	}
	if c.isPublishable && c.text("client_secret") != in.secret { // the secret shows that the payer's browser may confirm this intent
		return nil, invalid("payment_intent_invalid_parameter", "client_secret", "The client_secret provided does not match any associated PaymentIntent on this account. Ensure the client_secret starts with the PaymentIntent ID and that both are from the same account.")
	}
	switch in.status {
	case succeeded:
		return nil, unexpectedState(in, "You cannot confirm this PaymentIntent because it has already succeeded after being previously confirmed.")
	case requiresCapture, canceled, processing:
		return nil, unexpectedState(in, "You cannot confirm this PaymentIntent because it has a status of %s. Only a PaymentIntent with one of the following statuses may be confirmed: requires_confirmation, requires_action.", in.status)
	}
	changed := *in
	if f = s.change(&changed, c); f == nil {
		f = changed.checkConfirm(c)
	}
	if f != nil {
		return nil, f
	}
	*in = changed
	f = s.confirm(in, c)
	return s.changed(in), f
}

// checkConfirm checks whether an intent can be confirmed.
func (in *intent) checkConfirm(c *call) *failure {
	m := in.method
	switch {
	case m == nil:
		return unexpectedState(in, "You cannot confirm this PaymentIntent because it's missing a payment method. You can either update the PaymentIntent with a payment method and then confirm it again, or confirm it again directly with a payment method or ConfirmationToken.")
	case m.isUsed && m.customer == "":
		return invalid("", "", usedMethodText)
	case in.automatic == "always" && in.returnURL == "" && !c.isTrue("off_session") && !c.isTrue("use_stripe_sdk"):
		f := invalid("", "return_url", returnURLText)
		f.intent = in.json()
		return f
	}
	return nil
}

// confirm tries to pay an intent that checkConfirm has accepted: with a challenge for the payer first if the card asks for it.
func (s *Stub) confirm(in *intent, c *call) *failure {
	in.challenge, in.lastError = nil, nil
	if !in.needsAuthentication(c.isTrue("off_session")) {
		return s.pay(in, false)
	}
	if c.isTrue("off_session") || c.isTrue("error_on_requires_action") {
		return s.decline(in, notAuthenticated)
	}
	in.status, in.challenge = requiresAction, s.newChallenge(in)
	s.emit("payment_intent.requires_action", in)
	return nil
}

func (in *intent) needsAuthentication(isOffSession bool) bool {
	m := in.method
	switch m.card.authentication {
	case onEachCharge:
		return true
	case unlessSetUp, onSession:
		return !isOffSession || !m.isSetUp
	case onRequest:
		return !isOffSession && in.threeDSecure != "automatic"
	}
	return false
}

// pay charges the card of an intent, now or, if payments are slow, later.
func (s *Stub) pay(in *intent, isAuthenticated bool) *failure {
	if !s.isSlow {
		return s.finishPayment(in, isAuthenticated)
	}
	in.status = processing
	s.emit("payment_intent.processing", in)
	s.later(s.options.AsyncDelay, func() {
		_ = s.finishPayment(in, isAuthenticated) // a decline is in last_payment_error
		s.changed(in)
	})
	return nil
}

// finishPayment authorizes the amount, and captures it unless the capture is manual. It returns the error of a declined card.
func (s *Stub) finishPayment(in *intent, isAuthenticated bool) *failure {
	m := in.method
	if m.card.decline != nil {
		return s.decline(in, m.card.decline)
	}
	ch := s.addCharge(in, isAuthenticated)
	if in.futureUsage != "" && in.customer != "" {
		m.customer = in.customer
		m.isSetUp = m.isSetUp || in.futureUsage == "off_session"
	}
	m.isUsed = m.customer == ""
	s.emit("charge.succeeded", ch)
	if in.capture == "manual" {
		in.status, in.capturable = requiresCapture, in.amount
		s.jobs = append(s.jobs, job{due: s.now().Add(authorizationLifetime), run: func() { s.expire(in, ch) }, isDeadline: true})
		s.emit("payment_intent.amount_capturable_updated", in)
		return nil
	}
	s.settleCharge(ch, in.amount)
	in.status, in.received = succeeded, in.amount
	s.emit("payment_intent.succeeded", in)
	if m.card.dispute != "" {
		s.later(s.options.AsyncDelay, func() { s.openDispute(ch, ch.amount-ch.refunded, m.card.dispute, m.card.isInquiry) })
	}
	return nil
}

// authorizationLifetime is the time after which Stripe releases an authorization that is not captured.
const authorizationLifetime = 7 * 24 * time.Hour

// expire cancels an intent whose authorization was not captured in time.
func (s *Stub) expire(in *intent, ch *charge) {
	if in.status != requiresCapture || in.latest != ch {
		return
	}
	s.releaseCharge(ch, ch.amount)
	in.status, in.capturable, in.canceledAt, in.cancelReason = canceled, 0, s.now().Unix(), "automatic"
	s.emit("charge.expired", ch)
	s.emit("payment_intent.canceled", in)
	s.changed(in)
}

// decline returns the error of a declined card, and sends the intent back to requires_payment_method.
func (s *Stub) decline(in *intent, reason *failure) *failure {
	lastError, f := *reason, *reason
	m := in.method
	lastError.method = m.json()
	in.lastError, in.status, in.method, in.challenge = &lastError, requiresMethod, nil, nil
	ch := s.addFailedCharge(in, m, reason)
	lastError.chargeID, f.chargeID, f.method = ch.id, ch.id, lastError.method
	s.emit("charge.failed", ch)
	s.emit("payment_intent.payment_failed", in)
	f.intent = in.json()
	return &f
}
