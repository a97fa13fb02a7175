package partner

import (
	"bytes"
	"mime/multipart"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
)

// withPicture is a kind of record that has a picture.
type withPicture struct {
	page string                              // the path to which the form with the picture is posted
	path func(v *visit.Visit) string         // returns the record's path in the API
	back func(v *visit.Visit) string         // returns the path of the record's page in the console
	body func(address string) map[string]any // returns the body of the PATCH request that sets the picture
}

// pictured are the kinds of records that have a picture.
var pictured = []*withPicture{
	pictureOf("links"), pictureOf("products"),
	{
		page: brandingPath + "/logo", path: ownPath, back: func(*visit.Visit) string { return brandingPath },
		body: func(address string) map[string]any {
			return map[string]any{"branding": map[string]any{"logo": address}}
		},
	},
}

// pictureOf returns the configuration for a kind of record that has the same name in the paths of the API and of the console.
func pictureOf(name string) *withPicture {
	id := func(v *visit.Visit) string { return url.PathEscape(v.Parameter("id")) }
	return &withPicture{
		page: view.Root + name + "/:id/picture",
		path: func(v *visit.Visit) string { return v1 + "/" + name + "/" + id(v) },
		back: func(v *visit.Visit) string { return view.Root + name + "/" + id(v) },
		body: func(address string) map[string]any { return map[string]any{pictureField: address} },
	}
}

// takePicture uploads the posted picture, and sets it as the picture of a record.
func (h *Handlers) takePicture(v *visit.Visit, p *withPicture) error {
	t := textsOf(v)
	content := v.File(pictureField)
	if len(content) == 0 {
		return h.pictureRefused(v, p, &web.RefusedError{Status: fiber.StatusUnprocessableEntity, Message: t.Picture.Missing})
	}
	if err := v.Get(p.path(v), nil, nil); err != nil { // checks that the record exists before the picture is stored
		return asUnknown(err)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile(pictureField, pictureField)
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	var uploaded struct{ Data struct{ URL string } }
	answer := v.Send(fiber.MethodPost, v1+"/images", w.FormDataContentType(), body.Bytes())
	if refused := answer.Refusal(); refused != nil {
		return h.pictureRefused(v, p, refused)
	}
	if err := answer.Decode(&uploaded); err != nil {
		return err
	}
	if refused := v.Do(fiber.MethodPatch, p.path(v), form.Body(p.body(uploaded.Data.URL))).Refusal(); refused != nil {
		return h.pictureRefused(v, p, refused)
	}
	return v.Redirect(p.back(v), true)
}

// pictureRefused shows why a picture was refused, with a link back to the record's page.
func (h *Handlers) pictureRefused(v *visit.Visit, p *withPicture, refused *web.RefusedError) error {
	t := textsOf(v)
	problem := refused.Message
	for _, field := range refused.Problems {
		problem = field.Detail
	}
	return v.Show(templates, "picture", visit.PageContent{Status: refused.Status, Title: t.Picture.Title, Problem: problem, Page: p.back(v)})
}
