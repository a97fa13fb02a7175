package console

import (
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/ledger/directory"
)

// loginsPath is the path of the page that lists the latest attempts to log in.
const loginsPath = view.Root + "admin/logins"

func (h *Handlers) loginsPages() []visit.Page {
	return []visit.Page{{Method: fiber.MethodGet, Path: loginsPath, Roles: []directory.Role{directory.Admin}, Handle: showLogins}}
}

// loginRow is an attempt to log in.
type loginRow struct {
	At      string `json:"at"`
	Login   string `json:"login"`
	Outcome string `json:"outcome"`
	Source  string `json:"source"`
	Console bool   `json:"console"`
	Count   int    `json:"count"`
}

// loginsPage is the data for the page that lists attempts to log in.
type loginsPage struct {
	Rows        []loginRow
	Next, First string // addresses of other pages; empty if none
}

// showLogins is GET /console/admin/logins?cursor.
func showLogins(v *visit.Visit) error {
	var list struct {
		Data   []loginRow `json:"data"`
		Cursor struct {
			Value string `json:"cursor_value"`
		} `json:"cursor"`
	}
	query := url.Values{}
	if cursor := v.Query("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	if err := v.Get("/api/v1/logins", query, &list); err != nil {
		return err
	}
	p := loginsPage{Rows: list.Data}
	if len(query) > 0 {
		p.First = loginsPath
	}
	if list.Cursor.Value != "" {
		p.Next = loginsPath + "?" + url.Values{"cursor": {list.Cursor.Value}}.Encode()
	}
	return v.Show(templates, "logins", visit.PageContent{Title: v.T.Menu["logins"], Page: p})
}
