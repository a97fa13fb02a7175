package stripestub

import (
	"crypto/rand"
	"net/http"
	"strings"
)

// method is a PaymentMethod.
type method struct {
	id       string
	created  int64
	card     *card
	expMonth int64
	expYear  int64
	hasCVC   bool
	billing  map[string]string // by name, such as billing_details[name]
	customer string
	metadata map[string]string
	isUsed   bool // charged without being attached to a customer: it cannot be used again
	isSetUp  bool // later off-session payments need no authentication
}

// customer is a Customer.
type customer struct {
	id                              string
	created                         int64
	name, email, phone, description string
	metadata                        map[string]string
}

// newID returns an id such as pi_ and 24 letters and digits.
func newID(prefix string) string { return prefix + "_" + rand.Text()[:24] }

// nullable returns nil for an empty text.
func nullable(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// rawCardText is Stripe's answer to a card number from a server that may not send it. The error has no code. Stripe documents
// neither the text nor the status 402; the text is known from reports of users.
const rawCardText = "Sending credit card numbers directly to the Stripe API is generally unsafe. We suggest you use test tokens that map to the test card you are using, see https://stripe.com/docs/testing. To enable testing raw card data APIs, see https://support.stripe.com/questions/enabling-access-to-raw-card-data-apis."

func (s *Stub) createMethod(c *call) (object, *failure) {
	if c.text("type") == "" {
		return nil, invalid("parameter_missing", "type", "Missing required param: type.")
	}
	if c.has("card[number]") && !s.options.RawCards && !c.isPublishable {
		return nil, &failure{status: http.StatusPaymentRequired, kind: invalidRequest, message: rawCardText}
	}
	found, f := c.cardFrom(s.now())
	if f != nil {
		return nil, f
	}
	m := s.addMethod(found)
	m.hasCVC = c.has("card[cvc]")
	if c.has("card[number]") {
		m.expMonth, m.expYear = c.integer("card[exp_month]"), c.expiryYear()
	}
	for _, field := range billing {
		if value := c.text(field); value != "" {
			m.billing[field] = value
		}
	}
	m.metadata = c.metadata(nil)
	return m.json(), nil
}

func (s *Stub) addMethod(card *card) *method {
	now := s.now()
	m := &method{id: newID("pm"), created: now.Unix(), card: card, expMonth: int64(now.Month()), expYear: int64(now.Year()) + 1, billing: map[string]string{}, metadata: map[string]string{}}
	m.isSetUp = card.authentication == onSession
	s.objects[m.id] = m
	return m
}

// findMethod returns the PaymentMethod with the id. A test PaymentMethod such as pm_card_visa is created by each use.
func (s *Stub) findMethod(id, param string, status int) (*method, *failure) {
	if m, ok := s.objects[id].(*method); ok {
		return m, nil
	}
	if name, ok := strings.CutPrefix(id, "pm_card_"); ok {
		if found := cardBy(func(k *card) bool { return k.name == name }); found != nil {
			return s.addMethod(found), nil
		}
	}
	return nil, missing(status, "PaymentMethod", id, param)
}

func (s *Stub) attachMethod(c *call) (object, *failure) {
	m, f := s.findMethod(c.id, "payment_method", http.StatusNotFound)
	if f != nil {
		return nil, f
	}
	if _, ok := s.objects[c.text("customer")].(*customer); !ok {
		return nil, missing(400, "customer", c.text("customer"), "customer")
	}
	switch {
	case m.customer == c.text("customer"):
		return m.json(), nil
	case m.customer != "":
		return nil, invalid("", "", "The payment method you provided has already been attached to a customer.")
	case m.isUsed:
		return nil, invalid("", "", usedMethodText)
	case m.card.decline != nil && !m.card.isAttachable && m.card.authentication == notEnrolled:
		copied := *m.card.decline
		return nil, &copied
	}
	m.customer = c.text("customer")
	s.emit("payment_method.attached", m)
	return m.json(), nil
}

func (s *Stub) detachMethod(c *call) (object, *failure) {
	m, f := s.findMethod(c.id, "payment_method", http.StatusNotFound)
	if f != nil {
		return nil, f
	}
	if m.customer == "" {
		return nil, invalid("", "", "The payment method you provided is not attached to a customer so detachment is impossible.")
	}
	m.customer, m.isUsed = "", true
	s.emit("payment_method.detached", m)
	return m.json(), nil
}

func (s *Stub) createCustomer(c *call) (object, *failure) {
	k := &customer{id: newID("cus"), created: s.now().Unix(), name: c.text("name"), email: c.text("email"), phone: c.text("phone"), description: c.text("description"), metadata: c.metadata(nil)}
	if id := c.text("payment_method"); id != "" {
		m, f := s.findMethod(id, "payment_method", 400)
		if f != nil {
			return nil, f
		}
		m.customer = k.id
	}
	s.objects[k.id] = k
	s.emit("customer.created", k)
	return k.json(), nil
}

func (m *method) json() object {
	return object{
		"id": m.id, "object": "payment_method", "allow_redisplay": "unspecified", "billing_details": m.billingDetails(), "created": m.created,
		"customer": nullable(m.customer), "livemode": false, "metadata": m.metadata, "type": "card",
		"card": object{
			"brand": m.card.brandName(), "checks": m.checks(), "country": "US", "display_brand": m.card.brandName(), "exp_month": m.expMonth, "exp_year": m.expYear,
			"fingerprint": m.fingerprint(), "funding": m.card.fundingName(), "generated_from": nil, "last4": m.card.last4(),
			"networks": object{"available": []any{m.card.brandName()}, "preferred": nil}, "regulated_status": "unregulated",
			"three_d_secure_usage": object{"supported": m.card.authentication != notEnrolled}, "wallet": nil,
		},
	}
}

func (m *method) fingerprint() string { return "fp" + m.card.number[:6] + m.card.last4() }

func (m *method) checks() object {
	cvc := any(nil)
	if m.hasCVC {
		cvc = "pass"
	}
	return object{"address_line1_check": nil, "address_postal_code_check": nil, "cvc_check": cvc}
}

func (m *method) billingDetails() object {
	field := func(name string) any { return nullable(m.billing["billing_details["+name+"]"]) }
	address := object{}
	for _, name := range []string{"city", "country", "line1", "line2", "postal_code", "state"} {
		address[name] = field("address][" + name)
	}
	return object{"address": address, "email": field("email"), "name": field("name"), "phone": field("phone"), "tax_id": nil}
}

func (k *customer) json() object {
	return object{
		"id": k.id, "object": "customer", "address": nil, "balance": int64(0), "created": k.created, "currency": nil, "default_source": nil,
		"delinquent": false, "description": nullable(k.description), "discount": nil, "email": nullable(k.email), "livemode": false,
		"invoice_prefix":   k.id[len(k.id)-8:],
		"invoice_settings": object{"custom_fields": nil, "default_payment_method": nil, "footer": nil, "rendering_options": nil},
		"metadata":         k.metadata, "name": nullable(k.name), "phone": nullable(k.phone), "preferred_locales": []any{}, "shipping": nil, "tax_exempt": "none", "test_clock": nil,
	}
}
