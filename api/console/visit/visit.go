package visit

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"mizan/api/console/texts"
	"mizan/api/console/view"
	"mizan/api/web"
	"mizan/api/web/locale"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Visit is one request to the console. It comes from a person who is signed in, or from an unknown person who opens the login
// page.
type Visit struct {
	*web.Request
	T    *texts.Texts            // the shared texts in the language of the page
	Org  *directory.Organization // nil: nobody is signed in
	User *directory.User         // nil if nobody is signed in, or if the partner used its own login, which belongs to no user
	Form url.Values              // the posted form; nil for a GET

	console *Console
	person  string
	files   map[string][]byte // files of the posted form, by the field's name; nil if the form uploads no files
	formKey string            // idempotency key of the posted form; empty if it has none
	writes  int               // number of internal requests so far that could write

	// operatorOf is the organization in which the person uses the administration token. It is zero if the person does not use
	// the token.
	operatorOf ledger.ID
}

// newVisit returns the visit for a request. The person is the request's principal.
func (c *Console) newVisit(req *web.Request) *Visit {
	v := &Visit{Request: req, console: c}
	lang := ""
	if p := &req.Principal; p.Session != nil {
		v.Org, _ = c.cfg.People.Organization(p.Org)
		switch user, found := c.cfg.People.User(p.Org, p.Session.User); {
		case found:
			v.User, v.person, lang = user, user.Name, user.Lang
		case p.Partner != nil:
			v.person, lang = p.Partner.Name, p.Partner.Lang
		}
		if p.MayReadAll() && v.Has(web.LedgerRoles...) {
			c.cfg.LedgerReaderIsHere(p.Org)
		}
	}
	v.T = texts.In(v.languageOf(lang))
	return v
}

// languageOf returns the language of the page. It is the language in the person's settings if the console has that language,
// and otherwise the first of the browser's languages that the console has.
func (v *Visit) languageOf(set string) string {
	if texts.Has(set) {
		return set
	}
	return locale.Preferred(string(v.Request.Request.Header.Peek(fiber.HeaderAcceptLanguage)), texts.Languages()...)
}

// Session returns the person's session, or nil if nobody is signed in.
func (v *Visit) Session() *directory.Session { return v.Principal.Session }

// Partner returns the partner for which the person acts, or nil if the person acts for no partner.
func (v *Visit) Partner() *directory.Partner { return v.Principal.Partner }

// Has tells whether the person has at least one of the given roles.
func (v *Visit) Has(roles ...directory.Role) bool {
	return v.Session() != nil && v.Session().Roles.Has(roles...)
}

// WantsPart tells whether a script (htmx) requests a fragment of a page. Without the script, the same address shows the whole
// page.
func (v *Visit) WantsPart() bool { return wantsPart(v.Request) }

// Query returns a query parameter of the address.
func (v *Visit) Query(name string) string { return string(v.QueryArgs().Peek(name)) }

// Params returns the query parameters of the address. It leaves out doneParam, which is for the layout and not for the page.
func (v *Visit) Params() url.Values {
	params := make(url.Values)
	for name, value := range v.QueryArgs().All() {
		params.Add(string(name), string(value))
	}
	params.Del(doneParam)
	return params
}

// Now returns the time of the service's clock.
func (v *Visit) Now() time.Time { return v.console.cfg.Clock.Now() }

// HasPage tells whether the console has a page with the given path. In the path, :id stands for any id.
func (v *Visit) HasPage(path string) bool { return v.console.exists[path] }

// Call makes an internal request with the person's rights.
func (v *Visit) Call(call web.InternalRequest) *web.InternalResponse {
	return v.CallAs(v.grant(), call)
}

// grant returns the rights of internal requests. They are the rights of the person's session or, if the person acts as the
// operator, of the administration token.
func (v *Visit) grant() *web.Grant {
	grant := &web.Grant{Org: v.Principal.Org, Session: v.Principal.Session, Partner: v.Principal.Partner}
	if v.operatorOf != (ledger.ID{}) {
		grant.Org, grant.Operator = v.operatorOf, true
	}
	return grant
}

// May tells whether the person may call a route of the API (ok), and which members of the request's body the person may send
// (maySend).
func (v *Visit) May(route *web.Route) (maySend func(member string) bool, ok bool) {
	return v.grant().May(route)
}

// CallAs makes an internal request with the rights of a grant.
func (v *Visit) CallAs(grant *web.Grant, call web.InternalRequest) *web.InternalResponse {
	cfg := &v.console.cfg
	return cfg.Internal.Do(v.Request, cfg.Proxies.Source(v.RequestCtx), grant, &call)
}

// Get sends a GET request to the API, and decodes the response into the value to which into points. If into is nil, nothing is
// decoded. If the API refuses the request, the error is a *web.RefusedError.
func (v *Visit) Get(path string, query url.Values, into any) error {
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: path, Query: query})
	if into == nil {
		if refused := answer.Refusal(); refused != nil {
			return refused
		}
		return nil
	}
	return answer.Decode(into)
}

// Do sends a request with a JSON body to the API. The answer may be a refusal; see web.InternalResponse. The request's
// idempotency key comes from the posted form, so if the same form is sent twice, the second request gets the answer to the
// first.
func (v *Visit) Do(method, path string, body []byte) *web.InternalResponse {
	return v.Call(web.InternalRequest{Method: method, Path: path, Body: body, IdempotencyKey: v.nextKey()})
}

// Send is like Do, but sends a body that is not JSON. The body is overwritten before Send returns.
func (v *Visit) Send(method, path, contentType string, body []byte) *web.InternalResponse {
	return v.Call(web.InternalRequest{Method: method, Path: path, Body: body, ContentType: contentType, IdempotencyKey: v.nextKey()})
}

// nextKey returns the idempotency key of the next write that the form causes, or an empty key if the form has none.
func (v *Visit) nextKey() string {
	if v.formKey == "" {
		return ""
	}
	v.writes++
	return v.formKey + "-" + strconv.Itoa(v.writes)
}

// frame returns the data that the layout needs to show a page.
func (v *Visit) frame(title string) *view.Frame {
	f := &view.Frame{T: v.T, Title: title, Path: string(v.Path()), RequestID: string(v.Response.Header.PeekBytes(web.HeaderRequestID))}
	if n := v.Session(); n != nil && v.Org != nil {
		f.Person, f.Roles, f.Organization, f.CSRF = v.person, n.Roles.Strings(), v.Org.Name, v.csrf()
		f.FormKey, f.OrganizationID = uuid.NewString(), v.Org.ID.String()
		f.Menu = view.MenuFor(n.Roles, v.Org.Type == directory.Bank, func(path string) bool { return v.console.exists[path] })
		f.CanSearch = v.Has(directory.Admin) && v.console.exists[view.SearchPath]
		if f.Person == "" {
			f.Person = v.Org.Name
		}
	}
	return f
}

// FrameOf returns the data for a template that renders a fragment of a page. page is the fragment's own data.
func (v *Visit) FrameOf(page any) *view.Frame {
	f := v.frame("")
	f.Page = page
	return f
}

// PageContent is what Show needs to respond with a page.
type PageContent struct {
	Status  int // 0: 200
	Title   string
	Crumbs  []view.Crumb
	Problem string // what is wrong with the form; empty if nothing is
	Notice  string // a text that confirms an action; empty if there is none
	Page    any    // the data for the template
	Part    string // if htmx requested a fragment, the template's block to send; empty for the whole page
}

// Show renders a page with the template of the given name, and responds with the page.
func (v *Visit) Show(t *view.Templates, name string, s PageContent) error {
	f := v.frame(s.Title)
	f.Crumbs, f.Problem, f.Notice, f.Page = s.Crumbs, s.Problem, s.Notice, s.Page
	if f.Notice == "" && v.IsDone() {
		f.Notice = v.T.Common.Done
	}
	setHeaders(v.Request)
	return t.Render(name, s.Part, f, func(page []byte) {
		if s.Status != 0 {
			v.Response.SetStatusCode(s.Status)
		}
		v.Response.Header.SetContentType("text/html; charset=utf-8")
		v.Response.SetBody(page)
	})
}

// doneParam is a query parameter. After a posted form was carried out, the person is redirected to an address with this
// parameter, and the page at that address shows a confirmation.
const doneParam = "done"

// IsDone tells whether the person was redirected to this page because a posted form was carried out.
func (v *Visit) IsDone() bool { return v.QueryArgs().Has(doneParam) }

// Redirect redirects the person to a page of the console. If done is true, that page confirms that the form was carried out.
func (v *Visit) Redirect(path string, done bool) error {
	if done {
		path = addParam(path, doneParam)
	}
	return redirect(v.Request, path)
}

func addParam(address, param string) string {
	if strings.Contains(address, "?") {
		return address + "&" + param
	}
	return address + "?" + param
}

// csrf returns the CSRF token of the session's forms. The CSRF token is a keyed hash whose key is the session's token. So it
// need not be stored, and does not disclose the session's token.
func (v *Visit) csrf() string {
	mac := hmac.New(sha256.New, v.Request.Request.Header.Cookie(web.SessionCookie))
	mac.Write([]byte("mizan console form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Bounds of forms.
const (
	maxFields = 2000
	csrfField = "csrf"
	keyField  = "form_key"
	maxKey    = 64 // bytes
)

// errForm refuses a form that comes from another session or another site.
var errForm = &web.RefusedError{Status: fiber.StatusForbidden, Code: "form"}

// readForm reads the posted form, and checks that the form comes from a page of this session.
func (v *Visit) readForm(isUpload bool) error {
	if v.IsFromAnotherSite(v.console.cfg.Base, false) {
		return errForm
	}
	parse := v.parseForm
	if isUpload {
		parse = v.parseUpload
	}
	if err := parse(); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(v.Form.Get(csrfField)), []byte(v.csrf())) != 1 {
		return errForm
	}
	if v.formKey = v.Form.Get(keyField); len(v.formKey) > maxKey {
		return errForm
	}
	v.Form.Del(csrfField)
	v.Form.Del(keyField)
	return nil
}

// parseForm reads the posted form.
func (v *Visit) parseForm() error {
	body := v.Request.Request.Body()
	kind, _, _ := strings.Cut(string(v.Request.Request.Header.ContentType()), ";")
	switch {
	case len(body) == 0:
		v.Form = url.Values{}
		return nil
	case !strings.EqualFold(strings.TrimSpace(kind), fiber.MIMEApplicationForm):
		return &web.RefusedError{Status: fiber.StatusUnsupportedMediaType, Code: string(web.UnsupportedMediaType)}
	case strings.Count(string(body), "&") >= maxFields:
		return &web.RefusedError{Status: fiber.StatusRequestEntityTooLarge, Code: string(web.PayloadTooLarge)}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !isUTF8(form) {
		return &web.RefusedError{Status: fiber.StatusBadRequest, Code: string(web.BadRequest)}
	}
	v.Form = form
	return nil
}

// AnonymousVisit returns the visit for a request that needs no session, such as a login. If a form was posted, AnonymousVisit
// reads the form. A form from another site is refused.
func (c *Console) AnonymousVisit(req *web.Request) (*Visit, error) {
	v := c.newVisit(req)
	if req.IsGet() || req.IsHead() {
		return v, nil
	}
	if v.IsFromAnotherSite(v.console.cfg.Base, false) {
		return v, errForm
	}
	return v, v.parseForm()
}

// AnonymousGrant returns the rights of a person who has not logged in yet, in the organization to which the person wants to log
// in.
func AnonymousGrant(org ledger.ID) *web.Grant { return &web.Grant{Org: org} }
