package operations

import (
	"slices"

	"mizan/api/description/spec"
	"mizan/ledger/columns"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/ledger/turnover"
)

func currency() *spec.Schema { return spec.Words(columns.AcceptedCurrencies()...) }
func transactionType() *spec.Schema {
	return spec.Words(payment.Payment.String(), payment.Payout.String())
}
func envName() *spec.Schema  { return spec.Words("prod", "test") }
func language() *spec.Schema { return spec.Words(directory.Languages()...) }

// networkName returns the schema for the name of a network. An empty text stands for no network.
func networkName() *spec.Schema {
	return &spec.Schema{Types: []string{"string"}, Pattern: "^[a-z0-9_-]{0,32}$"}
}

// status returns a reference to the schema for the status of a transaction.
func status() *spec.Schema { return spec.Ref("TransactionStatus") }

// statuses returns the schema that lists all statuses of transactions.
func statuses() *spec.Schema {
	s := spec.Text()
	for _, status := range payment.Machine.States() {
		if status != payment.Absent {
			s.Words = append(s.Words, string(status))
		}
	}
	return s
}

// failureCode returns the schema for the error_code of a transaction, which is null on success.
func failureCode() *spec.Schema { return spec.Nullable(spec.Ref("FailureCode")) }

// cardBrands returns the schema that lists the card schemes known to the service.
func cardBrands() *spec.Schema {
	s := spec.Text()
	for _, brand := range payment.Brands() {
		if !slices.Contains(s.Words, brand.Name) {
			s.Words = append(s.Words, brand.Name)
		}
	}
	return s
}

// transactionSchemas returns the schemas of transactions, and of what transactions contain.
func transactionSchemas() []spec.Component {
	return []spec.Component{
		{Name: "TransactionCreate", Schema: transactionCreate()},
		{Name: "MoneyStorage", Schema: moneyStorage()},
		{Name: "Transaction", Schema: spec.Object(append(transactionMembers(), furtherMembers()...)...).WithText("A payment or a payout.")},
		{Name: "HostedTransaction", Schema: hostedTransaction()},
		{Name: "Refund", Schema: refund()},
		{Name: "TransactionStatus", Schema: statuses().WithText("The state of a transaction. `charged`, `rejected`, `failed` and `reversed` are final.")},
		{Name: "FailureCode", Schema: spec.Words(payment.Codes()...).WithText("Why a transaction or a refund did not succeed.")},
		{Name: "RoutingStep", Schema: routingStep()},
		{Name: "TransactionSums", Schema: transactionSums()},
		{Name: "Turnover", Schema: turnoverRow()},
		{Name: "Balance", Schema: spec.Object(
			spec.Required("currency", spec.Text(), "currency code"),
			spec.Required("network", spec.Text(), "network of the currency; empty if the currency has none, or if the network is not known"), spec.Required("env", envName(), "environment"),
			spec.Required("scale", spec.Nullable(spec.Integer(0)), "number of decimals; null while the network is not known"),
			spec.Required("available", spec.Signed(), "what you can pay out, in minor units"),
			spec.Required("pending", spec.Amount(), "the amount that is on its way to you, in minor units"),
		)},
	}
}

func transactionCreate() *spec.Schema {
	optional := func(name string, s *spec.Schema, text string) spec.Member {
		return spec.Optional(name, spec.Nullable(s), text)
	}
	return spec.OpenObject(
		spec.Required("type", transactionType(), "`payment`: money comes in; `payout`: money goes out"),
		spec.Required("amount", spec.Positive(), "the amount in minor units: a string of digits, above zero. A JSON number is refused"),
		optional("currency", currency().WithDefault("RUB"), "currency code"),
		optional("network", networkName(), "the network (blockchain) of a currency that is on several networks, such as `tron`"),
		optional("env", envName().WithDefault("prod"), "`prod` moves money, `test` does not. Only this member sets the environment"),
		optional("txid", spec.TextUpTo(255), "your own id of the transaction. A repeated request with the same `txid` returns the stored transaction and creates no second one. An empty `txid` is returned as it was sent, but does not prevent a second transaction"),
		optional("hosted", spec.Bool(), "whether the payer enters the credentials on a page of this server, whose address is `widget_url`"),
		optional("show_widget", spec.Bool(), "the same as `hosted`"),
		optional("returnUrl", spec.TextUpTo(2048), "where the payer is sent after success; required for a payment that is not hosted. In the address, `{transaction_id}` and `{txid}` are replaced by the two ids"),
		optional("failUrl", spec.TextUpTo(2048), "where the payer is sent after a failure; required for a payment that is not hosted"),
		optional("money_storage", spec.AnyOf(spec.Ref("MoneyStorage"), spec.Object()),
			"the payer's card, account or other means of payment; required unless the transaction is hosted"),
		optional("description", spec.TextUpTo(2000), "the description that the payer sees"),
		optional("customer", spec.OpenObject(
			optional("email", spec.Text(), "the payer's e-mail address, to which the receipt is sent if the server sends e-mail"), optional("phone", spec.Text(), ""),
			optional("name", spec.Text(), ""), optional("ip", spec.Text(), "the payer's address, which the blocklist checks"),
			optional("country", spec.Text(), "the payer's country, which limits and the blocklist check"),
		), "the payer; an object of at most 16 KiB"),
		optional("merchant_meta", spec.OpenObject(), "an object of yours, at most 64 KiB, which responses and notifications show"),
		optional("lang", language(), "the language of the payer's pages"),
	)
}

// moneyStorage returns the schema for the payer's means of payment. If it is a card, a payment needs all keys of a card, but a
// payout needs only the card number.
func moneyStorage() *spec.Schema {
	key := func(name, text string) spec.Member { return spec.Optional(name, spec.Nullable(spec.Text()), text) }
	s := spec.OpenObject(
		spec.Required("type", spec.Words(payment.Methods()...), "the method of payment"),
		spec.Optional("cardnumber", spec.Nullable(&spec.Schema{Types: []string{"string"}, Pattern: "^[1-9][0-9]{11,18}$"}),
			"for `bank_card`: the card number, 12 to 19 digits with a valid check digit"),
		key("cardholder", "for payments by `bank_card`: the name on the card, at most 255 characters"),
		spec.Optional("exp_month", spec.Nullable(&spec.Schema{Types: []string{"string"}, Pattern: "^(0?[1-9]|1[0-2])$"}),
			"for payments by `bank_card`: the month of expiry"),
		spec.Optional("exp_year", spec.Nullable(&spec.Schema{Types: []string{"string"}, Pattern: "^([0-9]{2}|[0-9]{4})$"}),
			"for payments by `bank_card`: the year of expiry"),
		spec.Optional("cvv", spec.Nullable(&spec.Schema{Types: []string{"string"}, Pattern: "^[0-9]{3}$", WriteOnly: true}),
			"for payments by `bank_card`: the verification value, which is never stored"),
		spec.Optional("scheme", spec.Nullable(spec.Text()), "for `direct_debit`: `ach` (USD), `bacs` (GBP) or `acss` (CAD, payments only)"),
		key("routing_number", "for `ach`"), key("sort_code", "for `bacs`"), key("institution_number", "for `acss`"), key("transit_number", "for `acss`"),
		key("account_number", "for `ach`, `bacs` and `acss`"),
		key("network", "for `crypto`: the network of the payment"),
		key("iban", "for `sepa`: the recipient's account, an IBAN of a SEPA country in capitals and without spaces"),
		key("account_holder", "for `sepa`: the account's holder, at most 70 characters out of a-z, A-Z, 0-9, space and /-?:().,'+"),
	)
	return s.WithText("A means of payment. `bank_card` and `direct_debit` have keys of their own, and `sepa` for terminals that pay out by credit transfer; every other type, such as `sbp`, `qr_code` or `crypto`, needs none.")
}

// transactionMembers returns the members that every transaction has.
func transactionMembers() []spec.Member {
	return []spec.Member{
		spec.Required("id", spec.UUID(), "id of the transaction"),
		spec.Required("txid", spec.Nullable(spec.Text()), "your own id, as it was sent"),
		spec.Required("type", transactionType(), "`payment` or `payout`"),
		spec.Required("status", status(), "the state of the transaction"),
		spec.Required("error_description", spec.Text(), "why the transaction did not succeed, as a sentence in the partner's language; empty on success"),
		spec.Required("error_code", failureCode(), "why the transaction did not succeed, as a code for programs; null on success"),
		spec.Required("amount", spec.Positive(), "the requested amount in minor units"),
		spec.Required("amount_with_fee", spec.Amount(), "the amount plus a fee that is charged on top: what the payer pays"),
		spec.Required("amount_dest", spec.Amount(), "`merchant_amount`, converted into `currency_dest` if the terminal converts"),
		spec.Required("merchant_amount", spec.Signed(), "the amount minus a fee that is deducted"),
		spec.Required("currency", spec.Text(), "currency code"),
		spec.Required("currency_dest", spec.Text(), "the currency into which the amount was converted; the same as `currency` if it was not converted"),
		spec.Required("env", envName(), "environment"),
		spec.Required("scale", spec.Nullable(spec.Integer(0)), "number of decimals of the currency; null while the network is not known"),
		spec.Required("description", spec.Nullable(spec.Text()), "the description that the payer sees; null until a terminal is chosen"),
		spec.Required("merchant_meta", spec.OpenObject(), "the object that you sent, plus the provider's keys, except keys that you sent yourself. The key `lang` is set to the partner's language"),
		spec.Required("payment_method", spec.Nullable(spec.Object(
			spec.Required("type", spec.Words(payment.Methods()...), "the type of `money_storage`"),
			spec.Optional("brand", spec.Nullable(cardBrands()), "the brand of a card; null if it is unknown"),
			spec.Optional("bin", spec.Text(), "the card's first six digits"),
			spec.Optional("last4", spec.Text(), "the card's last four digits"),
		)), "the means of payment; null while it is not known"),
		spec.Required("customer", spec.Nullable(spec.OpenObject()), "the object that you sent"),
		spec.Required("started", spec.Instant(), "when the transaction was created"),
		spec.Required("finished", spec.Nullable(spec.Instant()), "when the transaction reached a final status"),
		spec.Required("widget_url", spec.Nullable(spec.Text()), "address of the payer's page for a hosted transaction, which is open for 15 minutes; null if no payer is awaited, and for callers who must not have the address"),
		spec.Required("route", spec.Text(), "the name of the terminal's provider; empty until a terminal is chosen"),
	}
}

// furtherMembers returns the members that only some transactions have.
func furtherMembers() []spec.Member {
	return []spec.Member{
		spec.Optional("currency_rate", spec.Text(), "the exchange rate, if the amount was converted"),
		spec.Optional("network", spec.Text(), "the network of the currency, if the currency has one and the network is known"),
		spec.Optional("network_dest", spec.Text(), "the network of `currency_dest`, if the amount was converted"),
		spec.Optional("scale_dest", spec.Nullable(spec.Integer(0)), "number of decimals of `currency_dest`, if the amount was converted"),
		spec.Optional("auth_params", spec.Nullable(spec.Object(
			spec.Required("type", spec.Text(), "`redirect`, `auth_3ds_form`, `stripe_elements` or `none`"), spec.Required("version", spec.Words("1.0"), "version of the form"),
			spec.Required("method", spec.Words("get", "post"), "the method of the request to `url`"), spec.Required("url", spec.Text(), "where the payer's browser is sent"),
			spec.Required("params", spec.OpenObject(), "the fields of the request"),
		)), "for a payment: what the payer's browser has to do; null if it has nothing to do"),
		spec.Optional("additional_params_for_auth", spec.OpenObject(spec.Optional("expires_at", spec.Instant(),
			"until when the payer's values are accepted")), "for a payment: what the provider asks the payer for; empty if it asks for nothing"),
		spec.Optional("simple_auth_redirect_url", spec.Nullable(spec.Text()),
			"while the payer has to act: address of a page on which the payer can take any action, which is open for 15 minutes; null for callers who must not have the address"),
		spec.Optional("availble_destinations", spec.List(spec.Object(spec.Required("target_bank_id", spec.Text(), "id of the bank"),
			spec.Required("name", spec.Text(), "name of the bank"))), "the banks from which the recipient of a payout chooses (the name of the member is misspelled in the protocol)"),
		spec.Optional("expires_at", spec.Instant(), "the deadline of the payer's action"),
		spec.Optional("rrn", spec.Text(), "the provider's retrieval reference number"),
		spec.Optional("hold_expires_at", spec.Instant(), "until when the money is held"),
		spec.Optional("captured_amount", spec.Positive(), "how much of the held money was captured. After a partial capture, `amount_with_fee`, `merchant_amount` and `amount_dest` refer to the captured amount"),
		spec.Optional("refund_id", spec.UUID(), "id of the last refund"),
		spec.Optional("refund_msg", spec.Text(), "outcome of the last refund, as a sentence in the partner's language"),
		spec.Optional("refunded_amount", spec.Amount(), "the sum of the refunds that succeeded"),
		spec.Optional("refunds", spec.List(spec.Ref("Refund")), "the refunds, oldest first; at most 100 are kept"),
		spec.Optional("link_id", spec.UUID(), "id of the payment link at which the payment was made"),
		spec.Optional("return_id", spec.UUID(), "for a reversed transaction: id of the transaction that returned the money"),
	}
}

func hostedTransaction() *spec.Schema {
	keep := map[string]bool{"id": true, "status": true, "type": true, "env": true, "txid": true, "amount": true, "currency": true, "started": true,
		"widget_url": true}
	s := spec.Object()
	for _, m := range transactionMembers() {
		if keep[m.Name] {
			s.Members = append(s.Members, m)
		}
	}
	return s.WithText("The response to a request that creates a hosted transaction.")
}

func refund() *spec.Schema {
	return spec.Object(
		spec.Required("refund_id", spec.UUID(), "id of the refund"),
		spec.Required("amount", spec.Positive(), "the refunded part of the transaction's amount"),
		spec.Required("fee_amount", spec.Amount(), "the part of the fee that was returned with the refund"),
		spec.Required("status", spec.Words("pending", "succeeded", "failed"), "`pending` until the provider has answered"),
		spec.Required("error_code", failureCode(), "why the refund failed"),
		spec.Required("msg", spec.Text(), "the outcome, as a sentence in the partner's language"),
		spec.Required("created", spec.Instant(), "when the refund was requested"), spec.Required("finished", spec.Nullable(spec.Instant()), "when the refund ended; null while it is pending"),
	)
}

func routingStep() *spec.Schema {
	return spec.Object(
		spec.Required("terminal_id", spec.UUID(), "the terminal"), spec.Required("name", spec.Nullable(spec.Text()), "the terminal's present name"),
		spec.Required("priority", spec.Type("integer"), "the terminal's priority at the time"),
		spec.Required("outcome", spec.Words("refused", "failed", "not_sent", "skipped", "stopped", "excluded", "pending", "accepted"),
			"what happened at the terminal"),
		spec.Required("reason", spec.Nullable(spec.Text()), "the reason, in English; null if there is none"),
		spec.Required("error_code", failureCode(), "the reason, as a code for programs; null if there is none"),
		spec.Required("at", spec.Nullable(spec.Instant()), "when it happened"), spec.Required("attempt", spec.Integer(1),
			"number of the payer's attempt at a hosted payment; 1 for other transactions"),
		spec.Required("reference", spec.Nullable(spec.UUID()), "the id by which the provider knows the charge; null if nothing was sent"),
	)
}

func transactionSums() *spec.Schema {
	return spec.Object(
		spec.Required("currency", spec.Text(), "currency code"), spec.Required("network", spec.Text(), "network of the currency; empty if the currency has none"), spec.Required("env", envName(), "environment"),
		spec.Optional("day", spec.Day(), "the UTC day of creation, if `group_by` has `day`"),
		spec.Optional("type", transactionType(), "the type of the transactions, if `group_by` has `type`"), spec.Optional("status", status(), "the status of the transactions, if `group_by` has `status`"),
		spec.Required("count", spec.Integer(1), "number of transactions"),
		spec.Required("amount", spec.Amount(), "in minor units"), spec.Required("amount_with_fee", spec.Amount(), "in minor units"),
		spec.Required("merchant_amount", spec.Signed(), "in minor units"), spec.Required("fee_amount", spec.Amount(), "in minor units"),
		spec.Required("refunded_amount", spec.Amount(), "in minor units"),
	).WithText("The sums of one group, in minor units.")
}

func turnoverRow() *spec.Schema {
	number, sum := spec.Integer(0), "in minor units; 0 while `scale` is null"
	return spec.Object(
		spec.Required("day", spec.Day(), "UTC day"), spec.Required("type", transactionType(), "what was charged: payments or payouts"),
		spec.Required("currency", spec.Text(), "currency code"), spec.Required("network", spec.Text(), "network of the currency; empty if the currency has none, or if the network is not known"), spec.Required("env", envName(), "environment"),
		spec.Required("scale", spec.Nullable(number), "number of decimals; null if the currency does not have this network"),
		spec.Required("attempts", number, "charges that ended on this day: the sum of `charged` and all `declines`"),
		spec.Required("charged", number, "charges that succeeded"), spec.Required("charged_amount", spec.Amount(), sum),
		spec.Required("refunds", number, "refunds that succeeded on this day"), spec.Required("refunded_amount", spec.Amount(), sum),
		spec.Required("reversals", number, "payments that were reversed (chargebacks) on this day"), spec.Required("reversed_amount", spec.Amount(), "the amount that no refund had returned before, "+sum),
		spec.Required("declines", spec.List(spec.Object(spec.Required("error_code", spec.Words(turnover.Codes()...), "the reason; `other` stands for all other reasons"), spec.Required("count", spec.Integer(1), "number of charges"))),
			"charges that did not succeed, the most frequent reason first"),
		spec.Required("last_at", spec.Instant(), "when the last of these events happened"),
	).WithText("What happened to a partner's transactions on one day.")
}
