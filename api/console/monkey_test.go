package console_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// stepsOfMonkey is the number of steps that the monkey takes as each person, unless MIZAN_SOAK is set.
const stepsOfMonkey = 120

// A monkey follows links, fills in forms with good and bad values and presses their buttons, at random. Whatever it does, no page
// fails, lacks its request id, shows a fault of a template or has a secret in an address. With MIZAN_SOAK set to a duration it
// runs for so long.
func TestMonkey(t *testing.T) {
	t.Parallel()
	lasting, _ := testseed.SoakTimeIfSet(t)
	s := start(t)
	m := &monkey{t: t, server: s, random: testseed.Random(t), secrets: secretsOf(s), ids: idsOf(s)}
	consoletest.Fill(t, s)
	until := time.Now().Add(lasting)
	statuses, total := make(map[int]int), 0
	for round := 0; round == 0 || time.Now().Before(until); round++ {
		for _, role := range roles {
			m.enter(role)
			for range stepsOfMonkey {
				p := m.step()
				statuses[p.Status]++
				total++
				if t.Failed() {
					t.Fatalf("as %s, step %d: %s", role, total, strings.Join(m.trail, "\n  "))
				}
			}
		}
	}
	if log := s.Stderr(); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") {
		t.Errorf("the server's log has a panic: %.3000s", log[max(0, strings.Index(log, "panic")):])
	}
	t.Logf("%d steps, by status: %v", total, statuses)
}

// monkey is a user who acts at random.
type monkey struct {
	t       *testing.T
	server  *testkit.Server
	random  *rand.Rand
	secrets []string
	ids     []string // ids that the monkey has seen in addresses
	role    string
	browser *consoletest.Browser
	page    *consoletest.Page
	trail   []string
}

// trailLength is how many of the steps before a failure the failure's message shows.
const trailLength = 12

// enter logs in as a person with a role, and chooses a language at random.
func (m *monkey) enter(role string) {
	m.role, m.trail = role, nil
	advance(m.t, m.server, 16*60) // wrong passwords lock a login for a quarter of an hour
	m.restore()
	m.browser = visitor(m.t, m.server, role).With("Accept-Language", pick(m.random, "en", "ar", "ru"))
	m.page = m.browser.Get("/console/").Want(200)
}

// restore lets the persons of the sandbox log in again: the monkey may have deactivated them, and may have changed their
// passwords and roles.
func (m *monkey) restore() {
	answer, err := m.server.Admin().Get("/api/v1/users?limit=100")
	testkit.WantStatus(m.t, answer, err, 200)
	var users struct {
		Data []struct{ ID, Login string }
	}
	if err := answer.JSON(&users); err != nil {
		m.t.Fatal(err)
	}
	restore := func(path, change string) {
		answer, err := m.server.Admin().Do("PATCH", path, change)
		testkit.WantStatus(m.t, answer, err, 200)
	}
	for _, role := range []string{"admin", "auditor", "client"} {
		login, pass := m.server.Sandbox.ConsoleLogin(role)
		i := slices.IndexFunc(users.Data, func(u struct{ ID, Login string }) bool { return u.Login == login })
		if i < 0 {
			m.t.Fatalf("there is no user %s", login)
		}
		restore("/api/v1/users/"+users.Data[i].ID, fmt.Sprintf(`{"pass":%q,"active":true,"roles":[%q],"lang":null}`, pass, role))
	}
	_, pass := m.server.Sandbox.ConsoleLogin("partner")
	restore(fmt.Sprint("/api/v1/partners/", m.server.Sandbox.PartnerID), fmt.Sprintf(`{"pass":%q,"active":true,"source_addresses":[]}`, pass))
}

// typedTemplate is a text that the monkey types. A page that quotes it unchanged is sound; a template that executed it would show
// something else.
const typedTemplate = "{{.}}"

// step takes a random action, and checks the resulting page.
func (m *monkey) step() *consoletest.Page {
	before := m.page
	switch m.random.IntN(10) {
	case 0, 1, 2, 3:
		m.submit(before)
	case 4:
		m.edit(before)
	case 5:
		m.get(pick(m.random, m.pages()...))
	default:
		m.click(before)
	}
	if fault := faultOf(m.page, m.secrets, typedTemplate); fault != "" {
		m.t.Errorf("%s: %d %s: %.500s", m.page.Path, m.page.Status, fault, m.page.Text())
	}
	if m.page.Path == "/console/login" || strings.HasPrefix(m.page.Path, "/console/login?") || !m.page.IsPage() {
		last := m.page
		trail := m.trail
		m.enter(m.role)
		m.trail = trail
		return last
	}
	for _, address := range m.page.References("href") {
		if path, _, _ := strings.Cut(address, "?"); strings.Count(path, "/") > 3 && len(m.ids) < 500 && !strings.Contains(path, "/assets/") {
			m.ids = append(m.ids, path[strings.LastIndexByte(path, '/')+1:])
		}
	}
	return m.page
}

func (m *monkey) note(format string, args ...any) {
	m.trail = append(m.trail, fmt.Sprintf(format, args...))
	m.trail = m.trail[max(0, len(m.trail)-trailLength):]
}

func (m *monkey) get(address string) {
	m.note("GET %s", address)
	b := m.browser
	if m.random.IntN(8) == 0 {
		b = b.With("HX-Request", "true")
	}
	m.page = b.Get(address)
}

// pages returns addresses of pages, with ids that the monkey has seen and with invalid ids.
func (m *monkey) pages() (addresses []string) {
	for _, route := range pages() {
		parts := strings.Split(route, "/")
		for i, part := range parts {
			if strings.HasPrefix(part, ":") {
				parts[i] = url.PathEscape(pick(m.random, append(m.ids, "0", "-1", "x", "..", "99999999999999999999", "00000000-0000-4000-8000-000000000000", "2026-13", "A:bank", "%", "\u202e")...))
			}
		}
		addresses = append(addresses, strings.Join(parts, "/"))
	}
	return addresses
}

// click follows a link of the page.
func (m *monkey) click(p *consoletest.Page) {
	links := slices.DeleteFunc(append(p.References("href"), p.References("hx-get")...), func(address string) bool {
		return !strings.HasPrefix(address, "/console") || strings.HasPrefix(address, "/console/assets/")
	})
	if len(links) == 0 {
		links = []string{"/console/"}
	}
	m.get(pick(m.random, links...))
}

// edit changes the query of the page's address, as a person does in the address bar.
func (m *monkey) edit(p *consoletest.Page) {
	path, text, _ := strings.Cut(p.Path, "?")
	query, err := url.ParseQuery(text)
	if err != nil {
		query = url.Values{}
	}
	for range 1 + m.random.IntN(3) {
		name := pick(m.random, "cursor", "limit", "env", "currency", "network", "at", "since", "from", "to", "status", "partner_id", "part", "prefix", "q", "by", "seq", "size",
			"format", "done", "next", "page", "month", "organization", "type", "_x", "lang", "group", "a[b]", "")
		for _, existing := range slices.Sorted(maps.Keys(query)) {
			if m.random.IntN(2) == 0 {
				name = existing
			}
		}
		query[name] = []string{m.value(consoletest.Field{Name: name, Kind: "text"})}
		if m.random.IntN(5) == 0 {
			query[name] = append(query[name], m.value(consoletest.Field{Kind: "text"}))
		}
	}
	m.get(path + "?" + query.Encode())
}

// submit fills in a form of the page and presses one of its buttons.
func (m *monkey) submit(p *consoletest.Page) {
	forms := slices.DeleteFunc(p.Forms(), func(f *consoletest.Form) bool {
		action, _ := f.Action()
		return action == "/console/logout" && m.random.IntN(50) > 0
	})
	if len(forms) == 0 {
		m.click(p)
		return
	}
	f := pick(m.random, forms...)
	fields := f.Fields()
	careless := m.random.IntN(3) // 0: fills in values that are probably good
	for _, field := range fields {
		if m.random.IntN(4) == 0 {
			continue
		}
		switch {
		case field.IsMultiple:
			var values []string
			for _, option := range field.Options {
				if m.random.IntN(2) == 0 {
					values = append(values, option)
				}
			}
			f.Set(field.Name, values...)
		case field.Kind == "checkbox":
			if f.Set(field.Name); m.random.IntN(2) == 0 {
				f.Set(field.Name, field.Options[0])
			}
		case len(field.Options) > 0 && (careless == 0 || m.random.IntN(10) > 0):
			f.Set(field.Name, pick(m.random, field.Options...))
		case careless == 0:
			f.Set(field.Name, m.good(field))
		default:
			f.Set(field.Name, m.value(field))
		}
	}
	if m.random.IntN(30) == 0 {
		f.Force(pick(m.random, "x", "amount.currency", "list.0.x", "list.99999999.x", "active", ".", "a..b", "_shown"), m.value(consoletest.Field{Kind: "text"}))
	}
	button := ""
	if buttons := f.Buttons(); len(buttons) > 0 {
		button = pick(m.random, buttons...)
	}
	action, isPosted := f.Action()
	values := make(url.Values)
	for name, list := range f.Values() {
		if name != "csrf" && name != "form_key" {
			values[name] = list
		}
	}
	m.note("form %s (posted: %t) with button %q: %.1500s", action, isPosted, button, values.Encode())
	m.page = f.Submit(button)
}

// good returns a value that is probably valid.
func (m *monkey) good(f consoletest.Field) string {
	switch name := f.Name[strings.LastIndexByte(f.Name, '.')+1:]; {
	case f.Kind == "date" || strings.HasSuffix(name, "date") || strings.HasSuffix(name, "_from") || strings.HasSuffix(name, "_to"):
		return time.Now().AddDate(0, 0, m.random.IntN(900)-30).Format(time.DateOnly)
	case f.Kind == "datetime-local":
		return time.Now().AddDate(0, 0, m.random.IntN(60)-30).Format("2006-01-02T15:04")
	case strings.Contains(name, "currency") || name == "from" || name == "to":
		return pick(m.random, "USD", "EUR", "AED", "USDT")
	case name == "partner_id":
		return pick(m.random, "1", "2")
	case strings.HasSuffix(name, "_id"):
		return pick(m.random, m.ids...)
	case strings.HasSuffix(name, "email"):
		return "someone@example.com"
	case strings.HasSuffix(name, "url") || name == "terms":
		return "https://shop.example/x"
	case name == "pass" || strings.HasSuffix(name, "_pass") || strings.HasPrefix(name, "pass"):
		return "nine-Lions-paint"
	case strings.Contains(name, "country") || name == "region":
		return pick(m.random, "AE", "MY", "GB")
	case name == "month":
		return time.Now().Format("2006-01")
	case strings.Contains(name, "name") || strings.Contains(name, "text") || strings.Contains(name, "note") || strings.Contains(name, "reference") || name == "login" || name == "header":
		return fmt.Sprint("Tea ", m.random.IntN(1000))
	}
	return fmt.Sprint(1 + m.random.IntN(1000))
}

// bad are values that people type by mistake or out of malice.
var bad = []string{
	"", " ", "0", "-1", "1", "1.5", "1,5", "1e9", "00", "999999999999999999999999999999", "0.000000000000000000001", "true", "null", "x", "%", "%s%n", "../..", "a/b", "\\",
	"<script>alert(1)</script>", `"><b>`, typedTemplate, "'; --", "٣٤", "\u202egnp.exe", "日本", "a\u0301", "\U0001F600", "\u0000", "\r\nX: y", "2026-13-45", "2026-02-30", "9999-12-31", "0001-01-01",
	"2026-01-01T25:00", "2026-01-01T10:00:00Z", "USD", "usd", "XTS", "prod", "test", "{}", "[]", `{"a":1}`, "[[[[[[[[[[", "http://127.0.0.1/", "javascript:alert(1)", "a@b", "00000000-0000-4000-8000-000000000000",
	strings.Repeat("9", 400), strings.Repeat("x", 5000), strings.Repeat("ж", 300), "L:partner:1:available", "A:", "*", ":", "\t",
}

// value returns any value.
func (m *monkey) value(f consoletest.Field) string {
	switch m.random.IntN(4) {
	case 0:
		return m.good(f)
	case 1:
		return pick(m.random, m.ids...)
	}
	return pick(m.random, bad...)
}

func idsOf(s *testkit.Server) []string {
	return []string{s.Sandbox.OrganizationID, s.Sandbox.Second.OrganizationID, fmt.Sprint(s.Sandbox.PartnerID), fmt.Sprint(s.Sandbox.Second.PartnerID)}
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }
