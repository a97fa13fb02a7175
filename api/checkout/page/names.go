package page

// properNames maps the API's names of payment methods and card schemes to the names that payers see. It contains only names
// that are the same in every language.
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

// sharedNames lists methods that payers know by the name of another method, and maps them to that method.
var sharedNames = map[string]string{"encrypted_qr": "qr_code", "open_banking_redirect": "open_banking"}

// CardBrand is a range of card numbers that belongs to a card scheme. From and To are the first four digits of its lowest and
// its highest numbers.
type CardBrand struct {
	From, To int
	Name     string // the scheme's name in the API, such as visa
}

// BrandName returns the name of a card scheme that payers see. If the scheme is unknown, the name is empty.
func BrandName(scheme string) string { return properNames[scheme] }
