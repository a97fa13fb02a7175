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

// Visit is one request of a person who is signed in, or of an unknown person to the login page.
type Visit struct {
	*web.Request
	T    *texts.Texts            // the shared texts in the language of the page
	Org  *directory.Organization // nil: nobody is signed in
	User *directory.User         // nil: nobody is signed in, or the partner has logged in with its own login
	Form url.Values              // the posted form; nil for a GET

	console *Console
	person  string
	files   map[string][]byte // files of the posted form, by the names of its fields; nil: the form is not an upload
	formKey string            // idempotency key of the posted form; empty: none
	writes  int               // number of internal requests so far that may write

	// operatorOf is the organization in which the person acts with the administration token; zero: the person acts without the
	// token.
	operatorOf ledger.ID
}

// newVisit returns the visit of the request's principal.
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
		if p.SeesAll() && v.Has(web.LedgerRoles...) {
			c.cfg.LedgerReaderIsHere(p.Org)
		}
	}
	v.T = texts.In(v.languageOf(lang))
	return v
}

// languageOf returns the language of the page: the language in the person's settings if the console has it, else the first of the
// browser's languages that the console has.
func (v *Visit) languageOf(set string) string {
	if texts.Has(set) {
		return set
	}
	return locale.Preferred(string(v.Request.Request.Header.Peek(fiber.HeaderAcceptLanguage)), texts.Languages()...)
}

// Session returns the session of the person; nil: nobody is signed in.
func (v *Visit) Session() *directory.Session { return v.Principal.Session }

// Partner returns the partner as which the person acts; nil: none.
func (v *Visit) Partner() *directory.Partner { return v.Principal.Partner }

// Has tells whether the person has one of the roles.
func (v *Visit) Has(roles ...directory.Role) bool {
	return v.Session() != nil && v.Session().Roles.Has(roles...)
}

// WantsPart tells whether a script (htmx) requests a fragment of a page. Without the script, the same address shows the whole
// page.
func (v *Visit) WantsPart() bool {
	return string(v.Request.Request.Header.Peek("HX-Request")) == "true"
}

// Query returns a query parameter of the address.
func (v *Visit) Query(name string) string { return string(v.QueryArgs().Peek(name)) }

// Params returns the query parameters of the address, except doneParam, which is for the layout and not for the page.
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

// HasPage tells whether the console has a page with the path, in which :id stands for any id.
func (v *Visit) HasPage(path string) bool { return v.console.exists[path] }

// Call makes an internal request for the person.
func (v *Visit) Call(call web.Call) *web.Answer {
	return v.CallAs(v.grant(), call)
}

// grant returns the credentials of internal requests: the person's session or, for an operator, the administration token's
// rights.
func (v *Visit) grant() *web.Grant {
	grant := &web.Grant{Org: v.Principal.Org, Session: v.Principal.Session, Partner: v.Principal.Partner}
	if v.operatorOf != (ledger.ID{}) {
		grant.Org, grant.Operator = v.operatorOf, true
	}
	return grant
}

// May tells whether the person may call a route of the API, and which members of its body the person may send.
func (v *Visit) May(route *web.Route) (maySend func(member string) bool, ok bool) {
	return v.grant().May(route)
}

// CallAs makes an internal request with the rights of a grant.
func (v *Visit) CallAs(grant *web.Grant, call web.Call) *web.Answer {
	cfg := &v.console.cfg
	return cfg.Internal.Do(v.Request, cfg.Proxies.Source(v.RequestCtx), grant, &call)
}

// Get reads a path of the API and decodes the response into the value to which into points. into may be nil. The error is a
// *web.Refused if the API refuses the request.
func (v *Visit) Get(path string, query url.Values, into any) error {
	answer := v.Call(web.Call{Method: fiber.MethodGet, Path: path, Query: query})
	if into == nil {
		if refused := answer.Refused(); refused != nil {
			return refused
		}
		return nil
	}
	return answer.Decode(into)
}

// Do sends a JSON body to a path of the API. The answer may be a refusal: see web.Answer. The request has an idempotency key,
// which comes from the posted form. So a form that is sent twice gets the first answer again.
func (v *Visit) Do(method, path string, body []byte) *web.Answer {
	return v.Call(web.Call{Method: method, Path: path, Body: body, IdempotencyKey: v.nextKey()})
}

// Send does what Do does, but with a body that is not JSON. The body is overwritten before Send returns.
func (v *Visit) Send(method, path, contentType string, body []byte) *web.Answer {
	return v.Call(web.Call{Method: method, Path: path, Body: body, ContentType: contentType, IdempotencyKey: v.nextKey()})
}

// nextKey returns the idempotency key of the next write that the form causes; empty: the form has no key.
func (v *Visit) nextKey() string {
	if v.formKey == "" {
		return ""
	}
	v.writes++
	return v.formKey + "-" + strconv.Itoa(v.writes)
}

// frame returns the data that the layout of a page needs.
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

// PageContent is the content of a page.
type PageContent struct {
	Status  int // 0: 200
	Title   string
	Crumbs  []view.Crumb
	Problem string // the problem with the form; empty: none
	Notice  string // confirms an action; empty: none
	Page    any    // the data of the template
	Part    string // the block of the template to send, for a request of htmx; empty: the whole page
}

// Show responds with a page, which it renders with the template of the given name.
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

// doneParam is a query parameter of the address to which a person is redirected after a form was carried out. It makes the page
// show a confirmation.
const doneParam = "done"

// IsDone tells whether the person was redirected to this page after a form was carried out.
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

// csrf returns the CSRF token of the session's forms. It is a keyed hash with the session's token as the key, so it need not be
// stored, and does not disclose the session's token.
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

// errForm is the refusal of a form from another session or another site.
var errForm = &web.Refused{Status: fiber.StatusForbidden, Code: "form"}

// readForm reads the posted form and checks that a page of this session has sent it.
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
		return &web.Refused{Status: fiber.StatusUnsupportedMediaType, Code: string(web.UnsupportedMediaType)}
	case strings.Count(string(body), "&") >= maxFields:
		return &web.Refused{Status: fiber.StatusRequestEntityTooLarge, Code: string(web.PayloadTooLarge)}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !isUTF8(form) {
		return &web.Refused{Status: fiber.StatusBadRequest, Code: string(web.BadRequest)}
	}
	v.Form = form
	return nil
}

// AnonymousVisit returns the visit of a request that needs no session, such as a login. It reads the posted form, if there is one, and
// refuses a form from another site.
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

// AnonymousGrant returns the rights of a person who has not logged in to an organization yet.
func AnonymousGrant(org ledger.ID) *web.Grant { return &web.Grant{Org: org} }
