package api_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

var receiptLink = regexp.MustCompile(`<a class="receipt" href="([^"]+)">`)

// receipt returns the URL of the receipt to which the page of a payment's outcome links, or "" if it links to none.
func (r *response) receipt() string {
	match := receiptLink.FindStringSubmatch(r.body)
	if match == nil {
		return ""
	}
	return html.UnescapeString(match[1])
}

func TestPaidPaymentHasAReceipt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm(`,"description":"Green tea"`)
	address := f.send(action, card("4242424242424242")).wantPage(200, "Paid").receipt()
	page := f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt", "$12.50", "Green tea", "Demo merchant", "Visa •••• 4242", id, "no money moves")
	if strings.Contains(page.body, "<form") || strings.Contains(page.body, `"/pay/`) {
		t.Errorf("the receipt leads elsewhere: %s", page.body)
	}
	f.changeTransaction(id, `"type":"refund","amount":"250"`).want(200, "")
	f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt").wantRows("Refunded", "$2.50", "Status", "Paid")

	// The token in the receipt's URL opens no other page, and the token of another page does not open the receipt.
	_, token, _ := strings.Cut(address, "?token=")
	_, pageToken, _ := strings.Cut(action, "?token=")
	pageToken, _, _ = strings.Cut(pageToken, "&")
	for _, wrong := range []string{
		"/pay/" + id + "?token=" + token, "/pay/" + id + "/return?token=" + token, "/pay/" + id + "/receipt?token=" + pageToken,
		"/pay/" + id + "/receipt", "/pay/" + id + "/receipt?token=" + token[:len(token)-1] + "A", "/pay/x/receipt?token=" + token,
	} {
		f.visit("GET", f.base()+wrong, nil).wantPage(404, "Page not found")
	}
	other, _ := f.payerForm("")
	f.visit("GET", f.base()+"/pay/"+other+"/receipt?token="+token, nil).wantPage(404, "Page not found")

	f.advanceBy(180*24*time.Hour - time.Minute)
	f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt")
	f.advanceBy(2 * time.Minute)
	f.visit("GET", f.base()+address, nil).wantPage(410, "This link is no longer valid")
}

func TestPaymentWithoutMoneyHasNoReceipt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, action := f.payerForm("")
	if address := f.send(action, url.Values{"cancel": {"1"}}).wantPage(200, "Not paid").receipt(); address != "" {
		t.Errorf("a cancelled payment has the receipt %s", address)
	}
	f.setTerminalParams("payment", `{"two_phase":true}`)
	_, action = f.payerForm("")
	if address := f.send(action, card("4242424242424242")).wantPage(200, "Approved").receipt(); address != "" {
		t.Errorf("a hold has the receipt %s", address)
	}
}

// The page at an expired URL names the merchant and links back to the merchant.
func TestExpiredPageNamesTheMerchant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted(`,"failUrl":"https://shop.example/no?id={transaction_id}"`)
	address := transaction.at("widget_url")
	f.advanceBy(16 * time.Minute)
	f.browse(address).wantPage(410, "This link is no longer valid", "<bdi>Demo merchant</bdi>", `href="https://shop.example/no?id=`+transaction.at("id")+`"`)
	closed := f.testLink(`"name":"Tea",`, `"default":100`, "fixed")
	f.partner().patch(linksPath+"/"+closed.at("data.id"), `{"active":false}`).want(200, "")
	f.browse(closed.at("data.url")).wantPage(410, "No payments are accepted here", "<bdi>Demo merchant</bdi>")
}

var pageRow = regexp.MustCompile(`<div><dt>([^<]*)</dt><dd><bdi>([^<]*)</bdi></dd></div>`)

// wantRows checks the rows of a page, given as name, value pairs. A row whose value is given as "" must be missing.
func (r *response) wantRows(want ...string) *response {
	r.t.Helper()
	rows := map[string]string{}
	for _, match := range pageRow.FindAllStringSubmatch(r.body, -1) {
		rows[html.UnescapeString(match[1])] = html.UnescapeString(match[2])
	}
	for i := 0; i < len(want); i += 2 {
		if got := rows[want[i]]; got != want[i+1] {
			r.t.Errorf("row %q has %q, want %q, of %q", want[i], got, want[i+1], rows)
		}
	}
	return r
}

// wantNoText checks that a page has none of the texts.
func (r *response) wantNoText(texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		if strings.Contains(r.body, text) {
			r.t.Errorf("%q is in %s", text, r.body)
		}
	}
}

// setPaymentFee sets a fee of 3% plus 2 minor units, which the payer pays on top of the amount and gets back with a refund.
func (f *fixture) setPaymentFee() {
	f.t.Helper()
	f.setTerminalParams("payment", `{"fee_bps":"300","fee_fixed":"2","fee_mode":"on_top","fee_refundable":true}`)
}

// A receipt shows how much the payer has got back. This includes the fee if the fee is refunded too.
func TestReceiptSaysWhatThePayerGetsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setPaymentFee() // of 12.50 the fee is floor(37.5) + 2 = 39 cents
	id, action := f.payerForm("")
	address := f.send(action, card("4242424242424242")).wantPage(200, "Paid", "$12.89").receipt()
	f.visit("GET", f.base()+address, nil).wantRows("Price", "$12.50", "Fee", "$0.39", "Refunded", "")
	f.changeTransaction(id, `"type":"refund","amount":"500"`).want(200, "")
	f.visit("GET", f.base()+address, nil).wantRows("Price", "$12.50", "Fee", "$0.39", "Refunded", "$5.15") // of the fee, floor(39 × 500 ÷ 1250) = 15 cents are refunded
	f.changeTransaction(id, `"type":"refund"`).want(200, "")
	f.visit("GET", f.base()+address, nil).wantRows("Price", "$12.50", "Fee", "$0.39", "Refunded", "$12.89")
}

// The price on the receipt of a hold is the captured amount, and the fee is the fee of that amount.
func TestReceiptOfAPartlyCapturedHold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setTerminalParams("payment", `{"fee_bps":"300","fee_fixed":"2","fee_mode":"on_top","two_phase":true}`)
	id, action := f.payerForm("")
	f.send(action, card("4242424242424242")).wantPage(200, "Approved")
	f.partner().post(transactions+"/commit/"+id, `{"params":{"amount":"1000"}}`).want(200, "")
	address := f.visit("GET", action, nil).wantPage(200, "Paid", "$10.32").receipt()
	f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt", "$10.32").wantRows("Price", "$10.00", "Fee", "$0.32", "Refunded", "")
}

// A chargeback returns the part of the payment that no refund has returned.
func TestReceiptAfterAChargeback(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setPaymentFee()
	for _, refund := range []string{"", `"type":"refund","amount":"500"`} {
		id, action := f.payerForm("")
		address := f.send(action, card("4000000000000259")).wantPage(200, "Paid").receipt()
		if refund != "" {
			f.changeTransaction(id, refund).want(200, "")
		}
		f.advanceBy(time.Minute)
		f.visit("GET", f.base()+address, nil).wantPage(200, "Receipt", "Returned").wantRows("Refunded", "$12.89")
	}
}

// A page shows a payment as returned once the whole amount is returned or being returned. Until then the payment is paid, and the
// page shows the returned part.
func TestPageSaysWhichPartWentBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setPaymentFee()
	id, action := f.payerForm("")
	address := f.send(action, card("4242424242424242")).wantPage(200, "Paid").wantRows("Refunded", "").receipt()
	f.changeTransaction(id, `"type":"refund","amount":"1"`).want(200, "")
	f.visit("GET", action, nil).wantPage(200, "Paid", "$12.89").wantRows("Refunded", "$0.01").wantNoText("Returned", "way back")
	f.visit("GET", f.base()+address, nil).wantRows("Status", "Paid", "Refunded", "$0.01")
	f.changeTransaction(id, `"type":"refund"`).want(200, "")
	f.visit("GET", action, nil).wantPage(200, "Returned", "$12.89", "way back").wantRows("Refunded", "")
	f.visit("GET", f.base()+address, nil).wantRows("Status", "Returned", "Refunded", "$12.89")

	// The provider completes a refund of this card only later.
	for _, c := range []struct{ amount, during, duringSum, after, afterSum, row string }{
		{`,"amount":"500"`, "Paid", "$12.89", "Paid", "$12.89", "$5.15"},
		{"", "Returned", "$12.89", "Returned", "$12.89", ""},
	} {
		id, action := f.payerForm("")
		address := f.send(action, card("4000000000007726")).wantPage(200, "Paid").receipt()
		f.changeTransaction(id, `"type":"refund"`+c.amount).want(200, "")
		f.visit("GET", action, nil).wantPage(200, c.during, c.duringSum).wantRows("Refunded", "")
		f.visit("GET", f.base()+address, nil).wantRows("Status", c.during, "Refunded", "")
		f.advanceBy(10 * time.Minute)
		f.visit("GET", action, nil).wantPage(200, c.after, c.afterSum).wantRows("Refunded", c.row)
	}

	// Here the fee is not refundable, so everything except the fee is returned.
	f.setTerminalParams("payment", `{"fee_bps":"300","fee_fixed":"2","fee_mode":"on_top","fee_refundable":false}`)
	id, action = f.payerForm("")
	f.send(action, card("4242424242424242")).wantPage(200, "Paid", "$12.89")
	f.changeTransaction(id, `"type":"refund"`).want(200, "")
	f.visit("GET", action, nil).wantPage(200, "Returned", "$12.50").wantNoText("$12.89")
}
