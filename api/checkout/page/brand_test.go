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
		if style := (Brand{Color: color}).style(); !strings.HasPrefix(style, ":root{--brand:"+strings.ToLower(color)+";--on-brand:"+want+"}") {
			t.Errorf("%s: %s, want %s", color, style, want)
		}
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		red, green, blue := uint8(random.Uint32()), uint8(random.Uint32()), uint8(random.Uint32())
		background := luminance(red, green, blue)
		ratio := (background + 0.05) / 0.05
		if textColor(background) == "#fff" {
			ratio = 1.05 / (background + 0.05)
		}
		if ratio < 4.5 {
			t.Fatalf("seed %d: %02x%02x%02x has a contrast of %.2f", seed, red, green, blue, ratio)
		}
	}
	for _, color := range []string{"", "red", "#fff", "#12345", "#1234567", "123456", "#12345g", "#-12345", "#+12345", "#}*{color"} {
		if style := (Brand{Color: color}).style(); style != "" {
			t.Errorf("%q: %s", color, style)
		}
	}
}

// A button whose color is close to that of the page's surface has a border, so that people can recognize the button.
func TestButtonIsSeenInEveryBrandsColor(t *testing.T) {
	for color, want := range map[string]struct{ light, dark bool }{
		"#ffffff": {light: true}, "#f5e642": {light: true}, "#1a1d23": {dark: true}, "#000000": {dark: true}, "#0a6b3d": {dark: true}, "#0b5cad": {dark: true}, "#767676": {}, "#d32f2f": {},
	} {
		style := (Brand{Color: color}).style()
		light := strings.Contains(style, "@media not (prefers-color-scheme:dark){:root{--rim:var(--field)}}")
		dark := strings.Contains(style, "@media (prefers-color-scheme:dark){:root{--rim:var(--field)}}")
		if light != want.light || dark != want.dark {
			t.Errorf("%s: a rim on light %v, on dark %v, want %v: %s", color, light, dark, want, style)
		}
	}
	for _, rule := range []string{"--surface: #fff;", "--surface: #1a1d23;", "border: 1px solid var(--rim, transparent)"} {
		if !strings.Contains(style, rule) {
			t.Errorf("the style has no %q", rule)
		}
	}
}

func TestPolicyAllowsTheBrandsStyleAndLogo(t *testing.T) {
	order := Order{Shop: Shop{Merchant: "Shop"}, Sum: dollars}
	plain := Checkout{Order: order, Methods: byCard}
	order.Brand = Brand{Color: "#767676", Logo: "/images/a.png"}
	branded := Checkout{Order: order, Methods: byCard}
	style := ":root{--brand:#767676;--on-brand:#000}"
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
