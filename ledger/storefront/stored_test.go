package storefront

import (
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

var (
	testOrg = ledger.ID{15: 2}
	testID  = ledger.ID{15: 1}
	otherID = ledger.ID{15: 9}
	created = ledger.Micros(5)
)

const (
	base        = "https://pay.example"
	idText      = "00000000-0000-0000-0000-000000000001"
	createdText = `"1970-01-01T00:00:00.000005+00:00"`
)

func fullLink() *Link {
	return &Link{
		ID: testID, Org: testOrg, Partner: 7, Env: money.Test, AmountType: Dynamic, Active: true, CreatedAt: created, Base: base,
		Amount:    LinkAmount{Default: money.FromUint64(300), Min: money.FromUint64(1), Max: money.FromUint64(400), Currency: "USDT", Network: "tron"},
		PayConfig: PayConfig{Methods: []string{"card", "sbp"}}, Image: Picture{Name: "a.png"}, Products: []BoundProduct{{ID: otherID, Deletions: 1}},
		Name: "n", Description: "d", Metadata: []byte(`{"a":1}`), ReturnURL: "https://a.example", FailURL: "https://b.example",
	}
}

func fullProduct() *Product {
	price := money.FromUint64(450)
	return &Product{
		ID: testID, Org: testOrg, Partner: 7, Env: money.Prod, Header: "h", Text: "t", Price: &price, Currency: "EUR", Quantity: "3",
		Image: Picture{Name: "a.png"}, Active: true, CreatedAt: created, Deletions: 2, Base: base,
	}
}

// Each entry of the expected form has a column's key, the length of the value, and the value. Numbers are zigzag varints (a
// positive number is doubled). An amount follows a byte with its length.
func TestStoredFormOfALink(t *testing.T) {
	text := func(s string) string { return hex.EncodeToString([]byte(s)) }
	want := strings.Join([]string{
		"02", // version
		"01" + "01" + "0e",
		"02" + "04" + text("test"),
		"03" + "1b" + "02" + "01" + "03" + "02012c" + "02" + "04" + text("USDT") + "03" + "04" + text("tron") + "04" + "02" + "0101" + "05" + "03" + "020190",
		"04" + "07" + text("dynamic"),
		"05" + "0c" + "02" + "01" + "09" + "04" + text("card") + "03" + text("sbp"),
		"06" + "05" + text("a.png"),
		"07" + "17" + "16" + "02" + "01" + "10" + strings.Repeat("00", 15) + "09" + "02" + "01" + "02",
		"08" + "01" + text("n"),
		"09" + "01" + text("d"),
		"0a" + "07" + text(`{"a":1}`),
		"0b" + "11" + text("https://a.example"),
		"0c" + "11" + text("https://b.example"),
		"0d" + "01" + "01",
	}, "")
	stored, err := Links.AppendStored(nil, fullLink(), nil)
	if got := hex.EncodeToString(stored); got != want || err != nil {
		t.Errorf("stored as\n%s (%v), want\n%s", got, err, want)
	}
	read, err := Links.Read(schema.RowMetadata{Org: testOrg, ID: testID, CreatedAt: created}, stored, nil)
	wantRead := fullLink()
	wantRead.Base = ""
	if err != nil || !reflect.DeepEqual(read, wantRead) {
		t.Errorf("read as\n%+v (%v), want\n%+v", read, err, wantRead)
	}
	for i := range stored {
		if _, err := Links.Read(schema.RowMetadata{}, stored[:i], nil); err == nil && i < len(stored)-3 {
			// If the stored form is cut between two optional columns, a link without the later columns is read.
			shortened, _ := Links.Read(schema.RowMetadata{}, stored[:i], nil)
			if shortened.Amount.Currency != "USDT" || shortened.AmountType != Dynamic {
				t.Errorf("the first %d bytes are read as a link without its required columns", i)
			}
		}
	}
}

func TestLinkIsShown(t *testing.T) {
	l := fullLink()
	product := fullProduct()
	product.Deletions = 1
	l.ResolveProducts(func(id ledger.ID) *Product {
		if id != otherID {
			t.Errorf("find was called with %v", id)
		}
		return product
	})
	l.Payments = Payments{Count: 2, Amount: money.FromUint64(600)}
	const productText = `{"id":"` + idText + `","created":` + createdText + `,"partner_id":7,"env":"prod","header":"h","text":"t","price":450,"currency":"EUR","network":null,"qty":"3",` +
		`"image":"` + base + `/images/a.png","active":true,"url":"` + base + `/pay/p/` + idText + `","qr_url":"` + base + `/pay/p/` + idText + `/qr.svg"}`
	want := `{"id":"` + idText + `","created":` + createdText + `,"partner_id":7,"env":"test","amount":{"default":300,"currency":"USDT","network":"tron","min":1,"max":400},` +
		`"amount_type":"dynamic","pay_config":{"methods":["card","sbp"]},"image":"` + base + `/images/a.png","products":[` + productText + `],"name":"n","description":"d","metadata":{"a":1},` +
		`"return_url":"https://a.example","fail_url":"https://b.example","active":true,"url":"` + base + `/pay/l/` + idText + `","qr_url":"` + base + `/pay/l/` + idText + `/qr.svg",` +
		`"payments":{"count":2,"amount":600}}`
	if got := string(Links.AppendFields([]byte("{"), l, schema.Style{})) + "}"; got != want {
		t.Errorf("shown as\n%s, want\n%s", got, want)
	}
	product.Deletions = 2 // the product was deleted again after it was added to the link
	l = fullLink()
	l.ResolveProducts(func(ledger.ID) *Product { return product })
	if got := string(Links.AppendFields([]byte("{"), l, schema.Style{})); !strings.Contains(got, `"products":[]`) {
		t.Errorf("a deleted product is shown: %s", got)
	}
}

func TestStoredFormOfAProduct(t *testing.T) {
	text := func(s string) string { return hex.EncodeToString([]byte(s)) }
	want := strings.Join([]string{
		"02", "01010e", "0204" + text("prod"), "0301" + text("h"), "0401" + text("t"), "0503" + "0201c2", "0603" + text("EUR"), "0801" + text("3"),
		"0905" + text("a.png"), "0a0101", "0b0104",
	}, "")
	stored, err := Products.AppendStored(nil, fullProduct(), nil)
	if got := hex.EncodeToString(stored); got != want || err != nil {
		t.Errorf("stored as\n%s (%v), want\n%s", got, err, want)
	}
	for _, price := range []*money.Amount{nil, new(money.Amount), fullProduct().Price} {
		p := fullProduct()
		p.Price, p.Base = price, ""
		stored, _ := Products.AppendStored(nil, p, nil)
		if read, err := Products.Read(schema.RowMetadata{Org: testOrg, ID: testID, CreatedAt: created}, stored, nil); err != nil || !reflect.DeepEqual(read, p) {
			t.Errorf("read as\n%+v (%v), want\n%+v", read, err, p)
		}
	}
}

func TestTotalOfAProduct(t *testing.T) {
	for _, c := range []struct {
		price, quantity, want string
	}{{"450", "3", "1350"}, {"450", "1", "450"}, {"0", "9999", "0"}, {"1000000000000000", "9999", "9999000000000000000"}, {"", "3", ""}} {
		p := Product{Quantity: c.quantity}
		if c.price != "" {
			price := money.MustParse(c.price)
			p.Price = &price
		}
		total, ok := p.Total()
		if ok != (c.want != "") || ok && total.String() != c.want {
			t.Errorf("%s × %s is %v %v, want %s", c.price, c.quantity, total, ok, c.want)
		}
	}
}

func TestNamesOfImages(t *testing.T) {
	m := Image{ID: ledger.ID{0: 0xab, 15: 1}, Format: JPEG}
	const name = "ab000000000000000000000000000001.jpg"
	if m.Name() != name {
		t.Errorf("the name is %s", m.Name())
	}
	if id, format, ok := ParseName(name); id != m.ID || format != JPEG || !ok {
		t.Errorf("read as %v %v %v", id, format, ok)
	}
	for _, wrong := range []string{"", name[:35], name + "g", "AB" + name[2:], name[:32], name[:32] + ".gif", name[:31] + ".jpg", "x" + name[1:], name[:32] + ".jpg.png", "../" + name} {
		if _, _, ok := ParseName(wrong); ok {
			t.Errorf("%q is accepted as a name", wrong)
		}
	}
}

func TestSizedImageNames(t *testing.T) {
	id := ledger.ID{0: 0xab, 15: 1}
	const digits = "ab000000000000000000000000000001"
	for purpose, want := range map[Purpose]string{ForPage: digits + "-page", ForLogo: digits + "-logo", ForThumbnail: digits + "-thumbnail"} {
		if got := SizedImageName(digits+".jpg", purpose); got != want {
			t.Errorf("the name is %s, want %s", got, want)
		}
		if got, of, ok := ParseSizedImageName(want); got != id || of != purpose || !ok {
			t.Errorf("%s is read as %v %v %v", want, got, of, ok)
		}
		if _, _, ok := ParseName(want); ok {
			t.Errorf("%s is the name of an image", want)
		}
	}
	for _, wrong := range []string{"", "-page", digits, digits + ".jpg", digits + "-", digits + "-Page", digits + "-page.jpg", digits + ".jpg-page", digits + "-960", "AB" + digits[2:] + "-page", digits[1:] + "-page", digits + "-page-page"} {
		if _, _, ok := ParseSizedImageName(wrong); ok {
			t.Errorf("%q is accepted as a name", wrong)
		}
	}
}

func fullImage() *Image {
	return &Image{
		ID: testID, Org: testOrg, Format: JPEG, Width: 2000, Height: 1000, Content: make([]byte, 33<<10), CreatedAt: created,
		Sizes: []SizedImage{{ForPage, JPEG, 960, 480, []byte("page")}, {ForThumbnail, PNG, 192, 96, []byte("thumb")}},
	}
}

func TestStoredFormOfAnImage(t *testing.T) {
	m := fullImage()
	stored, err := Images.AppendStored(nil, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) string { return hex.EncodeToString([]byte(s)) }
	want := strings.Join([]string{
		"053c", // the smaller sizes take 60 bytes; each size follows its length and begins with a version
		"1a02" + "0104" + text("page") + "0203" + text("jpg") + "0302800f" + "0402c007" + "0504" + text("page"),
		"2002" + "0109" + text("thumbnail") + "0203" + text("png") + "03028003" + "0402c001" + "0505" + text("thumb"),
	}, "")
	if got := hex.EncodeToString(stored); !strings.HasSuffix(got, want) {
		t.Errorf("the smaller sizes are stored as %s, want %s", got[len(got)-len(want):], want)
	}
	read, err := Images.Read(schema.RowMetadata{Org: testOrg, ID: testID, CreatedAt: created}, stored, nil)
	if err != nil || !reflect.DeepEqual(read, m) {
		t.Errorf("read as %+v (%v)", read.Sizes, err)
	}
	if got := string(Images.AppendFields(nil, m, schema.Style{})); strings.Contains(got, "page") {
		t.Errorf("shown as %s", got)
	}
}

func TestInvalidSizesAreRefused(t *testing.T) {
	for name, change := range map[string]func(m *Image){
		"two for a purpose":    func(m *Image) { m.Sizes[1] = m.Sizes[0] },
		"too wide":             func(m *Image) { m.Sizes[1].Width = 193 },
		"too high":             func(m *Image) { m.Sizes[1].Height = 193 },
		"no width":             func(m *Image) { m.Sizes[1].Width = 0 },
		"wider than the image": func(m *Image) { m.Width = 191 },
		"too many bytes":       func(m *Image) { m.Sizes[1].Content = make([]byte, 32<<10+1) },
		"as many bytes as an image that would do":   func(m *Image) { m.Content = make([]byte, 5) },
		"more bytes than an image that would do":    func(m *Image) { m.Content = []byte("four") },
		"as many bytes, of an image within a bound": func(m *Image) { m.Sizes[0].Content = make([]byte, 33<<10) },
	} {
		m := fullImage()
		change(m)
		stored, err := Images.AppendStored(nil, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Images.Read(schema.RowMetadata{Org: testOrg, ID: testID}, stored, nil); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestSizedFor(t *testing.T) {
	m := fullImage()
	if f := m.SizedFor(ForThumbnail); !reflect.DeepEqual(f, m.Sizes[1]) {
		t.Errorf("the thumbnail is %+v", f)
	}
	if f := m.SizedFor(ForLogo); f.Format != JPEG || f.Width != 2000 || f.Height != 1000 || len(f.Content) != len(m.Content) {
		t.Errorf("without a smaller size, the logo is %d×%d", f.Width, f.Height)
	}
}

func TestProductsAreBoundOnce(t *testing.T) {
	mine, foreign := &Product{ID: ledger.ID{1}, Partner: 7, Deletions: 4}, &Product{ID: ledger.ID{2}, Partner: 8}
	find := func(id ledger.ID) *Product {
		for _, p := range []*Product{mine, foreign} {
			if p.ID == id {
				return p
			}
		}
		return nil
	}
	l := Link{Partner: 7, Products: []BoundProduct{{ID: ledger.ID{3}, isNew: true}, {ID: mine.ID, isNew: true}, {ID: foreign.ID, isNew: true}, {ID: mine.ID, isNew: true}}}
	l.BindProducts(find)
	want := []BoundProduct{{ID: mine.ID, Deletions: 4}}
	if !reflect.DeepEqual(l.Products, want) {
		t.Errorf("bound %+v", l.Products)
	}
	mine.Delete()
	mine.Delete()
	if mine.Deletions != 5 || mine.Active {
		t.Errorf("after two deletions of an inactive product: %+v", mine)
	}
	l.BindProducts(find) // called as after a change of other fields
	if !reflect.DeepEqual(l.Products, want) {
		t.Errorf("after a second call of Bind: %+v", l.Products)
	}
}

func TestTypesOfALink(t *testing.T) {
	for _, c := range []struct{ methods, want []string }{
		{nil, nil}, {[]string{}, nil}, {[]string{"card"}, []string{"bank_card"}},
		{[]string{"sbp", "card", "bank_card", "sbp"}, []string{"sbp", "bank_card"}},
	} {
		if got := (PayConfig{Methods: c.methods}).Types(); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%q: %q, want %q", c.methods, got, c.want)
		}
	}
}
