package api_test

import "testing"

// A malformed Telegram chat ID is refused when a terminal is created and when it is changed. The
// response names the field, and nothing of the request is stored.
func TestMalformedChatIDsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.createTerminal(`,"merchant_params":{"tg_ids_to_notify":[-100123,"@ops"]}`)
	for _, chatIDs := range []string{`["abc"]`, `["@"]`, `["@a b"]`, `[0]`, `[1,"-0"]`, `[null]`} {
		params := `{"merchant_params":{"tg_ids_to_notify":` + chatIDs + `}}`
		f.admin().patch(path, params).wantFieldsRefused("merchant_params.tg_ids_to_notify")
		f.admin().post("/api/v1/terminal", `{"name":"n","partner_id":1,"provider":"simulator","type":"payment",`+params[1:]).
			wantFieldsRefused("merchant_params.tg_ids_to_notify")
	}
	if got := f.admin().get(path).at("data.merchant_params.tg_ids_to_notify"); got != `[-100123,"@ops"]` {
		t.Errorf("stored is %s", got)
	}
}
