package operations

import (
	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/ledger"
)

const transactions = v1 + "/transactions"

var transactionID = spec.InPath("id", spec.UUID(), "The id of the transaction.")

// transactionOperations returns the operations that create and list transactions.
func transactionOperations() []spec.Operation {
	return []spec.Operation{{
		ID: "createTransaction", Method: "POST", Path: transactions, Tag: tagTransactions, Summary: "Create a payment or a payout",
		Body: spec.JSON(spec.OpenObject(spec.Required("params", spec.Ref("TransactionCreate"), "the transaction"))),
		Answers: created(spec.AnyOf(spec.Ref("Transaction"), spec.Ref("HostedTransaction")), locationHeader,
			spec.Header{Name: "x-idempotent-replay", Schema: spec.Words("true"),
				Text: "Sent if an earlier request with the same `txid` or Idempotency-Key created the transaction that the response shows."},
			spec.Header{Name: "x-idempotent-mismatch", Schema: spec.Text(),
				Text: "The first field in which a repeated request differs from the stored transaction."}),
		Refusals: []spec.Refusal{{Code: ledger.Invalid}, {Code: ledger.WrongParams}, {Code: ledger.OutOfRange}, {Code: ledger.LimitExceeded}},
		Examples: []spec.Example{
			{Name: "card", Text: "A card payment that is charged at once", Body: cardPayment("order-1042", "1000"), Keep: map[string]string{"payment": "id"}},
			{Name: "hosted", Text: "A payment whose payer enters the card on a page of this server",
				Body: `{"params":{"type":"payment","txid":"order-1043","amount":"2500","currency":"EUR","env":"test","hosted":true,"returnUrl":"https://shop.example/done?order={txid}","failUrl":"https://shop.example/failed","description":"A teapot"}}`,
				Keep: map[string]string{"hosted": "id"}},
			{Name: "3-D Secure", Text: "A card whose bank asks for 3-D Secure: send the payer to simple_auth_redirect_url",
				Body: cardStart + "order-1044" + cardMiddle + "4000000000003220" + cardEnd},
			{Name: "declined", Text: "A card that is declined: the transaction exists, and is rejected",
				Body: cardStart + "order-1045" + cardMiddle + "4000000000000002" + cardEnd},
			{Name: "payout", Text: "A payout to a card",
				Body: `{"params":{"type":"payout","txid":"wages-7","amount":"5000","currency":"USD","env":"test","money_storage":{"type":"bank_card","cardnumber":"4242424242424242"}}}`},
		},
	}, {
		ID: "listTransactions", Method: "GET", Path: transactions, Tag: tagTransactions, Summary: "List transactions",
		Parameters: append(transactionFilters(),
			limitParameter(20, 100), cursorParameter,
			spec.InQuery("order_by", spec.Words("started", "updated").WithDefault("started"), "The time by which the list is ordered, newest first."),
			spec.InQuery("start_cursor", spec.Text(), "Together with `end_cursor`: only the transactions between the two times, including both. Without `end_cursor` it is ignored."),
			spec.InQuery("end_cursor", spec.Text(), "See `start_cursor`."),
			spec.InQuery("partner_id", spec.Integer(1), "The partner whose transactions are listed. Required with the admin token; a partner may not send it."),
			spec.InQuery("from", instantOrDay(), spec.OnlyByAdminToken+"another name of `started_from`. If both are sent, both apply."),
		),
		Answers:  ok(spec.Page(spec.Ref("Transaction"), "started", "updated")),
		Refusals: []spec.Refusal{{Code: ledger.NotFound, When: "the partner does not exist"}},
		Examples: []spec.Example{{Query: "env=test&limit=2"}},
	}, {
		ID: "aggregateTransactions", Method: "GET", Path: transactions + "/aggregate", Tag: tagTransactions, Summary: "Count and sum transactions",
		Parameters: append(transactionFilters(),
			spec.InQuery("currency", currency(), "Only this currency."),
			spec.InQuery("group_by", spec.Text().WithDefault("type,status"),
				"What forms a group in addition to currency, network and env: a list of `type`, `status` and `day`, separated by commas."),
		),
		Answers: ok(spec.Object(spec.Required("data", spec.List(spec.Ref("TransactionSums")), "a row for each group"),
			spec.Required("meta", spec.Object(spec.Required("as_of", spec.Nullable(spec.Instant()), "time of the newest event in the sums; null if there are no events")), ""))),
		Refusals: []spec.Refusal{
			{Code: ledger.Invalid, When: "a filter is wrong, the sums are out of range, or there are more than 10,000 groups (the error then names `group_by`)"},
			{Code: ledger.Unavailable, When: "too many aggregates are under way: repeat the request after the time in `retry-after`"},
		},
		Examples: []spec.Example{{Query: "env=test&group_by=status"}},
	}}
}

// transactionReads returns the operations that read transactions, balances and turnover.
func transactionReads() []spec.Operation {
	return []spec.Operation{{
		ID: "getTransaction", Method: "GET", Path: transactions + "/{id}", Tag: tagTransactions, Summary: "Read a transaction",
		Parameters: []spec.Parameter{transactionID}, Answers: ok(spec.Ref("Transaction")), Refusals: []spec.Refusal{{Code: ledger.NotFound}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$payment"}}},
	}, {
		ID: "getTransactionRouting", Method: "GET", Path: transactions + "/{id}/routing", Tag: tagTransactions, Summary: "Read how a terminal was chosen",
		Parameters: []spec.Parameter{transactionID}, Answers: ok(spec.Data(spec.List(spec.Ref("RoutingStep")))),
		Refusals: []spec.Refusal{{Code: ledger.NotFound}, {Code: ledger.Invalid, When: "the query has a parameter"}},
		Examples: []spec.Example{{Path: map[string]string{"id": "$payment"}, As: "admin"}},
	}, {
		ID: "listBalances", Method: "GET", Path: v1 + "/balances", Tag: tagTransactions, Summary: "List your balances",
		Parameters: []spec.Parameter{envFilter, spec.InQuery("currency", currency(), "Only this currency."),
			spec.InQuery("network", networkName(), "Only this network. An empty value selects the balances without a network.").OrEmpty()},
		Answers:  ok(spec.Data(spec.List(spec.Ref("Balance")))),
		Examples: []spec.Example{{Query: "env=test&currency=USD"}},
	}, {
		ID: "getTurnover", Method: "GET", Path: v1 + "/turnover", Tag: tagTransactions, Summary: "Read what happened on each day",
		Parameters: []spec.Parameter{
			spec.InQuery("from", spec.Day(), "The first UTC day. If absent, 29 days before `to`."), spec.InQuery("to", spec.Day(), "The last UTC day. If absent, today."),
			envParameter, spec.InQuery("currency", currency(), "Only this currency."),
			spec.InQuery("partner_id", spec.Integer(1), "The partner. Required with the admin token and with a session of the organization; a partner may not send it."),
		},
		Answers: ok(spec.Object(spec.Required("data", spec.List(spec.Ref("Turnover")), "ordered by day, currency, network and type; a day on which nothing happened has no row"),
			spec.Required("meta", spec.Object(spec.Required("from", spec.Day(), "the first day"), spec.Required("to", spec.Day(), "the last day"),
				spec.Required("as_of", spec.Nullable(spec.Instant()), "time of the organization's last event that is counted; null if no event is counted")), ""))),
		Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "there are more than 366 days, or a parameter is wrong"}, {Code: ledger.NotFound, When: "the partner does not exist"}},
		Examples: []spec.Example{{Query: "env=test&currency=USD"}},
	}}
}

// transactionActions returns the operations that change transactions.
func transactionActions() []spec.Operation {
	waits := spec.Refusal{Code: ledger.Conflict, When: "another operation on the transaction is under way"}
	unknown := spec.Refusal{Code: ledger.NotFound}
	notStored := spec.Refusal{Code: ledger.Unavailable, When: "the outcome is not stored yet: repeat the request with the same Idempotency-Key, or read the transaction"}
	return []spec.Operation{{
		ID: "changeTransaction", Method: "PUT", Path: transactions + "/{id}", Tag: tagTransactions, Summary: "Refund or cancel a transaction",
		Parameters: []spec.Parameter{transactionID},
		Body: spec.JSON(spec.OpenObject(spec.Required("params", spec.OpenObject(
			spec.Required("type", spec.Words("refund", "cancel"), "`refund` returns settled money; `cancel` ends a transaction that has not settled"),
			spec.Optional("amount", spec.Positive(), "how much to refund, as a string of minor units; if absent, all that is left. null is refused"),
		), ""))),
		Answers: ok(spec.Ref("Transaction")),
		Refusals: []spec.Refusal{unknown, {Code: ledger.NotReversible}, {Code: ledger.InvalidRefundAmount},
			{Code: ledger.Invalid, When: "there is no object `params`, or its `type` is neither `refund` nor `cancel`"},
			{Code: ledger.InsufficientFunds, When: "your available balance does not cover the refund"}, waits, notStored},
		Examples: []spec.Example{
			{Name: "refund", Text: "Refund a part", Path: map[string]string{"id": "$payment"}, Body: `{"params":{"type":"refund","amount":"400"}}`},
			{Name: "cancel", Text: "Cancel a payment that waits for its payer", Path: map[string]string{"id": "$doomed"},
				Body: `{"params":{"type":"cancel"}}`, Setup: []spec.Request{
					{As: "partner", Method: "POST", Path: transactions, Body: cardStart + "order-1046" + cardMiddle + "4000000000003220" + cardEnd,
						Keep: map[string]string{"doomed": "id"}},
				}},
		},
	}, {
		ID: "commitTransaction", Method: "POST", Path: transactions + "/commit/{id}", Tag: tagTransactions, Summary: "Capture held money",
		Parameters: []spec.Parameter{transactionID},
		Body: spec.OptionalJSON(spec.OpenObject(spec.Optional("params",
			spec.Nullable(spec.OpenObject(spec.Optional("amount", spec.Positive(), "how much to capture; the rest is released. If absent, the whole held amount"))), ""))),
		Answers: ok(spec.Ref("Transaction")),
		Refusals: []spec.Refusal{unknown, {Code: ledger.InvalidCaptureAmount}, {Code: ledger.Invalid, When: "`params` is not an object"},
			{Code: ledger.Conflict, When: "nothing is held, or another operation on the transaction is under way"}, notStored},
		Examples: []spec.Example{{Path: map[string]string{"id": "$held"}, Body: `{"params":{"amount":"700"}}`, Setup: []spec.Request{
			{As: "admin", Method: "POST", Path: v1 + "/terminal",
				Body: `{"name":"Holds","provider":"simulator","type":"payment","env":"test","partner_id":1,"provider_params":{"two_phase":true,"priority":-1,"currencies":["CHF"]}}`},
			{As: "partner", Method: "POST", Path: transactions,
				Body: `{"params":{"type":"payment","txid":"order-1047","amount":"1000","currency":"CHF","env":"test","returnUrl":"https://shop.example/done","failUrl":"https://shop.example/failed",` + goodCard + `}}`, Keep: map[string]string{"held": "id"}},
		}}},
	}, {
		ID: "continueTransaction", Method: "POST", Path: transactions + "/continue/{id}", Tag: tagTransactions, Summary: "Continue a hosted transaction",
		Parameters: []spec.Parameter{transactionID},
		Body: spec.JSON(spec.OpenObject(
			spec.Required("money_storage", spec.Ref("MoneyStorage"), "the payer's credentials"),
			spec.Optional("route", spec.Nullable(spec.TextUpTo(64)), "the route that the payer has chosen, if the transaction offers several"),
			spec.Optional("browser_data", spec.Nullable(spec.OpenObject(
				spec.Optional("language", spec.Nullable(spec.Text()), "the browser's language"),
				spec.Optional("user_agent", spec.Nullable(spec.Text()), "the browser's User-Agent"),
				spec.Optional("timezone", spec.Nullable(spec.Type("integer")), "the browser's offset from UTC, in minutes"),
			)), "what the provider's risk checks need to know about the payer's browser, at most 16 KiB"),
		)),
		Answers: ok(spec.Ref("Transaction")),
		Refusals: []spec.Refusal{unknown, {Code: ledger.NotContinuable}, {Code: ledger.Invalid, When: "the credentials are missing or wrong"},
			waits, notStored},
		Examples: []spec.Example{{Path: map[string]string{"id": "$hosted"}, Body: `{` + goodCard + `}`}},
	}, {
		ID: "completeTransaction", Method: "POST", Path: transactions + "/additional_params_for_auth/{id}", Tag: tagTransactions,
		Summary:    "Send what the provider asked the payer for",
		Parameters: []spec.Parameter{transactionID},
		Body: spec.JSON(spec.OpenObject(spec.Optional("additional_params_for_auth", spec.Nullable(spec.OpenObject()),
			"what the provider asked for, such as `{\"otp\":\"123456\"}`. A `status` in it is dropped"),
			spec.Optional("params", spec.OpenObject(), "if `additional_params_for_auth` is not at the top level: an object that contains it, or that object itself"))),
		Answers: ok(spec.Ref("Transaction")),
		Refusals: []spec.Refusal{unknown, {Code: ledger.Invalid,
			When: "`additional_params_for_auth` is empty, or lacks a value that the provider asked for; the error names the field, such as `additional_params_for_auth.otp`"},
			{Code: ledger.Expired, When: "the `expires_at` of what the provider asked for has passed, or the payer's time is over"},
			{Code: ledger.Conflict, When: "the provider asks the payer for nothing, or another operation is under way"}, notStored},
		Examples: []spec.Example{{Path: map[string]string{"id": "$password"}, Body: `{"additional_params_for_auth":{"otp":"123456"}}`, Setup: []spec.Request{
			{As: "partner", Method: "POST", Path: transactions, Body: cardStart + "order-1048" + cardMiddle + "4000002500003155" + cardEnd,
				Keep: map[string]string{"password": "id"}},
		}}},
	}, {
		ID: "chooseTargetDestination", Method: "POST", Path: transactions + "/choose_target_destination/{id}", Tag: tagTransactions,
		Summary:    "Choose the bank that receives a payout",
		Parameters: []spec.Parameter{transactionID},
		Body:       spec.JSON(spec.OpenObject(spec.Required("target_bank_id", spec.Text(), "the `target_bank_id` of one of `availble_destinations`"))),
		Answers:    ok(spec.Ref("Transaction")),
		Refusals: []spec.Refusal{unknown, {Code: web.DestinationMissing}, {Code: ledger.Invalid, When: "the bank is not offered"},
			{Code: ledger.Expired}, {Code: ledger.Conflict, When: "the transaction offers no choice, or another operation is under way"}, notStored},
		Examples: []spec.Example{{Path: map[string]string{"id": "$choice"}, Body: `{"target_bank_id":"$bank"}`, Setup: []spec.Request{
			{As: "partner", Method: "POST", Path: transactions,
				Body: `{"params":{"type":"payout","txid":"wages-8","amount":"5000","currency":"EUR","env":"test","money_storage":{"type":"sepa"}}}`,
				Keep: map[string]string{"choice": "id", "bank": "availble_destinations.0.target_bank_id"}},
		}}},
	}}
}

// transactionFilters returns the parameters that select transactions, for the list of transactions and for their totals.
func transactionFilters() []spec.Parameter {
	list := []spec.Parameter{
		spec.InQuery("status", spec.Text(), "Only this status. A status that does not exist selects nothing."),
		spec.InQuery("type", transactionType(), "Only payments, or only payouts."),
		envParameter,
	}
	for _, bound := range []struct{ name, text string }{
		{"started_from", "Only transactions that were created at this time or later."}, {"started_to", "Only transactions that were created at this time or earlier."},
		{"updated_from", "Only transactions that last changed at this time or later."}, {"updated_to", "Only transactions that last changed at this time or earlier."},
		{"finished_from", "Only transactions that finished at this time or later."}, {"finished_to", "Only transactions that finished at this time or earlier."},
	} {
		list = append(list, spec.InQuery(bound.name, instantOrDay(), bound.text))
	}
	return append(list,
		spec.InQuery("amount_from", spec.Amount(), "Only transactions of at least this amount, in minor units."),
		spec.InQuery("amount_to", spec.Amount(), "Only transactions of at most this amount, in minor units."),
		spec.InQuery("rrn", spec.Text(), "Only transactions with this retrieval reference number of the provider."),
		spec.InQuery("link_id", spec.UUID(), "Only transactions that were made at this payment link."),
		spec.InQuery("txid", spec.Text(), spec.Ignored),
	)
}

// instantOrDay returns the schema of a parameter that is a time or a day.
func instantOrDay() *spec.Schema { return spec.Text() }

const goodCard = `"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JANE DOE","exp_month":"12","exp_year":"2030","cvv":"123"}`

// cardPayment returns the body of a request that creates a card payment, which is charged at once.
func cardPayment(txid, amount string) string {
	return cardStart + txid + `","amount":"` + amount + cardAfterAmount + "4242424242424242" + cardEnd
}

// These constants are the parts of a request body that creates a card payment in USD. A txid and a card number are inserted
// between them. If both are literals, the whole body is a constant, and its card number is not in the memory that tests search
// for card numbers.
const (
	cardStart       = `{"params":{"type":"payment","txid":"`
	cardMiddle      = `","amount":"1000` + cardAfterAmount
	cardAfterAmount = `","currency":"USD","env":"test","returnUrl":"https://shop.example/done","failUrl":"https://shop.example/failed",` +
		`"money_storage":{"type":"bank_card","cardnumber":"`
	cardEnd = `","cardholder":"JANE DOE","exp_month":"12","exp_year":"2030","cvv":"123"}}}`
)
