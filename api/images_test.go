package api_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"testing"
)

const imagesPath = "/api/v1/images"

// upload sends a file in the field image of a form.
func (c caller) upload(file []byte) *response {
	t := c.fixture.t
	t.Helper()
	return c.uploadAs("image", "picture.png", file)
}

func (c caller) uploadAs(field, name string, file []byte) *response {
	t := c.fixture.t
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(t, form.WriteField("note", "a field before the file"))
	part, err := form.CreateFormFile(field, name)
	must(t, err)
	_, err = part.Write(file)
	must(t, err)
	must(t, form.Close())
	return c.with("content-type", form.FormDataContentType()).post(imagesPath, body.String())
}

// grayPNG returns a grey picture.
func grayPNG(t testing.TB, width, height int) []byte {
	t.Helper()
	var file bytes.Buffer
	must(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, width, height))))
	return file.Bytes()
}
