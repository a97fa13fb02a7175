package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mizan/api/console/consoletest"
	"mizan/internal/testkit"
)

// A page is in the language that the person has set; without a setting, in the browser's language.
func TestPagesAreInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := consoletest.As(t, s, "auditor")
	for accepted, want := range map[string][3]string{
		"": {"en", "ltr", "Home"}, "ru-RU, en;q=0.5": {"ru", "ltr", "Главная"}, "ar": {"ar", "rtl", "الرئيسية"}, "fa, tr": {"en", "ltr", "Home"},
	} {
		p := b.With("Accept-Language", accepted).Get("/console/").Want(200)
		if lang, dir := p.Lang(); [3]string{lang, dir, p.Title()} != want {
			t.Errorf("Accept-Language %q: %s %s %q, want %q", accepted, lang, dir, p.Title(), want)
		}
	}
	inRussian := b.With("Accept-Language", "ru")
	p := inRussian.Get("/console/settings").Form("/console/settings/language").Set("lang", "ar").Submit("")
	if lang, dir := p.Lang(); lang != "ar" || dir != "rtl" || p.Title() != "الإعدادات" {
		t.Errorf("after the setting: %s %s %q", lang, dir, p.Title())
	}
	if got := p.Form("/console/settings/language").Value("lang"); got != "ar" {
		t.Errorf("the form shows the language %q", got)
	}
	p = p.Form("/console/settings/language").Set("lang", "").Submit("")
	if lang, _ := p.Lang(); lang != "ru" {
		t.Errorf("without a setting, the page is in %s", lang)
	}
	p.Form("/console/settings/language").Set("lang", "de").Submit("").Want(422)
	if p := consoletest.Open(t, s).With("Accept-Language", "ar").Get("/console/login"); p.Title() != "تسجيل الدخول" {
		t.Errorf("the login is %q", p.Title())
	}
}

func TestPasswordIsChangedWithThePresentOne(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, role := range []string{"client", "partner"} {
		login, pass := s.Sandbox.ConsoleLogin(role)
		home := map[string]string{"client": "Sandbox bank", "partner": "No payments in the last 30 days"}[role]
		const next = "seven-Violins-at-dawn"
		b, other := consoletest.As(t, s, role), consoletest.As(t, s, role)
		change := func(current, pass, again string) *consoletest.Page {
			return b.Get("/console/settings").Form("/console/settings/password").Set("current_pass", current).Set("pass", pass).Set("pass_again", again).Submit("")
		}
		change("wrong", next, next).Want(422, "This is not your present password.")
		change(pass, next, next+"x").Want(422, "The two new passwords differ.")
		change(pass, "password", "password").Want(422, "too easy to guess")
		other.Get("/console/").Want(200, home)
		change(pass, next, next).Want(200, "Done.")
		b.Get("/console/").Want(200, home)
		other.Get("/console/").Want(200, "Your session has ended")
		consoletest.Open(t, s).LogIn(login, pass).Want(401)
		consoletest.Open(t, s).LogIn(login, next).Want(200, home)
	}
}

// Guesses of the present password count as failed logins.
func TestGuessesOfThePresentPasswordLockTheLogin(t *testing.T) {
	t.Parallel()
	s := start(t)
	login, pass := s.Sandbox.ConsoleLogin("admin")
	b := consoletest.As(t, s, "admin")
	guess := func(current string) *consoletest.Page {
		return b.Get("/console/settings").Form("/console/settings/password").Set("current_pass", current).
			Set("pass", "seven-Violins-at-dawn").Set("pass_again", "seven-Violins-at-dawn").Submit("")
	}
	for range 5 {
		guess("wrong").Want(422)
	}
	guess(pass).Want(429, "Too many attempts")
	consoletest.Open(t, s).LogIn(login, pass).Want(429)
	b.Get("/console/").Want(200, "Sandbox bank")
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	s := start(t)
	login, pass := s.Sandbox.ConsoleLogin("auditor")
	consoletest.Open(t, s).LogIn(login, "wrong").Want(401)
	consoletest.Open(t, s).LogIn(login, "wrong").Want(401)
	first, second := consoletest.As(t, s, "auditor"), consoletest.As(t, s, "auditor")
	answer, err := s.Anyone().With("x-organization-id", s.Sandbox.OrganizationID).Post("/api/v1/sessions", map[string]string{"login": login, "pass": pass})
	testkit.WantStatus(t, answer, err, http.StatusCreated)
	b := consoletest.As(t, s, "auditor")
	p := b.Get("/console/settings").Want(200)
	rows := p.Rows()
	if len(rows) != 4 || !strings.Contains(strings.Join(rows[0], "|"), "127.0.0.1|Console|none|This session") || rows[1][3] != "API" || !strings.HasPrefix(rows[3][4], "2, ") {
		t.Fatalf("the sessions are %q", rows)
	}
	second.Get("/console/").Want(200, "Sandbox bank")
	p.Form("/console/settings/sessions").Submit("end").Want(200, "Done.") // presses the first button, which ends the session of the API
	if rows := b.Get("/console/settings").Rows(); len(rows) != 3 || rows[1][3] != "Console" {
		t.Errorf("the sessions are now %q", rows)
	}
	token := p.Form("/console/settings/sessions").Value("csrf")
	b.Post("/console/settings/sessions", url.Values{"csrf": {token}, "others": {"1"}}).Want(200, "Done.")
	for _, ended := range []*consoletest.Browser{first, second} {
		ended.Get("/console/").Want(200, "Your session has ended")
	}
	if rows := b.Get("/console/settings").Rows(); len(rows) != 1 {
		t.Errorf("the sessions are %q", rows)
	}
}

// Nobody can end another person's session: its id gets the same response as an unknown one.
func TestSessionsOfOthersCanNotBeEnded(t *testing.T) {
	t.Parallel()
	s := start(t)
	auditor, second, admin := consoletest.As(t, s, "auditor"), consoletest.As(t, s, "auditor"), consoletest.As(t, s, "admin")
	end := func(b *consoletest.Browser, id string) {
		token := b.Get("/console/settings").Form("/console/settings/password").Value("csrf")
		b.Post("/console/settings/sessions", url.Values{"csrf": {token}, "end": {id}}).Want(200)
	}
	id := second.Get("/console/settings").Button("end") // the id of the other session
	end(admin, id)
	answer, err := s.Session().Do("DELETE", "/api/v1/sessions/"+id, nil)
	testkit.WantStatus(t, answer, err, 404)
	auditor.Get("/console/").Want(200, "Sandbox bank")
	end(second, id)
	auditor.Get("/console/").Want(200, "Your session has ended")
}

func TestAdministratorSeesWhoLoggedIn(t *testing.T) {
	t.Parallel()
	s := start(t)
	login, pass := s.Sandbox.ConsoleLogin("client")
	consoletest.Open(t, s).LogIn(login, pass).Want(200)
	for range 5 {
		consoletest.Open(t, s).LogIn(login, "wrong").Want(401)
	}
	for range 3 {
		consoletest.Open(t, s).LogIn(login, pass).Want(429)
	}
	consoletest.Open(t, s).LogIn("my-Secret-password-1", "x").Want(401)
	b := consoletest.As(t, s, "admin")
	p := b.Get("/console/admin/logins").Want(200).WantNone("my-Secret-password-1")
	var got []string
	for _, row := range p.Rows() {
		got = append(got, strings.Join(row[1:], " "))
	}
	want := []string{
		"sandbox-admin Succeeded 127.0.0.1 Console 1", "unknown login Failed 127.0.0.1 Console 1", "sandbox-client Locked out 127.0.0.1 Console 3", "sandbox-client Failed 127.0.0.1 Console 1",
		"sandbox-client Failed 127.0.0.1 Console 1", "sandbox-client Failed 127.0.0.1 Console 1", "sandbox-client Failed 127.0.0.1 Console 1", "sandbox-client Failed 127.0.0.1 Console 1",
		"sandbox-client Succeeded 127.0.0.1 Console 1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the logins are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	consoletest.As(t, s, "auditor").Get("/console/admin/logins").Want(403, "You may not open this page")
	s.Kill()
	s.Restart()
	restarted := consoletest.As(t, s, "admin")
	got = nil
	for _, row := range restarted.Get("/console/admin/logins").Rows() {
		got = append(got, row[1]+" "+row[2])
	}
	if want := "sandbox-admin Succeeded|sandbox-auditor Succeeded|sandbox-admin Succeeded|sandbox-client Succeeded"; strings.Join(got, "|") != want {
		t.Errorf("after a restart the logins are %q", got)
	}
}

// The administration token is kept only for the session in which it was entered, only in memory, and only while it is valid.
func TestAdministrationTokenIsKeptForTheSession(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := consoletest.As(t, s, "admin")
	show := func(b *consoletest.Browser, token string) *consoletest.Page {
		return b.Get("/console/admin/token?next=/console/settings").Form("/console/admin/token").Set("token", token).Submit("")
	}
	for _, wrong := range []string{"", "mza_wrong", s.Sandbox.SessionToken, s.Sandbox.APIKey} {
		show(b, wrong).Want(403, "This is no administration token in force.").WantNone(wrong + "?")
	}
	if p := show(b, s.Sandbox.AdminToken).Want(200); !strings.HasPrefix(p.Path, "/console/settings") {
		t.Errorf("the token leads to %s", p.Path)
	}
	b.Get("/console/admin/token").Want(200, "keeps your administration token")
	consoletest.As(t, s, "admin").Get("/console/admin/token").Want(200).WantNone("keeps your administration token")
	b.Get("/console/admin/token").Form("/console/admin/token").Submit("forget").Want(200).WantNone("keeps your administration token")
	show(b, s.Sandbox.AdminToken)
	answer, err := s.Admin().Post("/api/v1/admin_tokens/rotate", nil)
	testkit.WantStatus(t, answer, err, 201)
	b.Get("/console/admin/token").Want(200).WantNone("keeps your administration token")
}
