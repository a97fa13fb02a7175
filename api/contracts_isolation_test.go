package api_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Specification: readings are isolated. A contract at a path of the other reading, or of
// another product, is answered like one that does not exist.
func TestContractOfOneReadingIs404InTheOther(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	actions := map[string]string{ // an action that exists at the other path
		"murabaha": "cancel", "mudaraba": "fund", "musharaka": "dissolve", "ijara": "acquire", "sukuk": "offering", "wadiah": "close",
	}
	for religious, secular := range counterparts {
		theirs, ours := h.createSecular(secular), h.createReligious(religious)
		idOf := func(d *contractFixture) string { return d.path[strings.LastIndex(d.path, "/")+1:] }
		h.wantNothingStored(t, func() {
			for _, at := range []struct{ base, id, action string }{
				{pfp + secular, idOf(ours), actions[religious]},
				{islamic + religious, idOf(theirs), "approve"},
				{islamic + religious, idOf(theirs), "buyout_unit"},
				{islamic + religious, idOf(theirs), "nonsense"},
				{pfp + secular, idOf(ours), "nonsense"},
			} {
				for _, rest := range []string{"", "/entries", "/schedule.csv", "/review"} {
					if rest == "/review" && strings.HasPrefix(at.base, pfp) {
						continue
					}
					want := h.session().get(at.base+"/"+uuid.NewString()+rest).want(404, `{"error":"not_found","message":"no such contract"}`)
					if a := h.session().get(at.base+"/"+at.id+rest).want(404, want.body); sameHeaders(a) != sameHeaders(want) {
						t.Errorf("%s%s: %v, of a random id %v", at.base, rest, a.header, want.header)
					}
				}
				want := h.session().post(at.base+"/"+uuid.NewString()+"/"+at.action, fatwa.json()).want(404, "")
				h.session().post(at.base+"/"+at.id+"/"+at.action, fatwa.json()).want(404, want.body)
			}
		})
	}
	other := h.createReligious("mudaraba")
	id := other.path[strings.LastIndex(other.path, "/")+1:]
	h.session().get(islamic+"ijara/"+id).want(404, `{"error":"not_found","message":"no such contract"}`)
}

// Readings are also isolated in lists, filters, statistics and numbers.
func TestReadingsAreSeparateInListsFiltersStatisticsAndNumbers(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for religious, secular := range counterparts {
		theirs, ours := h.createSecular(secular), h.createReligious(religious)
		for _, c := range []struct{ path, want string }{
			{pfp + secular, theirs.path}, {islamic + religious, ours.path},
			{pfp + secular + "?region=AE", theirs.path}, {islamic + religious + "?env=prod", ours.path},
		} {
			a := h.session().get(c.path).want(200, "")
			if a.rows() != 1 || !strings.HasSuffix(c.want, a.at("data.0.id")) {
				t.Errorf("%s: %s", c.path, a.body)
			}
		}
		for d, number := range map[*contractFixture]string{theirs: "-2026-000001", ours: "-2026-000001"} {
			if got := d.read().at("data.contract_number"); !strings.HasSuffix(got, number) {
				t.Errorf("%s has the number %s", d.path, got)
			}
		}
	}
	for _, secular := range []string{"managed-investments", "leases"} {
		if a := h.session().get(pfp+secular+"?customer_id="+someone).want(200, ""); a.rows() != 1 {
			t.Errorf("%s of a customer: %s", secular, a.body)
		}
	}
	h.issued()
	if a := h.session().get(pfp+"certificate-issues?investor_id="+someone).want(200, ""); a.rows() != 0 {
		t.Errorf("a holder of sukuk is shown %s", a.body)
	}
	for range 3 {
		h.createSecular("investment-deposits") // they have no path in the religious family
	}
	stats := h.session().get(islamic+"stats").want(200, "")
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

// The same key at a path of the other reading is a different request.
func TestIdempotencyKeysOfTheTwoReadingsAreSeparate(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	keyed := h.session().with("idempotency-key", "k-1")
	body := forms["managed-investments"].json()
	first := keyed.post(islamic+"mudaraba", body).want(201, "")
	keyed.post(pfp+"managed-investments", body).want(409, "")
	if again := keyed.post(islamic+"mudaraba", body).want(201, first.body); again.header.Get("x-idempotent-replay") != "true" {
		t.Error("the repetition does not say that it is one")
	}
	keyed.post(islamic+"mudaraba", forms["managed-investments"].with("term_months", "13").json()).want(409, "")
	if a := h.session().get(pfp+"managed-investments").want(200, ""); a.rows() != 0 {
		t.Errorf("the other address has %s", a.body)
	}
}

// An action with a key is performed once: a repetition gets the first answer.
func TestReligiousActionRunsOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createReligious("mudaraba")
	keyed := d.with("idempotency-key", "approve-1")
	first := keyed.post(d.path+"/approve", fatwa.json()).want(200, "")
	d.mustActAll("fund")
	if again := keyed.post(d.path+"/approve", fatwa.json()).want(200, first.body); again.header.Get("x-idempotent-replay") != "true" {
		t.Error("the repetition does not say that it is one")
	}
	keyed.post(d.path+"/approve", fatwa.with("note", `"other"`).json()).want(409, "")
	d.read().wantData("status", "funded")
}
