package page

import (
	"net/url"
	"strings"
	"testing"
)

func TestOnlyWebAddressesAreLinked(t *testing.T) {
	for address, want := range map[string]bool{
		"https://shop.example": true, "https://shop.example/ok?a=b#c": true, "http://127.0.0.1:8080/": true, "https://[::1]:8443/x": true,
		"HTTPS://shop.example/": true, "https://магазин.example/путь": true, "https://user@shop.example/": true, "https://shop.example/a b": true,

		"": false, "shop.example": false, "/ok": false, "//shop.example/ok": false, "https:": false, "https://": false, "https:///ok": false,
		"javascript:alert(1)": false, "JavaScript:alert(1)": false, " javascript:alert(1)": false, "java\nscript:alert(1)": false,
		"data:text/html,<script>alert(1)</script>": false, "vbscript:x": false, "file:///etc/passwd": false, "ftp://shop.example/": false,
		"https:/shop.example": false, "https:shop.example": false, `https:\\shop.example`: false, "\thttps://shop.example": false,
		"https://a\r\nSet-Cookie: b=c": false, "https://shop.example/\r\nX-A: b": false, "https://shop.example/\x00": false, "https://shop.example/\x7f": false,
		"https://a;b/": false, "https://a,b/": false, "https://a'b/": false, "https://a*b/": false, "https://a b/": false, "https://a\"b/": false,
		"https://%zz/": false, "https://shop.example:x/": false,
		"https://shop.example:65535/": true, "https://shop.example:/": true, "https://shop.example:65536/": false, "https://[::1]:99999/": false,
	} {
		if got := IsWebAddress(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

func TestLocationValueIsTheAddressPercentEncoded(t *testing.T) {
	for address, want := range map[string]string{
		"https://shop.example/ok?a=b&c=%20#d": "https://shop.example/ok?a=b&c=%20#d",
		"https://shop.example/a b":            "https://shop.example/a%20b",
		"https://shop.example/%D1%8F?я":       "https://shop.example/%D1%8F?%D1%8F",
		"/pay/a?token=b.c-_":                  "/pay/a?token=b.c-_",
	} {
		if got := LocationValue(address); got != want {
			t.Errorf("%q becomes %q, want %q", address, got, want)
		}
	}
}

func TestPlaceholdersInAddressesAreFilledIn(t *testing.T) {
	const id = "f0b6ac47-fb98-4496-b1aa-601a0f5d967b"
	for _, c := range []struct{ address, txID, want string }{
		{"https://shop.example/ok?order={txid}&id={transaction_id}#{txid}", "a-1", "https://shop.example/ok?order=a-1&id=" + id + "#a-1"},
		{"https://shop.example/{txid}/done", "a/../b c+d&e=f#g?h%20é", "https://shop.example/a%2F..%2Fb%20c%2Bd%26e%3Df%23g%3Fh%2520%C3%A9/done"},
		{"https://shop.example/?a=%7Btxid%7D&b=%7btransaction_id%7d", "1", "https://shop.example/?a=1&b=" + id},
		{"https://shop.example/{txid}", "{transaction_id}", "https://shop.example/%7Btransaction_id%7D"},
		{"https://shop.example/{TXID}?{id}&a=%20", "1", "https://shop.example/{TXID}?{id}&a=%20"},
		{"https://shop.example/?{txid}", "", "https://shop.example/?"},
		{"", "1", ""},
	} {
		if got := FillAddress(c.address, id, c.txID); got != c.want {
			t.Errorf("%q with %q becomes %q, want %q", c.address, c.txID, got, c.want)
		}
	}
}

// No address that IsWebAddress accepts can add another header to a response, or another directive to a Content-Security-Policy.
func FuzzAddressCannotBreakOutOfItsLocationValue(f *testing.F) {
	for _, seed := range []string{"https://shop.example/ok", "https://a;b/", "https://a\r\nb", "http://[::1]:1/", "https://{txid}@shop.example:1/{txid}", "https://я/ я", "javascript:alert(1)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if !IsWebAddress(address) {
			if originOf(address) != "" {
				t.Errorf("%q has an origin", address)
			}
			return
		}
		if before, after := originOf(address), originOf(FillAddress(address, "1", "@evil.example/{txid}:1\r\n")); before != after {
			t.Errorf("the origin of %q becomes %q", address, after)
		}
		header := LocationValue(address)
		for i := range len(header) {
			if header[i] <= ' ' || header[i] >= 0x7f {
				t.Fatalf("%q becomes %q", address, header)
			}
		}
		if u, err := url.Parse(header); err != nil || u.Scheme != "https" && u.Scheme != "http" {
			t.Errorf("%q becomes %q: %v", address, header, err)
		}
		if strings.ContainsAny(originOf(address), "; ,'\"*") {
			t.Errorf("%q has the origin %q", address, originOf(address))
		}
	})
}
