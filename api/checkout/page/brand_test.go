package page

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTextOnABrandsColorIsReadable(t *testing.T) {
	for color, want := range map[string]string{
		"#000000": "#fff", "#ffffff": "#000", "#0a6b3d": "#fff", "#ffcc00": "#000", "#FF0000": "#000", "#0000ff": "#fff", "#777777": "#000", "#767676": "#000", "#757575": "#fff",
	} {
		if style := (Brand{Color: color}).style(); style != ":root{--brand:"+strings.ToLower(color)+";--on-brand:"+want+"}" {
			t.Errorf("%s: %s, want %s", color, style, want)
		}
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		red, green, blue := uint8(random.Uint32()), uint8(random.Uint32()), uint8(random.Uint32())
		luminance := 0.2126*linear(red) + 0.7152*linear(green) + 0.0722*linear(blue)
		contrast := (luminance + 0.05) / 0.05
		if textColor(red, green, blue) == "#fff" {
			contrast = 1.05 / (luminance + 0.05)
		}
		if contrast < 4.5 {
			t.Fatalf("seed %d: %02x%02x%02x has a contrast of %.2f", seed, red, green, blue, contrast)
		}
	}
	for _, color := range []string{"", "red", "#fff", "#12345", "#1234567", "123456", "#12345g", "#-12345", "#+12345", "#}*{color"} {
		if style := (Brand{Color: color}).style(); style != "" {
			t.Errorf("%q: %s", color, style)
		}
	}
}

func TestPolicyAllowsTheBrandsStyleAndLogo(t *testing.T) {
	order := Order{Shop: Shop{Merchant: "Shop"}, Sum: dollars}
	plain := Checkout{Order: order, Methods: byCard}
	order.Brand = Brand{Color: "#123456", Logo: "/images/a.png"}
	branded := Checkout{Order: order, Methods: byCard}
	style := ":root{--brand:#123456;--on-brand:#fff}"
	want := strings.Replace(Policy(plain), styleHash, styleHash+" "+hashOf(style), 1) + "; img-src 'self'"
	if got := strings.Replace(Policy(branded), "; img-src 'self'", "", 1) + "; img-src 'self'"; got != want {
		t.Errorf("with a brand:\n%s, want\n%s", got, want)
	}
	if html := render(t, "en", branded); !strings.Contains(html, "<style>"+style+"</style>") || !strings.Contains(html, `<img class="logo" src="/images/a.png" alt="">`) {
		t.Errorf("%s", html)
	}
	if html := render(t, "en", Stop{Notice: NotFound}); strings.Contains(html, "<header>") || strings.Contains(html, "<footer>") {
		t.Errorf("%s", html)
	}
}
