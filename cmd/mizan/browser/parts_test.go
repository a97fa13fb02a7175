package browser_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// Parts of the payers' pages, such as the copy button and the receipt, do what they are for.
func TestPartsOfPagesServeTheirPurpose(t *testing.T) {
	s := newSite(t)
	s.prepareMethods(t)
	// A yellow button needs a border on a light background, as the first partner's blue button needs one on a dark background.
	s.brand(t, s.Admin().With("x-organization-id", s.Sandbox.Second.OrganizationID), s.Sandbox.Second.PartnerID,
		`{"display_name":"شركة الشرق الأوسط لتجارة الشاي والقهوة والتوابل والحلويات الشرقية المحدودة","color":"#ffff00"}`)
	for _, f := range []flow{
		{"what is copied", copyValues},
		{"the printed receipt", printReceipt},
		{"the print button", pressPrint},
		{"directions of fields", lookAtDirections},
		{"the logo", lookAtLogo},
		{"a long name of another direction", lookAtLongName},
		{"the cancel button", lookAtCancel},
		{"the link to refresh", lookAtRefresh},
		{"a form that was stopped", stopSending},
		{"a form that was stopped, in an older browser", stopSendingInAnOlderBrowser},
		{"cancelled while the form is on its way", cancelWhileSending},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			tb := s.open(t, desktop)
			f.walk(tb)
			tb.wantQuiet()
		})
	}
}

// setView changes the view in which the same payer looks at pages.
func (tb *tab) setView(v view) { tb.beginView(tb.t.(*testing.T), v, tb.payerIP) }

// copyValues tests the buttons that copy values for wallets. A copied amount has the format that wallets read, whatever the
// page's language is.
func copyValues(tb *tab) {
	payer := call(tb, target.GetTargetInfo, target.GetTargetInfoParams{}).TargetInfo.BrowserContextID
	call(tb, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted, BrowserContextID: payer,
	})
	for _, lang := range []string{"en", "fa"} {
		tb.setView(view{width: 1280, lang: lang, scripts: true})
		tb.showAction("payment", `"amount":"1234567890","currency":"USDT","network":"tron","money_storage":{"type":"crypto"}`)
		tb.wantCopied("value1", "1234.567890")
		address := evaluate[string](tb, `document.querySelector("main").textContent.match(/simulated-tron-[0-9A-Za-z-]+/)[0]`)
		tb.wantCopied("value2", address)
	}
	created := tb.site.create(tb.t, tb.site.Partner(), "payment", `"amount":"1250","currency":"ETH","money_storage":{"type":"native_gas"}`)
	tb.visit(created.at("simple_auth_redirect_url"))
	tb.wantCopied("value1", tb.site.send(tb.t, tb.site.Partner(), "GET", "/transactions/"+created.at("id"), nil, http.StatusOK).at("additional_params_for_auth.payload"))
}

// wantCopied presses the button that copies an element. It checks the text in the clipboard, and that the button then says that
// it has copied.
func (tb *tab) wantCopied(element, want string) {
	tb.t.Helper()
	button := "button[data-copy=" + element + "]"
	before := evaluate[string](tb, fmt.Sprintf("document.querySelector(%q).textContent", button))
	tb.do(click(button))
	// The button changes its text when the value is in the clipboard.
	after := evaluate[string](tb, fmt.Sprintf(`new Promise(resolve => { const button = document.querySelector(%q);
		const look = () => button.textContent !== %q ? resolve(button.textContent) : requestAnimationFrame(look); look(); })`, button, before))
	if after == "" {
		tb.fatal("the button does not say that it has copied")
	}
	if got := evaluate[string](tb, "navigator.clipboard.readText()"); got != want {
		tb.fatal(fmt.Sprintf("%q is copied, want %q", got, want))
	}
}

// printedFaults is a JavaScript expression that returns what is wrong with a printed receipt: texts that are hidden, extend
// beyond the edge or are too pale for paper, and buttons, which must not be printed.
const printedFaults = `(() => {
	const shine = text => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
		return 1 - a + a * [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0); };
	const faults = [];
	for (const e of document.querySelectorAll("header bdi, h1, .sum bdi, dt, dd bdi")) {
		const box = e.getBoundingClientRect(), style = getComputedStyle(e);
		if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true}) || box.width < 1 || box.height < 8) faults.push("hidden: " + e.textContent);
		if (box.left < -0.5 || box.right > innerWidth + 0.5) faults.push("beyond the edge: " + e.textContent);
		if (shine(style.color) > 0.18) faults.push("too pale for paper: " + e.textContent + " " + style.color);
	}
	for (const e of document.querySelectorAll("button")) if (e.checkVisibility()) faults.push("printed: " + e.textContent);
	return JSON.stringify(faults);
})()`

// printReceipt tests a receipt in the form in which it is printed, with light and with dark colors of the screen.
func printReceipt(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"123450","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardCharged)
	tb.press(receiptLink)
	for _, scheme := range []string{"light", "dark"} {
		call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		printed := evaluate[string](tb, "document.body.innerText") // innerText has only the texts that the style sheet leaves visible
		for _, want := range []string{"Tea & Co", "Receipt", "$1,234.50", "Paid", "4242", id} {
			if !strings.Contains(printed, want) {
				tb.fatal(fmt.Sprintf("%s: the printed receipt lacks %q: %q", scheme, want, printed))
			}
		}
		var faults []string
		if decode(tb, printedFaults, &faults); len(faults) > 0 {
			tb.fatal(fmt.Sprint(scheme, ": ", faults))
		}
	}
}

func pressPrint(tb *tab) {
	showReceipt(tb)
	evaluate[bool](tb, `(window.print = () => { window.hasPrinted = true; }, true)`)
	tb.do(click("[data-print]"))
	if !evaluate[bool](tb, "window.hasPrinted === true") {
		tb.fatal("the button does not print")
	}
}

// wrongDirections is a JavaScript expression for pages that are written from right to left. It returns the fields for numbers,
// codes and Latin names whose text is not written from left to right or not aligned to the right.
const wrongDirections = `JSON.stringify([...document.querySelectorAll("main input:is([type=text], [type=password])")].flatMap(field => {
	const directions = [field.name === "cardholder" ? "ltr" : field.dir];
	for (const text of ["", field.name === "cardholder" ? "JANE DOE" : "12/30"]) {
		field.value = text;
		directions.push(getComputedStyle(field).direction);
	}
	if (field.name === "cardholder") directions.splice(1, 1); // an empty field for a name has the direction of the page
	const side = getComputedStyle(field).textAlign;
	return directions.every(d => d === "ltr") && side === "right" ? [] : [field.name + ": " + directions + " " + side];
}))`

// lookAtDirections tests the fields on pages that are written from right to left. Numbers are written from left to right on
// these pages too.
func lookAtDirections(tb *tab) {
	for _, lang := range []string{"ar", "fa", "ur"} {
		tb.setView(view{width: 1280, lang: lang, scripts: true})
		for _, show := range []func(tb *tab){showCheckout, showMethods, showPassword, showSignature} {
			show(tb)
			var faults []string
			if decode(tb, wrongDirections, &faults); len(faults) > 0 || !tb.has("main input[dir=ltr]") {
				tb.fatal(fmt.Sprint(lang, ": ", faults))
			}
		}
	}
}

// lookAtLongName tests a merchant's long name that is written in another direction than the page. Its lines must begin beside
// the merchant's initial.
func lookAtLongName(tb *tab) {
	tb.setView(view{width: 320, lang: "en", scripts: true})
	showFee(tb)
	const edges = `(() => { const range = document.createRange();
		range.selectNodeContents(document.querySelector("header bdi"));
		const initial = document.querySelector(".initial").getBoundingClientRect().right;
		return JSON.stringify([...range.getClientRects()].map(r => Math.round(r.left - initial))); })()`
	var gaps []int
	decode(tb, edges, &gaps)
	const most = 16
	for _, gap := range gaps {
		if gap < 0 || gap > most || len(gaps) < 2 {
			tb.fatal(fmt.Sprintf("the lines of the name begin %v pixels beside the initial, want at most %d", gaps, most))
		}
	}
}

// lookAtCancel tests that the cancel button looks like a link, also where other buttons have a border.
func lookAtCancel(tb *tab) {
	const borders = `JSON.stringify([...document.querySelectorAll("button[name=cancel], button[type=submit]:not([name])")].map(b => {
		const style = getComputedStyle(b);
		return style.borderTopColor + " " + style.borderTopWidth + " " + style.backgroundColor + " " + style.textDecorationLine; }))`
	for _, c := range []struct {
		show   func(tb *tab)
		isDark bool
	}{{showCheckout, true}, {showFee, false}} {
		tb.setView(view{width: 1280, lang: "en", scripts: true, isDark: c.isDark})
		c.show(tb)
		var looks []string
		decode(tb, borders, &looks)
		const link = "rgba(0, 0, 0, 0) 1px rgba(0, 0, 0, 0) underline"
		if len(looks) != 2 || strings.HasPrefix(looks[0], "rgba(0, 0, 0, 0)") || looks[1] != link {
			tb.fatal(fmt.Sprintf("the button to pay and the one to cancel look like %q", looks))
		}
	}
}

// lookAtRefresh looks at the link with which a payer without scripts reloads a waiting page.
func lookAtRefresh(tb *tab) {
	tb.setView(view{width: 320, lang: "en"})
	for _, show := range []func(tb *tab){showScan, showProcessing} {
		show(tb)
		const place = `(() => { const link = document.querySelector("noscript a").getBoundingClientRect(), main = document.querySelector("main").getBoundingClientRect();
			const above = document.querySelector("noscript").previousElementSibling.getBoundingClientRect();
			return JSON.stringify([link.top - above.bottom, (link.left + link.right - main.left - main.right) / 2]); })()`
		var distances []float64
		decode(tb, place, &distances)
		if distances[0] < 8 || distances[1] < -2 || distances[1] > 2 {
			tb.fatal(fmt.Sprintf("the link is %g pixels below what is above it, and %g beside the middle", distances[0], distances[1]))
		}
	}
}

// sendSlowly types a card into the form of a new payment and sends the form, while the test holds back the request. It returns
// the transaction's id.
func (tb *tab) sendSlowly() (id string) {
	tb.t.Helper()
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.fillCard(cardCharged)
	held := tb.events.current().held
	call(tb, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/pay/*"}}})
	tb.do(click(submitButton))
	tb.waitFor("the form on its way", func(d document) bool { return d.held > held })
	return id
}

// noLongTimers is a script that keeps timers of ten seconds and more from running.
const noLongTimers = `{ const later = setTimeout; window.setTimeout = (act, time) => time < 10000 ? later(act, time) : 0; }`

// stopSending stops the browser while it sends the form. After that the payer can send the form again at once, or cancel the
// payment.
func stopSending(tb *tab) {
	call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noLongTimers})
	id := tb.sendSlowly()
	call(tb, page.StopLoading, cdp.Empty{})
	call(tb, fetch.Disable, cdp.Empty{})
	tb.waitUntilSendable()
	tb.press(submitButton)
	tb.wantOutcome(id, "charged")

	id = tb.sendSlowly()
	call(tb, page.StopLoading, cdp.Empty{})
	call(tb, fetch.Disable, cdp.Empty{})
	tb.press(cancelButton)
	tb.wantOutcome(id, "failed")
}

// stopSendingInAnOlderBrowser stops an older browser while it sends the form. Such a browser does not tell the page about it, so
// the page allows sending again only after some time. The test shortens this time.
func stopSendingInAnOlderBrowser(tb *tab) {
	call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `{
		Object.defineProperty(window, "navigation", {value: undefined});
		const later = setTimeout;
		window.setTimeout = (act, time) => later(() => time < 10000 ? act() : window.mayPass ? act() : setTimeout(act, time), Math.min(time, 50));
	}`})
	id := tb.sendSlowly()
	call(tb, page.StopLoading, cdp.Empty{})
	call(tb, fetch.Disable, cdp.Empty{})
	if !tb.has("form[data-sent]") {
		tb.fatal("the form can be sent twice")
	}
	evaluate[bool](tb, "window.mayPass = true")
	tb.waitUntilSendable()
	tb.press(submitButton)
	tb.wantOutcome(id, "charged")
}

// waitUntilSendable waits until the page's form can be sent.
func (tb *tab) waitUntilSendable() {
	tb.t.Helper()
	evaluate[bool](tb, `new Promise(resolve => { const look = () => document.querySelector("form[data-sent], [aria-disabled]") ? requestAnimationFrame(look) : resolve(true); look(); })`)
}

// cancelWhileSending presses the cancel button while the browser sends the form. The browser then gives up sending the form.
func cancelWhileSending(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.fillCard(cardCharged)
	tb.follow(script(`(() => { for (const button of ["` + submitButton + `", "` + cancelButton + `"]) document.querySelector(button).click(); return true; })()`))
	tb.wantOutcome(id, "failed")
}

// lookAtLogo tests where the merchant's logo is drawn: at the edge where lines begin, within the height of the header, and
// undistorted.
func lookAtLogo(tb *tab) {
	const height = 48
	for _, lang := range []string{"en", "ar"} {
		tb.setView(view{width: 768, lang: lang, scripts: true})
		showCheckout(tb)
		var row struct{ Left, Right, Top, Bottom int }
		decode(tb, `(() => { const row = document.querySelector("header").getBoundingClientRect();
			return JSON.stringify({Left: Math.round(row.left), Right: Math.round(row.right), Top: Math.ceil(row.top), Bottom: Math.floor(row.bottom)}); })()`, &row)
		content, err := tb.screenshot()
		if err != nil {
			tb.fatal(err)
		}
		drawn := boundsOf(tb.t, content, isOfTheLeaf)
		want := row.Left
		if lang == "ar" {
			want = row.Right - height
		}
		if drawn.Min.X != want || drawn.Dx() != height || drawn.Dy() != height || drawn.Min.Y < row.Top || drawn.Max.Y > row.Bottom {
			tb.fatal(lang + ": the logo is drawn at " + drawn.String() + ", want its left at " + strconv.Itoa(want))
		}
	}
}
