package browser_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"

	"mizan/api/console/consoletest"
)

// consoleRoles are the roles of the sandbox's users, in the order in which their pages are tried. The roles with the most pages
// come first.
var consoleRoles = []string{"admin", "client", "partner", "auditor", "operator"}

// consoleViews are the views in which every page of the console is tried. Each page is tried in wideScreen too.
var consoleViews = []view{{width: 320, lang: "en", scripts: true}, {width: 320, lang: "ar", scripts: true, isDark: true}}

const wideScreen = 1280

// For each role, every page of the console that can be reached by links keeps the rules of findings_test.go.
func TestEveryPageOfTheConsoleIsSound(t *testing.T) {
	s := newSite(t)
	consoletest.Fill(t, s.Server)
	english, tried := englishTexts(t), make(map[string]bool)
	for _, role := range consoleRoles {
		addresses := s.consolePages(t, role, tried)
		for _, v := range consoleViews {
			if testing.Short() && !v.isDark {
				continue
			}
			t.Run(fmt.Sprintf("%s-%s-dark-%t", role, v.lang, v.isDark), func(t *testing.T) {
				t.Parallel() // go test runs as many of these at once as the machine has processors
				tb := s.signInAs(t, v, role)
				call(tb, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}) // so that each page loads as if it were the first
				for i, address := range addresses {
					tb.beginView(t, v, tb.payerIP)
					tb.visit(s.BaseURL + address)
					tb.wantStatus(200)
					found, m, err := tb.findings()
					if err != nil {
						tb.fatal(err)
					}
					if v.isDark {
						tb.keepScreenshot(fmt.Sprintf("%s-%s-320-%03d", role, v.lang, i))
					}
					if v.lang != "en" {
						for _, text := range tb.texts() {
							if english[text] {
								found = append(found, finding{ruleLanguage, fmt.Sprintf("%q is not translated", text)})
							}
						}
					}
					if m.Heading == "" {
						t.Errorf("%s has no heading", address)
					}
					for _, f := range append(found, tb.widen(wideScreen)...) {
						t.Errorf("%s: %s: %s", address, f.rule, f.detail)
					}
					if !v.isDark {
						tb.keepScreenshot(fmt.Sprintf("%s-%s-%d-%03d", role, v.lang, wideScreen, i))
					}
					for _, f := range tb.paperFindings() {
						t.Errorf("%s on paper: %s: %s", address, f.rule, f.detail)
					}
					tb.keepPrint(fmt.Sprintf("%s-%s-%03d", role, v.lang, i))
				}
			})
		}
	}
}

// anyID matches the part of a URL path that is the id of a record.
var anyID = regexp.MustCompile(`/([0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+(-[0-9]+)?|[A-Z]:[^/]*)(/|$)`)

// oneTimeValue matches the value of a hidden field. Such values differ each time a page is loaded.
var oneTimeValue = regexp.MustCompile(`(<input type="hidden" name="[^"]*" value=)"[^"]*"`)

// consolePages returns the addresses of the pages that a user with this role reaches by links. Of addresses that differ only in
// ids it follows the first one, and another one with query parameters. It adds the content of each page to tried, and leaves out
// pages whose content is already there, such as those that are the same for another role.
func (s *site) consolePages(t *testing.T, role string, tried map[string]bool) (addresses []string) {
	t.Helper()
	b := consoletest.As(t, s.Server, strings.Replace(role, "operator", "admin", 1))
	if role == "operator" {
		b.Get("/console/admin/token").Form("/console/admin/token").Set("token", s.Sandbox.AdminToken).Submit("").Want(200)
	}
	seen, from := map[string]bool{}, map[string]string{}
	for todo := []string{"/console/"}; len(todo) > 0; todo = todo[1:] {
		p := b.Get(todo[0])
		if p.Status != 200 {
			t.Errorf("%s: %s links to %s, which is %d", role, from[todo[0]], todo[0], p.Status)
		}
		if !p.IsPage() {
			continue
		}
		_, content, _ := strings.Cut(p.Body, "<main")
		if content = oneTimeValue.ReplaceAllString(content, "$1"); !tried[content] {
			tried[content] = true
			addresses = append(addresses, todo[0])
		}
		for _, next := range p.References("href") {
			next, _, _ = strings.Cut(next, "#")
			path, query, _ := strings.Cut(next, "?")
			shape := anyID.ReplaceAllString(path, "/:id$3")
			if query != "" {
				shape += "?"
			}
			if strings.HasPrefix(next, "/console/") && !strings.HasPrefix(next, "/console/assets/") && !seen[shape] {
				seen[shape], from[next] = true, todo[0]
				todo = append(todo, next)
			}
		}
	}
	t.Logf("%s: %d pages", role, len(addresses))
	return addresses
}

// texts returns the texts of the page that are written in the page's own language.
func (tb *tab) texts() (texts []string) {
	tb.t.Helper()
	decode(tb, `JSON.stringify([...new Set([...document.querySelectorAll("body *:not(script, code, code *, [lang], [lang] *, [translate=no], bdi)")].flatMap(e => [...e.childNodes])
		.filter(n => n.nodeType === Node.TEXT_NODE && n.parentElement.checkVisibility()).map(n => n.data.trim()).filter(Boolean))])`, &texts)
	return texts
}

// englishTexts returns the English texts in the console's catalogs whose Arabic translation is another text.
func englishTexts(t *testing.T) map[string]bool {
	t.Helper()
	english := make(map[string]bool)
	files, err := filepath.Glob("../../../api/console/*/catalog/en.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		arabic := make(map[string]bool)
		for text := range textsOf(t, strings.Replace(file, "en.json", "ar.json", 1)) {
			arabic[text] = true
		}
		for text := range textsOf(t, file) {
			english[text] = !arabic[text]
		}
	}
	maps.DeleteFunc(english, func(text string, isDifferent bool) bool { return !isDifferent })
	return english
}

// textsOf returns all texts in a catalog, a JSON file of translated texts.
func textsOf(t *testing.T, file string) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(content, &root); err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]bool)
	for todo := []any{root}; len(todo) > 0; todo = todo[1:] {
		switch value := todo[0].(type) {
		case string:
			texts[value] = true
		case map[string]any:
			todo = slices.AppendSeq(todo, maps.Values(value))
		case []any:
			todo = append(todo, value...)
		}
	}
	return texts
}
