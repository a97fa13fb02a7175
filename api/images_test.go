package api_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"path"
	"regexp"
	"slices"
	"strings"
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

func TestImageIsUploadedAndShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.partner().upload(grayPNG(t, 30, 20)).want(201, "")
	created.wantFields(map[string]string{"data.width": "30", "data.height": "20", "data.id": "(absent)"})
	url := created.at("data.url")
	if !regexp.MustCompile(`^` + regexp.QuoteMeta(f.base()) + `/images/[0-9a-f]{32}\.png$`).MatchString(url) {
		t.Errorf("%s", created.body)
	}
	shown := f.file(url)
	for header, want := range map[string]string{
		"Content-Type": "image/png", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
	} {
		if got := shown.header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	picture, err := png.Decode(strings.NewReader(shown.body))
	if err != nil || picture.Bounds() != image.Rect(0, 0, 30, 20) {
		t.Errorf("%v %v", picture, err)
	}
	for _, unknown := range []string{strings.Replace(url, ".png", ".jpg", 1), strings.Replace(url, ".png", "", 1), f.base() + "/images/" + strings.Repeat("0", 32) + ".png"} {
		f.file(unknown).wantStatusOf(404)
	}
	withImage := f.testLink(`"image":"`+url+`",`, `"default":100`, "fixed")
	withImage.wantFields(map[string]string{"data.image": url})
	page := f.browse(withImage.at("data.url"))
	form := strings.TrimSuffix(strings.TrimPrefix(url, f.base()), ".png") + "-page"
	f.file(f.base()+form).want(200, shown.body) // the picture is so small that its form for pages is the picture itself
	if !strings.Contains(page.body, `src="`+form+`"`) || !strings.Contains(page.header.Get("content-security-policy"), "img-src 'self'") {
		t.Errorf("%v %s", page.header, page.body)
	}
	record := linksPath + "/" + withImage.at("data.id")
	f.partner().patch(record, `{"image":"`+url+`"}`).want(200, withImage.body)
	f.partner().patch(record, `{"name":"x"}`).want(200, "").wantFields(map[string]string{"data.image": url})
	f.partner().patch(record, `{"image":null}`).want(200, "").wantFields(map[string]string{"data.image": "null"})
	f.second().post(linksPath, link(`"image":"`+url+`",`)).want(422, "").wantFields(map[string]string{"errors.0.field": "image"})
	f.restart()
	f.file(f.base() + "/images/" + path.Base(url)).wantStatusOf(200)
}

func TestHostileUploadsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	whole := grayPNG(t, 30, 20)
	for name, c := range map[string]struct {
		file   []byte
		status int
		detail string
	}{
		"nothing":        {nil, 422, "must be a PNG or JPEG image"},
		"a script":       {[]byte("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"), 422, "must be a PNG or JPEG image"},
		"a GIF":          {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), 422, "must be a PNG or JPEG image"},
		"half a picture": {whole[:len(whole)/2], 422, "must be a PNG or JPEG image"},
		"many pixels":    {hugePNG(t, 24_000, 1_001), 422, "has more than 24000000 pixels, or needs too much memory to decode"},
		"too long":       {append(slices.Clone(whole), make([]byte, 5<<20)...), 413, ""},
	} {
		r := f.partner().uploadAs("image", "picture.png", c.file)
		if r.status != c.status || c.detail != "" && r.at("errors.0.detail") != c.detail {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	withTrailer := f.partner().upload(append(slices.Clone(whole), "<script>alert(1)</script>"...)).want(201, "")
	if shown := f.file(withTrailer.at("data.url")); strings.Contains(shown.body, "script") {
		t.Errorf("what follows the picture is kept: %q", shown.body)
	}
	f.partner().uploadAs("file", "picture.png", whole).want(422, "").wantFields(map[string]string{"errors.0.field": "image"})
	f.partner().with("content-type", "multipart/form-data").post(imagesPath, "x").want(415, "")
	f.partner().with("content-type", "multipart/form-data; boundary=x").post(imagesPath, "--y\r\n").want(400, "")
	f.partner().post(imagesPath, "{}").want(415, "")
	f.anyone().upload(whole).want(401, "")
	keyed := f.partner().with("Idempotency-Key", "image")
	keyed.upload(whole).want(201, keyed.upload(whole).want(201, "").body) // the two requests have the same file but different multipart boundaries
	keyed.upload(grayPNG(t, 3, 3)).want(409, "")
}

// An upload must have exactly one image. Parts of the form with other names are ignored, if the form has at most 16 parts.
func TestUploadHasOneImage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	whole := string(grayPNG(t, 3, 2))
	send := func(sender caller, fields ...string) *response {
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for _, name := range fields {
			part, err := form.CreateFormFile(name, "picture.png")
			must(t, err)
			_, err = io.WriteString(part, whole)
			must(t, err)
		}
		must(t, form.Close())
		return sender.with("content-type", form.FormDataContentType()).post(imagesPath, body.String())
	}
	repeated := map[string]string{"errors.0.field": "image", "errors.0.detail": "image must be sent once", "errors.1": "(absent)"}
	for _, sender := range []caller{f.partner(), f.partner().with("Idempotency-Key", "twice")} {
		before := f.events()
		send(sender, "image", "image").want(422, "").wantFields(repeated)
		send(sender, "image", "note", "image", "image").want(422, "").wantFields(repeated)
		if after := f.events(); after != before {
			t.Errorf("%s events, were %s", after, before)
		}
		send(sender, "note", "image", "images", "Image", "").want(201, "")
	}
	others := slices.Repeat([]string{"note"}, 16)
	send(f.partner(), append(others[:15:15], "image")...).want(201, "")
	send(f.partner(), append([]string{"image"}, others...)...).want(400, "")
	send(f.partner(), append(others, "image")...).want(400, "")
	send(f.partner(), others...).want(422, "").wantFields(map[string]string{"errors.0.detail": "image is required: a file"})
}

// hugePNG returns a small PNG file whose header claims the given width and height.
func hugePNG(t testing.TB, width, height uint32) []byte {
	t.Helper()
	file := grayPNG(t, 1, 1)
	const header = 16 // bytes before the content of the chunk IHDR: the file's signature, and the chunk's length and name
	binary.BigEndian.PutUint32(file[header:], width)
	binary.BigEndian.PutUint32(file[header+4:], height)
	const headerLength = 13
	binary.BigEndian.PutUint32(file[header+headerLength:], crc32.ChecksumIEEE(file[header-4:header+headerLength]))
	return file
}
