package directory

import (
	"net/netip"
	"strings"
	"testing"

	"mizan/ledger"
)

const testFingerprint = "0123456789abcdef0123456789abcdef"

func TestValuesOfTheBlocklistAreNormalised(t *testing.T) {
	for _, c := range []struct {
		kind        BlockKind
		value, want string // want is the normalised value; empty: the value must be refused
	}{
		{BlockBIN, "424242", "424242"}, {BlockBIN, "42424242", "42424242"},
		{BlockBIN, "042424", ""}, {BlockBIN, "42424", ""}, {BlockBIN, "424242424", ""}, {BlockBIN, "42424x", ""}, {BlockBIN, "", ""},
		{BlockCard, testFingerprint, testFingerprint}, {BlockCard, "4242424242424242", ""}, {BlockCard, strings.ToUpper(testFingerprint), ""}, {BlockCard, testFingerprint + "0", ""},
		{BlockEmail, "Anna@Example.COM ", "anna@example.com"}, {BlockEmail, "anna", ""}, {BlockEmail, "", ""}, {BlockEmail, "A <a@b.c>", ""},
		{BlockEmail, strings.Repeat("a", 64) + "@" + strings.Repeat("b", 185) + ".com", strings.Repeat("a", 64) + "@" + strings.Repeat("b", 185) + ".com"},
		{BlockEmail, strings.Repeat("a", 64) + "@" + strings.Repeat("b", 186) + ".com", ""},
		{BlockPhone, "+7 (495) 123-45-67", "74951234567"}, {BlockPhone, "007495 1234567", "74951234567"}, {BlockPhone, "12345", "12345"},
		{BlockPhone, "123456789012345", "123456789012345"}, {BlockPhone, "1234567890123456", ""}, {BlockPhone, "1234", ""}, {BlockPhone, "12345x", ""}, {BlockPhone, "", ""},
		{BlockIP, "192.0.2.1", "192.0.2.1"}, {BlockIP, "192.0.2.1/32", "192.0.2.1"}, {BlockIP, "::ffff:192.0.2.1", "192.0.2.1"},
		{BlockIP, "192.0.2.77/24", "192.0.2.0/24"}, {BlockIP, "::ffff:192.0.2.77/120", "192.0.2.0/24"}, {BlockIP, "2001:DB8::1/32", "2001:db8::/32"},
		{BlockIP, "2001:db8::1%eth0", ""}, {BlockIP, "192.0.2.0/33", ""}, {BlockIP, "192.0.2", ""}, {BlockIP, "localhost", ""}, {BlockIP, "", ""},
		{BlockCountry, "ru", "RU"}, {BlockCountry, "KZ", "KZ"}, {BlockCountry, "RUS", ""}, {BlockCountry, "R1", ""}, {BlockCountry, "", ""},
	} {
		b, event, err := NewBlock(testID(2), BlockDraft{Kind: c.kind, Value: c.value, Masked: "424242******4242"})
		if c.want == "" {
			wantField(t, string(c.kind)+" "+c.value, err, "value")
			continue
		}
		if err != nil || b.Value != c.want || !b.Active || b.ID != BlockID(testID(2), c.kind, c.want) || event.Name != "create" || event.To != "active" {
			t.Errorf("%s %q: %+v %+v %v, want %q", c.kind, c.value, b, event, err, c.want)
		}
	}
	for _, kind := range []BlockKind{"", "name", "BIN"} {
		_, _, err := NewBlock(testID(2), BlockDraft{Kind: kind, Value: "424242"})
		wantField(t, string(kind), err, "kind")
	}
	_, _, err := NewBlock(testID(2), BlockDraft{Kind: BlockCard, Value: testFingerprint})
	wantField(t, "a card without masked digits", err, "value")
}

func TestACardOfTheBlocklistIsShownMasked(t *testing.T) {
	card, _, err := NewBlock(testID(2), BlockDraft{Kind: BlockCard, Value: testFingerprint, Masked: "424242******4242"})
	if err != nil || card.Shown() != "424242******4242" {
		t.Errorf("%v %v", card, err)
	}
	email, _, err := NewBlock(testID(2), BlockDraft{Kind: BlockEmail, Value: "a@b.c"})
	if err != nil || email.Shown() != "a@b.c" {
		t.Errorf("%v %v", email, err)
	}
}

func TestBlocklistEntryIsRemovedAndListedAgain(t *testing.T) {
	b, _, err := NewBlock(testID(2), BlockDraft{Kind: BlockCountry, Value: "RU"})
	if err != nil {
		t.Fatal(err)
	}
	if unchanged, event := b.SetActive(true); unchanged != b || event.Name != "" {
		t.Errorf("an active entry was activated again: %+v", event)
	}
	inactive, event := b.SetActive(false)
	if inactive.Active || !b.Active || event.Name != "deactivate" || event.To != "inactive" || event.Source != (ledger.Source{Kind: ledger.Block, ID: b.ID}) {
		t.Errorf("%+v %+v", inactive, event)
	}
	if unchanged, event := inactive.SetActive(false); unchanged != inactive || event.Name != "" {
		t.Errorf("an inactive entry was deactivated again: %+v", event)
	}
	listedAgain, event := inactive.SetActive(true)
	if !listedAgain.Active || listedAgain.ID != b.ID || event.Name != "activate" {
		t.Errorf("%+v %+v", listedAgain, event)
	}
}

// An operator may list a value in one spelling, and a merchant may send a customer's data in another. Both
// are normalised before they are compared.
func TestNormalFormsOfPayersData(t *testing.T) {
	for text, want := range map[string]string{
		"+7 (495) 123-45-67": "74951234567", "8.495": "8495", "0049 30 1": "49301", "call me": "", "": "", "+1 415 555 01 00 ext 5": "141555501005",
	} {
		if got := NormalPhone(text); got != want {
			t.Errorf("phone %q: %q, want %q", text, got, want)
		}
	}
	if got := NormalEmail("\tÄnna@Example.com\n"); got != "änna@example.com" {
		t.Errorf("e-mail %q", got)
	}
	if got := NormalCountry(" kz"); got != "KZ" {
		t.Errorf("country %q", got)
	}
	if got := NormalIP(netip.MustParseAddr("::ffff:192.0.2.1")); got != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("address %v", got)
	}
	if got := NormalIP(netip.MustParseAddr("fe80::1%eth0")); got != netip.MustParseAddr("fe80::1") {
		t.Errorf("address %v", got)
	}
	if got := NormalIP(netip.Addr{}); got.IsValid() {
		t.Errorf("an invalid address becomes %v", got)
	}
}
