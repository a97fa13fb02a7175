package payment

import (
	"strings"
	"testing"
)

// The valid numbers are examples of the SWIFT registry of IBANs.
func TestIBANsOfSEPACountries(t *testing.T) {
	for iban, want := range map[string]bool{
		"DE89370400440532013000": true, "FR1420041010050500013M02606": true, "NL91ABNA0417164300": true, "NO9386011117947": true,
		"MT84MALT011000012345MTLCAST001S": true, "GB29NWBK60161331926819": true,
		"DE88370400440532013000":      false, // check digits
		"DE8937040044053201300":       false, // length
		"DE89 3704 0044 0532 0130 00": false, "de89370400440532013000": false,
		"SA0380000000608010167519": false, // not a SEPA country
		"":                         false, "DE": false, "DE8937040044053201300\xc3": false,
	} {
		if got := IsSEPAIBAN([]byte(iban)); got != want {
			t.Errorf("%q: %v, want %v", iban, got, want)
		}
	}
}

func TestNamesOfAccountHolders(t *testing.T) {
	for name, want := range map[string]bool{
		"Jane Doe": true, "O'Hara (Ireland) Ltd. +1/2, a-b?:": true, strings.Repeat("a", 70): true,
		"": false, strings.Repeat("a", 71): false, "Jürgen": false, " Jane": false, "Jane ": false, "/Jane": false, "a//b": false, "A&B": false, "a\nb": false,
	} {
		if got := IsSEPAName([]byte(name)); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// An account is optional, but a wrong or half one is refused with the key's name.
func TestAccountOfTypeSEPA(t *testing.T) {
	for _, c := range []struct{ iban, holder, refused string }{
		{"-", "-", ""}, {"DE89370400440532013000", "Jane Doe", ""}, {"DE88370400440532013000", "Jane Doe", "iban"},
		{"DE89370400440532013000", "Jürgen", "account_holder"}, {"DE89370400440532013000", "-", "account_holder"}, {"-", "Jane Doe", "iban"}, {"", "Jane Doe", "iban"},
	} {
		s := MoneyStorage{Type: []byte(SEPA)}
		for key, value := range map[string]string{"iban": c.iban, "account_holder": c.holder} {
			if value != "-" {
				*s.Key([]byte(key)) = []byte(value)
			}
		}
		refused := ""
		s.Check(Payout, func(key, detail string) {
			refused += key
			if c.iban != "" && strings.Contains(detail, c.iban) && c.iban != "-" {
				t.Errorf("the detail repeats the account: %s", detail)
			}
		})
		if refused != c.refused {
			t.Errorf("%+v: refused %q", c, refused)
		}
	}
}
