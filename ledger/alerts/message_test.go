package alerts

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mizan/ledger"
	"mizan/ledger/money"
)

var testTerminal = Terminal{ID: ledger.ID{1}, Name: "Main", Partner: 7, Env: money.Test}

func asset(currency money.Currency, network money.Network) money.Asset {
	return money.Asset{Currency: currency, Network: network, Env: money.Test}
}

func TestAmountsHaveTheDecimalsOfTheirAssetAndMinorUnits(t *testing.T) {
	for _, c := range []struct {
		amount string
		asset  money.Asset
		want   string
	}{
		{"123456", asset("USD", ""), "1234.56 USD (123456 minor units)"},
		{"5", asset("USD", ""), "0.05 USD (5 minor units)"},
		{"0", asset("EUR", ""), "0.00 EUR (0 minor units)"},
		{"100", asset("USD", ""), "1.00 USD (100 minor units)"},
		{"1500000", asset("USDT", "tron"), "1.500000 USDT on tron (1500000 minor units)"},
		{"1500000", asset("USDT", "bsc"), "0.000000000001500000 USDT on bsc (1500000 minor units)"},
		{"1000000000000000000", asset("ETH", "ethereum"), "1.000000000000000000 ETH on ethereum (1000000000000000000 minor units)"},
		{"5", asset("USDT", "nowhere"), "5 minor units of USDT on nowhere"},
		{"5", asset("XYZ", ""), "5 minor units of XYZ"},
		{"1" + strings.Repeat("0", 72), asset("USD", ""), "1" + strings.Repeat("0", 70) + ".00 USD (1" + strings.Repeat("0", 72) + " minor units)"},
	} {
		if got := formatAmount(money.MustParse(c.amount), c.asset); got != c.want {
			t.Errorf("%s of %v: %q, want %q", c.amount, c.asset, got, c.want)
		}
	}
	if got := formatSigned(money.Difference(money.FromUint64(1), money.FromUint64(6)), asset("USD", "")); got != "-0.05 USD (-5 minor units)" {
		t.Errorf("below zero: %q", got)
	}
	if got := formatDecimal(money.Signed{Abs: money.FromUint64(7)}, 1); got != "0.7" {
		t.Errorf("one decimal: %q", got)
	}
}

func TestMessageRoundTrip(t *testing.T) {
	for _, m := range []Message{
		{Kind: LargeTransaction, Subject: "s", Text: "a\nb\n"},
		{Kind: Daily, Subject: "\"é<&> ", Text: ""},
	} {
		if got, err := ReadMessage(m.Append(nil)); err != nil || got != m {
			t.Errorf("%+v became %+v, %v", m, got, err)
		}
	}
	if got := string(Message{Kind: LargeTransaction, Subject: "s", Text: "t"}.Append([]byte("x"))); got != `x{"kind":"large_transaction","subject":"s","text":"t"}` {
		t.Errorf("stored is %s", got)
	}
	for _, bad := range []string{``, `x`, `[]`, `{}`, `{"kind":"large_transaction"}`, `{"subject":"s"}`, `{"kind":7,"subject":"s"}`} {
		if _, err := ReadMessage([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestSubjectsAndTextsAreBounded(t *testing.T) {
	terminal := testTerminal
	terminal.Name = strings.Repeat("ж", 500)
	alert := SpikeAlert{Failed: 5, All: 10}
	if message := alert.Message(terminal); len(message.Subject) > MaxSubject || !utf8.ValidString(message.Subject) || !utf8.ValidString(message.Text) {
		t.Errorf("the subject has %d bytes: %q", len(message.Subject), message.Subject)
	}
	amount := money.MustParse("1" + strings.Repeat("0", 72))
	charge := Charge{Type: "payment", Amount: amount, Asset: asset("USDT", "tron"), Fee: amount, Merchant: money.Signed{Negative: true, Abs: amount}}
	message, ok := charge.Alert(terminal, &money.Amount{})
	if !ok || len(message.Subject) > MaxSubject || len(message.Text) > MaxText {
		t.Errorf("%d and %d bytes", len(message.Subject), len(message.Text))
	}
}

func TestTruncationNeverSplitsACharacter(t *testing.T) {
	for n := 3; n < 20; n++ {
		if got := truncate("жжжжжжжжжж", n); len(got) > n || !utf8.ValidString(got) || !strings.HasSuffix(got, "...") {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
	if got := truncate("abc", 3); got != "abc" {
		t.Errorf("a text that fits became %q", got)
	}
}
