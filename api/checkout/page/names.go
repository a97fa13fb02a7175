package page

// properNames maps the protocol's names of payment methods and card schemes to the names that payers see, if these are the same
// in every language.
var properNames = map[string]string{
	"apple_pay": "Apple Pay", "google_pay": "Google Pay", "square_nonce": "Square", "upi": "UPI", "boleto": "Boleto",
	"revolut_payout": "Revolut", "native_gas": "Gas", "username_subscription": "Telegram", "pix": "Pix", "oxxo": "OXXO",
	"klarna": "Klarna", "alipay": "Alipay", "wechat_pay": "WeChat Pay", "paynow": "PayNow", "grabpay": "GrabPay",
	"ideal": "iDEAL", "bancontact": "Bancontact", "paypal_account": "PayPal", "venmo": "Venmo",
	"interac_present": "Interac", "mollie_redirect": "Mollie", "revolut_checkout": "Revolut",

	"visa": "Visa", "mastercard": "Mastercard", "amex": "American Express", "mir": "Mir", "discover": "Discover",
	"jcb": "JCB", "diners": "Diners Club", "unionpay": "UnionPay", "uzcard": "Uzcard", "humo": "Humo", "troy": "Troy",
	"maestro": "Maestro",
}

// sharedNames maps a method to the method by whose name payers know it.
var sharedNames = map[string]string{"encrypted_qr": "qr_code", "open_banking_redirect": "open_banking"}

// CardBrand is a range of the first four digits of card numbers, both bounds included, that belongs to a card scheme.
type CardBrand struct {
	From, To int
	Name     string // the scheme's name in the protocol, such as visa
}

// BrandName returns the name of a card scheme as payers see it; empty for an unknown scheme.
func BrandName(scheme string) string { return properNames[scheme] }
