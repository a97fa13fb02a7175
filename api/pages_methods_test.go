package api_test

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// useTerminals replaces the demo partner's terminals of the given type in the test environment. It deactivates them and creates a
// terminal for each element of params, which has the terminal's provider_params.
func (f *fixture) useTerminals(kind string, params ...string) (ids []string) {
	f.t.Helper()
	existing := f.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	for i := range existing.rows() {
		row := "data." + strconv.Itoa(i)
		if existing.at(row+".type") == kind {
			f.admin().patch("/api/v1/terminal/"+existing.at(row+".id"), `{"is_active":false}`).want(200, "")
		}
	}
	for _, p := range params {
		created := f.admin().post("/api/v1/terminal", `{"name":"n","partner_id":1,"provider":"simulator","type":"`+kind+`","env":"test","provider_params":{`+p+`}}`).want(201, "")
		ids = append(ids, created.at("data.id"))
	}
	return ids
}

var methodTag = regexp.MustCompile(`<input type="(radio|hidden)" name="method" value="([^"]*)"( required)?( checked)?>`)

// wantMethods checks which payment methods a page offers, in their order, and which one is chosen. If there is only one method,
// it is a hidden field of the form.
func (r *response) wantMethods(chosen string, methods ...string) *response {
	r.t.Helper()
	var offered []string
	for _, tag := range methodTag.FindAllStringSubmatch(r.body, -1) {
		offered = append(offered, tag[2])
		if isRadio := tag[1] == "radio"; isRadio != (len(methods) > 1) || isRadio && (tag[4] != "") != (tag[2] == chosen) {
			r.t.Errorf("%s of %v, %s chosen", tag[0], methods, chosen)
		}
	}
	if !slices.Equal(offered, methods) {
		r.t.Errorf("the page offers %v, want %v", offered, methods)
	}
	return r
}

// payBy creates a hosted payment and pays it by the given method. It returns the payment's id and the page that follows.
func (f *fixture) payBy(method string, fields url.Values) (id string, next *response) {
	f.t.Helper()
	transaction := f.createHosted("")
	action, hidden := f.browse(transaction.at("widget_url")).form()
	for name, values := range fields {
		hidden[name] = values
	}
	hidden.Set("method", method)
	return transaction.at("id"), f.send(action, hidden)
}

func TestPayerChoosesAMethod(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"methods":["qr_code","bank_card"]`, `"methods":["bank_card","crypto","apple_pay"],"priority":1`)
	f.browse(f.createHosted("").at("widget_url")).wantPage(200, checkoutTitle, "Pay $12.50", "<span>QR code</span>", "<span>Cryptocurrency</span>").
		wantMethods("qr_code", "qr_code", "bank_card", "crypto")

	id, page := f.payBy("bank_card", card("4242424242424242"))
	page.wantPage(200, "Paid")
	f.transaction(id).wantFields(map[string]string{"status": "charged", "payment_method.type": "bank_card"})

	// Fields that the payer filled in for another method are ignored.
	id, page = f.payBy("qr_code", card("4242424242424241"))
	page.wantPage(200, "Scan to pay", "$12.50", "Time left", "<p>Scan the code with your phone.</p>")
	f.transaction(id).wantFields(map[string]string{"status": "action_required", "payment_method": `{"type":"qr_code"}`})
	confirmation, fields := page.form()
	fields.Set("decision", "approve")
	f.send(confirmation, fields).wantPage(200, "Paid")

	id, page = f.payBy("crypto", nil)
	page.wantPage(200, "Send the payment", "Send exactly this amount to this address", "Address", "Time left")
	confirmation, fields = page.form()
	fields.Set("decision", "refuse")
	f.send(confirmation, fields).wantPage(200, checkoutTitle, "The payment was not confirmed.", "You can try 2 more times.")
	f.transaction(id).wantFields(map[string]string{"status": "created", "payment_method": "null", "error_code": "authentication_failed"})
}

// If a form names no method, the server takes the card, or the only method if there is just one.
func TestFormWithoutAMethodMeansACard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"methods":["qr_code","bank_card"]`)
	action, _ := f.browse(f.createHosted("").at("widget_url")).form()
	f.send(action, card("4242424242424242")).wantPage(200, "Paid")

	f.useTerminals("payment", `"methods":["qr_code"]`)
	page := f.browse(f.createHosted("").at("widget_url")).wantPage(200, checkoutTitle, "Pay $12.50").wantMethods("", "qr_code")
	if strings.Contains(page.body, `name="cardnumber"`) {
		t.Errorf("%s", page.body)
	}
	action, _ = page.form()
	f.send(action, nil).wantPage(200, "Scan to pay")

	f.useTerminals("payment", `"methods":["qr_code","crypto"]`)
	action, _ = f.browse(f.createHosted("").at("widget_url")).form()
	f.send(action, card("4242424242424242")).wantPage(422, checkoutTitle, "Choose one of the ways shown here.").wantMethods("qr_code", "qr_code", "crypto")
}

func TestMethodThatIsNotOfferedIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"methods":["bank_card","qr_code","apple_pay","provider_token"]`)
	transaction := f.createHosted("")
	action, _ := f.browse(transaction.at("widget_url")).wantMethods("bank_card", "bank_card", "qr_code").form()
	for _, method := range []string{"crypto", "apple_pay", "provider_token", "", "BANK_CARD", "card", "bank_card ", "<script>", strings.Repeat("x", 4000)} {
		form := card("4242424242424242")
		form.Set("method", method)
		page := f.send(action, form).wantPage(422, checkoutTitle, "Choose one of the ways shown here.").wantMethods("bank_card", "bank_card", "qr_code")
		if strings.Contains(page.body, "42424242") || strings.Contains(page.body, "<script>") {
			t.Errorf("%q: %s", method, page.body)
		}
	}
	f.transaction(transaction.at("id")).wantStatus("created", "")

	// The merchant switches a method off while a payer has the page with it open.
	f.useTerminals("payment", `"methods":["qr_code"]`)
	form := card("4242424242424242")
	form.Set("method", "bank_card")
	f.send(action, form).wantPage(422, checkoutTitle, "Choose one of the ways shown here.").wantMethods("", "qr_code")
	f.transaction(transaction.at("id")).wantStatus("created", "")
}

// A link's payments can use only the methods of the link. A payment keeps the methods with which it began.
func TestLinkIsPaidByItsMethods(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"methods":["qr_code","bank_card","crypto"]`, `"priority":1`)
	link := f.partner().post(linksPath, `{"env":"test","amount":{"default":1250,"currency":"USD"},"amount_type":"fixed","pay_config":{"methods":["card","bank_card"]}}`).want(201, "")
	action, _ := f.send(link.at("data.url"), url.Values{}).wantPage(200, checkoutTitle).wantMethods("", "bank_card").form()
	begun := f.partner().get(transactions + "?env=test").at("data.0.id")
	f.partner().patch(linksPath+"/"+link.at("data.id"), `{"pay_config":{"methods":["qr_code","klarna"]}}`).want(200, "")
	f.send(action, url.Values{"method": {"qr_code"}}).wantPage(422, checkoutTitle).wantMethods("", "bank_card")
	refused := f.partner().post(transactions+"/continue/"+begun, `{"money_storage":{"type":"qr_code"}}`).want(422, "")
	refused.wantFields(map[string]string{"errors.0.code": "flow_not_continuable", "errors.0.field": "money_storage.type"})
	f.transaction(begun).wantStatus("created", "")
	f.send(action, card("4242424242424242")).wantPage(200, "Paid")
	f.transaction(begun).wantStatus("charged", "")

	// A terminal that accepts all methods also offers a less common one if the link names it.
	action, _ = f.send(link.at("data.url"), url.Values{}).wantPage(200, checkoutTitle, "<span>Klarna</span>").wantMethods("qr_code", "qr_code", "klarna").form()
	f.send(action, url.Values{"method": {"klarna"}}).wantPage(200, "Paid")
	f.partner().patch(linksPath+"/"+link.at("data.id"), `{"pay_config":{"methods":[]}}`).want(200, "")
	f.send(link.at("data.url"), url.Values{}).wantPage(200, checkoutTitle).wantMethods("qr_code", "qr_code", "bank_card", "crypto", "open_banking")
}

// A terminal that accepts all methods offers the methods that suit the payment's currency.
func TestMethodsSuitTheCurrency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for fields, methods := range map[string][]string{
		`"currency":"USD"`:                   {"bank_card", "qr_code", "open_banking"},
		`"currency":"RUB"`:                   {"bank_card", "sbp", "qr_code", "open_banking"},
		`"currency":"USDT","network":"tron"`: {"bank_card", "crypto"},
		`"currency":"TON"`:                   {"bank_card", "crypto"},
		`"currency":"RUBT"`:                  {"bank_card", "crypto"},
		`"currency":"USD","type":"payout"`:   {"bank_card", "qr_code", "open_banking"},
		`"currency":"TRX","type":"payout"`:   {"bank_card", "crypto"},
		`"currency":"RUB","type":"payout"`:   {"bank_card", "sbp", "qr_code", "open_banking"},
	} {
		if !strings.Contains(fields, `"type"`) {
			fields += `,"type":"payment"`
		}
		transaction := f.partner().post(transactions, `{"params":{"env":"test","amount":"1250","hosted":true,`+fields+`}}`).want(201, "")
		f.browse(transaction.at("widget_url")).wantMethods("bank_card", methods...)
	}
}

// If the totals of the payment methods differ, each method shows its own total. The payer agrees only to the total of the chosen
// method.
func TestEachMethodShowsItsTotal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := f.useTerminals("payment",
		`"methods":["bank_card"],"fee_bps":"280","fee_mode":"on_top"`, `"methods":["qr_code"],"fee_fixed":"10","fee_mode":"on_top","priority":1`, `"methods":["crypto"],"fee_bps":"100","priority":2`)
	page := f.browse(f.createHosted("").at("widget_url")).wantPage(200, checkoutTitle, `<p class="sum"><bdi>$12.50</bdi></p>`,
		"Fee: <bdi>$0.35</bdi></span></span> <bdi>$12.85</bdi>", "Fee: <bdi>$0.10</bdi></span></span> <bdi>$12.60</bdi>", "<span>Cryptocurrency</span> <bdi>$12.50</bdi>", `>Pay $12.85</button>`, `>Pay $12.60</button>`, `>Pay $12.50</button>`)
	if _, hidden := page.form(); hidden.Get("total") != "1285" || hidden.Get("total_qr_code") != "1260" || hidden.Get("total_crypto") != "1250" {
		t.Errorf("%v", hidden)
	}
	id, _ := f.payBy("qr_code", nil)
	f.transaction(id).wantFields(map[string]string{"amount": "1250", "amount_with_fee": "1260"})

	// If the fee for cards rises, a payer who pays by QR code need not agree to it, and the other way round.
	waiting := f.createHosted("")
	action, hidden := f.browse(waiting.at("widget_url")).form()
	f.admin().patch("/api/v1/terminal/"+ids[0], `{"provider_params":{"methods":["bank_card"],"fee_bps":"300","fee_mode":"on_top"}}`).want(200, "")
	form := card("4242424242424242")
	for name, values := range hidden {
		form[name] = values
	}
	form.Set("method", "bank_card")
	f.send(action, form).wantPage(422, checkoutTitle, "The fee has changed", "<bdi>$12.87</bdi>").wantMethods("bank_card", "bank_card", "qr_code", "crypto")
	f.transaction(waiting.at("id")).wantStatus("created", "")
	f.admin().patch("/api/v1/terminal/"+ids[1], `{"provider_params":{"methods":["qr_code"],"fee_fixed":"5","fee_mode":"on_top","priority":1}}`).want(200, "")
	form.Set("method", "qr_code")
	f.send(action, form).wantPage(200, "Scan to pay")
	f.transaction(waiting.at("id")).wantFields(map[string]string{"amount_with_fee": "1255"})
}

// Each payment method has a button of its own. A browser may show the buttons of all methods, so the payer may press the button
// of another method than the one whose radio button is chosen. The pressed button decides.
func TestPressedButtonDecidesTheMethod(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"methods":["bank_card"],"fee_bps":"280","fee_mode":"on_top"`, `"methods":["direct_debit","qr_code"],"fee_fixed":"10","fee_mode":"on_top","priority":1`)
	open := func() *response { return f.browse(f.createHosted("").at("widget_url")).wantPage(200, checkoutTitle) }
	page := open()
	for _, button := range []string{`name="pay" value="bank_card">Pay $12.85<`, `name="pay" value="direct_debit">Pay $12.60<`, `name="pay" value="qr_code">Pay $12.60<`} {
		if !strings.Contains(page.body, `<button type="submit" `+button) {
			t.Errorf("no %s in %s", button, page.body)
		}
	}
	f.fill(page, url.Values{"method": {"bank_card"}, "pay": {"qr_code"}}).wantPage(200, "Scan to pay", "$12.60")
	typed := card("4242424242424242")
	typed.Set("method", "qr_code")
	f.fill(open(), typed).wantPage(200, "Scan to pay", "$12.60") // if the form was sent without a button, as by the Enter key, the radio button decides
	typed.Set("pay", "bank_card")
	f.fill(open(), typed).wantPage(200, "Paid", "$12.85")
	typed.Set("cvv", "")
	f.fill(open(), typed).wantPage(422, checkoutTitle, "exactly three digits").wantMethods("bank_card", "bank_card", "direct_debit", "qr_code")
	for _, pressed := range []string{"", "crypto", "Bank_card"} {
		typed.Set("pay", pressed)
		f.fill(open(), typed).wantPage(422, checkoutTitle, "Choose")
	}
}

// The recipient of a payout sees the amount that arrives.
func TestRecipientChoosesAMethod(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payout", `"methods":["bank_card"],"fee_fixed":"50"`, `"methods":["sepa","qr_code","bank_account","direct_debit"],"priority":1`)
	create := func() (id, action string) {
		transaction := f.partner().post(transactions, `{"params":{"env":"test","type":"payout","amount":"1250","currency":"EUR","hosted":true}}`).want(201, "")
		page := f.browse(transaction.at("widget_url")).wantPage(200, payoutTitle, "<bdi>€12.00</bdi>", "<bdi>€12.50</bdi>", ">Receive €12.00</button>").
			wantMethods("bank_card", "bank_card", "sepa", "qr_code")
		action, _ = page.form()
		return transaction.at("id"), action
	}
	id, action := create()
	f.send(action, url.Values{"method": {"bank_card"}, "cardnumber": {"4242424242424241"}}).wantPage(422, payoutTitle, "Check the card number")
	f.send(action, url.Values{"method": {"bank_card"}, "cardnumber": {"4242424242424242"}}).wantPage(200, "The money is on its way to you", "€12.00")
	f.transaction(id).wantFields(map[string]string{"status": "charged", "amount_dest": "1200"})

	id, action = create()
	choice, _ := f.send(action, url.Values{"method": {"sepa"}}).wantPage(200, "Choose your bank", "€12.50").form()
	f.send(choice, url.Values{"target_bank_id": {f.transaction(id).at("availble_destinations.0.target_bank_id")}}).wantPage(200, "The money is on its way to you")
	f.transaction(id).wantFields(map[string]string{"status": "charged", "amount_dest": "1250", "payment_method": `{"type":"sepa"}`})

	_, action = create()
	f.send(action, url.Values{"method": {"qr_code"}}).wantPage(200, "Scan to receive")
	f.send(action, url.Values{"method": {"direct_debit"}}).wantPage(200, "Scan to receive") // too late: the payout has begun
}

// The form for a direct debit asks for the numbers that the currency's debit scheme needs, such as a sort code.
func TestDirectDebitAsksForTheAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"methods":["bank_card","direct_debit"]`)
	f.useTerminals("payout", `"methods":["bank_card","direct_debit"]`)
	for _, c := range []struct {
		kind, currency string
		fields         []string
	}{
		{"payment", "USD", []string{"routing_number", "account_number"}}, {"payout", "USD", []string{"routing_number", "account_number"}},
		{"payment", "GBP", []string{"sort_code", "account_number"}}, {"payout", "GBP", []string{"sort_code", "account_number"}},
		{"payment", "CAD", []string{"institution_number", "transit_number", "account_number"}},
		{"payout", "CAD", nil}, {"payment", "EUR", nil},
	} {
		transaction := f.partner().post(transactions, `{"params":{"env":"test","type":"`+c.kind+`","amount":"1250","currency":"`+c.currency+`","hosted":true}}`).want(201, "")
		page := f.browse(transaction.at("widget_url"))
		action, _ := page.form()
		form := url.Values{"method": {"direct_debit"}}
		if c.fields == nil {
			page.wantMethods("", "bank_card")
			f.send(action, form).wantStatusOf(422)
			continue
		}
		page.wantMethods("bank_card", "bank_card", "direct_debit")
		for _, name := range c.fields {
			form.Set(name, " 55779911 ")
		}
		for _, name := range c.fields {
			value := form.Get(name)
			form.Del(name)
			refused := f.send(action, form).wantMethods("direct_debit", "bank_card", "direct_debit")
			if refused.status != 422 || !strings.Contains(page.body, `<label for="`+name+`">`) || strings.Count(refused.body, `-wrong">`) != 2 || !strings.Contains(refused.body, `id="`+name+`-wrong"`) {
				t.Errorf("without %s: %d %s", name, refused.status, refused.body)
			}
			form.Set(name, value)
		}
		form.Set(c.fields[0], "20-00-00")
		form.Set("account_number", strings.Repeat("5", 65))
		refused := f.send(action, form)
		if refused.status != 422 || !strings.Contains(refused.body, `value="200000"`) || strings.Contains(refused.body, "55555555") {
			t.Errorf("%d %s", refused.status, refused.body)
		}
		form.Set("account_number", "55779911")
		f.send(action, form).wantStatusOf(200)
		f.transaction(transaction.at("id")).wantFields(map[string]string{"status": "charged", "payment_method": `{"type":"direct_debit"}`})
	}
}

// After a refusal the form keeps the card's holder and expiry, unless one of these fields may contain a card number.
func TestRefusedCardKeepsItsHolderAndExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	action, _ := f.browse(f.createHosted("").at("widget_url")).form()
	form := card("4242424242424241")
	form.Set("expiry", "12/2030")
	f.send(action, form).wantPage(422, checkoutTitle, `value="12/2030"`, `value="`+form.Get("cardholder")+`"`)
	form.Set("expiry", "4242 4242 4242")
	form.Set("cardholder", "4242 4242 4242 4242")
	if page := f.send(action, form).wantPage(422, checkoutTitle); strings.Contains(strings.ReplaceAll(page.body, " ", ""), "42424242") { // ids may have four of the digits
		t.Errorf("%s", page.body)
	}
}

func TestPaymentWithoutAMethodShowsANotice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	action, _ := f.browse(transaction.at("widget_url")).form()
	const title = "Payment"
	for name, change := range map[string]func(){
		"no terminal":             func() { f.useTerminals("payment") },
		"a method without a page": func() { f.useTerminals("payment", `"methods":["apple_pay"]`) },
		"another currency":        func() { f.useTerminals("payment", `"currencies":["EUR"]`) },
		"a higher minimum":        func() { f.useTerminals("payment", `"min_amount":"1251"`) },
		"no exchange rate":        func() { f.useTerminals("payment", `"settlement_currency":"KZT"`) },
	} {
		change()
		if page := f.browse(transaction.at("widget_url")).wantPage(200, title); strings.Contains(page.body, "<form") {
			t.Errorf("%s: %s", name, page.body)
		}
		f.send(action, card("4242424242424242")).wantPage(422, title)
		f.transaction(transaction.at("id")).wantStatus("created", "")
	}
	f.useTerminals("payment", "")
	f.admin().patch("/api/v1/partners/1", `{"active":false}`).want(200, "")
	f.browse(transaction.at("widget_url")).wantPage(200, title)
	f.admin().patch("/api/v1/partners/1", `{"active":true}`).want(200, "")
	f.send(action, card("4242424242424242")).wantPage(200, "Paid")
}

// Limits and the blocklist apply to every payment method.
func TestMethodsAreScreened(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createLimit(`{"partner_id":1,"kind":"daily_volume","currency":"USD","env":"test","max_amount":"2000"}`)
	id, page := f.payBy("qr_code", nil)
	page.wantPage(200, "Scan to pay")
	f.transaction(id).wantStatus("action_required", "")
	id, page = f.payBy("qr_code", nil)
	page.wantPage(200, "Not paid")
	f.transaction(id).wantStatus("rejected", "limit exceeded: daily_volume")

	f.addToBlocklist("ip", "127.0.0.1")
	id, page = f.payBy("open_banking", nil)
	page.wantPage(200, "Not paid")
	f.transaction(id).wantStatus("rejected", "anti-fraud: ip")
}
