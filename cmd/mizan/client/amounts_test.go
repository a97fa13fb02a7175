package client

import (
	"strings"
	"testing"
)

func TestMajorUnits(t *testing.T) {
	for _, c := range []struct {
		minor    string
		decimals int
		want     string // empty if the member is not an amount
	}{
		{"1000", 2, "10.00"}, {"0", 2, "0.00"}, {"5", 2, "0.05"}, {"-5", 2, "-0.05"}, {"123456789", 2, "1,234,567.89"}, {"-123456", 2, "-1,234.56"},
		{"1234", 3, "1.234"}, {"1000", 0, "1,000"}, {"1", 18, "0.000000000000000001"},
		{"115792089237316195423570985008687907853269984665640564039457584007913129639935", 2,
			"1,157,920,892,373,161,954,235,709,850,086,879,078,532,699,846,656,405,640,394,575,840,079,131,296,399.35"},
		{"", 2, ""}, {"-", 2, ""}, {"1.5", 2, ""}, {"null", 2, ""}, {"1e3", 2, ""}, {"١", 2, ""},
	} {
		if got, ok := MajorUnits(c.minor, c.decimals); got != c.want || ok != (c.want != "") {
			t.Errorf("MajorUnits(%q, %d) = %q, %t", c.minor, c.decimals, got, ok)
		}
	}
}

// An amount's asset or number of decimals is named in the object that has the amount, or in an enclosing object.
func TestAmountsAreShownInTheirAsset(t *testing.T) {
	for object, want := range map[string]string{
		`{"amount":"1000","currency":"USD","env":"test"}`:                                  "10.00 USD test",
		`{"amount":1000,"currency":"USD"}`:                                                 "10.00 USD",
		`{"amount":"1000","currency":"USDT","network":"bsc"}`:                              "0.000000000000001000 USDT bsc",
		`{"amount":"1000","currency":"USDT"}`:                                              "1000 USDT", // the number of decimals of USDT depends on its network
		`{"amount":"1000","currency":"USD","scale":4}`:                                     "0.1000 USD 4",
		`{"amount":"1000","currency":"USDT","scale":null}`:                                 "1000 USDT -",
		`{"amount":"1000"}`:                                                                "1000",
		`{"amount":null,"currency":"USD"}`:                                                 "- USD",
		`{"amount":"1000","asset":{"currency":"BHD","network":"","env":"test"}}`:           "1.000 BHD - test",
		`{"amount":{"default":1999,"currency":"USD"},"env":"test"}`:                        "19.99 USD test",
		`{"amount":{"currency":"USD"},"payments":{"count":2,"amount":300},"env":"prod"}`:   "USD 2 3.00 prod",
		`{"currency":"USD","refunds":[{"amount":"50"},{"amount":"60"}]}`:                   "USD 0.50 0.60",
		`{"amount_dest":"1000","currency":"USD","currency_dest":"ETH","scale_dest":18}`:    "0.000000000000001000 USD ETH 18",
		`{"amount_dest":"1000","currency":"USD","scale":2,"currency_dest":"KWD"}`:          "1.000 USD 2 KWD",
		`{"min_amount":"1000","currency":"USD","max_count":10,"priority":1,"fee_bps":"5"}`: "1000 USD 10 1 5",
	} {
		o, err := ParseObject([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		p := new(printer)
		p.addMembers("", "", o, nil, 1)
		var values []string
		for _, value := range p.values {
			values = append(values, value[1])
		}
		if got := strings.Join(values, " "); got != want {
			t.Errorf("%s is shown as %q, want %q", object, got, want)
		}
	}
}
