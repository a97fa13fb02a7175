package visit

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
)

// maxUploadFields limits the number of fields and files in a form that uploads files. The form must have fewer.
const maxUploadFields = 16

// parseUpload reads a posted form that contains files.
func (v *Visit) parseUpload() error {
	kind, parameters, err := mime.ParseMediaType(string(v.Request.Request.Header.ContentType()))
	if err != nil || !strings.EqualFold(kind, fiber.MIMEMultipartForm) {
		return &web.RefusedError{Status: fiber.StatusUnsupportedMediaType, Code: string(web.UnsupportedMediaType)}
	}
	v.Form, v.files = url.Values{}, make(map[string][]byte)
	reader := multipart.NewReader(bytes.NewReader(v.Request.Request.Body()), parameters["boundary"])
	for range maxUploadFields {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			if isUTF8(v.Form) {
				return nil
			}
			break
		}
		if err != nil {
			break
		}
		content, err := io.ReadAll(part) // MaxBody of the route limits the length
		if err != nil {
			break
		}
		if part.FileName() != "" {
			v.files[part.FormName()] = content
		} else {
			v.Form.Add(part.FormName(), string(content))
		}
	}
	return &web.RefusedError{Status: fiber.StatusBadRequest, Code: string(web.BadRequest)}
}

// File returns the content of the file that was posted in a field, or nil if there is no such file.
func (v *Visit) File(field string) []byte { return v.files[field] }

// SendFile responds with a file, which the browser saves instead of showing it.
func (v *Visit) SendFile(name, contentType string, content []byte) {
	setHeaders(v.Request)
	v.Response.Header.SetContentType(contentType)
	v.Response.Header.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	v.Response.SetBody(content)
}
