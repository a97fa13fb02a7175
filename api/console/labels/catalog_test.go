package labels

import (
	"testing"

	"mizan/api/web/locale/localetest"
)

// names are words that people write in Latin letters in every language: brands, abbreviations, and literal values.
var names = []string{
	"API", "Alipay", "American", "Apple", "Bancontact", "Beancount", "Boleto", "CIDR", "CSV", "Checkout", "Club", "D",
	"Diners", "Discover", "EMI", "Excel", "Express", "GET", "Google", "GrabPay", "HTTP", "Humo", "IP", "Interac", "JCB",
	"JSON", "Klarna", "Maestro", "Mastercard", "Mir", "Mollie", "OXXO", "PEM", "POST", "Parquet", "Pay", "PayNow",
	"PayPal", "Pix", "QR", "RRN", "Revolut", "SBP", "SEPA", "Secure", "Square", "Stripe", "Telegram", "Troy", "UPI", "UTC", "UUID",
	"UnionPay", "Uzcard", "Venmo", "Visa", "WeChat", "XLSX", "all", "api", "camt", "control", "dual", "finance", "hledger", "iDEAL", "islamic",
	"participatory", "rrggbb", "v",
}

var checked = localetest.Catalogs{Files: files, SameWords: map[string][]string{"ru": {"JSON", "RRN"}}, ForeignWords: names, Alike: []string{"words.brand.", "words.format.", "words.method.", "words.type."}}

func TestNoLabelIsLeftInEnglish(t *testing.T) { checked.CheckTranslations(t) }

func TestLabelsAreInTheScriptOfTheLanguage(t *testing.T) { checked.CheckScripts(t) }
