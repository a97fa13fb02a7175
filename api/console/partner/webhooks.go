package partner

import (
	"crypto/rand"
	"html/template"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
)

// terminal is one of the partner's terminals, as the API lists it.
type terminal struct {
	ID       string
	Name     string
	Type     string
	Env      string
	IsActive bool `json:"is_active"`
	Params   struct {
		Address string `json:"notify_url"`
	} `json:"merchant_params"`
}

// webhooksPage is the data for the template with the settings of notifications.
type webhooksPage struct {
	Form      *form.View
	Post      form.Post
	HasSecret bool
	Terminals []terminal
}

// HTML returns the form for the address of notifications. It adds the two hidden fields of each form of the console: the CSRF
// token and the form key.
func (p webhooksPage) HTML(csrf, formKey string) template.HTML {
	p.Post.CSRF, p.Post.FormKey = csrf, formKey
	return p.Form.HTML(p.Post)
}

// ownPath returns the API's path of the partner's own record.
func ownPath(v *visit.Visit) string {
	return v1 + "/partners/" + strconv.FormatInt(v.Partner().Number, 10)
}

// readOwn reads the partner's own record.
func readOwn(v *visit.Visit) (map[string]any, error) {
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: ownPath(v)})
	if refused := answer.Refusal(); refused != nil {
		return nil, refused
	}
	object := form.ReadObject(answer.Body)
	if data, ok := object["data"].(map[string]any); ok {
		return data, nil
	}
	return object, nil
}

// ownForm returns the form that changes the named fields of the partner's own record.
func (h *Handlers) ownForm(v *visit.Visit, record map[string]any, names ...string) *form.Form {
	partners := h.catalog.Record("listPartners")
	return &form.Form{Fields: form.Of(partners.Patch.Body, names...), Texts: textsOf(v).Texts, Context: "partners", Changes: true, Record: record, IsMerged: partners.IsMerged}
}

// showWebhooks shows the addresses to which notifications are sent.
func (h *Handlers) showWebhooks(v *visit.Visit) error { return h.webhooks(v, 0, nil) }

func (h *Handlers) webhooks(v *visit.Visit, status int, problems *form.Problems) error {
	record, err := readOwn(v)
	if err != nil {
		return err
	}
	terminals, err := readTerminals(v)
	if err != nil {
		return err
	}
	t := textsOf(v)
	page := webhooksPage{
		Form: h.ownForm(v, record, "notify_url").View(v.Form, problems), Post: form.Post{Action: webhooksPath, Submit: t.Common.Save},
		HasSecret: record["secret"] != nil, Terminals: terminals,
	}
	return v.Show(templates, "webhooks", visit.PageContent{Status: status, Title: v.T.Menu["webhooks"], Page: page})
}

// saveAddress changes the address to which notifications are sent.
func (h *Handlers) saveAddress(v *visit.Visit) error {
	record, err := readOwn(v)
	if err != nil {
		return err
	}
	object, problems, isEmpty := h.ownForm(v, record, "notify_url").Parse(v.Form)
	switch {
	case !problems.None():
		return h.webhooks(v, fiber.StatusUnprocessableEntity, problems)
	case isEmpty:
		return v.Redirect(webhooksPath, false)
	}
	answer := v.Do(fiber.MethodPatch, ownPath(v), form.Body(object))
	if answer.IsOK() {
		return v.Redirect(webhooksPath, true)
	}
	return h.webhooks(v, answer.Status, form.RefusedBy(answer.Refusal()))
}

// newSecret replaces the secret with which notifications are signed. Only this response shows the new secret.
func (h *Handlers) newSecret(v *visit.Visit) error {
	secret := "whsec_" + rand.Text()
	if refused := v.Do(fiber.MethodPatch, ownPath(v), form.Body(map[string]any{"secret": secret})).Refusal(); refused != nil {
		return refused
	}
	t := textsOf(v)
	return v.Show(templates, "secret", visit.PageContent{Status: fiber.StatusCreated, Title: t.Webhook.Secret, Crumbs: []view.Crumb{{Title: v.T.Menu["webhooks"], Path: webhooksPath}}, Page: secret})
}

// changeBranding shows and saves the form with the merchant's logo and colors on the pages for payers, and with the language of
// these pages.
func (h *Handlers) changeBranding(v *visit.Visit) error {
	record, err := readOwn(v)
	if err != nil {
		return err
	}
	t, f := textsOf(v), h.ownForm(v, record, "branding", "lang")
	page := func(status int, problems *form.Problems) error {
		return v.Show(templates, "branding", visit.PageContent{Status: status, Title: v.T.Menu["branding"], Crumbs: []view.Crumb{{Title: v.T.Menu["settings"], Path: view.Root + "settings"}},
			Page: brandingPage{operationPage{View: f.View(v.Form, problems), Post: form.Post{Action: brandingPath, Submit: t.Common.Save}}, brandingPath + "/logo"}})
	}
	if v.Form == nil {
		return page(0, nil)
	}
	object, problems, isEmpty := f.Parse(v.Form)
	switch {
	case !problems.None():
		return page(fiber.StatusUnprocessableEntity, problems)
	case isEmpty:
		return v.Redirect(brandingPath, false)
	}
	answer := v.Do(fiber.MethodPatch, ownPath(v), form.Body(object))
	if answer.IsOK() {
		return v.Redirect(brandingPath, true)
	}
	return page(answer.Status, form.RefusedBy(answer.Refusal()))
}

// brandingPage is the data for the template of the branding page.
type brandingPage struct {
	operationPage
	Upload string // path to which the form with the logo is posted
}
