package browser_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// Widths in pixels of what a browser prints on A4 paper with margins of 1 cm, upright and in landscape.
const (
	paperWidth     = 718
	landscapeWidth = 1047
)

// notPrinted is an expression for what a page on paper must not have: controls, which nobody can press there, and dark grounds.
const notPrinted = `[...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && (
		e.matches("button, nav, dialog, input:not([type=hidden]), select, textarea") ||
		getComputedStyle(e).backgroundColor.match(/^rgb\((\d+), (\d+), (\d+)\)$/)?.slice(1).every(part => part < 100) && e.textContent.trim()))
	.slice(0, 3).map(e => e.outerHTML.replace(/\s+/g, " ").slice(0, 120))`

// paperFindings checks the page as it is printed: it is as wide as the paper, and has neither controls nor dark grounds, also for a
// reader whose screen is dark. A form may be printed with its fields. Afterwards the tab shows the page on paper.
func (tb *tab) paperFindings() []finding {
	tb.t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[tb.view.isDark]
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if !evaluate[bool](tb, `matchMedia("print").matches`) {
		tb.fatal("the page is not on paper")
	}
	width := int64(paperWidth)
	if evaluate[string](tb, `getComputedStyle(document.body).page`) == "wide" {
		width = landscapeWidth
	}
	found := tb.widen(width)
	isForm := evaluate[bool](tb, `document.querySelector("main form:not(.filters) :is(input, select, textarea):not([type=hidden]), #key") !== null`)
	var wrong []string
	if decode(tb, `JSON.stringify(`+notPrinted+`)`, &wrong); len(wrong) > 0 && !isForm {
		found = append(found, finding{rulePaper, strings.Join(wrong, ", ")})
	}
	return found
}

// keepPrint writes the page as a browser prints it into the folder that shotsVariable names; without the variable it does nothing.
func (tb *tab) keepPrint(name string) {
	tb.t.Helper()
	folder := os.Getenv(shotsVariable)
	if folder == "" {
		return
	}
	const inch = 2.54 // centimetres
	printed := call(tb, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: new(true), PaperWidth: 21 / inch, PaperHeight: 29.7 / inch})
	if err := os.WriteFile(filepath.Join(folder, name+".pdf"), printed.Data, 0o644); err != nil {
		tb.fatal(err)
	}
}
