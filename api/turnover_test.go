package api_test

import (
	"fmt"
	"strings"
	"testing"

	"mizan/ledger/payment"
)

const turnoverPath = "/api/v1/turnover"

// turnoverRows returns each row as a text: "day type currency/network: attempts charged:amount refunds:amount reversals:amount
// declines".
func (r *response) turnoverRows() (rows []string) {
	r.t.Helper()
	r.want(200, "")
	for i := range r.rows() {
		at := func(name string) string { return r.at(fmt.Sprintf("data.%d.%s", i, name)) }
		row := fmt.Sprintf("%s %s %s/%s: %s %s:%s %s:%s %s:%s", at("day")[8:], at("type"), at("currency"), at("network"), at("attempts"),
			at("charged"), at("charged_amount"), at("refunds"), at("refunded_amount"), at("reversals"), at("reversed_amount"))
		for n := 0; at(fmt.Sprintf("declines.%d", n)) != "(absent)"; n++ {
			row += fmt.Sprintf(" %s=%s", at(fmt.Sprintf("declines.%d.error_code", n)), at(fmt.Sprintf("declines.%d.count", n)))
		}
		rows = append(rows, row)
	}
	return rows
}

// wantTurnover checks the rows of the first partner's turnover in env test.
func (f *fixture) wantTurnover(want ...string) {
	f.t.Helper()
	got := f.partner().get(turnoverPath + "?env=test").turnoverRows()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		f.t.Errorf("counted\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (f *fixture) refund(id, amount string) *response {
	f.t.Helper()
	return f.partner().put(transactions+"/"+id, `{"params":{"type":"refund","amount":"`+amount+`"}}`)
}

func TestTurnoverOfNothingIsEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.partner().get(turnoverPath).turnoverRows(); got != nil {
		t.Errorf("%q", got)
	}
}

// Charges, declines, refunds and chargebacks count on the day on which they happen, each in its asset. Declines count by reason.
func TestTurnoverCountsEachThingOnItsDay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.charge("4242424242424242").at("id")
	f.charge("5555555555554444")
	f.create(`"type":"payment","amount":"700","currency":"EUR",` + goodCard)
	for _, card := range []string{declinedCard, declinedCard, poorCard, expiredCard, failingCard} {
		f.charge(card)
	}
	f.create(`"type":"payment","amount":"700","currency":"USDT","network":"tron",` + goodCard)
	f.create(`"type":"payout","amount":"300","currency":"USD",` + goodCard)
	f.create(`"type":"payout","amount":"99999999999","currency":"USD",`+goodCard).wantStatus("rejected", "insufficient_balance")
	f.refund(first, "250").want(200, "")
	f.charge("4000000000000259") // reversed 60 s later
	f.setClock("2026-09-03T10:20:00Z")
	thirdOfSeptember := []string{
		"03 payment EUR/: 1 1:700 0:0 0:0",
		"03 payment USD/: 8 3:3750 1:250 1:1250 card_declined=2 insufficient_funds=1 expired_card=1 processing_error=1",
		"03 payout USD/: 2 1:300 0:0 0:0 insufficient_balance=1",
		"03 payment USDT/tron: 1 1:700 0:0 0:0",
	}
	f.wantTurnover(thirdOfSeptember...)

	f.setClock("2026-09-04T00:00:01Z")
	f.refund(first, "1000").want(200, "")
	f.charge("4000000000000077")
	f.wantTurnover(append(thirdOfSeptember, "04 payment USD/: 0 0:0 1:1000 0:0")...)
	f.setClock("2026-09-05T00:00:01Z") // it is charged five seconds after its creation
	f.wantTurnover(append(thirdOfSeptember, "04 payment USD/: 1 1:1250 1:1000 0:0")...)

	if got := f.partner().get(turnoverPath).turnoverRows(); got != nil {
		t.Errorf("in prod: %q", got)
	}
	if got := f.second().get(turnoverPath + "?env=test").turnoverRows(); got != nil {
		t.Errorf("another partner has %q", got)
	}
	if r := f.partner().get(turnoverPath+"?env=test&currency=EUR").want(200, ""); len(r.turnoverRows()) != 1 || r.at("data.0.scale") != "2" || r.at("data.0.env") != "test" {
		t.Errorf("in EUR: %s", r.body)
	}
}

// A hold counts when it is captured, with the captured amount. A hold that is never captured counts as declined.
func TestTurnoverCountsHeldMoneyWhenItIsCaptured(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"two_phase":true`)
	captured, cancelled := f.charge("4242424242424242").at("id"), f.charge("4242424242424242").at("id")
	f.wantTurnover()
	f.partner().post(transactions+"/commit/"+captured, `{"params":{"amount":"500"}}`).want(200, "")
	f.partner().put(transactions+"/"+cancelled, `{"params":{"type":"cancel"}}`).want(200, "")
	f.wantTurnover("03 payment USD/: 2 1:500 0:0 0:0 cancelled=1")
}

// Each attempt of a payer counts with the reason for its own decline, even if the server counts it only after the payment has
// ended.
func TestTurnoverCountsEachAttemptOfAPayer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, action := f.payerForm("")
	f.tryCard(action, declinedCard)
	f.tryCard(action, poorCard)
	f.tryCard(action, "4242424242424242").wantPage(200, "Paid")
	_, action = f.payerForm("")
	f.tryCard(action, expiredCard)
	f.wantTurnover("03 payment USD/: 4 1:1250 0:0 0:0 card_declined=1 insufficient_funds=1 expired_card=1")
	f.setClock("2026-09-03T12:00:00Z")
	f.wantTurnover("03 payment USD/: 5 1:1250 0:0 0:0 card_declined=1 insufficient_funds=1 expired_card=1 payer_action_expired=1")
}

// A response includes all earlier changes, although the server counts them in the background.
func TestTurnoverShowsWhatTheReaderHasJustDone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range 3 {
		created := f.charge("4242424242424242").at("finished")
		r := f.partner().get(turnoverPath+"?env=test").want(200, "")
		if r.at("data.0.charged") != fmt.Sprint(n+1) || r.at("data.0.last_at") != created || r.at("meta.as_of") < created {
			t.Errorf("after %d payments: %s, the last at %s", n+1, r.body, created)
		}
	}
}

// A caller who does not act for a partner must name a partner; a partner must not.
func TestTurnoverOfAPartnerForOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.charge("4242424242424242")
	for name, who := range map[string]caller{"operator": f.admin(), "admin": f.session(), "auditor": f.auditor()} {
		if got := who.get(turnoverPath + "?env=test&partner_id=1").turnoverRows(); len(got) != 1 {
			t.Errorf("%s: %q", name, got)
		}
		who.get(turnoverPath).want(422, `{"errors":[{"code":"invalid","detail":"partner_id is required","field":"partner_id"}]}`)
		who.get(turnoverPath+"?partner_id=0").want(422, `{"errors":[{"code":"invalid","detail":"partner_id must be a positive integer","field":"partner_id"}]}`)
		if foreign, unknown := who.get(turnoverPath+"?partner_id=2").want(404, ""), who.get(turnoverPath+"?partner_id=99").want(404, ""); foreign.body != unknown.body {
			t.Errorf("%s: a foreign partner's answer is %s, an unknown one's %s", name, foreign.body, unknown.body)
		}
	}
	f.partner().get(turnoverPath+"?partner_id=1").want(422, `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"partner_id"}]}`)
}

func TestTurnoverRefusesWrongDays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for query, want := range map[string]string{
		"from=2026-09-04&to=2026-09-03": `"from must not be after to","field":"from"`,
		"from=2025-09-02&to=2026-09-03": `"from must be at most 366 days before to, both included","field":"from"`,
		"from=2026-9-4":                 `"from must be a day from 1970-01-01 on","field":"from"`,
		"to=1969-12-31":                 `"to must be a day from 1970-01-01 on","field":"to"`,
		"to=":                           `"to must be a day from 1970-01-01 on","field":"to"`,
		"env=live":                      `"env must be prod or test","field":"env"`,
		"currency=XYZ":                  `"unsupported currency XYZ","field":"currency"`,
		"day=2026-09-03":                `"Unexpected field","field":"day"`,
	} {
		f.partner().get(turnoverPath+"?"+query).want(422, `{"errors":[{"code":"invalid","detail":`+want+`}]}`)
	}
	f.partner().get(turnoverPath+"?from=2025-09-03&to=2026-09-03").want(200, "")
	f.partner().get(turnoverPath+"?to=9999-12-31").want(200, "")
	f.partner().get(turnoverPath+"?from=1970-01-01&to=1970-01-01").want(200, "")
}

// Only the days that are asked for are shown; by default the last thirty.
func TestTurnoverShowsTheDaysOfTheRange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, day := range []string{"2026-09-03", "2026-09-04", "2026-10-02", "2026-10-03"} {
		f.setClock(day + "T11:00:00Z")
		f.charge("4242424242424242")
	}
	for query, want := range map[string]string{
		"":                               "2026-09-04 2026-10-02 2026-10-03",
		"&to=2026-10-02":                 "2026-09-03 2026-09-04 2026-10-02",
		"&from=2026-09-04&to=2026-10-02": "2026-09-04 2026-10-02",
		"&from=2026-10-03":               "2026-10-03",
		"&from=2026-09-05&to=2026-10-01": "",
		"&from=2026-10-04&to=2026-10-05": "",
	} {
		r := f.partner().get(turnoverPath+"?env=test"+query).want(200, "")
		var days []string
		for i := range r.rows() {
			days = append(days, r.at(fmt.Sprintf("data.%d.day", i)))
		}
		if got := strings.Join(days, " "); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

// The sums of the turnover over all days equal the sums that the aggregate computes from the transactions.
func TestTurnoverAgreesWithTheAggregate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cards := []string{"4242424242424242", declinedCard, poorCard, "4000000000000341", "4000000000000259", "4000000000005126"}
	for n := range 30 {
		f.setClock(began.AddDate(0, 0, n/3).Format("2006-01-02T") + fmt.Sprintf("1%d:30:00Z", n%3))
		if r := f.charge(cards[n%len(cards)]); n%4 == 0 && r.at("status") == "charged" {
			f.refund(r.at("id"), "100")
		}
	}
	f.setClock("2026-09-20T00:00:00Z")
	records := map[string]int{} // the number of transactions with each status
	sums := f.partner().get(aggregate+"?env=test&type=payment").want(200, "")
	for i := range sums.rows() {
		var n int
		_, _ = fmt.Sscan(sums.at(fmt.Sprintf("data.%d.count", i)), &n)
		records[sums.at(fmt.Sprintf("data.%d.status", i))] += n
	}
	counted := map[string]int{}
	r := f.partner().get(turnoverPath+"?env=test").want(200, "")
	for i := range r.rows() {
		for _, name := range []string{"attempts", "charged", "reversals"} {
			var n int
			_, _ = fmt.Sscan(r.at(fmt.Sprintf("data.%d.%s", i, name)), &n)
			counted[name] += n
		}
	}
	ended := 0
	for _, status := range []payment.Status{payment.Charged, payment.Refunded, payment.Reversed, payment.Rejected, payment.Failed} {
		ended += records[string(status)]
	}
	if ended != 30 || counted["attempts"] != 30 || counted["charged"] != 30-records["rejected"]-records["failed"] || counted["reversals"] != records["reversed"] || records["reversed"] == 0 || records["rejected"] == 0 {
		t.Errorf("records %v, counted %v", records, counted)
	}
}
