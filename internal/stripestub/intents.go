package stripestub

import (
	"net/http"
	"time"
)

// Statuses of a PaymentIntent.
const (
	requiresMethod       = "requires_payment_method"
	requiresConfirmation = "requires_confirmation"
	requiresAction       = "requires_action"
	processing           = "processing"
	requiresCapture      = "requires_capture"
	canceled             = "canceled"
	succeeded            = "succeeded"
)

// intent is a PaymentIntent.
type intent struct {
	id, secret, currency, status                  string
	amount, capturable, received                  int64
	created, canceledAt                           int64
	cancelReason, customer, description           string
	descriptor, suffix, receiptEmail, futureUsage string
	capture, confirmation, threeDSecure           string
	returnURL                                     string
	metadata                                      map[string]string
	types                                         []string
	automatic                                     string // allow_redirects of automatic_payment_methods; empty: payment_method_types were given
	method                                        *method
	lastError                                     *failure
	latest                                        *charge
	challenge                                     *challenge // nil: no action is required
	versions                                      []version
}

// version is an intent's representation after a change. The search shows the last one that is old enough.
type version struct {
	at    time.Time
	shown object
}

func (s *Stub) createIntent(c *call) (object, *failure) {
	currency, f := checkCurrency(c.text("currency"))
	if f == nil {
		f = checkAmount(c.integer("amount"), currency)
	}
	if f != nil {
		return nil, f
	}
	if !c.isTrue("confirm") {
		for _, name := range []string{"off_session", "return_url", "error_on_requires_action"} {
			if c.has(name) {
				return nil, invalid("", name, "The parameter `%s` cannot be passed when creating a PaymentIntent unless `confirm` is set to true.", name)
			}
		}
	}
	in := &intent{
		id: newID("pi"), currency: currency, status: requiresMethod, amount: c.integer("amount"), created: s.now().Unix(), capture: "automatic_async",
		confirmation: "automatic", threeDSecure: "automatic", types: []string{"card"}, automatic: "always", metadata: c.metadata(nil),
	}
	in.secret = in.id + "_secret_" + newID("x")[2:]
	switch isAutomatic := c.has("automatic_payment_methods[enabled]"); {
	case isAutomatic && c.has("payment_method_types[]"):
		return nil, invalid("", "payment_method_types", "You may only specify one of these parameters: automatic_payment_methods, payment_method_types.")
	case c.has("payment_method_types[]"), isAutomatic && !c.isTrue("automatic_payment_methods[enabled]"):
		in.automatic = ""
	case c.has("automatic_payment_methods[allow_redirects]"):
		in.automatic = c.text("automatic_payment_methods[allow_redirects]")
	}
	if mode := c.text("confirmation_method"); mode != "" {
		in.confirmation = mode
	}
	if f = s.change(in, c); f == nil && c.isTrue("confirm") {
		f = in.checkConfirm(c)
	}
	if f != nil {
		return nil, f
	}
	s.objects[in.id], s.intents = in, append(s.intents, in)
	s.emit("payment_intent.created", in)
	if c.isTrue("confirm") {
		f = s.confirm(in, c)
	}
	return s.changed(in), f
}

// change takes over the parameters that create, update and confirm have in common.
func (s *Stub) change(in *intent, c *call) *failure {
	for name, field := range map[string]*string{
		"customer": &in.customer, "description": &in.description, "statement_descriptor": &in.descriptor, "statement_descriptor_suffix": &in.suffix,
		"receipt_email": &in.receiptEmail, "setup_future_usage": &in.futureUsage, "capture_method": &in.capture, "return_url": &in.returnURL,
		"payment_method_options[card][request_three_d_secure]": &in.threeDSecure,
	} {
		if c.has(name) {
			*field = c.text(name)
		}
	}
	for _, name := range c.form["payment_method_types[]"] {
		if name != "card" {
			return invalid("payment_intent_invalid_parameter", "payment_method_types", "The payment method type provided: %s is invalid. Please ensure the provided type is activated in your dashboard and your account is enabled for any preview features that you are trying to use.", name)
		}
	}
	if _, ok := s.objects[in.customer].(*customer); in.customer != "" && !ok {
		return missing(400, "customer", in.customer, "customer")
	}
	switch {
	case in.descriptor != "" && c.has("statement_descriptor"):
		return invalid("", "statement_descriptor", "The `statement_descriptor` parameter is not supported for the payment method type `card`. Use `statement_descriptor_suffix` instead.")
	case len(in.suffix) > 22:
		return invalid("", "statement_descriptor_suffix", "The statement descriptor suffix must be at most 22 characters.")
	}
	m := in.method
	var f *failure
	if id := c.text("payment_method"); id != "" {
		m, f = s.findMethod(id, "payment_method", 400)
	}
	if f != nil {
		return f
	}
	if m != in.method && m.customer != in.customer && m.customer != "" {
		return invalid("", "payment_method", "The customer does not have a payment method with the ID %s. The payment method must be attached to the customer.", m.id)
	}
	if in.method = m; m != nil && in.status == requiresMethod {
		in.status = requiresConfirmation
	}
	return nil
}

// changed remembers the intent's new version for the search, and returns it.
func (s *Stub) changed(in *intent) object {
	shown := in.json()
	in.versions = append(in.versions, version{s.now(), shown})
	return in.json()
}

func (s *Stub) findIntent(id string) (*intent, *failure) {
	if in, ok := s.objects[id].(*intent); ok {
		return in, nil
	}
	return nil, missing(http.StatusNotFound, "payment_intent", id, "intent")
}

// updateIntent changes an intent. After its confirmation only descriptions and metadata can change.
func (s *Stub) updateIntent(c *call) (object, *failure) {
	in, f := s.findIntent(c.id)
	if f != nil {
		return nil, f
	}
	isOpen := in.status == requiresMethod || in.status == requiresConfirmation || in.status == requiresAction
	for _, name := range []string{"amount", "currency", "payment_method", "capture_method", "customer", "setup_future_usage"} {
		if c.has(name) && !isOpen {
			return nil, unexpectedState(in, "This PaymentIntent's %s could not be updated because it has a status of %s. You may only update the %s of a PaymentIntent with one of the following statuses: requires_payment_method, requires_confirmation, requires_action.", name, in.status, name)
		}
	}
	changed, currency, amount := *in, in.currency, in.amount
	if c.has("currency") {
		if currency, f = checkCurrency(c.text("currency")); f != nil {
			return nil, f
		}
	}
	if c.has("amount") {
		amount = c.integer("amount")
	}
	if f = checkAmount(amount, currency); f == nil {
		f = s.change(&changed, c)
	}
	if f != nil {
		return nil, f
	}
	changed.amount, changed.currency, changed.metadata = amount, currency, c.metadata(in.metadata)
	*in = changed
	return s.changed(in), nil
}

func (s *Stub) captureIntent(c *call) (object, *failure) {
	in, f := s.findIntent(c.id)
	if f != nil {
		return nil, f
	}
	amount := in.capturable
	if c.has("amount_to_capture") {
		amount = c.integer("amount_to_capture")
	}
	switch {
	case in.status == succeeded:
		return nil, unexpectedState(in, "This PaymentIntent could not be captured because it has already been captured.")
	case in.status != requiresCapture:
		return nil, unexpectedState(in, "This PaymentIntent could not be captured because it has a status of %s. Only a PaymentIntent with one of the following statuses may be captured: requires_capture.", in.status)
	case amount < 1:
		return nil, invalid("parameter_invalid_integer", "amount_to_capture", "This value must be greater than or equal to 1.")
	case amount > in.capturable:
		return nil, invalid("amount_too_large", "amount_to_capture", "The provided amount_to_capture (%d) is greater than the capturable amount (%d).", amount, in.capturable)
	}
	if f := checkDigits(amount, in.currency, wholeUnits); f != nil {
		return nil, f
	}
	in.metadata = c.metadata(in.metadata)
	if c.has("statement_descriptor_suffix") {
		in.suffix = c.text("statement_descriptor_suffix")
	}
	s.settleCharge(in.latest, amount)
	in.status, in.capturable, in.received = succeeded, 0, amount
	s.emit("charge.captured", in.latest)
	s.emit("payment_intent.succeeded", in)
	return s.changed(in), nil
}

func (s *Stub) cancelIntent(c *call) (object, *failure) {
	in, f := s.findIntent(c.id)
	if f != nil {
		return nil, f
	}
	if in.status == succeeded || in.status == canceled || in.status == processing {
		return nil, unexpectedState(in, "You cannot cancel this PaymentIntent because it has a status of %s. Only a PaymentIntent with one of the following statuses may be canceled: requires_payment_method, requires_capture, requires_confirmation, requires_action.", in.status)
	}
	if in.status == requiresCapture {
		s.releaseCharge(in.latest, in.latest.amount)
		s.emit("charge.refunded", in.latest)
	}
	in.status, in.capturable, in.challenge, in.canceledAt, in.cancelReason = canceled, 0, nil, s.now().Unix(), c.text("cancellation_reason")
	s.emit("payment_intent.canceled", in)
	return s.changed(in), nil
}

func (in *intent) json() object {
	o := object{
		"id": in.id, "object": "payment_intent", "amount": in.amount, "amount_capturable": in.capturable, "amount_details": object{"tip": object{}},
		"amount_received": in.received, "application": nil, "application_fee_amount": nil, "automatic_payment_methods": nil, "canceled_at": nil,
		"cancellation_reason": nullable(in.cancelReason), "capture_method": in.capture, "client_secret": in.secret, "confirmation_method": in.confirmation,
		"created": in.created, "currency": in.currency, "customer": nullable(in.customer), "description": nullable(in.description), "last_payment_error": nil,
		"latest_charge": nil, "livemode": false, "metadata": in.metadata, "next_action": in.challenge.nextAction(), "on_behalf_of": nil, "payment_method": nil,
		"payment_method_options": object{"card": object{"installments": nil, "mandate_options": nil, "network": nil, "request_three_d_secure": in.threeDSecure}},
		"payment_method_types":   in.types, "processing": nil, "receipt_email": nullable(in.receiptEmail), "review": nil, "setup_future_usage": nullable(in.futureUsage),
		"shipping": nil, "statement_descriptor": nullable(in.descriptor), "statement_descriptor_suffix": nullable(in.suffix), "status": in.status,
		"transfer_data": nil, "transfer_group": nil,
	}
	if in.automatic != "" {
		o["automatic_payment_methods"] = object{"allow_redirects": in.automatic, "enabled": true}
	}
	if in.canceledAt != 0 {
		o["canceled_at"] = in.canceledAt
	}
	if in.lastError != nil {
		o["last_payment_error"] = in.lastError.json()
	}
	if in.latest != nil {
		o["latest_charge"] = in.latest.id
	}
	if in.method != nil {
		o["payment_method"] = in.method.id
	}
	return o
}
