package form

import (
	"net/url"
	"strings"
	"testing"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/description/operations"
	"mizan/api/web"
)

var catalog = apispec.New(operations.Contents())

// formFor returns the form of an operation in a language.
func formFor(operation, lang string) *Form {
	return &Form{Fields: catalog.Operation(operation).Body, Texts: labels.In(lang)}
}

func changing(operation, lang, record string) *Form {
	f := formFor(operation, lang)
	f.Changes, f.Record = true, ReadObject([]byte(record))
	if f.Record == nil {
		panic("the record is no object")
	}
	return f
}

func posted(t *testing.T, query string) url.Values {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// want posts a form and compares the JSON that the form sends to the API.
func want(t *testing.T, f *Form, query, body string) {
	t.Helper()
	object, problems, _ := f.Parse(posted(t, query))
	if !problems.None() {
		t.Errorf("%s: %v", query, problems)
		return
	}
	if got := string(Body(object)); got != body {
		t.Errorf("%s is\n%s, want\n%s", query, got, body)
	}
}

// wantProblem posts a form that must be refused, with a text at a field.
func wantProblem(t *testing.T, f *Form, query, field, text string) {
	t.Helper()
	_, problems, _ := f.Parse(posted(t, query))
	if got := strings.Join(problems.Fields[field], "; "); got != text {
		t.Errorf("%s: %q is wrong with %s, want %q (all: %v)", query, got, field, text, problems.Fields)
	}
}

func TestNewRecordHasTheFilledFields(t *testing.T) {
	want(t, formFor("createPartner", "en"), "name=Tea+Shop&login=tea&pass=+secret+&email=&lang=&active=false&active=true&csrf=x",
		`{"active":true,"login":"tea","name":"Tea Shop","pass":" secret "}`)
	want(t, formFor("createPartner", "en"), "active=false&source_addresses=10.0.0.0/8%0D%0A%0D%0A+192.0.2.1+&branding.color=%23112233&branding.logo=",
		`{"active":false,"branding":{"color":"#112233"},"source_addresses":["10.0.0.0/8","192.0.2.1"]}`)
	want(t, formFor("createUser", "en"), "roles=&roles=admin&roles=auditor&partner_id=0&active=on", `{"active":true,"partner_id":0,"roles":["admin","auditor"]}`)
	want(t, formFor("createUser", "en"), "roles=&partner_id=%D9%A1%D9%A2", `{"partner_id":12}`)
	want(t, formFor("createApiKey", "en"), "partner_id=3&name=shop&expires_at=2030-01-02T03:04", `{"expires_at":"2030-01-02T03:04:00Z","name":"shop","partner_id":3}`)
	want(t, formFor("createApiKey", "en"), "expires_at=2030-01-02T03:04:05%2B02:00", `{"expires_at":"2030-01-02T01:04:05Z"}`)
	want(t, formFor("putRate", "ru"), "from=USD&to=EUR&rate=0,92", `{"from":"USD","rate":"0.92","to":"EUR"}`)
	want(t, formFor("putRate", "en"), "from=USD&to=EUR&rate=1234", `{"from":"USD","rate":"1234","to":"EUR"}`)
}

func TestAmountsAreInMajorUnitsOfTheCurrencyBesideThem(t *testing.T) {
	for _, c := range []struct{ lang, currency, network, typed, want string }{
		{"en", "USD", "", "1,234.50", "123450"}, {"ru", "USD", "", "1 234,5", "123450"}, {"ar", "USD", "", "١٢٫٥٠", "1250"},
		{"en", "USDT", "tron", "0.000001", "1"}, {"en", "USDT", "bsc", "1", "1000000000000000000"}, {"ru", "USDT", "tron", "1,5", "1500000"},
		{"en", "ETH", "", "1.5", "1500000000000000000"}, {"en", "USD", "", "0.00", "0"},
	} {
		query := url.Values{"partner_id": {"1"}, "kind": {"per_transaction"}, "currency": {c.currency}, "network": {c.network}, "max_amount": {c.typed}}
		object, problems, _ := formFor("createLimit", c.lang).Parse(query)
		if !problems.None() || object["max_amount"] != c.want {
			t.Errorf("%v: %v, %v", c, object["max_amount"], problems)
		}
	}
	en := labels.In("en").Form
	f := formFor("createLimit", "en")
	wantProblem(t, f, "currency=USD&max_amount=1.005", "max_amount", "This currency has at most 2 decimals.")
	wantProblem(t, f, "currency=USD&max_amount=1e3", "max_amount", "Enter an amount, such as 12.50.")
	wantProblem(t, f, "currency=USD&max_amount=-1", "max_amount", "Enter an amount, such as 12.50.")
	wantProblem(t, f, "currency=USDT&max_amount=1", "max_amount", en.NoCurrency)
	wantProblem(t, f, "currency=&max_amount=1", "max_amount", en.NoCurrency)
	wantProblem(t, f, "max_amount=1", "max_amount", en.NoCurrency)
	wantProblem(t, formFor("createLimit", "ru"), "currency=USD&max_amount=1,005", "max_amount", "В этой валюте не более 2 знаков после запятой.")
}

func TestAmountsInsideListsAndObjectsHaveTheirOwnCurrency(t *testing.T) {
	rows := "overdraft_limit.0.currency=USD&overdraft_limit.0.network=&overdraft_limit.0.env=prod&overdraft_limit.0.amount=10.50" +
		"&overdraft_limit.1.currency=&overdraft_limit.1.env=prod&overdraft_limit.1.amount=" +
		"&overdraft_limit.12.currency=USDT&overdraft_limit.12.network=tron&overdraft_limit.12.env=test&overdraft_limit.12.amount=1" +
		"&overdraft_limit.2.currency=EUR&overdraft_limit.2.amount=7&overdraft_limit.2._drop=1"
	want(t, formFor("createPartner", "en"), rows, `{"overdraft_limit":[{"amount":"1050","currency":"USD","env":"prod"},{"amount":"1000000","currency":"USDT","env":"test","network":"tron"}]}`)
	wantProblem(t, formFor("createPartner", "en"), "overdraft_limit.4.currency=USD&overdraft_limit.4.amount=1.234", "overdraft_limit.0.amount", "This currency has at most 2 decimals.")
	want(t, formFor("createLink", "en"), "env=test&amount.network=tron&amount.currency=USDT&amount.default=2.5&amount_type=fixed", `{"amount":{"currency":"USDT","default":2500000,"network":"tron"},"amount_type":"fixed","env":"test","pay_config":{}}`)
	want(t, formFor("createProduct", "ru"), "header=Tea&price=4,50&currency=USD", `{"currency":"USD","header":"Tea","price":450}`)
	refund := formFor("changeTransaction", "en")
	refund.Record = ReadObject([]byte(`{"currency":"USDT","network":"bsc","env":"prod","amount":"1"}`))
	want(t, refund, "type=refund&amount=0.5", `{"amount":"500000000000000000","type":"refund"}`)
}

func TestAmountsWithoutACurrencyAreInMinorUnits(t *testing.T) {
	f := formFor("createTerminal", "en")
	want(t, f, "provider_params.min_amount=100&provider_params.fee_bps=150", `{"provider_params":{"fee_bps":"150","min_amount":"100"}}`)
	wantProblem(t, f, "provider_params.min_amount=1.00", "provider_params.min_amount", "Enter a whole number.")
}

const partner = `{"id":1,"name":"Tea","login":"tea","email":"a@b.example","lang":null,"notify_url":null,"secret":"***","active":true,"created_at":"x",
	"source_addresses":["10.0.0.0/8"],"overdraft_limit":[{"currency":"USD","network":"","env":"prod","amount":"1050"}],
	"branding":{"display_name":"Tea","logo":null,"color":"#112233","support_email":null,"terms_url":null}}`

func TestChangeSendsOnlyWhatDiffers(t *testing.T) {
	f := changing("patchPartner", "ru", partner)
	unchanged := "name=Tea&email=a@b.example&lang=&notify_url=&secret=&active=false&active=true&source_addresses=10.0.0.0/8" +
		"&overdraft_limit.0.currency=USD&overdraft_limit.0.network=&overdraft_limit.0.env=prod&overdraft_limit.0.amount=10,50&overdraft_limit.1.env=prod" +
		"&branding.display_name=Tea&branding.color=%23112233&branding.logo="
	want(t, f, unchanged, `{}`)
	want(t, f, "", `{}`)
	want(t, f, strings.Replace(unchanged, "name=Tea&", "name=Coffee&", 1), `{"name":"Coffee"}`)
	want(t, f, strings.Replace(unchanged, "email=a@b.example", "email=", 1), `{"email":null}`)
	want(t, f, strings.Replace(unchanged, "name=Tea&", "name=&", 1), `{"name":""}`) // the API refuses it
	want(t, f, strings.Replace(unchanged, "=10.0.0.0/8", "=", 1), `{"source_addresses":[]}`)
	want(t, f, strings.Replace(unchanged, "10,50", "11", 1), `{"overdraft_limit":[{"amount":"1100","currency":"USD","env":"prod"}]}`)
	want(t, f, strings.Replace(unchanged, "active=true", "active=false", 1), `{"active":false}`)
	want(t, f, strings.Replace(unchanged, "branding.logo=", "branding.logo=x", 1), `{"branding":{"logo":"x"}}`)
	want(t, f, "secret=new", `{"secret":"new"}`)
	want(t, f, "secret._clear=1&secret=", `{"secret":null}`)
}

func TestChangeComparesWithWhatTheFormShowed(t *testing.T) {
	f := changing("patchPartner", "en", partner) // somebody else has renamed it to Tea meanwhile
	want(t, f, "name=Old&email=new@b.example&_shown="+url.QueryEscape(`{"name":"Old","email":"a@b.example"}`), `{"email":"new@b.example"}`)
}

func TestObjectThatIsReplacedIsSentAsAWhole(t *testing.T) {
	f := changing("patchTerminal", "en", `{"name":"T","merchant_params":{"secret":"***","hosted_attempts":3,"own_key":"kept","notify_url":"https://a.example"}}`)
	f.IsMerged = func(name string) bool { return name != "merchant_params" }
	want(t, f, "name=T&merchant_params.hosted_attempts=3&merchant_params.notify_url=https://a.example&merchant_params.secret=", `{}`)
	want(t, f, "merchant_params.hosted_attempts=4", `{"merchant_params":{"hosted_attempts":4,"notify_url":"https://a.example","own_key":"kept","secret":"***"}}`)
	want(t, f, "merchant_params.notify_url=", `{"merchant_params":{"hosted_attempts":3,"own_key":"kept","secret":"***"}}`)
}

func TestWrongTextsAreRefusedBesideTheirFields(t *testing.T) {
	en := labels.In("en").Form
	user, key := formFor("createUser", "en"), formFor("createApiKey", "en")
	for _, text := range []string{"x", "1.5", "1e3", "--1", "0x10", "01", "-0", "123456789012345678901"} {
		wantProblem(t, user, url.Values{"partner_id": {text}}.Encode(), "partner_id", en.BadNumber)
	}
	wantProblem(t, key, "expires_at=tomorrow", "expires_at", en.BadInstant)
	wantProblem(t, formFor("putRate", "ru"), "rate=abc", "rate", "Введите число, например 0,92.")
	wantProblem(t, formFor("createLink", "en"), "metadata={", "metadata", en.BadJSON)
	wantProblem(t, formFor("createLink", "en"), "metadata={}{}", "metadata", en.BadJSON)
	want(t, formFor("createLink", "en"), `metadata={"a":1.50}`, `{"amount":{},"metadata":{"a":1.50},"pay_config":{}}`) // objects that a link needs, without members
}

func TestProblemsOfTheAPIStandBesideTheirFields(t *testing.T) {
	f := formFor("createPartner", "en")
	refused := &web.RefusedError{Code: "invalid", Message: "all of it", Problems: []web.FieldProblem{
		{Field: "branding.color", Detail: "is no color"}, {Field: "overdraft_limit.0.amount", Detail: "is wrong"}, {Field: "strange", Detail: "is unknown"}}}
	view := f.View(posted(t, "overdraft_limit.3.currency=USD&overdraft_limit.3.amount=5"), RefusedBy(refused))
	var summary []string
	for _, line := range view.Summary {
		summary = append(summary, line.ID+" "+line.Label+" "+line.Text)
	}
	if got, want := strings.Join(summary, "; "), "f-overdraft_limit-0-amount Amount is wrong; f-branding-color Button colour is no color"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := strings.Join(view.General, "; "), "all of it; strange: is unknown"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := strings.Join(RefusedBy(&web.RefusedError{Code: "conflict"}).General, ";"); got != "conflict" {
		t.Errorf("a refusal without a text is %q", got)
	}
}

// If the API has a default for a filter, the form shows the default and not the choice of all values.
func TestFiltersShowWhatAnAbsentValueCountsAs(t *testing.T) {
	env := func(operation, query string) (value string, isFiltered bool) {
		fields := Of(catalog.Operation(operation).Filters, "env")
		f := NewFilters(labels.In("en"), "x", "/x", fields, posted(t, query), nil)
		for _, o := range f.Inputs[0].Options {
			if o.IsOn {
				value = o.Value + "=" + o.Label
			}
		}
		return value, f.IsFiltered
	}
	for _, c := range []struct {
		operation, query, value string
		isFiltered              bool
	}{
		{"listPartnerSettlements", "", "prod=Production", false}, {"listPartnerSettlements", "env=test", "test=Test", true},
		{"listBalances", "", "=Any", false}, {"listBalances", "env=prod", "prod=Production", true},
	} {
		if value, isFiltered := env(c.operation, c.query); value != c.value || isFiltered != c.isFiltered {
			t.Errorf("%s?%s shows %q (filtered: %t), want %q", c.operation, c.query, value, isFiltered, c.value)
		}
	}
}

func TestCurrencyIsThatOfTheNearestObject(t *testing.T) {
	amount := apispec.Field{Name: "amount", Kind: apispec.Amount}
	currency := apispec.Field{Name: "currency", Kind: apispec.Text}
	part := apispec.Field{Name: "part", Kind: apispec.Object, Fields: []apispec.Field{{Name: "fee", Kind: apispec.Amount}}}
	own := apispec.Field{Name: "own", Kind: apispec.Object, Fields: []apispec.Field{{Name: "fee", Kind: apispec.Amount}, currency}}
	f := &Form{Fields: []apispec.Field{amount, currency, {Name: "network", Kind: apispec.Text}, part, own}, Texts: labels.In("en")}
	want(t, f, "amount=1&currency=USDT&network=bsc&part.fee=2&own.fee=3&own.currency=USD", `{"amount":"1000000000000000000","currency":"USDT","network":"bsc","own":{"currency":"USD","fee":"300"},"part":{"fee":"2000000000000000000"}}`)
	about := &Form{Fields: []apispec.Field{part}, Texts: labels.In("en"), Record: ReadObject([]byte(`{"asset":{"currency":"KWD","network":"","env":"prod"}}`))}
	want(t, about, "part.fee=1.5", `{"part":{"fee":"1500"}}`)
}

func TestInstantThatIsLeftAloneKeepsItsFraction(t *testing.T) {
	fields := []apispec.Field{{Name: "at", Kind: apispec.Instant, Nullable: true}}
	f := &Form{Fields: fields, Texts: labels.In("en"), Changes: true, Record: ReadObject([]byte(`{"at":"2026-01-02T03:04:05.123456+00:00"}`))}
	if page := string(f.View(nil, nil).HTML(Post{})); !strings.Contains(page, `value="2026-01-02T03:04:05"`) {
		t.Errorf("the form shows %s", page)
	}
	want(t, f, "at=2026-01-02T03:04:05", `{}`)
	want(t, f, "at=2026-01-02T03:04:06", `{"at":"2026-01-02T03:04:06Z"}`)
	want(t, f, "at=", `{"at":null}`)
}
