package payments

import (
	"mizan/api/web"
	"mizan/api/web/credentials"
	"mizan/internal/jsonwalk"
	"mizan/internal/secret"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Bounds of the fields of a request that creates a transaction. Texts are bounded in characters, and fields that are stored as
// JSON in bytes. All fields together fit into a record.
const (
	maxTxID         = 255
	maxDescription  = 2000
	maxAddress      = 2048
	maxCustomer     = 16 << 10
	maxMerchantMeta = 64 << 10
)

// creation is the parsed params object of a request that creates a transaction.
type creation struct {
	// The JSON values as they were sent. They alias the body.
	kind, amount, currency, network, env, txid, description []byte
	returnURL, failURL, customer, lang, meta                []byte
	hosted, widget, moneyStorage                            []byte

	credentials.MoneyStorage
	request  payment.Request
	problems web.Problems
}

// read parses the params object. Names of members must match exactly. Unknown members are ignored, and null means absent.
func (c *creation) read(params []byte) {
	m := jsonwalk.MembersOf(params)
	for {
		name, value, more := m.Next()
		if !more {
			return
		}
		if field := c.field(name); field != nil {
			*field = web.NilIfNull(value)
		}
	}
}

func (c *creation) field(name []byte) *[]byte {
	switch string(name) {
	case "type":
		return &c.kind
	case "amount":
		return &c.amount
	case "currency":
		return &c.currency
	case "network":
		return &c.network
	case "env":
		return &c.env
	case "txid":
		return &c.txid
	case "description":
		return &c.description
	case "returnUrl":
		return &c.returnURL
	case "failUrl":
		return &c.failURL
	case "customer":
		return &c.customer
	case "lang":
		return &c.lang
	case "merchant_meta":
		return &c.meta
	case "hosted":
		return &c.hosted
	case "show_widget":
		return &c.widget
	case "money_storage":
		return &c.moneyStorage
	}
	return nil
}

// wantsPage tells whether the client asks for a hosted page, which is the service's page on which the payer enters the
// credentials.
func (c *creation) wantsPage() bool {
	return string(c.hosted) == "true" || string(c.widget) == "true"
}

// check validates every field in a fixed order and fills c.request. It adds a problem to c.problems for each invalid field.
// c.request gets copies of all values, so the body may be wiped afterwards.
func (c *creation) check(fingerprint func(number []byte) string) {
	r := &c.request
	r.Type = c.checkType()
	r.Amount = c.checkAmount()
	c.checkAsset()
	r.TxID = c.problems.Text("txid", c.txid, maxTxID)
	r.EmptyTxID = c.txid != nil && r.TxID == ""
	r.Description = c.problems.Text("description", c.description, maxDescription)
	r.HasDescription = c.description != nil
	r.ReturnURL = c.problems.Text("returnUrl", c.returnURL, maxAddress)
	r.FailURL = c.problems.Text("failUrl", c.failURL, maxAddress)
	r.Customer = c.problems.Object("customer", c.customer, maxCustomer)
	c.checkCustomer(r.Customer)
	r.Lang = c.checkLang()
	r.MerchantMeta = c.problems.Object("merchant_meta", c.meta, maxMerchantMeta)
	c.checkFlag("hosted", c.hosted)
	c.checkFlag("show_widget", c.widget)
	c.checkStorage(fingerprint)
}

func (c *creation) checkType() payment.Type {
	if c.kind == nil {
		c.problems.Add("type", "type is required")
		return 0
	}
	text, _ := jsonwalk.Text(c.kind)
	switch string(text) {
	case "payment":
		return payment.Payment
	case "payout":
		return payment.Payout
	}
	c.problems.Add("type", "type must be payment or payout")
	return 0
}

// checkAmount checks that the amount is a string of digits and greater than zero (specification, "Money rules" 1). The ledger
// checks the upper bound.
func (c *creation) checkAmount() money.Amount {
	if c.amount == nil {
		c.problems.Add("amount", "amount is required")
		return money.Amount{}
	}
	text, isText := jsonwalk.Text(c.amount)
	if !isText {
		c.problems.Add("amount", "amount must be a string of minor units")
		return money.Amount{}
	}
	if len(text) > 0 && text[0] == '-' {
		c.problems.Add("amount", "amount must be greater than zero")
		return money.Amount{}
	}
	amount, err := money.ParseBytes(text)
	switch {
	case err == money.ErrTooLong || err == money.ErrOverflow:
		c.problems.Add("amount", "amount is above 2^256 - 1")
	case err != nil:
		c.problems.Add("amount", "amount must be a string of digits without leading zeros")
	case amount.IsZero():
		c.problems.Add("amount", "amount must be greater than zero")
	}
	return amount
}

func (c *creation) checkAsset() {
	asset := money.Asset{Currency: "RUB", Env: money.Prod} // the defaults
	if c.currency != nil {
		asset.Currency = c.checkCurrency()
	}
	if c.env != nil {
		text, _ := jsonwalk.Text(c.env)
		switch string(text) {
		case "prod":
		case "test":
			asset.Env = money.Test
		default:
			c.problems.Add("env", "env must be prod or test")
		}
	}
	asset.Network = money.ResolveNetwork(asset.Currency, c.checkNetwork())
	if _, hasScale := asset.Scale(); !hasScale {
		// Some currencies, such as RUB or USD, belong to no network. If the request names a network for such a currency,
		// the network is ignored.
		if withoutNetwork := (money.Asset{Currency: asset.Currency, Env: asset.Env}); hasKnownScale(withoutNetwork) {
			asset.Network = ""
		}
	}
	c.request.Asset = asset
}

func hasKnownScale(a money.Asset) bool {
	_, known := a.Scale()
	return known
}

// checkCurrency refuses a currency that the service does not accept. The error message is worded as in the specification. If
// the currency is not a string, the message quotes the JSON value as it was sent.
func (c *creation) checkCurrency() money.Currency {
	code, isText := jsonwalk.Text(c.currency)
	if !isText {
		code = c.currency
	} else if currency, accepted := money.AcceptedCurrency(string(code)); accepted {
		return currency
	}
	if payment.CardLike(code) {
		code = []byte(secret.Redacted)
	}
	c.problems.Add("currency", money.UnsupportedCurrencyMessage(code))
	return ""
}

func (c *creation) checkNetwork() money.Network {
	if c.network == nil {
		return ""
	}
	text, isText := jsonwalk.Text(c.network)
	if isText && len(text) == 0 {
		return ""
	}
	network, ok := money.ParseNetwork(string(text))
	if !ok {
		c.problems.Add("network", "network must be a name in lower case")
	}
	return network
}

// checkCustomer checks that the customer's fields email, phone and name, which the specification defines, are strings. It does
// not check other fields.
func (c *creation) checkCustomer(customer []byte) {
	if customer == nil {
		return
	}
	for _, name := range [...]string{"email", "phone", "name"} {
		if value := web.Member(customer, name); value != nil {
			if _, isText := jsonwalk.Text(value); !isText {
				c.problems.Add("customer."+name, name+" must be a string")
			}
		}
	}
}

// checkLang checks that lang is one of the service's languages. If lang is absent, the transaction has the partner's language.
func (c *creation) checkLang() string {
	if c.lang == nil {
		return ""
	}
	text, isText := jsonwalk.Text(c.lang)
	if !isText {
		c.problems.Add("lang", "lang must be a string")
		return ""
	}
	lang := string(text)
	if !directory.IsLanguage(lang) {
		c.problems.Add("lang", "lang "+directory.LanguageRule)
	}
	return lang
}

func (c *creation) checkFlag(name string, value []byte) {
	switch string(value) {
	case "", "true", "false":
	default:
		c.problems.Add(name, name+" must be true or false")
	}
}

// checkStorage reads the payer's credentials. Missing credentials are not a problem here: the transaction is created and then
// rejected. If the client asks for a hosted page, credentials in the request are checked and then dropped, because the payer
// enters the credentials on the page.
func (c *creation) checkStorage(fingerprint func([]byte) string) {
	if c.moneyStorage == nil || web.IsEmptyObject(c.moneyStorage) {
		return
	}
	r := &c.request
	c.MoneyStorage.Check(c.moneyStorage, r.Type, &c.problems)
	if len(c.problems) > 0 || c.wantsPage() {
		return
	}
	c.KeepCredentials(r.Type, fingerprint)
	r.Method, r.CardBIN, r.CardLast4, r.CardFingerprint = c.Credentials.Method, c.Credentials.CardBIN, c.Credentials.CardLast4, c.Credentials.CardFingerprint
	if r.Asset.Network == "" {
		r.Asset.Network = c.Credentials.Network // specification, "Currencies and network"
	}
}
