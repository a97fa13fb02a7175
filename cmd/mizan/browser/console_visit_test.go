package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// shotsVariable is the environment variable that names a folder for screenshots of the console. People look at these
// screenshots; no test compares them.
const shotsVariable = "MIZAN_TEST_SHOTS"

// consoleSubmit is the selector of the button that submits the form in the main part of a console page.
const consoleSubmit = "main form button[type=submit]"

// signInAs opens a tab and signs in a user of the sandbox with this role. The role operator means an administrator who has also
// entered the administration token.
func (s *site) signInAs(t *testing.T, v view, role string) *tab {
	t.Helper()
	tb := s.open(t, v)
	login, pass := s.Sandbox.ConsoleLogin(strings.Replace(role, "operator", "admin", 1))
	tb.visit(s.BaseURL + "/console/login?organization=" + s.Sandbox.OrganizationID)
	tb.do(setValue("#login", login), setValue("#pass", pass))
	tb.press(consoleSubmit)
	if role == "operator" {
		tb.visit(s.BaseURL + "/console/admin/token")
		s.enterToken(tb)
	}
	tb.wantStatus(200)
	if !tb.has("header form[action='/console/logout']") || tb.has("main [role=alert]") {
		tb.fatal("the login failed")
	}
	return tb
}

// tokenField is the field for the administration token.
const tokenField = "input[name=token]"

// enterToken enters the administration token on the page that asks for it.
func (s *site) enterToken(tb *tab) {
	tb.do(setValue(tokenField, s.Sandbox.AdminToken))
	tb.press(consoleSubmit)
}

// setValue sets the value of a field in one step, without keystrokes.
func setValue(selector, value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(chromedp.CSS(selector), value)
}

// isThere waits until the page has an element, which a script may add. It returns false if the element has not appeared after 20
// seconds.
func (tb *tab) isThere(selector string) bool {
	tb.t.Helper()
	return evaluate[bool](tb, fmt.Sprintf(`new Promise(resolve => {
		const look = () => document.querySelector(%[1]q) && resolve(true);
		new MutationObserver(look).observe(document, {subtree: true, childList: true, attributes: true});
		setTimeout(() => resolve(document.querySelector(%[1]q) !== null), 20000);
		look();
	})`, selector))
}

// keepScreenshot writes a screenshot of the page into the folder that shotsVariable names. If the variable is not set,
// keepScreenshot does nothing.
func (tb *tab) keepScreenshot(name string) {
	tb.t.Helper()
	folder := os.Getenv(shotsVariable)
	if folder == "" {
		return
	}
	picture, err := tb.screenshot()
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644)
	}
	if err != nil {
		tb.fatal(err)
	}
}
