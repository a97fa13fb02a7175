package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// A link counts the charged amounts of its payments. For a hold it counts the captured amount, and it never counts a fee on top.
// Refunds and chargebacks do not reduce the count.
func TestLinkCountsWhatWasCharged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setTerminalParams("payment", `{"fee_bps":"300","fee_fixed":"2","fee_mode":"on_top","two_phase":true}`)
	created := f.testLink("", `"default":2000`, "fixed")
	wantCounted := func(count, amount string) {
		t.Helper()
		f.partner().get(linksPath + "/" + created.at("data.id")).wantFields(map[string]string{"data.payments.count": count, "data.payments.amount": amount})
	}
	pay := func(number, title string) (id string) {
		t.Helper()
		action, _ := f.send(created.at("data.url"), url.Values{}).wantPage(200, checkoutTitle).form()
		f.send(action, card(number)).wantPage(200, title)
		return f.partner().get(transactions + "?env=test").at("data.0.id")
	}
	held, voided := pay("4242424242424242", "Approved"), pay("4242424242424242", "Approved")
	wantCounted("0", "0")
	f.partner().post(transactions+"/commit/"+held, `{"params":{"amount":"1500"}}`).want(200, "").wantStatus("charged", "")
	f.changeTransaction(voided, `"type":"cancel"`).want(200, "")
	wantCounted("1", "1500")
	f.changeTransaction(held, `"type":"refund","amount":"500"`).want(200, "")
	f.changeTransaction(held, `"type":"refund"`).want(200, "")
	wantCounted("1", "1500")

	f.setTerminalParams("payment", `{"fee_bps":"300","fee_mode":"on_top"}`)
	pay("4242424242424242", "Paid")
	wantCounted("2", "3500")
	f.setTerminalParams("payment", `{"fee_bps":"300","fee_mode":"deduct"}`)
	pay("4000000000000259", "Paid")
	f.advanceBy(time.Minute) // the bank takes the money of the last payment back
	wantCounted("3", "5500")
}

// An http address of a merchant is stored, but no payer is sent to it, because anybody on the network path could read or change
// the request.
func TestLinkLeadsPayersToHTTPSAddressesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for address, isShown := range map[string]bool{"https://shop.example/ok": true, "http://shop.example/ok": false, "http://127.0.0.1:4000/ok": true} {
		created := f.testLink(`"return_url":"`+address+`",`, `"default":2000`, "fixed")
		created.wantFields(map[string]string{"data.return_url": address})
		action, _ := f.send(created.at("data.url"), url.Values{}).wantPage(200, checkoutTitle).form()
		paid := f.send(action, card("4242424242424242")).wantPage(200, "Paid")
		if strings.Contains(paid.body, address) != isShown {
			t.Errorf("%s: shown %t: %s", address, !isShown, paid.body)
		}
	}
}
