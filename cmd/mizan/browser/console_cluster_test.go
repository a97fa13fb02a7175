package browser_test

import (
	"fmt"
	"testing"

	"mizan/internal/testkit"
)

// The pages about a cluster keep the rules of findings_test.go, and a person hands a shard over with them. The nodes are real
// processes.
func TestPagesOfTheClusterAreSound(t *testing.T) {
	browser := startBrowser(t)
	cluster := testkit.StartCluster(t, 3, 2)
	s := &site{browser: browser, headings: make(map[string]string), Server: &testkit.Server{BaseURL: cluster.Sandbox.BaseURL, Sandbox: cluster.Sandbox}}
	english := englishTexts(t)
	for _, v := range append(consoleViews, view{width: 320, lang: "ru", scripts: true, isDark: true}) {
		tb := s.signInAs(t, v, "operator")
		for _, address := range []string{"/console/admin/cluster", "/console/admin/cluster/transfer?shard=2"} {
			tb.beginView(t, v, tb.payerIP)
			tb.visit(s.BaseURL + address)
			tb.wantStatus(200)
			found, _, err := tb.findings()
			if err != nil {
				tb.fatal(err)
			}
			tb.keepScreenshot(fmt.Sprintf("cluster-%s-320-%d", v.lang, len(address)))
			if v.lang != "en" {
				for _, text := range tb.texts() {
					if english[text] {
						found = append(found, finding{ruleLanguage, fmt.Sprintf("%q is not translated", text)})
					}
				}
			}
			for _, f := range append(found, tb.widen(wideScreen)...) {
				t.Errorf("%s in %s: %s: %s", address, v.lang, f.rule, f.detail)
			}
			tb.keepScreenshot(fmt.Sprintf("cluster-%s-%d-%d", v.lang, wideScreen, len(address)))
		}
	}
	tb := s.signInAs(t, desktop, "operator")
	tb.visit(s.BaseURL + "/console/admin/cluster/transfer?shard=2")
	to := evaluate[string](tb, `document.querySelector("#node").value`)
	tb.press(consoleSubmit)
	tb.wantStatus(200)
	if !tb.has("[role=status]") && !tb.has(tokenField) {
		t.Error("the page does not confirm that the shard is handed over")
	}
	// The nodes then balance the leads. If the organization's shard gets another leader, that node asks for the token again.
	const leader = `[...document.querySelectorAll("table")][1].querySelectorAll("tbody tr")[2].cells[1].textContent.trim()`
	testkit.WaitUntil(t, to+" leads shard 2", func() bool {
		if tb.visit(s.BaseURL + "/console/admin/cluster"); tb.has(tokenField) {
			s.enterToken(tb)
			return false
		}
		return evaluate[string](tb, leader) == to
	})
}
