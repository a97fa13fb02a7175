package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Specification: readings (the secular and the religious family of endpoints) are isolated. A request for a contract in the other
// reading, or as another product, gets the same response as for a contract that does not exist.
func TestContractOfOneReadingIs404InTheOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	actions := map[string]string{ // an action of each religious product's secular counterpart
		"murabaha": "cancel", "mudaraba": "fund", "musharaka": "dissolve", "ijara": "acquire", "sukuk": "offering", "wadiah": "close",
	}
	for religious, secular := range counterparts {
		secularContract, religiousContract := f.createSecular(secular), f.createReligious(religious)
		idOf := func(contract *contractFixture) string { return contract.path[strings.LastIndex(contract.path, "/")+1:] }
		f.wantNothingStored(t, func() {
			for _, c := range []struct{ base, id, action string }{
				{secularPath + secular, idOf(religiousContract), actions[religious]},
				{religiousPath + religious, idOf(secularContract), "approve"},
				{religiousPath + religious, idOf(secularContract), "buyout_unit"},
				{religiousPath + religious, idOf(secularContract), "nonsense"},
				{secularPath + secular, idOf(religiousContract), "nonsense"},
			} {
				for _, suffix := range []string{"", "/entries", "/schedule.csv", "/review"} {
					if suffix == "/review" && strings.HasPrefix(c.base, secularPath) {
						continue
					}
					want := f.session().get(c.base+"/"+uuid.NewString()+suffix).want(404, `{"error":"not_found","message":"no such contract"}`)
					if r := f.session().get(c.base+"/"+c.id+suffix).want(404, want.body); sameHeaders(r) != sameHeaders(want) {
						t.Errorf("%s%s: %v, of a random id %v", c.base, suffix, r.header, want.header)
					}
				}
				want := f.session().post(c.base+"/"+uuid.NewString()+"/"+c.action, fatwa.json()).want(404, "")
				f.session().post(c.base+"/"+c.id+"/"+c.action, fatwa.json()).want(404, want.body)
			}
		})
	}
	mudaraba := f.createReligious("mudaraba")
	id := mudaraba.path[strings.LastIndex(mudaraba.path, "/")+1:]
	f.session().get(religiousPath+"ijara/"+id).want(404, `{"error":"not_found","message":"no such contract"}`)
}

// Readings are also isolated in lists, filters, statistics and numbers.
func TestReadingsAreSeparateInListsFiltersStatisticsAndNumbers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for religious, secular := range counterparts {
		secularContract, religiousContract := f.createSecular(secular), f.createReligious(religious)
		for _, c := range []struct{ path, want string }{
			{secularPath + secular, secularContract.path}, {religiousPath + religious, religiousContract.path},
			{secularPath + secular + "?region=AE", secularContract.path}, {religiousPath + religious + "?env=prod", religiousContract.path},
		} {
			r := f.session().get(c.path).want(200, "")
			if r.rows() != 1 || !strings.HasSuffix(c.want, r.at("data.0.id")) {
				t.Errorf("%s: %s", c.path, r.body)
			}
		}
		for contract, number := range map[*contractFixture]string{secularContract: "-2026-000001", religiousContract: "-2026-000001"} {
			if got := contract.read().at("data.contract_number"); !strings.HasSuffix(got, number) {
				t.Errorf("%s has the number %s", contract.path, got)
			}
		}
	}
	for _, secular := range []string{"managed-investments", "leases"} {
		if r := f.session().get(secularPath+secular+"?customer_id="+customerID).want(200, ""); r.rows() != 1 {
			t.Errorf("%s of a customer: %s", secular, r.body)
		}
	}
	f.activeSukuk()
	if r := f.session().get(secularPath+"certificate-issues?investor_id="+customerID).want(200, ""); r.rows() != 0 {
		t.Errorf("a holder of sukuk is shown %s", r.body)
	}
	for range 3 {
		f.createSecular("investment-deposits") // investment deposits have no path in the religious family
	}
	stats := f.session().get(religiousPath+"stats").want(200, "")
	stats.wantData("total", "7")
	for i, productType := range []string{"sukuk", "musharaka", "ijara", "mudaraba", "murabaha", "wadiah"} {
		want := `{"count":1,"product_type":"` + productType + `"}`
		if productType == "sukuk" {
			want = `{"count":2,"product_type":"sukuk"}`
		}
		if got := stats.at("data.products." + string(rune('0'+i))); got != want {
			t.Errorf("statistics say %s, want %s", got, want)
		}
	}
}

// A key that was used at one reading's path gets 409 at the other's, because that is a different request.
func TestIdempotencyKeysOfTheTwoReadingsAreSeparate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keyed := f.session().with("idempotency-key", "k-1")
	body := forms["managed-investments"].json()
	first := keyed.post(religiousPath+"mudaraba", body).want(201, "")
	keyed.post(secularPath+"managed-investments", body).want(409, "")
	if repeated := keyed.post(religiousPath+"mudaraba", body).want(201, first.body); repeated.header.Get("x-idempotent-replay") != "true" {
		t.Error("the repetition does not say that it is one")
	}
	keyed.post(religiousPath+"mudaraba", forms["managed-investments"].with("term_months", "13").json()).want(409, "")
	if r := f.session().get(secularPath+"managed-investments").want(200, ""); r.rows() != 0 {
		t.Errorf("the other address has %s", r.body)
	}
}

// An action with a key is performed once: a repetition gets the first response.
func TestReligiousActionRunsOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba")
	keyed := contract.with("idempotency-key", "approve-1")
	first := keyed.post(contract.path+"/approve", fatwa.json()).want(200, "")
	contract.mustActAll("fund")
	if repeated := keyed.post(contract.path+"/approve", fatwa.json()).want(200, first.body); repeated.header.Get("x-idempotent-replay") != "true" {
		t.Error("the repetition does not say that it is one")
	}
	keyed.post(contract.path+"/approve", fatwa.with("note", `"other"`).json()).want(409, "")
	contract.read().wantData("status", "funded")
}
