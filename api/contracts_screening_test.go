package api_test

import (
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mizan/api"
)

// screen requests a screening. pairs are its parameters: name, value, name, value …
func (f *fixture) screen(pairs ...string) *response {
	f.t.Helper()
	parameters := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		parameters.Add(pairs[i], pairs[i+1])
	}
	return f.session().get(religiousPath + "screen?" + parameters.Encode())
}

// The response lists each rule with its outcome.
func TestScreeningReturnsItsRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.screen("subject", "asset", "region", "AE", "asset_type", "Pork products", "debt_percent", "31", "impure_income_percent", "5").want(200, "")
	r.want(200, `{"data":{"screening_id":"`+r.at("data.screening_id")+`","decision":"fail","rules":[`+
		`{"code":"sector","outcome":"fail","detail":"the sector pork is excluded"},`+
		`{"code":"debt_ratio","outcome":"fail","detail":"is more than 30 percent"},`+
		`{"code":"impure_income_ratio","outcome":"pass","detail":"is at most 5 percent"},`+
		`{"code":"complete","outcome":"pass","detail":"everything that is needed was given"}],`+
		`"ruleset_version":1,"screened_at":"2026-09-03T10:15:30.123456+00:00"}}`)
}

// Each rule of rule set 1 is tested on both sides of its boundaries.
func TestScreeningsFollowTheRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct {
		decision   string
		parameters string // region=AE is added if no region is given
	}{
		{"pass", "subject=asset&asset_type=tower"},
		{"pass", "subject=asset&description=a tower"},
		{"pass", "subject=transaction&activity=trade&amount=1"},
		{"pass", "subject=transaction&activity=trade&amount=9007199254740993&currency=AED"},

		{"review", "subject=asset"},
		{"review", "subject=asset&activity=trade&amount=1"},
		{"review", "subject=asset&asset_type=%20&description=%09"},
		{"review", "subject=transaction&activity=trade"},
		{"review", "subject=transaction&amount=1"},
		{"review", "subject=transaction&asset_type=tower&description=a tower"},
		{"review", "subject=asset&asset_type=tower&region="},

		{"fail", "subject=asset&asset_type=alcohol"},
		{"fail", "subject=asset&asset_type=TOBACCO"},
		{"fail", "subject=asset&description=a Pork farm"},
		{"fail", "subject=transaction&activity=gambling&amount=1"},
		{"fail", "subject=transaction&activity=conventional finance&amount=1"},
		{"fail", "subject=transaction&activity=conventional_insurance&amount=1"},
		{"fail", "subject=transaction&activity=Conventional-Insurance&amount=1"},
		{"fail", "subject=transaction&description=weapons"}, // the sector decides, although a parameter is missing
		{"fail", "subject=asset&asset_type=adult entertainment"},
		{"fail", "subject=asset&asset_type=alcohol-free drinks"}, // alcohol occurs there as a whole word
		{"fail", "subject=asset&activity=tobacco&region="},

		{"pass", "subject=asset&asset_type=alcoholics anonymous"},
		{"pass", "subject=asset&asset_type=nonalcohol"},
		{"pass", "subject=asset&asset_type=weapon"},
		{"pass", "subject=asset&asset_type=adult education and entertainment"},
		{"pass", "subject=asset&asset_type=conventional building, finance quarter"},
		{"pass", "subject=asset&asset_type=finance conventional"},
		{"pass", "subject=asset&asset_type=porkpie hats"},

		{"pass", "subject=asset&asset_type=x&debt_percent=30"},
		{"pass", "subject=asset&asset_type=x&debt_percent=30.000"},
		{"pass", "subject=asset&asset_type=x&debt_percent=0"},
		{"pass", "subject=asset&asset_type=x&debt_percent=29.99"},
		{"fail", "subject=asset&asset_type=x&debt_percent=30.001"},
		{"fail", "subject=asset&asset_type=x&debt_percent=31"},
		{"fail", "subject=asset&asset_type=x&debt_percent=9999999999999999"},
		{"pass", "subject=asset&asset_type=x&impure_income_percent=5"},
		{"pass", "subject=asset&asset_type=x&impure_income_percent=5.0"},
		{"fail", "subject=asset&asset_type=x&impure_income_percent=5.1"},
		{"fail", "subject=asset&asset_type=x&impure_income_percent=6"},
		{"fail", "subject=asset&impure_income_percent=6"},
	} {
		query := strings.ReplaceAll(c.parameters, " ", "%20")
		if !strings.Contains(query, "region=") {
			query += "&region=AE"
		}
		r := f.session().get(religiousPath+"screen?"+query).want(200, "")
		if got := r.at("data.decision"); got != c.decision {
			t.Errorf("%s: %s, want %s", c.parameters, r.body, c.decision)
		}
	}
}

// A word is recognized even if it contains invisible characters or wide letters.
func TestScreeningSeesThroughInvisibleAndWideLetters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for text, decision := range map[string]string{
		"alco\u200bhol":                    "fail", // zero-width space
		"\ufeffgam\u2060b\u00adling\u200d": "fail", // byte order mark, word joiner, soft hyphen, joiner
		"pork\u200bbelly":                  "fail", // a zero-width space may also separate two words
		"tob\ufe0facco":                    "fail", // variation selector
		"por\u034fk":                       "fail", // combining grapheme joiner
		"wea\u3164pons":                    "fail", // a filler, which is in the class of letters
		"ａｌｃｏｈｏｌ":                          "fail",
		"ＴＯＢＡＣＣＯ leaves":                   "fail",
		"conventional＿finance":             "fail",
		"ｐｏｒｋｐｉｅ":                          "pass",
		"alco\u200bholics anonymous":       "pass",
		"\u200b\ufeff":                     "review",
		"\u3164":                           "review",
		"\u2800 \u00ad":                    "review",
	} {
		r := f.screen("subject", "asset", "region", "AE", "asset_type", text).want(200, "")
		if got := r.at("data.decision"); got != decision {
			t.Errorf("%q: %s, want %s", text, got, decision)
		}
	}
	for _, region := range []string{" ", "\u200b", "\t"} {
		f.screen("subject", "asset", "region", region, "asset_type", "tower", "currency", region).want(200, "").wantData("decision", "review")
	}
}

// A screening is a write, so a HEAD request does not make one.
func TestHeadCreatesNoScreening(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	screening := f.session().with("idempotency-key", "k").get(religiousPath+"screen?subject=asset").want(200, "")
	f.wantNothingStored(t, func() {
		for query, status := range map[string]int{"?subject=asset": 200, "?subject=company": 422, "": 422} {
			r := f.session().with("idempotency-key", "head").do("HEAD", religiousPath+"screen"+query, "")
			if r.status != status || r.body != "" {
				t.Errorf("%s: %d %s", query, r.status, r.body)
			}
			if status == 200 && r.header.Get("content-length") != strconv.Itoa(len(screening.body)) {
				t.Errorf("HEAD has the length %s, GET has %d bytes", r.header.Get("content-length"), len(screening.body))
			}
		}
	})
	f.session().with("idempotency-key", "head").get(religiousPath+"screen?subject=asset").want(200, "") // the key is free
}

// A screening accepts an Idempotency-Key as every write does, although it is a GET with its content in
// the query.
func TestScreeningTakesAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keyed := f.session().with("idempotency-key", "k")
	const query = religiousPath + "screen?subject=asset&region=AE&asset_type=tower"
	first := keyed.get(query).want(200, "")
	f.advanceDays(1)
	f.restart()
	keyed = f.session().with("idempotency-key", "k")
	f.wantNothingStored(t, func() {
		again := keyed.get(query).want(200, first.body)
		if again.header.Get("x-idempotent-replay") != "true" || first.header.Get("x-idempotent-replay") != "" {
			t.Errorf("first %q, again %q", first.header, again.header)
		}
		keyed.get(religiousPath + "screen?subject=asset&region=AE&asset_type=pork").wantConflict()
		keyed.get(religiousPath + "screen?subject=asset").wantConflict()
		keyed.post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).wantConflict()
		for _, key := range []string{strings.Repeat("k", 256), "a\tb"} {
			f.session().with("idempotency-key", key).get(query).wantFaults("Idempotency-Key")
		}
	})
	if other := f.session().with("idempotency-key", "other").get(query).want(200, ""); other.at("data.screening_id") == first.at("data.screening_id") {
		t.Error("another key was given the same screening")
	}
	// A key that a contract's creation has used can't be used for a screening.
	f.session().with("idempotency-key", "made").post(religiousPath+"mudaraba", religiousForm("mudaraba").json()).want(201, "")
	f.session().with("idempotency-key", "made").get(query).wantConflict()
	// A refused request has not used its key.
	f.session().with("idempotency-key", "free").get(religiousPath + "screen").wantFaults("subject")
	f.session().with("idempotency-key", "free").get(query).want(200, "")
}

// If requests with the same key run concurrently, only one makes a screening, and all get its response.
func TestConcurrentScreeningsWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const requests = 16
	bodies := make(chan string, requests)
	var wg sync.WaitGroup
	for range requests {
		wg.Go(func() {
			r := f.session().with("idempotency-key", "k").do("GET", religiousPath+"screen?subject=asset", "")
			bodies <- strconv.Itoa(r.status) + " " + r.body
		})
	}
	wg.Wait()
	first := <-bodies
	for range requests - 1 {
		if other := <-bodies; other != first || !strings.HasPrefix(first, "200 ") {
			t.Errorf("responded %s and %s", first, other)
		}
	}
}

// The refusal of a malformed parameter names it, and no screening is stored.
func TestScreeningParametersAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantNothingStored(t, func() {
		for parameters, field := range map[string]string{
			"": "subject", "subject=": "subject", "subject=company": "subject", "subject=asset&subject=asset": "subject",
			"subject=asset&region=FR": "region", "subject=asset&region=ae": "region",
			"subject=asset&amount=0": "amount", "subject=asset&amount=-1": "amount", "subject=asset&amount=1.0": "amount", "subject=asset&amount=": "amount",
			"subject=asset&amount=01": "amount", "subject=asset&amount=1" + strings.Repeat("0", 73): "amount",
			"subject=asset&currency=XTS": "currency", "subject=asset&currency=usd": "currency",
			"subject=asset&debt_percent=-1": "debt_percent", "subject=asset&debt_percent=1e1": "debt_percent", "subject=asset&debt_percent=30%25": "debt_percent",
			"subject=asset&debt_percent=.5": "debt_percent", "subject=asset&debt_percent=5.": "debt_percent", "subject=asset&debt_percent=1.2.3": "debt_percent",
			"subject=asset&impure_income_percent=x": "impure_income_percent", "subject=asset&env=prod": "env",
			"subject=asset&description=" + strings.Repeat("a", 1025): "description", "subject=asset&description=%ff": "description",
		} {
			f.session().get(religiousPath + "screen?" + parameters).wantFaults(field)
		}
	})
}

// Every screening is stored with its inputs and its id.
func TestScreeningIsStoredWithItsInputs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.screen("subject", "transaction", "region", "MY", "activity", "palm oil", "amount", "9007199254740993", "currency", "MYR",
		"asset_type", "mill", "description", `"raw" oil`, "debt_percent", "12.50", "impure_income_percent", "0").want(200, "")
	id := r.at("data.screening_id")
	f.advanceDays(1)
	f.restart()
	want := strings.TrimSuffix(r.body, "}}") + `,"given":{"subject":"transaction","region":"MY","asset_type":"mill","activity":"palm oil","description":"\"raw\" oil",` +
		`"currency":"MYR","debt_percent":"12.50","impure_income_percent":"0","amount":9007199254740993}}}`
	f.session().get(religiousPath+"screen/"+id).want(200, want)
	again := f.screen("subject", "asset").want(200, "")
	if again.at("data.screening_id") == id {
		t.Error("two screenings have one id")
	}
	f.session().get(religiousPath+"screen/"+again.at("data.screening_id")).want(200, strings.TrimSuffix(again.body, "}}")+`,"given":{"subject":"asset"}}}`)
	f.session().get(religiousPath+"screen/"+customerID).want(404, `{"error":"not_found","message":"there is no such thing"}`)
	f.session().get(religiousPath+"screen/x").want(404, "")
	events := f.auditor().get(ledgerPath+"/events?source="+id).want(200, "")
	if events.rows() != 1 || events.at("data.0.event") != "screen" || events.at("data.0.to") != "pass" || events.at("data.0.entry") != "(absent)" {
		t.Errorf("it is in the journal as %s", events.body)
	}
}

// A screening may be linked to a contract, but never replaces the contract's review.
func TestScreeningNeverReplacesAReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	approved := f.screen("subject", "asset", "region", "AE", "asset_type", "tower").want(200, "").at("data.screening_id")
	failed := f.screen("subject", "asset", "region", "AE", "asset_type", "pork").want(200, "").at("data.screening_id")
	for _, productType := range draftTypes {
		contract := f.createReligious(productType, "screening_id", `"`+approved+`"`)
		contract.read().wantData("screening_id", approved, "status", "draft", "compliance_review", "(absent)")
		for name, body := range religiousActions[productType] {
			if name != "approve" && name != "reject" && name != "subscribe" {
				contract.actWith(name, body).wantConflict()
			}
		}
		contract.approve().read().wantData("screening_id", approved, "status", "review_passed")
	}
	for _, productType := range []string{"musharaka", "wadiah"} {
		f.session().post(religiousPath+productType, religiousForm(productType).with("screening_id", `"`+approved+`"`, "compliance_review", "").json()).wantFaults("compliance_review")
	}
	// The board decides, regardless of the screening's result; the report shows both.
	contract := f.createReligious("sukuk", "screening_id", `"`+failed+`"`).approve()
	contract.get(contract.path+"/review").want(200, "").wantData("conclusion", "approved", "screening.decision", "fail", "screening.screening_id", failed)
}

// A screening is stored, so it is a command although it is a GET. A manual clock must not move during a
// command; during a read it may.
func TestScreeningIsACommandAlthoughItIsAGet(t *testing.T) {
	t.Parallel()
	var enterCalls atomic.Int64
	f := newFixture(t, func(cfg *api.Config) {
		enter := cfg.BeginCommand
		cfg.BeginCommand = func() func() {
			enterCalls.Add(1)
			return enter()
		}
	})
	for path, commands := range map[string]int64{"screen?subject=asset": 1, "stats": 0, "mudaraba": 0, "charity": 0, "regions": 0} {
		before := enterCalls.Load()
		f.session().get(religiousPath+path).want(200, "")
		if got := enterCalls.Load() - before; got != commands {
			t.Errorf("%s is %d commands, want %d", path, got, commands)
		}
	}
}
