package api_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// photo returns a picture with large and small details, as a photo has. If hasAlpha is set, one corner is transparent. Another
// seed gives another picture.
func photo(width, height int, hasAlpha bool, seed uint64) *image.NRGBA {
	random := rand.New(rand.NewPCG(seed, 1))
	const cell = 24
	columns := width/cell + 2
	corners := make([]color.NRGBA, columns*(height/cell+2))
	for i := range corners {
		corners[i] = color.NRGBA{uint8(random.UintN(200)), uint8(random.UintN(200)), uint8(random.UintN(200)), 0xff}
	}
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			at := y/cell*columns + x/cell
			mix := func(of func(c color.NRGBA) uint8) uint8 {
				right, down := x%cell, y%cell
				above := int(of(corners[at]))*(cell-right) + int(of(corners[at+1]))*right
				below := int(of(corners[at+columns]))*(cell-right) + int(of(corners[at+columns+1]))*right
				return uint8((above*(cell-down)+below*down)/cell/cell + random.IntN(16))
			}
			c := color.NRGBA{mix(func(c color.NRGBA) uint8 { return c.R }), mix(func(c color.NRGBA) uint8 { return c.G }), mix(func(c color.NRGBA) uint8 { return c.B }), 0xff}
			if hasAlpha && x < width/4 && y < height/4 {
				c.A = 0
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func asJPEG(t *testing.T, img image.Image) []byte {
	t.Helper()
	var file bytes.Buffer
	must(t, jpeg.Encode(&file, img, &jpeg.Options{Quality: 92}))
	return file.Bytes()
}

func asPNG(t *testing.T, img image.Image) []byte {
	t.Helper()
	var file bytes.Buffer
	must(t, png.Encode(&file, img))
	return file.Bytes()
}

// formBounds has the greatest size of each form of a picture: width and height in pixels, and bytes. A form is a smaller version
// of the picture for one place on a page.
var formBounds = map[string]struct{ width, height, bytes int }{"page": {960, 960, 240 << 10}, "logo": {960, 96, 48 << 10}, "thumbnail": {192, 192, 32 << 10}}

// wantForms checks that the server has each form (smaller version) of an uploaded picture, within the bounds of formBounds and
// with the picture's aspect ratio.
func (f *fixture) wantForms(name string, uploaded *response) {
	f.t.Helper()
	address := uploaded.at("data.url")
	width, _ := strconv.Atoi(uploaded.at("data.width"))
	height, _ := strconv.Atoi(uploaded.at("data.height"))
	for purpose, bounds := range formBounds {
		form := f.file(strings.TrimSuffix(address, path.Ext(address)) + "-" + purpose)
		img, format, err := image.Decode(strings.NewReader(form.body))
		if err != nil {
			f.t.Fatalf("%s: %s: %d %v", name, purpose, form.status, err)
		}
		for header, want := range map[string]string{
			"Content-Type": "image/" + format, "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
		} {
			if got := form.header.Get(header); got != want {
				f.t.Errorf("%s: %s: %s is %q, want %q", name, purpose, header, got, want)
			}
		}
		size := img.Bounds().Size()
		if skew := size.X*height - size.Y*width; size.X > bounds.width || size.Y > bounds.height || len(form.body) > bounds.bytes || max(skew, -skew) > 2*max(width, height) {
			f.t.Errorf("%s: %s: %v and %d bytes, of %d×%d", name, purpose, size, len(form.body), width, height)
		}
		if isLarge := 4*size.X > bounds.width || 4*size.Y > bounds.height || size.X == width; !isLarge {
			f.t.Errorf("%s: %s: %v is much smaller than it may be", name, purpose, size)
		}
	}
}

func TestPicturesHaveSmallerForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var kept *response
	for name, file := range map[string][]byte{
		"photo":             asJPEG(t, photo(1600, 1200, false, 1)),
		"tall photo":        asJPEG(t, photo(700, 1400, false, 2)),
		"wide PNG":          asPNG(t, photo(1500, 150, false, 3)),
		"transparent PNG":   asPNG(t, photo(1100, 800, true, 4)),
		"grey PNG":          grayPNG(t, 1000, 1000),
		"line":              asPNG(t, photo(1500, 1, false, 5)),
		"PNG of many bytes": asPNG(t, photo(190, 190, true, 6)),
	} {
		kept = f.partner().upload(file).want(201, "")
		f.wantForms(name, kept)
	}
	url := kept.at("data.url")
	bare := strings.TrimSuffix(url, path.Ext(url))
	for _, unknown := range []string{"-", "-Page", "-960", "-page.png", "-page" + path.Ext(url), path.Ext(url) + "-page", "-page-page", "-thumb", "-page%2f"} {
		f.file(bare + unknown).wantStatusOf(404)
	}
	f.file(f.base() + "/images/" + strings.Repeat("0", 32) + "-page").wantStatusOf(404)
	for _, purpose := range []string{"-page", "-thumbnail"} { // a record must name the picture itself, not one of its forms
		f.partner().post(linksPath, link(`"image":"`+bare+purpose+`",`)).want(422, "").wantFields(map[string]string{"errors.0.field": "image"})
	}
	f.restart()
	f.wantForms("after a restart", &response{t: t, status: 200, body: strings.ReplaceAll(kept.body, url, f.base()+"/images/"+path.Base(url))})
}

// pictureOf matches the pictures in a page. Its first group is the picture's URL path.
var pictureOf = regexp.MustCompile(`<img[^>]* src="(/images/[^"]+)"([^>]*)>`)

// A page without pictures is below 60 KB. With a picture, a logo and thirty products that all have photos, a browser that loads
// every picture loads less than 600 KB. A product's picture is loaded only when the payer scrolls to it.
func TestPageWithManyPicturesIsLight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const products, mostOfPage, mostOfAll = 30, 60_000, 600_000
	upload := func(file []byte) string {
		t.Helper()
		return f.partner().upload(file).want(201, "").at("data.url") // each upload gets its own address, even for the same file
	}
	var ids []string
	sold := asJPEG(t, photo(640, 480, false, 1))
	for range products {
		ids = append(ids, strconv.Quote(f.product(f.partner(), fmt.Sprintf(`"image":%q,`, upload(sold)))))
	}
	f.admin().patch("/api/v1/partners/1", `{"branding":{"logo":"`+upload(asJPEG(t, photo(1200, 300, false, 2)))+`"}}`).want(200, "")
	shown := f.testLink(`"image":"`+upload(asJPEG(t, photo(2000, 1500, false, 3)))+`","products":[`+strings.Join(ids, ",")+`],`, `"default":100`, "fixed")
	page := f.browse(shown.at("data.url")).wantPage(200, "Payment")
	action, _ := page.form()
	checkout := f.send(action, url.Values{}).wantPage(200, checkoutTitle)
	for name, p := range map[string]*response{"the link's page": page, "the payment's page": checkout} {
		total, found := len(p.body), pictureOf.FindAllStringSubmatch(p.body, -1)
		if total > mostOfPage {
			t.Errorf("%s has %d bytes", name, total)
		}
		lazy := 0
		for _, match := range found {
			total += len(f.file(f.base() + match[1]).body)
			if strings.Contains(match[0], `loading="lazy"`) {
				lazy++
			}
		}
		if total > mostOfAll || len(found) < products+1 || lazy != products {
			t.Errorf("%s has %d pictures, of which %d wait, and %d bytes in all", name, len(found), lazy, total)
		}
		t.Logf("%s: %d bytes, %d with %d pictures", name, len(p.body), total, len(found))
	}
}
