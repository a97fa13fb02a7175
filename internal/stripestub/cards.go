package stripestub

import (
	"strings"
	"time"
)

// authentication says when a card asks for 3-D Secure.
type authentication int

const (
	notEnrolled  authentication = iota
	onRequest                   // only if the request asks for it (request_three_d_secure any or challenge)
	unlessSetUp                 // on session always; off session unless the card has been set up
	onSession                   // on session always; the card is set up already
	onEachCharge                // always, also off session
)

// card is a test card of docs.stripe.com/testing and what it does. The test PaymentMethod is pm_card_ and the name, the test
// token is tok_ and the name.
type card struct {
	number, name, brand, funding string
	authentication               authentication
	decline                      *failure // of a charge; nil: approved
	isAttachable                 bool     // attaching succeeds although charges are declined
	refund                       string   // "pending": refunds wait; "failed": refunds fail later
	dispute                      string   // reason of the dispute that follows a charge
	isInquiry                    bool     // the dispute is only an inquiry, which moves no money
	isAvailable                  bool     // a charge is available at once
}

// Declines of test cards, with the texts of Stripe.
var (
	genericDecline    = declined("card_declined", "generic_decline", "", "Your card was declined.")
	insufficientFunds = declined("card_declined", "insufficient_funds", "", "Your card has insufficient funds.")
	fraudDecline      = declined("card_declined", "fraudulent", "", "Your card was declined.")
	notATestCard      = declined("card_declined", "test_mode_live_card", "", "Your card was declined. Your request was in test mode, but used a non test card. For a list of valid test cards, visit: https://stripe.com/docs/testing.")
	notAuthenticated  = declined("authentication_required", "authentication_required", "", "Your card was declined. This transaction requires authentication.")
)

var cards = []card{
	{number: "4242424242424242", name: "visa", brand: "visa", authentication: onRequest},
	{number: "4000056655665556", name: "visa_debit", brand: "visa", funding: "debit", authentication: onRequest},
	{number: "5555555555554444", name: "mastercard", brand: "mastercard", authentication: onRequest},
	{number: "2223003122003222", name: "mastercard_2series", brand: "mastercard"},
	{number: "5200828282828210", name: "mastercard_debit", brand: "mastercard", funding: "debit"},
	{number: "5105105105105100", name: "mastercard_prepaid", brand: "mastercard", funding: "prepaid"},
	{number: "378282246310005", name: "amex", brand: "amex"},
	{number: "6011111111111117", name: "discover", brand: "discover"},
	{number: "3056930009020004", name: "diners", brand: "diners"},
	{number: "3566002020360505", name: "jcb", brand: "jcb"},
	{number: "6200000000000005", name: "unionpay", brand: "unionpay"},

	{number: "4000000000000002", name: "visa_chargeDeclined", decline: genericDecline},
	{number: "4000000000009995", name: "visa_chargeDeclinedInsufficientFunds", decline: insufficientFunds},
	{number: "4000000000009987", name: "visa_chargeDeclinedLostCard", decline: declined("card_declined", "lost_card", "", "Your card was declined.")},
	{number: "4000000000009979", name: "visa_chargeDeclinedStolenCard", decline: declined("card_declined", "stolen_card", "", "Your card was declined.")},
	{number: "4000000000000069", name: "chargeDeclinedExpiredCard", decline: declined("expired_card", "expired_card", "exp_month", "Your card has expired.")},
	{number: "4000000000000127", name: "chargeDeclinedIncorrectCvc", decline: declined("incorrect_cvc", "incorrect_cvc", "cvc", "Your card's security code is incorrect.")},
	{number: "4000000000000119", name: "chargeDeclinedProcessingError", decline: declined("processing_error", "processing_error", "", "An error occurred while processing your card. Try again in a little bit.")},
	{number: "4000000000006975", name: "visa_chargeDeclinedVelocityLimitExceeded", decline: declined("card_declined", "card_velocity_exceeded", "", "Your card was declined for making repeated attempts too frequently or exceeding its amount limit.")},
	{number: "4100000000000019", name: "radarBlock", decline: fraudDecline},
	{number: "4000000000000341", name: "chargeCustomerFail", decline: genericDecline, isAttachable: true},

	{number: "4000002500003155", name: "authenticationRequiredOnSetup", authentication: unlessSetUp},
	{number: "4000002760003184", name: "authenticationRequired", authentication: onEachCharge},
	{number: "4000003800000446", name: "authenticationRequiredSetupForOffSession", authentication: onSession},
	{number: "4000008260003178", name: "authenticationRequiredChargeDeclinedInsufficientFunds", authentication: unlessSetUp, decline: insufficientFunds},
	{number: "4000000000003220", name: "threeDSecure2Required", authentication: onEachCharge},
	{number: "4000000000003063", name: "threeDSecureRequired", authentication: onEachCharge},
	{number: "4000008400001629", name: "threeDSecureRequiredChargeDeclined", authentication: onEachCharge, decline: genericDecline},
	{number: "4000000000003055", name: "threeDSecureOptional", authentication: onRequest},

	{number: "4000000000000259", name: "createDispute", dispute: "fraudulent"},
	{number: "4000000000002685", name: "createDisputeProductNotReceived", dispute: "product_not_received"},
	{number: "4000000000001976", name: "createDisputeInquiry", dispute: "fraudulent", isInquiry: true},
	{number: "4000000000007726", name: "pendingRefund", refund: "pending"},
	{number: "4000000000005126", name: "refundFail", refund: "failed"},
	{number: "4000000000000077", name: "bypassPending", isAvailable: true},
}

// cardBy returns the test card for which the condition holds, or nil.
func cardBy(holds func(*card) bool) *card {
	for i := range cards {
		if holds(&cards[i]) {
			return &cards[i]
		}
	}
	return nil
}

func (c *card) last4() string { return c.number[len(c.number)-4:] }

func (c *card) brandName() string {
	if c.brand == "" {
		return "visa"
	}
	return c.brand
}

func (c *card) fundingName() string {
	if c.funding == "" {
		return "credit"
	}
	return c.funding
}

// cardFrom returns the card of a form, after Stripe's checks of number, expiry and CVC. Numbers with spaces or dashes are
// accepted.
func (c *call) cardFrom(now time.Time) (*card, *failure) {
	if token := c.text("card[token]"); token != "" {
		name, ok := strings.CutPrefix(token, "tok_")
		if found := cardBy(func(k *card) bool { return k.name == name }); ok && found != nil {
			return found, nil
		}
		return nil, missing(400, "token", token, "card[token]")
	}
	number := strings.NewReplacer(" ", "", "-", "").Replace(c.text("card[number]"))
	month, year, cvc := c.integer("card[exp_month]"), c.expiryYear(), c.text("card[cvc]")
	switch thisYear, thisMonth := int64(now.Year()), int64(now.Month()); {
	case number == "":
		return nil, invalid("parameter_missing", "card", "Missing required param: card.")
	case len(number) < 12 || len(number) > 19 || strings.Trim(number, "0123456789") != "":
		return nil, declined("invalid_number", "", "number", "The card number is not a valid credit card number.")
	case !hasCheckDigit(number):
		return nil, declined("incorrect_number", "", "number", "Your card number is incorrect.")
	case month < 1 || month > 12 || year == thisYear && month < thisMonth:
		return nil, declined("invalid_expiry_month", "", "exp_month", "Your card's expiration month is invalid.")
	case year < thisYear || year > thisYear+50:
		return nil, declined("invalid_expiry_year", "", "exp_year", "Your card's expiration year is invalid.")
	case cvc != "" && (len(cvc) < 3 || len(cvc) > 4 || strings.Trim(cvc, "0123456789") != ""):
		return nil, declined("invalid_cvc", "", "cvc", "Your card's security code is invalid.")
	}
	if found := cardBy(func(k *card) bool { return k.number == number }); found != nil {
		return found, nil
	}
	return &card{number: number, brand: "unknown", decline: notATestCard}, nil
}

// expiryYear returns the year of a form's card. Two digits are a year of this century.
func (c *call) expiryYear() int64 {
	year := c.integer("card[exp_year]")
	if year > 0 && year < 100 {
		year += 2000
	}
	return year
}

// hasCheckDigit tells whether the last digit fits, by the algorithm of Luhn (ISO/IEC 7812-1).
func hasCheckDigit(number string) bool {
	sum := 0
	for i := range number {
		digit := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if digit *= 2; digit > 9 {
				digit -= 9
			}
		}
		sum += digit
	}
	return sum%10 == 0
}
