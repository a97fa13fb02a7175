package browser_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// showFaultyPage responds with a page that breaks every rule of findings_test.go.
func showFaultyPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "img-src 'none'")
	_, _ = fmt.Fprintf(w, `<!DOCTYPE html><html lang="en" dir="rtl"><title>x</title><link rel="icon" href="data:,">
<style>:focus { outline: none }</style>
<div id="late" style="height:0"></div><h1>Faulty</h1>
<svg class="qr" width="50" height="50" viewBox="0 0 5 5" style="opacity:.5"><path d="M1 1h3v1h-3z"/></svg>
<p style="width:5000px;color:#eee;background:#fff">pale</p>
<main><p style="width:2em;overflow-wrap:anywhere">indivisible</p></main>
<input name="unlabelled"><button>second</button><button tabindex="-1">unreachable</button>
<img src="/picture.png"><img src="https://elsewhere.example/pixel.png"><script>
console.error("deliberate");
addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(() => { late.style.height = "200px" })));
fetch("https://elsewhere.example/").catch(() => {});
</script><!-- %s --></html>`, strings.Repeat("x", maxPageBytes))
}

// The other tests are worth something only if each rule detects the page that breaks it.
func TestEveryRuleFindsItsFault(t *testing.T) {
	s := newSite(t)
	tb := s.open(t, desktop)
	tb.visit(s.merchant.address("/faulty"))
	evaluate[bool](tb, `new Promise(resolve => { const look = () => late.clientHeight ? resolve(true) : requestAnimationFrame(look); look(); })`)
	found, _, err := tb.findings()
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, tb.keyboardFindings()...)
	var code drawnCode
	decode(tb, findCode, &code)
	picture, err := tb.screenshot()
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, tb.codeFindings(picture, &code)...)
	for _, rule := range []string{"label", "color-contrast", "image-alt", ruleWidth, ruleWords, ruleConsole, ruleHosts, ruleBytes, ruleShift, ruleLanguage, ruleKeyboard, ruleCode, "region"} {
		if !slices.ContainsFunc(found, func(f finding) bool { return f.rule == rule }) {
			t.Errorf("%s is not found", rule)
		}
	}
	for _, want := range []string{"violates the following Content Security Policy", "deliberate", "elsewhere.example", "does not show that it is focused", "never focused"} {
		if !slices.ContainsFunc(found, func(f finding) bool { return strings.Contains(f.detail, want) }) {
			t.Errorf("nothing tells %q: %v", want, found)
		}
	}
}
