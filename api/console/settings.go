package console

import (
	"encoding/json"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// settingsPath is the path of the page with the person's own settings. The page's forms are posted to paths below it.
const settingsPath = view.Root + "settings"

// ownPath is the path of the API's route for the person's own user.
const ownPath = "/api/v1/users/current"

// settingsPages are the pages of the person's own settings.
func (h *Handlers) settingsPages() []visit.Page {
	return []visit.Page{
		{Method: fiber.MethodGet, Path: settingsPath, Handle: func(v *visit.Visit) error { return h.showSettings(v, nil, nil) }},
		{Method: fiber.MethodPost, Path: settingsPath + "/language", Handle: h.setLanguage},
		{Method: fiber.MethodPost, Path: settingsPath + "/password", Handle: h.setPassword},
		{Method: fiber.MethodPost, Path: settingsPath + "/sessions", Handle: h.endSessions},
	}
}

// settingsPage is the data for the page.
type settingsPage struct {
	Own       ownUser
	Languages []string
	Sessions  []session
	Wrong     map[string]string // the problems of the password form, by field
}

// ownUser is the user record of the person who is logged in.
type ownUser struct {
	ID    string `json:"id"`
	Login string `json:"login"`
	Name  string `json:"name"`
	Lang  string `json:"lang"`
}

// session is a session of the person who is logged in.
type session struct {
	ID       string `json:"id"`
	Created  string `json:"created_at"`
	Used     string `json:"last_used_at"`
	Source   string `json:"source"`
	Console  bool   `json:"console"`
	Current  bool   `json:"current"`
	Failures *struct {
		Count  int    `json:"count"`
		At     string `json:"last_at"`
		Source string `json:"last_source"`
	} `json:"failures_before"`
}

// showSettings is GET /console/settings. It is also the response to a refused form of that page.
func (h *Handlers) showSettings(v *visit.Visit, refused *web.RefusedError, wrong map[string]string) error {
	p := settingsPage{Languages: directory.ConsoleLanguages, Wrong: wrong}
	var own struct {
		Data ownUser `json:"data"`
	}
	var sessions struct {
		Data []session `json:"data"`
	}
	if err := v.Get(ownPath, nil, &own); err != nil {
		return err
	}
	if err := v.Get(sessionsPath, nil, &sessions); err != nil {
		return err
	}
	p.Own, p.Sessions = own.Data, sessions.Data
	shown := visit.PageContent{Title: v.T.Menu["settings"], Page: p}
	if refused != nil {
		shown.Status, shown.Problem = refused.Status, v.T.Common.Problems
		if refused.Status == fiber.StatusTooManyRequests {
			shown.Problem = v.T.Login.TooMany
		}
	}
	return v.Show(templates, "settings", shown)
}

// setLanguage is POST /console/settings/language.
func (h *Handlers) setLanguage(v *visit.Visit) error {
	body, err := json.Marshal(map[string]any{"lang": web.NilIfEmpty(v.Form.Get("lang"))})
	if err != nil {
		return err
	}
	if refused := v.Do(fiber.MethodPatch, ownPath, body).Refusal(); refused != nil {
		return h.showSettings(v, refused, nil)
	}
	return v.Redirect(settingsPath, true)
}

// setPassword is POST /console/settings/password. A new password ends all sessions of the person, so setPassword begins a new
// session.
func (h *Handlers) setPassword(v *visit.Visit) error {
	pass := v.Form.Get("pass")
	if pass != v.Form.Get("pass_again") {
		return h.showSettings(v, &web.RefusedError{Status: fiber.StatusUnprocessableEntity}, map[string]string{"pass_again": v.T.Settings.PassDiffers})
	}
	var own struct {
		Data ownUser `json:"data"`
	}
	if err := v.Get(ownPath, nil, &own); err != nil {
		return err
	}
	var body schema.Encoder
	body.Open('{')
	body.Word("current_pass", v.Form.Get("current_pass"))
	body.Word("pass", pass)
	body.Close('}')
	if refused := v.Do(fiber.MethodPatch, ownPath, body.Buf).Refusal(); refused != nil {
		wrong := make(map[string]string)
		if refused.Of("current_pass") != "" {
			wrong["current_pass"] = v.T.Settings.CurrentWrong
		}
		if refused.Of("pass") != "" {
			wrong["pass"] = v.T.Settings.PassWeak
		}
		return h.showSettings(v, refused, wrong)
	}
	if refused := h.beginSession(v, v.Principal.Org, own.Data.Login, pass); refused != nil {
		return refused
	}
	return v.Redirect(settingsPath, true)
}

// endSessions is POST /console/settings/sessions: it ends one session of the person, or all sessions except this one.
func (h *Handlers) endSessions(v *visit.Visit) error {
	path := sessionsPath
	if id := v.Form.Get("end"); id != "" {
		path += "/" + url.PathEscape(id)
	}
	refused := v.Do(fiber.MethodDelete, path, nil).Refusal()
	if refused != nil && refused.Status != fiber.StatusNotFound { // the session may have ended in the meantime
		return refused
	}
	return v.Redirect(settingsPath, true)
}
