package auditor

import (
	"embed"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/labels"
	"mizan/api/console/proof"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/internal/assert"
	"mizan/ledger/directory"
)

// root is the path prefix of all pages in this area.
const root = view.Root + "ledger/"

// Paths of the pages.
const (
	trialPath    = root + "trial-balance"
	accountsPath = root + "accounts"
	entriesPath  = root + "entries"
	eventsPath   = root + "events"
	periodsPath  = root + "periods"
	exportsPath  = root + "exports"
	proofPath    = root + "proof"
)

//go:embed all:templates assets
var files embed.FS

// area is the data that all templates of this package share: the texts and labels in the page's language, and the addresses of
// the area's style sheet and scripts.
type area struct {
	*areaTexts
	Labels               *labels.Texts
	Style, Prove, Module string
}

var (
	style  = view.AddAsset("ledger.css", readAsset("ledger.css"))
	prove  = view.AddAsset("prove.js", readAsset("prove.js"))
	module = view.AddAsset("proof.js", proof.Script)
)

func readAsset(name string) []byte {
	content, err := files.ReadFile("assets/" + name)
	assert.NoError(err)
	return content
}

// templates are the pages.
var templates = view.NewTemplates(files, func(lang string) any { return &area{textsIn(lang), labels.In(lang), style, prove, module} })

// Pages returns the pages of this area.
func Pages() []visit.Page {
	const get, post = fiber.MethodGet, fiber.MethodPost
	admins := []directory.Role{directory.Admin}
	return []visit.Page{
		{Method: get, Path: trialPath, Roles: web.LedgerRoles, Handle: showTrialBalance},
		{Method: get, Path: accountsPath, Roles: web.LedgerRoles, Handle: showTree},
		{Method: get, Path: accountsPath + "/:path", Roles: web.LedgerRoles, Handle: showStatement},
		{Method: get, Path: accountsPath + "/:path/statement.csv", Roles: web.LedgerRoles, Handle: sendStatement},
		{Method: get, Path: entriesPath, Roles: web.LedgerRoles, Handle: showEntries},
		{Method: get, Path: entriesPath + "/:seq", Roles: web.LedgerRoles, Handle: showEntry},
		{Method: get, Path: eventsPath, Roles: web.LedgerRoles, Handle: showEvents},
		{Method: get, Path: eventsPath + "/:seq", Roles: web.LedgerRoles, Handle: showEvent},
		{Method: get, Path: periodsPath, Roles: web.LedgerRoles, Handle: showPeriods},
		{Method: get, Path: periodsPath + "/:month/close", Roles: admins, Handle: showClosing},
		{Method: post, Path: periodsPath + "/:month/close", Roles: admins, Handle: closePeriod},
		{Method: get, Path: exportsPath, Roles: web.LedgerRoles, Handle: showExports},
		{Method: get, Path: exportsPath + "/download", Roles: web.LedgerRoles, Handle: download},
		{Method: get, Path: proofPath, Roles: web.LedgerRoles, Handle: showProof},
	}
}

// query returns the named parameters of the page whose values are not empty. Only the parameter network is also returned if it
// is empty, because then it selects assets without a network.
func query(v *visit.Visit, names ...string) url.Values {
	q := make(url.Values)
	for name, values := range v.Params() {
		if slices.Contains(names, name) && (values[0] != "" || name == "network") {
			q[name] = values
		}
	}
	return q
}

// with returns a copy of a query, in which it replaces the values of some parameters. An empty value removes the parameter.
func with(q url.Values, namesAndValues ...string) url.Values {
	changed := maps.Clone(q)
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if changed.Del(namesAndValues[i]); namesAndValues[i+1] != "" {
			changed.Set(namesAndValues[i], namesAndValues[i+1])
		}
	}
	return changed
}

// ofAsset returns a copy of a query, to which it adds the parameters that select an asset. If the currency has no networks, the
// parameter network is not needed.
func ofAsset(q url.Values, a *asset) url.Values {
	selecting := with(q, "currency", a.Currency, "network", a.Network)
	if _, isKnown := a.scale(); a.Network == "" && !isKnown {
		selecting.Set("network", "") // an account may contain several assets of a currency that has networks
	}
	return selecting
}

// allAssets returns a copy of a query without the parameters that select an asset.
func allAssets(q url.Values) url.Values { return with(q, "currency", "", "network", "", "cursor", "") }

// address returns the address of a page: its path, and the parameters as the query.
func address(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// pager contains links to other pages of a list. A link is empty if there is no such page.
type pager struct{ Next, First string }

// pagerOf returns the links to other pages of a list. q are the parameters of the present page, and next is the cursor of the
// next one.
func pagerOf(path string, q url.Values, next string) (p pager) {
	if next != "" {
		p.Next = address(path, with(q, "cursor", next))
	}
	if q.Has("cursor") {
		p.First = address(path, with(q, "cursor", ""))
	}
	return p
}

// refusedFields checks whether the API has refused the page's parameters (422). If it has, refusedFields returns the problem as
// text, and the page is shown without rows. Any other error is returned as unanswered, for [visit.Visit.Fail].
func refusedFields(err error) (problem string, unanswered error) {
	var refused *web.RefusedError
	if err == nil || !errors.As(err, &refused) || refused.Status != fiber.StatusUnprocessableEntity {
		return "", err
	}
	return refused.Text(), nil
}

// status returns the HTTP status of a page: 422 if there is a problem with its parameters, and otherwise 200.
func status(problem string) int {
	if problem == "" {
		return fiber.StatusOK
	}
	return fiber.StatusUnprocessableEntity
}

// startOfDay and endOfDay return the first and the last instant of a UTC day in the API's format. If the text is not a day, it
// is returned unchanged, and the API will refuse it.
func startOfDay(day string) string { return instantOfDay(day, 0) }
func endOfDay(day string) string   { return instantOfDay(day, 24*time.Hour-time.Microsecond) }

func instantOfDay(day string, after time.Duration) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return at.Add(after).Format(time.RFC3339Nano)
}

// dayBefore returns the last instant of the previous day. If the text is not a day, ok is false.
func dayBefore(day string) (instant string, ok bool) {
	at, err := time.Parse(time.DateOnly, day)
	return at.Add(-time.Microsecond).Format(time.RFC3339Nano), err == nil
}

// seqText formats the number of an event for a request to the API.
func seqText(seq int64) string { return strconv.FormatInt(seq, 10) }
