package api_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const (
	linksPath    = "/api/v1/links"
	productsPath = "/api/v1/products"
)

// link returns the body of a request that creates a payment link. It begins with the given fields.
func link(fields string) string {
	return `{` + fields + `"amount":{"default":1999,"currency":"USD"},"amount_type":"fixed","pay_config":{}}`
}

func TestLinkHasTheFieldsOfTheSpecification(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.partner().post(linksPath, `{"amount":{"default":1999,"currency":"USD"},"amount_type":"fixed","pay_config":{"methods":["card","sbp"]}}`).want(201, "")
	id := created.at("data.id")
	created.wantFields(map[string]string{
		"data.partner_id": "1", "data.env": "prod", "data.amount.default": "1999", "data.amount.currency": "USD", "data.amount.network": "null",
		"data.amount.min": "null", "data.amount.max": "null", "data.amount_type": "fixed", "data.pay_config.methods": `["card","sbp"]`,
		"data.image": "null", "data.products": "[]", "data.name": "null", "data.description": "null", "data.metadata": "null",
		"data.return_url": "null", "data.fail_url": "null", "data.active": "true",
		"data.url": f.base() + "/pay/l/" + id, "data.qr_url": f.base() + "/pay/l/" + id + "/qr.svg",
		"data.payments.count": "0", "data.payments.amount": "0", "id": "(absent)",
	})
	if at := created.at("data.created"); !strings.HasPrefix(at, "2026-09-03T10:15:30.") || !strings.HasSuffix(at, "+00:00") {
		t.Errorf("created %s", at)
	}
	if !strings.Contains(created.body, `"default":1999`) || !strings.Contains(created.body, `"partner_id":1,`) || !strings.Contains(created.body, `"count":0,"amount":0`) {
		t.Errorf("amounts and the partner must be JSON integers: %s", created.body)
	}
	f.partner().get(linksPath+"/"+id).want(200, created.body)
	f.admin().get(linksPath+"/"+id).want(200, created.body)
	f.second().get(linksPath+"/"+id).want(404, f.second().get(linksPath+"/"+uuid.NewString()).body)
	f.anyone().get(linksPath+"/"+id).want(401, "")
	f.session().get(linksPath+"/"+id).want(403, "")
}

// A session of role partner reads its partner's links and products as the partner's key does, and writes nothing.
func TestPartnerSessionReadsLinksAndProducts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	product := productsPath + "/" + f.product(f.partner(), "")
	ofPartner := linksPath + "/" + f.partner().post(linksPath, link("")).want(201, "").at("data.id")
	neighbour := f.otherPartner()
	otherProduct := productsPath + "/" + f.product(neighbour, "")
	otherLink := linksPath + "/" + neighbour.post(linksPath, link("")).want(201, "").at("data.id")
	f.createUser("cashier", `"partner"`, `,"partner_id":1`)
	for holder, session := range map[string]caller{
		"the partner itself": f.bearer(f.logIn(f.seed.First.Org.String(), loginBody("demo", string(f.seed.First.Pass))).want(201, "").at("data.token"), f.seed.First.Org),
		"a user":             f.logInAs("cashier"),
	} {
		for _, path := range []string{linksPath, linksPath + "?partner_id=1", ofPartner, productsPath, productsPath + "?active=true", product} {
			if r := session.get(path); r.status != 200 || r.body != f.partner().get(path).body {
				t.Errorf("%s at %s: %d %s", holder, path, r.status, r.body)
			}
		}
		for path, unknown := range map[string]string{otherLink: linksPath, otherProduct: productsPath} {
			session.get(path).want(404, session.get(unknown+"/"+uuid.NewString()).body)
		}
		session.get(linksPath+"?partner_id=2").want(422, "")
		before := f.events()
		session.post(linksPath, link("")).want(403, "")
		session.post(productsPath, `{"header":"Tea","text":"Green"}`).want(403, "")
		for _, path := range []string{ofPartner, product} {
			session.patch(path, `{"active":false}`).want(403, "")
			session.do("DELETE", path, "").want(403, "")
		}
		session.upload(grayPNG(t, 3, 2)).want(403, "")
		if after := f.events(); after != before {
			t.Errorf("%s: %s events, were %s", holder, after, before)
		}
	}
}

func TestLinkIsCreatedWithEveryField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := `{"params":{"env":"test","amount":{"default":500,"currency":"ETH","min":100,"max":1000000000000000000000000000},"amount_type":"dynamic","pay_config":{"methods":[]},` +
		`"name":"Tea","description":"Two lines\nof text","metadata":{"order":[1,{"a":null}]},"return_url":"https://shop.example/ok?x=1","fail_url":"http://shop.example/no","active":false}}`
	created := f.partner().post(linksPath, body).want(201, "")
	created.wantFields(map[string]string{
		"data.env": "test", "data.amount.default": "500", "data.amount.network": "ethereum", "data.amount.min": "100", "data.amount_type": "dynamic",
		"data.pay_config.methods": "[]", "data.name": "Tea", "data.description": "Two lines\nof text", "data.metadata": `{"order":[1,{"a":null}]}`,
		"data.return_url": "https://shop.example/ok?x=1", "data.fail_url": "http://shop.example/no", "data.active": "false",
	})
	if !strings.Contains(created.body, `"max":1000000000000000000000000000`) {
		t.Errorf("10^9 ETH are 10^27 minor units: %s", created.body)
	}
	withToken := f.admin().post(linksPath, link(`"partner_id":1,`)).want(201, "")
	withToken.wantFields(map[string]string{"data.partner_id": "1"})
	f.partner().post(linksPath, link(`"partner_id":1,`)).want(201, "")
}

func TestInvalidLinksAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const form = "must be an integer of minor units"
	withAmount := func(amount string) string {
		return `{"amount":` + amount + `,"amount_type":"fixed","pay_config":{}}`
	}
	dynamic := func(amount string) string {
		return `{"amount":` + amount + `,"amount_type":"dynamic","pay_config":{}}`
	}
	for body, want := range map[string]string{
		`{}`:              "amount: amount is required|amount_type: must be fixed or dynamic|pay_config: pay_config is required",
		withAmount(`{}`):  "amount.default: default is required|amount.currency: currency is required",
		withAmount(`"1"`): "amount: amount must be an object",
		withAmount(`{"default":"1","currency":"USD"}`):                    "amount.default: default " + form,
		withAmount(`{"default":1.0,"currency":"USD"}`):                    "amount.default: default " + form,
		withAmount(`{"default":1e3,"currency":"USD"}`):                    "amount.default: default " + form,
		withAmount(`{"default":-1,"currency":"USD"}`):                     "amount.default: default " + form,
		withAmount(`{"default":0,"currency":"USD"}`):                      "amount.default: default must be above zero",
		withAmount(`{"default":1,"currency":"JPY"}`):                      "amount.currency: unsupported currency JPY",
		withAmount(`{"default":1,"currency":"USDT"}`):                     "amount.network: is required: USDT is on several networks",
		withAmount(`{"default":1000000000000001,"currency":"USD"}`):       "amount.default: must be at most 1000000000000000",
		withAmount(`{"default":1,"currency":"USDT","network":"nowhere"}`): "amount.network: is no network of USDT",
		withAmount(`{"default":1,"currency":"USD","min":1}`):              "amount: min and max are for amount_type dynamic",
		dynamic(`{"default":5,"currency":"USD","min":6}`):                 "amount.default: must be from min to max",
		dynamic(`{"default":5,"currency":"USD","max":4}`):                 "amount.default: must be from min to max",
		dynamic(`{"default":5,"currency":"USD","min":7,"max":6}`):         "amount.max: is below min",
		link(`"env":"live",`):                                             "env: must be prod or test",
		link(`"env":"",`):                                                 "env: must not be empty",
		link(`"params":5,`):                                               "params: must be an object",
		link(`"partner_id":-1,`):                                          "partner_id: partner_id must be an integer of at least 1",
		link(`"products":["x"],`):                                         "products: products must be a list of UUIDs, or of products with their id",
		link(`"products":"x",`):                                           "products: products must be a list of UUIDs, or of products with their id",
		link(`"image":"https://other.example/a.png",`):                    "image: is not the address of an image that was uploaded here",
		link(`"fail_url":"https://shop.example:65536/",`):                 "fail_url: must be an http or https address without credentials",
		link(`"return_url":"javascript:alert(1)",`):                       "return_url: must be an http or https address without credentials",
		link(`"fail_url":"//shop.example",`):                              "fail_url: must be an http or https address without credentials",
		link(`"name":"` + strings.Repeat("a", 201) + `",`):                "name: name must be at most 200 characters",
		link(`"description":"` + strings.Repeat("a", 2001) + `",`):        "description: description must be at most 2000 characters",
		link(`"metadata":[],`):                                            "metadata: metadata must be an object of at most 64 KiB",
		link(`"active":1,`):                                               "active: active must be true or false",
		link(`"partner_id":2,`):                                           "partner_id: must be the partner of the key",
		`{"amount":{"default":1,"currency":"USD"},"amount_type":"fixed","pay_config":{"methods":["card","cash"]}}`: "pay_config.methods: must hold types of money_storage, or card",
		`{"amount":{"default":1,"currency":"USD"},"amount_type":"fixed","pay_config":[]}`:                          "pay_config: pay_config must be an object",
	} {
		if r := f.partner().post(linksPath, body); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s:\n%d %s\nwant %s", body, r.status, r.fieldProblems(), want)
		}
	}
	f.admin().post(linksPath, link("")).want(422, "")
	f.admin().post(linksPath, link(`"partner_id":2,`)).want(422, "")
	f.partner().post(linksPath, `{"amount":`).want(400, "")
	if list := f.partner().get(linksPath).want(200, ""); list.rows() != 0 {
		t.Errorf("what was refused is stored: %s", list.body)
	}
}

func TestLinkIsPatched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.partner().post(linksPath, link(`"name":"Tea","metadata":{"a":1},`)).want(201, "")
	path := linksPath + "/" + created.at("data.id")
	f.partner().patch(path, `{"amount":{"default":2500},"name":null,"active":false}`).want(200, "").wantFields(map[string]string{
		"data.amount.default": "2500", "data.amount.currency": "USD", "data.name": "null", "data.metadata": `{"a":1}`, "data.active": "false",
	})
	f.partner().patch(path, `{"params":{"amount":{"default":70,"currency":"EUR","min":50},"amount_type":"dynamic","pay_config":{"methods":["sbp"]}}}`).want(200, "").wantFields(map[string]string{
		"data.amount.default": "70", "data.amount.currency": "EUR", "data.amount.min": "50", "data.amount_type": "dynamic", "data.pay_config.methods": `["sbp"]`,
	})
	for body, want := range map[string]string{
		`{"partner_id":2}`:                               "partner_id: partner_id never changes",
		`{"env":"test"}`:                                 "env: env never changes",
		`{"amount":{"default":"70"}}`:                    "amount.default: default must be an integer of minor units",
		`{"amount":null}`:                                "amount: amount must not be null",
		`{"amount":{"currency":"USDT"}}`:                 "amount.network: is required: USDT is on several networks",
		`{"amount":{"currency":"USD","network":"tron"}}`: "amount.network: is no network of USD",
		`{"amount_type":"fixed"}`:                        "amount: min and max are for amount_type dynamic",
	} {
		if r := f.partner().patch(path, body); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s: %d %s, want %s", body, r.status, r.body, want)
		}
	}
	unchanged := f.partner().get(path)
	f.partner().patch(path, `{}`).want(200, unchanged.body)
	for _, currency := range []string{"ETH", "USD"} { // a change of the currency also changes the network
		network := map[string]string{"ETH": "ethereum", "USD": "null"}[currency]
		f.partner().patch(path, `{"amount":{"currency":"`+currency+`"}}`).want(200, "").wantFields(map[string]string{"data.amount.currency": currency, "data.amount.network": network})
	}
	f.second().patch(path, `{"name":"x"}`).want(404, "")
	f.admin().patch(path, `{"name":"by the administration"}`).want(200, "")
	f.partner().do("DELETE", path, "").want(204, "")
	f.partner().do("DELETE", path, "").want(204, "")
	f.partner().get(path).want(200, "").wantFields(map[string]string{"data.active": "false"})
	f.second().do("DELETE", path, "").want(404, "")
}

func TestLinkIsCreatedOnceWithAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, sender := range []caller{f.partner(), f.admin()} {
		keyed := sender.with("Idempotency-Key", "once")
		created := keyed.post(linksPath, link(`"partner_id":1,`)).want(201, "")
		repeated := keyed.post(linksPath, link(`"partner_id":1,`)).want(201, created.body)
		if repeated.header.Get("X-Idempotent-Replay") == "" {
			t.Errorf("not marked as a replay: %v", repeated.header)
		}
		keyed.post(linksPath, link(`"partner_id":1,"name":"x",`)).want(409, "")
		path := linksPath + "/" + created.at("data.id")
		deleter := sender.with("Idempotency-Key", "delete")
		deleter.do("DELETE", path, "").want(204, "")
		deleter.do("DELETE", path, "").want(204, "")
	}
	if rows := f.partner().get(linksPath).rows(); rows != 2 {
		t.Errorf("%d links", rows)
	}
}

func TestLinksAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var ids []string
	for _, fields := range []string{"", `"active":false,`, `"env":"test",`, `"name":"last",`} {
		ids = append(ids, f.partner().post(linksPath, link(fields)).want(201, "").at("data.id"))
	}
	f.second().post(linksPath, link("")).want(201, "")
	for query, want := range map[string][]string{
		"":              {ids[3], ids[1], ids[0]},
		"?env=test":     {ids[2]},
		"?active=true":  {ids[3], ids[0]},
		"?active=false": {ids[1]},
	} {
		if got := columnOfPages(t, f.partner(), linksPath+query, 50, "id"); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	first := f.partner().get(linksPath+"?limit=2").want(200, "")
	second := f.partner().get(linksPath+"?limit=2&cursor="+first.at("cursor.cursor_value")).want(200, "")
	first.wantFields(map[string]string{"data.0.id": ids[3], "data.1.id": ids[1], "data.2.id": "(absent)"})
	second.wantFields(map[string]string{"data.0.id": ids[0], "data.1.id": "(absent)", "cursor.cursor_value": "null"})
	if byAdmin := f.admin().get(linksPath + "?partner_id=1"); byAdmin.rows() != 3 {
		t.Errorf("%s", byAdmin.body)
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=101": "limit", "active=1": "active", "cursor=x": "cursor", "partner_id=2": "partner_id", "page=1": "page"} {
		if r := f.partner().get(linksPath + "?" + query); r.status != 422 || r.at("errors.0.field") != field {
			t.Errorf("%s: %s", query, r.body)
		}
	}
	f.admin().get(linksPath).want(422, "")
}

func (f *fixture) product(c caller, fields string) string {
	f.t.Helper()
	return c.post(productsPath, `{`+fields+`"header":"Tea","text":"Green","price":450}`).want(201, "").at("data.id")
}

func TestProductHasTheFieldsOfTheSpecification(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.partner().post(productsPath, `{"header":"Tea","text":"Green"}`).want(201, "")
	id := created.at("data.id")
	created.wantFields(map[string]string{
		"data.partner_id": "1", "data.header": "Tea", "data.text": "Green", "data.price": "null", "data.currency": "RUB", "data.qty": "1", "data.image": "null",
		"data.env": "prod", "data.active": "true", "data.url": f.base() + "/pay/p/" + id, "data.qr_url": f.base() + "/pay/p/" + id + "/qr.svg",
		"data.deletions": "(absent)",
	})
	if !strings.Contains(created.body, `"qty":"1"`) {
		t.Errorf("the quantity is a string: %s", created.body)
	}
	path := productsPath + "/" + id
	f.partner().get(path).want(200, created.body)
	f.partner().patch(path, `{"price":0,"currency":"EUR","qty":"12"}`).want(200, "").wantFields(map[string]string{"data.price": "0", "data.currency": "EUR", "data.qty": "12"})
	f.partner().patch(path, `{"price":null}`).want(200, "").wantFields(map[string]string{"data.price": "null", "data.qty": "12"})
	for body, want := range map[string]string{
		`{"qty":null}`:      "qty: must not be empty",
		`{"qty":""}`:        "qty: must not be empty",
		`{"currency":null}`: "currency: currency is required",
		`{"currency":""}`:   "currency: unsupported currency ",
		`{"header":null}`:   "header: must not be empty",
		`{"env":"test"}`:    "env: env never changes",
	} {
		if r := f.partner().patch(path, body); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("PATCH %s: %d %s, want %s", body, r.status, r.fieldProblems(), want)
		}
	}
	f.partner().get(path).want(200, "").wantFields(map[string]string{"data.qty": "12", "data.currency": "EUR"})
	var shown map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(f.partner().get(path).body), &shown))
	f.partner().patch(path, string(shown["data"])).want(200, f.partner().get(path).body) // a client may send back a record as a response shows it
	for body, want := range map[string]string{
		`{}`:                                    "header: must not be empty|text: must not be empty",
		`{"header":"a","text":"b","price":"1"}`: "price: price must be an integer of minor units",
		`{"header":"a","text":"b","price":-1}`:  "price: price must be an integer of minor units",
		`{"header":"a","text":"b","price":1000000000000001}`:                                       "price: must be at most 1000000000000000",
		`{"header":"a","text":"b","qty":"","currency":"","env":""}`:                                "env: must not be empty|currency: unsupported currency |qty: must not be empty",
		`{"header":"a","text":"b","qty":1}`:                                                        "qty: qty must be a string",
		`{"header":"a","text":"b","qty":"0"}`:                                                      "qty: must be an integer from 1 to 9999, as a string",
		`{"header":"a","text":"b","qty":"10000"}`:                                                  "qty: must be an integer from 1 to 9999, as a string",
		`{"header":"a","text":"b","qty":"01"}`:                                                     "qty: must be an integer from 1 to 9999, as a string",
		`{"header":"a","text":"b","currency":"XYZ"}`:                                               "currency: unsupported currency XYZ",
		`{"header":"` + strings.Repeat("a", 201) + `","text":"` + strings.Repeat("b", 2001) + `"}`: "header: header must be at most 200 characters|text: text must be at most 2000 characters",
	} {
		if r := f.partner().post(productsPath, body); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s: %d %s, want %s", body, r.status, r.fieldProblems(), want)
		}
	}
	if list := f.partner().get(productsPath).want(200, ""); list.rows() != 1 {
		t.Errorf("%s", list.body)
	}
	f.second().get(path).want(404, "")
	f.partner().do("DELETE", path, "").want(204, "")
	f.partner().get(path).want(200, "").wantFields(map[string]string{"data.active": "false"})
}

func TestProductsAreBoundToLinks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tea, coffee := f.product(f.partner(), ""), f.product(f.partner(), `"qty":"3",`)
	foreign, unknown := f.product(f.second(), ""), uuid.NewString()
	bound := func(r *response) (ids []string) {
		products, _ := r.want(r.status, "").object()["data"].(map[string]any)["products"].([]any)
		for _, p := range products {
			ids = append(ids, p.(map[string]any)["id"].(string))
		}
		return ids
	}
	want := func(r *response, ids ...string) {
		t.Helper()
		if got := bound(r); strings.Join(got, " ") != strings.Join(ids, " ") {
			t.Errorf("products %v, want %v", got, ids)
		}
	}
	list := func(ids ...string) string { return `"products":["` + strings.Join(ids, `","`) + `"]` }
	first := f.partner().post(linksPath, link(list(tea, unknown, foreign, coffee, tea)+",")).want(201, "")
	want(first, tea, coffee)
	first.wantFields(map[string]string{"data.products.0.header": "Tea", "data.products.0.price": "450", "data.products.1.qty": "3", "data.products.0.url": f.base() + "/pay/p/" + tea})
	second := f.partner().post(linksPath, link(list(coffee)+",")).want(201, "")
	want(second, coffee)
	path := linksPath + "/" + first.at("data.id")
	want(f.partner().patch(path, `{"name":"omitted"}`).want(200, ""), tea, coffee)
	want(f.partner().patch(path, `{`+list(coffee)+`}`).want(200, ""), coffee)
	want(f.partner().patch(path, `{`+list(unknown, tea, foreign, coffee)+`}`).want(200, ""), tea, coffee)
	f.partner().patch(productsPath+"/"+tea, `{"header":"New"}`).want(200, "")
	f.partner().get(path).wantFields(map[string]string{"data.products.0.header": "New"})
	f.partner().patch(productsPath+"/"+tea, `{"active":false}`).want(200, "")
	want(f.partner().get(path), tea, coffee)
	f.partner().patch(productsPath+"/"+tea, `{"active":true}`).want(200, "")
	f.partner().do("DELETE", productsPath+"/"+coffee, "").want(204, "")
	want(f.partner().get(path), tea)
	want(f.partner().get(linksPath + "/" + second.at("data.id")))
	want(f.partner().patch(path, `{`+list(tea, coffee)+`}`).want(200, ""), tea) // a client may send the list as it has read it
	want(f.partner().post(linksPath, link(list(coffee, tea)+",")).want(201, ""), tea)
	f.partner().patch(productsPath+"/"+coffee, `{"active":true}`).want(200, "")
	want(f.partner().get(path), tea)
	want(f.partner().patch(path, `{"name":"left alone"}`).want(200, ""), tea)
	want(f.partner().patch(path, `{`+list(coffee)+`}`).want(200, ""), coffee)
	f.partner().patch(productsPath+"/"+coffee, `{"active":false}`).want(200, "")
	want(f.partner().get(path), coffee)
	f.partner().do("DELETE", productsPath+"/"+coffee, "").want(204, "")
	want(f.partner().get(path))
	want(f.partner().patch(path, `{`+list(coffee)+`}`).want(200, ""))
	f.partner().patch(productsPath+"/"+coffee, `{"active":true}`).want(200, "")
	want(f.partner().patch(path, `{`+list(coffee)+`}`).want(200, ""), coffee)
	want(f.partner().patch(path, `{"products":[]}`).want(200, ""))
	hundred := make([]string, 101)
	for i := range hundred {
		hundred[i] = uuid.NewString()
	}
	f.partner().patch(path, `{`+list(hundred[:100]...)+`}`).want(200, "")
	f.partner().patch(path, `{`+list(hundred...)+`}`).want(422, "")
}

func TestLinkIsSentBackAsItWasRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tea, coffee := f.product(f.partner(), ""), f.product(f.partner(), `"qty":"2",`)
	created := f.partner().post(linksPath, link(`"name":"Breakfast","return_url":"https://shop.example/ok","products":["`+tea+`","`+coffee+`"],`)).want(201, "")
	path := linksPath + "/" + created.at("data.id")
	f.partner().do("DELETE", productsPath+"/"+coffee, "").want(204, "")
	read := f.partner().get(path).want(200, "")
	var shown map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(read.body), &shown))
	f.partner().patch(path, string(shown["data"])).want(200, read.body)

	object := func(fields string) string { return `{` + fields + `"header":7,"price":"free"}` }
	other := f.product(f.partner(), "")
	for products, want := range map[string][]string{
		object(`"id":"`+tea+`",`) + `,"` + other + `"`:                                              {tea, other}, // only the id is used, all other members are ignored
		`"` + tea + `",` + object(`"id":"`+tea+`",`):                                                {tea},
		object(`"id":"`+uuid.NewString()+`",`) + `,"` + other + `",` + object(`"id":"`+coffee+`",`): {other},
	} {
		changed := f.partner().patch(path, `{"products":[`+products+`]}`).want(200, "")
		for i, id := range append(want, "(absent)") {
			if got := changed.at("data.products." + strconv.Itoa(i) + ".id"); got != id {
				t.Errorf("%s: product %d is %s, want %s", products, i, got, id)
			}
		}
	}
	before := f.partner().get(path).body
	for _, products := range []string{
		`{}`, object(""), object(`"ID":"` + tea + `",`), object(`"id":5,`), object(`"id":null,`), object(`"id":"x",`), object(`"id":["` + tea + `"],`), object(`"id":{"id":"` + tea + `"},`),
		`null`, `5`, `true`, `""`, `[]`, `["` + tea + `"]`, `"` + tea + `",null`, `"` + tea + `",{}`, object(`"id":"`+tea+`",`) + `,6`, `"{` + tea + `}"`, `"` + strings.ReplaceAll(tea, "-", "") + `"`,
	} {
		r := f.partner().patch(path, `{"products":[`+products+`]}`)
		if want := "products: products must be a list of UUIDs, or of products with their id"; r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s: %d %s", products, r.status, r.body)
		}
	}
	f.partner().patch(path, `{"products":{"id":"`+tea+`"}}`).want(422, "")
	f.partner().get(path).want(200, before)
}
