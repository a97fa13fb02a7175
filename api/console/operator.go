package console

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/visit"
)

// tokenPage is the data for the page on which a person enters the administration token.
type tokenPage struct {
	Next    string // the page to show after the token was entered
	IsShown bool   // the token was already entered in this session
}

// showToken is GET /console/admin/token.
func (h *Handlers) showToken(v *visit.Visit) error {
	return h.sendToken(v, fiber.StatusOK, "", v.Query("next"))
}

func (h *Handlers) sendToken(v *visit.Visit, status int, problem, next string) error {
	return v.Show(templates, "token", visit.PageContent{
		Status: status, Title: v.T.Token.Title, Problem: problem, Page: tokenPage{Next: visit.LocalPath(next), IsShown: v.IsOperator()},
	})
}

// keepToken is POST /console/admin/token: the server keeps the token in memory for this session. If the form contains the field
// forget, the server drops the token instead.
func (h *Handlers) keepToken(v *visit.Visit) error {
	if v.Form.Has("forget") {
		v.ForgetToken()
		return v.Redirect(visit.TokenPath, true)
	}
	if !v.ShowToken(strings.TrimSpace(v.Form.Get("token"))) {
		return h.sendToken(v, fiber.StatusForbidden, v.T.Token.Wrong, v.Form.Get("next"))
	}
	return v.Redirect(visit.LocalPath(v.Form.Get("next")), false)
}
