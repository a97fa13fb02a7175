package stripestub

import (
	"slices"
	"strings"
)

// route is a call of the API. Its path and the names of its parameters are those of Stripe's OpenAPI description; one segment
// of the path may be a placeholder in braces, which stands for an id.
type route struct {
	method, path string
	params       []param
	run          func(s *Stub, c *call) (object, *failure)
}

// Lists of parameters that several routes accept.
var (
	expand     = optional(texts, "expand")
	paging     = slices.Concat(optional(integer, "limit"), optional(text, "starting_after", "ending_before"), expand)
	created    = optional(timestamp, "created", "created[gt]", "created[gte]", "created[lt]", "created[lte]")
	metadata   = optional(anyKey, "metadata")
	billing    = []string{"billing_details[name]", "billing_details[email]", "billing_details[phone]", "billing_details[address][line1]", "billing_details[address][line2]", "billing_details[address][city]", "billing_details[address][state]", "billing_details[address][postal_code]", "billing_details[address][country]"}
	cardFields = slices.Concat(optional(text, "card[number]", "card[cvc]", "card[token]"), optional(integer, "card[exp_month]", "card[exp_year]"), optional(text, billing...))
	methodType = oneOf("type", "card")

	// How an intent is paid: parameters of create, update and confirm.
	paying = slices.Concat(
		optional(text, "payment_method"), optional(texts, "payment_method_types"),
		oneOf("setup_future_usage", "", "off_session", "on_session"), oneOf("capture_method", "automatic", "automatic_async", "manual"),
		oneOf("payment_method_options[card][request_three_d_secure]", "any", "automatic", "challenge"), optional(text, "receipt_email"), expand)
	describing = slices.Concat(optional(text, "customer", "description", "statement_descriptor", "statement_descriptor_suffix"), metadata)
	confirming = slices.Concat(optional(text, "return_url"), optional(boolean, "off_session", "error_on_requires_action", "use_stripe_sdk"))
)

// routes are all calls of the API that the stub knows. It is set by init, because the functions refer to it.
var routes []route

func init() {
	routes = []route{
		{"POST", "/v1/payment_methods", slices.Concat(methodType, cardFields, metadata, expand), (*Stub).createMethod},
		{"GET", "/v1/payment_methods/{payment_method}", expand, retrieve("PaymentMethod")},
		{"POST", "/v1/payment_methods/{payment_method}/attach", slices.Concat(required(text, "customer"), expand), (*Stub).attachMethod},
		{"POST", "/v1/payment_methods/{payment_method}/detach", expand, (*Stub).detachMethod},
		{"POST", "/v1/customers", slices.Concat(optional(text, "name", "email", "phone", "description", "payment_method"), metadata, expand), (*Stub).createCustomer},
		{"GET", "/v1/customers/{customer}", expand, retrieve("customer")},
		{"POST", "/v1/payment_intents", slices.Concat(required(integer, "amount"), required(text, "currency"), optional(boolean, "confirm", "automatic_payment_methods[enabled]"),
			oneOf("automatic_payment_methods[allow_redirects]", "always", "never"), oneOf("confirmation_method", "automatic", "manual"), describing, paying, confirming), (*Stub).createIntent},
		{"GET", "/v1/payment_intents/search", slices.Concat(required(text, "query"), optional(integer, "limit"), optional(text, "page"), expand), (*Stub).searchIntents},
		{"GET", "/v1/payment_intents/{intent}", expand, retrieve("payment_intent")},
		{"POST", "/v1/payment_intents/{intent}", slices.Concat(optional(integer, "amount"), optional(text, "currency"), describing, paying), (*Stub).updateIntent},
		{"POST", "/v1/payment_intents/{intent}/confirm", slices.Concat(paying, confirming, optional(text, "client_secret")), (*Stub).confirmIntent},
		{"POST", "/v1/payment_intents/{intent}/capture", slices.Concat(optional(integer, "amount_to_capture"), optional(boolean, "final_capture"), optional(text, "statement_descriptor_suffix"), metadata, expand), (*Stub).captureIntent},
		{"POST", "/v1/payment_intents/{intent}/cancel", slices.Concat(oneOf("cancellation_reason", "abandoned", "duplicate", "fraudulent", "requested_by_customer"), expand), (*Stub).cancelIntent},
		{"GET", "/v1/charges", slices.Concat(optional(text, "payment_intent", "customer"), created, paging), (*Stub).listCharges},
		{"GET", "/v1/charges/{charge}", expand, retrieve("charge")},
		{"POST", "/v1/refunds", slices.Concat(optional(integer, "amount"), optional(text, "payment_intent", "charge"), oneOf("reason", "duplicate", "fraudulent", "requested_by_customer"), metadata, expand), (*Stub).createRefund},
		{"GET", "/v1/refunds", slices.Concat(optional(text, "payment_intent", "charge"), created, paging), (*Stub).listRefunds},
		{"GET", "/v1/refunds/{refund}", expand, retrieve("refund")},
		{"POST", "/v1/payouts", slices.Concat(required(integer, "amount"), required(text, "currency"), optional(text, "description", "destination", "statement_descriptor"), oneOf("method", "instant", "standard"), metadata, expand), (*Stub).createPayout},
		{"GET", "/v1/payouts", slices.Concat(oneOf("status", "canceled", "failed", "paid", "pending", "in_transit"), created, paging), (*Stub).listPayouts},
		{"GET", "/v1/payouts/{payout}", expand, retrieve("payout")},
		{"POST", "/v1/payouts/{payout}/cancel", expand, (*Stub).cancelPayout},
		{"GET", "/v1/disputes", slices.Concat(optional(text, "payment_intent", "charge"), created, paging), (*Stub).listDisputes},
		{"GET", "/v1/disputes/{dispute}", expand, retrieve("dispute")},
		{"POST", "/v1/disputes/{dispute}", slices.Concat(optional(text, "evidence[uncategorized_text]"), optional(boolean, "submit"), metadata, expand), (*Stub).updateDispute},
		{"POST", "/v1/disputes/{dispute}/close", expand, (*Stub).closeDispute},
		{"GET", "/v1/balance", expand, (*Stub).retrieveBalance},
		{"GET", "/v1/balance_transactions", slices.Concat(optional(text, "currency", "payout", "source", "type"), created, paging), (*Stub).listEntries},
		{"GET", "/v1/balance_transactions/{id}", expand, retrieve("balance transaction")},
		{"GET", "/v1/events", slices.Concat(optional(text, "type"), optional(texts, "types"), created, paging), (*Stub).listEvents},
		{"GET", "/v1/events/{id}", expand, retrieve("event")},
	}
}

// findRoute returns the route for a path, and the id in the path. A literal path such as search wins over an id.
func findRoute(method, path string) (*route, string) {
	var found *route
	var id string
	for i := range routes {
		r := &routes[i]
		if r.method != method {
			continue
		}
		if r.path == path {
			return r, ""
		}
		before, after, hasID := strings.Cut(r.path, "{")
		if !hasID {
			continue
		}
		_, after, _ = strings.Cut(after, "}")
		middle, ok := strings.CutPrefix(path, before)
		if middle, ok2 := strings.CutSuffix(middle, after); ok && ok2 && middle != "" && !strings.Contains(middle, "/") {
			found, id = r, middle
		}
	}
	return found, id
}
