package directory

import (
	"strings"
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Addresses that are always refused.
var refusedAddresses = []string{
	"x", "/hook", "//shop.example/", "mailto:a@shop.example", "ftp://shop.example/", "file:///x", "javascript:x", "http:shop.example", "https:/shop.example/", "HTTP",
	"http://", "https://", "https:///x", "https://?x", "https://:443/", "https://.", "https://./", "https://..", "https://a..example/", "https://.example/", "https://shop.example../",
	"https://u:p@shop.example/", "https://u@shop.example/", "https://@shop.example/", "https://:@shop.example/", "https://shop.example@10.0.0.1/",
	"https://shop.example/#", "https://shop.example/#top", "https://shop.example/?a#b", "https://shop.example#",
	"https://shop.example/a b", "https://shop.example/\t", "https://shop.example/\n", " https://shop.example/", "https://shop.example/ ", "https://shop.example/\x00", "https://shop.example/\x7f",
	"https://shop.example/?a=b\r\nx:y", "https://sh op.example/", "https://shop.example/\u00a0", "https://shop.example/\u2028", "https://shop.example/\xff", "https://shöp.example/", "https://shop.example/é", "https://１２７.0.0.1/",
	"https://shop.example:0/", "https://shop.example:65536/", "https://shop.example:-1/", "https://shop.example:x/", "https://shop.example:443:443/", "https://shop.example:99999999999/",
	"https://sh<op.example/", `https://shop"example/`, "https://shop'example/", "https://shop%2eexample/", "https://shop.example%00/", "https://shop,example/", `https://shop.example\@10.0.0.1/`, "https://*.example/", "https://a$b/",
	"https://[]/", "https://[x]/", "https://[::1/", "https://::1/", "https://[127.0.0.1]/", "https://[fe80::1%25eth0]/", "https://[::1%25lo]/", "https://[2606:4700::1111%25x]/",
	"https://" + strings.Repeat("a", maxLabelLength+1) + ".example/", "https://" + strings.Repeat("a.", 127) + "aa/", "https://shop.example/" + strings.Repeat("a", MaxURL-20),
}

// Numeric hosts that are not an IP address in plain form. They are refused, because resolvers interpret them in different ways.
var numericHosts = []string{
	"127.1", "127.0.1", "127.0.0.01", "0127.0.0.1", "0177.0.0.1", "0177.1", "0x7f.1", "0x7f.0.0.1", "0X7F.0.0.1", "0x7f000001", "0x7F000001", "2130706433", "017700000001", "127.0.0.1.", "127.1.",
	"0", "00", "0x", "0x0", "1", "10.1", "167772161", "0xa000001", "0xa9fea9fe", "2852039166", "169.254.43518", "192.168.257", "256.256.256.256", "1.2.3.4.5", "4294967296", "08.8.8.8", "134744072", "8.8", "shop.example.1", "a.0x1f",
}

// Addresses that are not on the internet.
var privateHosts = []string{
	"127.0.0.1", "127.255.255.254", "[::1]", "localhost", "LOCALHOST", "localhost.", "shop.localhost", "a.b.LocalHost.",
	"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]",
	"169.254.0.1", "169.254.169.254", "[fe80::1]", "100.64.0.0", "100.127.255.255", "100.100.100.200", "192.0.0.192", "168.63.129.16",
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::808:808]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001::1]",
	"0.0.0.0", "0.255.255.255", "[::]", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "[ff02::1]",
	"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "192.88.99.1", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[4000::1]", "[5f00::1]",
}

// Addresses that are always accepted.
var publicHosts = []string{
	"shop.example", "Shop.Example", "shop.example.", "a", "xn--shp-sna.example", "a_b.example", "-a.example", "1a.example", "1.example", "127.0.0.1.example", "0x7f.example", "localhost.example", "notlocalhost", "a.0x1g",
	"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
	"169.253.255.255", "169.255.0.0", "168.63.129.15", "168.63.129.17", "198.17.255.255", "198.20.0.0", "223.255.255.255", "1.0.0.0",
	"[2606:4700::1111]", "[2A00::1]", "[2003::1]", "[3ffe::1]", strings.Repeat("a", maxLabelLength) + ".example", strings.Repeat("a.", 126) + "a",
}

func TestWhereNotificationsMayGo(t *testing.T) {
	t.Parallel()
	wantAccepted := func(address string, allowsPrivate, isAccepted bool) {
		t.Helper()
		field := ""
		if !isAccepted {
			field = "f"
		}
		wantField(t, firstCharacters(address), checkNotifyURL("op", "f", address, allowsPrivate), field)
	}
	for _, allowsPrivate := range []bool{false, true} {
		for _, address := range refusedAddresses {
			wantAccepted(address, allowsPrivate, false)
		}
		for _, scheme := range []string{"http://", "https://", "HTTPS://"} {
			for _, host := range numericHosts {
				wantAccepted(scheme+host+"/", allowsPrivate, false)
			}
			for _, host := range privateHosts {
				wantAccepted(scheme+host+"/", allowsPrivate, allowsPrivate)
				wantAccepted(scheme+host+":8443/hook?a=b", allowsPrivate, allowsPrivate)
			}
			for _, host := range publicHosts {
				wantAccepted(scheme+host, allowsPrivate, true)
				wantAccepted(scheme+host+":8443/hook;x=(1)/%D1%8F?a=b&c=%20", allowsPrivate, true)
			}
		}
		wantAccepted("", allowsPrivate, true)
		wantAccepted("https://shop.example/"+strings.Repeat("a", MaxURL-len("https://shop.example/")), allowsPrivate, true)
		wantAccepted("https://shop.example/"+strings.Repeat("a", MaxURL+1-len("https://shop.example/")), allowsPrivate, false)
		wantAccepted("https://shop.example:/", allowsPrivate, true)
		wantAccepted("https://shop.example:65535/", allowsPrivate, true)
	}
}

func TestAPartnersNotificationAddressIsChecked(t *testing.T) {
	t.Parallel()
	draft := Partner{Number: 3, Name: "n", Login: "l", NotifyURL: "http://10.0.0.1/", Active: true}
	_, _, err := NewPartner(draft, false)
	wantField(t, "private", err, "notify_url")
	partner, _, err := NewPartner(draft, true)
	wantField(t, "private, allowed", err, "")

	anotherURL, storedURL, noURL, otherName := "http://10.0.0.2/", "http://10.0.0.1/", "", "other"
	_, _, err = partner.Patch(func(r *Partner, _ *schema.Faults) { r.NotifyURL = anotherURL }, false)
	wantField(t, "another private one", err, "notify_url")
	_, _, err = partner.Patch(func(r *Partner, _ *schema.Faults) { r.NotifyURL = anotherURL }, true)
	wantField(t, "another private one, allowed", err, "")
	for label, patch := range map[string]schema.Change[Partner]{
		"what is stored": func(r *Partner, _ *schema.Faults) { r.NotifyURL = storedURL },
		"none":           func(r *Partner, _ *schema.Faults) { r.NotifyURL = noURL },
		"another field":  func(r *Partner, _ *schema.Faults) { r.Name = otherName },
	} {
		_, _, err := partner.Patch(patch, false)
		wantField(t, label, err, "")
	}
}

func TestATerminalsNotificationAddressIsChecked(t *testing.T) {
	t.Parallel()
	params := func(address string) []byte { return []byte(`{"notify_url":"` + address + `","secret":"s"}`) }
	draft := Terminal{Partner: 3, Name: "T", Provider: Simulator, Type: PaymentTerminal, MerchantParams: params("http://10.0.0.1/"), Env: money.Prod, Active: true}
	_, _, err := NewTerminal(draft, false)
	wantField(t, "private", err, "merchant_params.notify_url")
	terminal, _, err := NewTerminal(draft, true)
	wantField(t, "private, allowed", err, "")

	anotherURL, storedURL, noURL, otherName := params("http://10.0.0.2/"), params("http://10.0.0.1/"), []byte(`{}`), "other"
	_, _, err = terminal.Patch(func(r *Terminal, _ *schema.Faults) { r.MerchantParams = anotherURL }, false)
	wantField(t, "another private one", err, "merchant_params.notify_url")
	_, _, err = terminal.Patch(func(r *Terminal, _ *schema.Faults) { r.MerchantParams = anotherURL }, true)
	wantField(t, "another private one, allowed", err, "")
	for label, patch := range map[string]schema.Change[Terminal]{
		"what is stored": func(r *Terminal, _ *schema.Faults) { r.MerchantParams = storedURL },
		"none":           func(r *Terminal, _ *schema.Faults) { r.MerchantParams = noURL },
		"another field":  func(r *Terminal, _ *schema.Faults) { r.Name = otherName },
	} {
		_, _, err := terminal.Patch(patch, false)
		wantField(t, label, err, "")
	}
}

// A stored terminal is parsed at every start, even if private addresses were allowed when it was stored, or the
// rule did not exist yet.
func TestStoredNotificationAddressRemainsValid(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://10.0.0.1/", "https://shop.example/#top", "https://shop.example/é", "http://127.1/", "http://localhost:1/"} {
		stored := &Terminal{ID: testID(1), Type: MerchantTerminal, Name: "T", Provider: Simulator, Env: 1, MerchantParams: []byte(`{"notify_url":"` + address + `"}`)}
		if err := stored.Reparse(); err != nil || stored.Notification.NotifyURL != address {
			t.Errorf("%s: %v", address, err)
		}
		isActive := false
		_, _, err := stored.Patch(func(r *Terminal, _ *schema.Faults) { r.Active = isActive }, false)
		wantField(t, address, err, "")
		partner := &Partner{ID: testID(1), Number: 1, Name: "n", Login: "l", NotifyURL: address, Active: true}
		_, _, err = partner.Patch(func(r *Partner, _ *schema.Faults) { r.Active = isActive }, false)
		wantField(t, address, err, "")
	}
}

// The fault of an address is reported together with the faults of other fields.
func TestANotificationAddressIsRefusedBesideOtherFields(t *testing.T) {
	t.Parallel()
	_, _, err := NewTerminal(Terminal{
		Partner: 3, Provider: Simulator, Type: PaymentTerminal, Env: money.Prod, Active: true,
		MerchantParams: []byte(`{"notify_url":"http://10.0.0.1/","secret":5}`),
	}, false)
	var fields []string
	for _, r := range err.(Refusals) {
		fields = append(fields, r.Field)
	}
	if got := strings.Join(fields, " "); got != "name merchant_params.secret merchant_params.notify_url" {
		t.Errorf("refused %s", got)
	}
}
