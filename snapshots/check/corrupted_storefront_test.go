package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	paymentactor "mizan/actors/payment"
	storefrontactor "mizan/actors/storefront"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

const publicBase = "https://pay.example"

// storefrontStore is a store with a payment link that has two products and an image. One payment of the link was charged, and
// one was only begun.
type storefrontStore struct {
	*fixture.Store
	link     *storefront.Link
	sold     *storefront.Link    // created with a product and the image, and never changed
	deleted  *storefront.Product // deleted
	products [2]*storefront.Product
	foreign  *storefront.Product // belongs to the second organization
	image    *storefront.Image
	photo    *storefront.Image // with a thumbnail
	charged  ledger.ID
}

func newStorefrontStore(t *testing.T) *storefrontStore {
	t.Helper()
	w := &storefrontStore{Store: fixture.Copy(t)}
	server := fixture.Start(t, w.Store)
	defer server.Close()
	s := storefrontactor.New(server.Journal, server.Directory, publicBase)
	ctx, org, partner := t.Context(), w.FirstDemo.Org, w.FirstDemo.Partner
	var content bytes.Buffer
	fixture.Must(t, png.Encode(&content, image.NewGray(image.Rect(0, 0, 3, 2))))
	var err error
	w.image, err = s.CreateImage(ctx, org, storefront.Image{Format: storefront.PNG, Width: 3, Height: 2, Content: content.Bytes()})
	fixture.Must(t, err)
	draft := func(partner int64, header string) storefront.Product {
		return storefront.Product{Partner: partner, Env: money.Test, Header: header, Text: "text", Currency: "USD", Quantity: "1", Active: true}
	}
	w.photo, err = s.CreateImage(ctx, org, storefront.Image{
		Format: storefront.PNG, Width: 300, Height: 150, Content: noisePNG(t, 300, 150),
		Sizes: []storefront.SizedImage{{Purpose: storefront.ForThumbnail, Format: storefront.PNG, Width: 160, Height: 80, Content: noisePNG(t, 160, 80)}},
	})
	fixture.Must(t, err)
	for i, header := range []string{"first", "second"} {
		w.products[i], err = s.CreateProduct(ctx, org, draft(partner, header))
		fixture.Must(t, err)
	}
	w.foreign, err = s.CreateProduct(ctx, w.SecondDemo.Org, draft(w.SecondDemo.Partner, "foreign"))
	fixture.Must(t, err)
	w.link, err = s.CreateLink(ctx, org, storefront.Link{
		Partner: partner, Env: money.Test, AmountType: storefront.Fixed, Active: true, Amount: storefront.LinkAmount{Default: money.FromUint64(1250), Currency: "USD"},
	})
	fixture.Must(t, err)
	bind := fmt.Sprintf(`[%q,%q]`, w.products[0].ID, w.products[1].ID)
	w.link, err = s.PatchLink(ctx, org, partner, w.link.ID, func(l *storefront.Link, f *schema.Faults) {
		storefront.Links.Patch(schema.Input{"products": json.RawMessage(bind), "image": json.RawMessage(fmt.Sprintf("%q", publicBase+"/images/"+w.image.Name()))}, l, f)
	})
	fixture.Must(t, err)
	sold := schema.Input{"partner_id": json.RawMessage(fmt.Sprint(partner)), "env": json.RawMessage(`"test"`), "amount_type": json.RawMessage(`"fixed"`),
		"amount": json.RawMessage(`{"default":1250,"currency":"USD"}`), "pay_config": json.RawMessage(`{}`),
		"products": json.RawMessage(fmt.Sprintf(`[%q]`, w.products[0].ID)), "image": json.RawMessage(fmt.Sprintf("%q", publicBase+"/images/"+w.image.Name()))}
	faults := new(schema.Faults)
	w.sold, err = s.CreateLink(ctx, org, *storefront.Links.Create(sold, faults))
	fixture.Must(t, err)
	w.deleted, err = s.CreateProduct(ctx, org, draft(partner, "deleted"))
	fixture.Must(t, err)
	w.deleted, err = s.PatchProduct(ctx, org, partner, w.deleted.ID, func(p *storefront.Product, _ *schema.Faults) { p.Delete() })
	fixture.Must(t, err)
	w.charged = w.begin(t, server, w.link.ID)
	_, err = server.Payments.Continue(paymentactor.Continue{
		Command:     paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, ID: w.charged},
		Credentials: payment.Credentials{Method: payment.BankCard, CardBIN: "424242", CardLast4: "4242"},
		Card:        &secret.Card{Number: []byte("4242424242424242"), ExpMonth: []byte("12"), ExpYear: []byte("2030"), CVV: []byte("123"), Holder: []byte("JOHN DOE")},
	})
	fixture.Must(t, err)
	w.begin(t, server, w.link.ID)
	return w
}

// noisePNG returns a picture of noise, which has about a byte per pixel.
func noisePNG(t *testing.T, width, height int) []byte {
	t.Helper()
	noise := image.NewGray(image.Rect(0, 0, width, height))
	random := rand.NewChaCha8([32]byte{})
	random.Read(noise.Pix)
	var content bytes.Buffer
	fixture.Must(t, png.Encode(&content, noise))
	return content.Bytes()
}

// begin begins a hosted payment of the link.
func (w *storefrontStore) begin(t *testing.T, server *fixture.Server, link ledger.ID) ledger.ID {
	t.Helper()
	partner, _ := server.Directory.Partner(w.FirstDemo.Org, w.FirstDemo.Partner)
	result, err := server.Payments.Create(paymentactor.Create{Author: ledger.ByPayer.Author(), Org: w.FirstDemo.Org, Partner: partner, Hosted: true, Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(1250), Asset: money.Asset{Currency: "USD", Env: money.Test}, LinkID: link, Methods: []string{"qr_code", payment.BankCard},
	}})
	fixture.Must(t, err)
	return result.Record.ID
}

// changeStored changes the stored form of a record with columns.
func changeStored[R any](p *fixture.Corrupter, org ledger.ID, columns *schema.Type[R], s ledger.Source, change func(*R)) {
	p.T.Helper()
	p.ChangeRecord(org, s, func(_ *store.RecordHeader, payload []byte) []byte {
		r := new(R)
		fixture.Must(p.T, columns.ReadStored(payload, r, nil))
		change(r)
		changed, err := columns.AppendStored(nil, r, nil)
		fixture.Must(p.T, err)
		return changed
	})
}

// setCounter sets or removes a counter of the first organization.
func (w *storefrontStore) setCounter(p *fixture.Corrupter, key string, n uint64) {
	p.Group.Set(store.KeyCounter(nil, w.FirstDemo.Org, key, ""), money.FromUint64(n).AppendBinary(nil))
}

func (w *storefrontStore) changeLink(p *fixture.Corrupter, change func(*storefront.Link)) {
	p.T.Helper()
	changeStored(p, w.FirstDemo.Org, storefront.Links, ledger.Source{Kind: ledger.Link, ID: w.link.ID}, change)
}

func addressClaim(kind ledger.Kind, id ledger.ID) []byte {
	return store.KeyClaim(nil, directory.PlatformOrg, ledger.ClaimAddress, storefront.AddressKey(ledger.Source{Kind: kind, ID: id}))
}

// Each fault in payment links, products and images breaks its rules.
func TestFaultsInTheStorefrontAreFound(t *testing.T) {
	type corruption func(*storefrontStore, *fixture.Corrupter)
	corruptLink := func(change func(*storefrontStore, *storefront.Link)) corruption {
		return func(w *storefrontStore, p *fixture.Corrupter) {
			w.changeLink(p, func(l *storefront.Link) { change(w, l) })
		}
	}
	corruptImage := func(change func(*storefront.Image)) corruption {
		return func(w *storefrontStore, p *fixture.Corrupter) {
			changeStored(p, w.FirstDemo.Org, storefront.Images, ledger.Source{Kind: ledger.Image, ID: w.image.ID}, change)
		}
	}
	corruptForm := func(change func(*testing.T, *storefront.Image, *storefront.SizedImage)) corruption {
		return func(w *storefrontStore, p *fixture.Corrupter) {
			changeStored(p, w.FirstDemo.Org, storefront.Images, ledger.Source{Kind: ledger.Image, ID: w.photo.ID}, func(m *storefront.Image) { change(t, m, &m.Sizes[0]) })
		}
	}
	corruptTransaction := func(change func(r *payment.Record)) corruption {
		return func(w *storefrontStore, p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, fixture.TransactionSource(w.charged), func(_ *store.RecordHeader, payload []byte) []byte {
				r, err := paymentcodec.Decode(payload)
				fixture.Must(p.T, err)
				change(r)
				return paymentcodec.Encode(r)
			})
		}
	}
	for name, c := range map[string]struct {
		brokenRules []int
		wantText    string
		corrupt     corruption
	}{
		"no fault":             {},
		"a link of no partner": {[]int{3, 4}, "can't be read", corruptLink(func(_ *storefrontStore, l *storefront.Link) { l.Partner = 0 })},
		"a link that is off and was never switched off": {[]int{3}, "events lead to", corruptLink(func(_ *storefrontStore, l *storefront.Link) { l.Active = false })},
		"a link of another partner":                     {[]int{3, 4}, "which its partner does not have", corruptLink(func(_ *storefrontStore, l *storefront.Link) { l.Partner = 99 })},
		"a link of another currency than its payments":  {[]int{3}, "in another currency", corruptLink(func(_ *storefrontStore, l *storefront.Link) { l.Amount.Currency = "EUR" })},
		"a link with a product twice": {[]int{3}, "twice", corruptLink(func(w *storefrontStore, l *storefront.Link) {
			l.Products = append(l.Products, l.Products[0])
		})},
		"a link with a product of another organization": {[]int{3}, "which its partner does not have", corruptLink(func(w *storefrontStore, l *storefront.Link) {
			l.Products[0].ID = w.foreign.ID
		})},
		"a product of another partner": {[]int{3, 4}, "which its partner does not have", func(w *storefrontStore, p *fixture.Corrupter) {
			changeStored(p, w.FirstDemo.Org, storefront.Products, ledger.Source{Kind: ledger.Product, ID: w.products[0].ID}, func(p *storefront.Product) { p.Partner = 99 })
		}},
		"a product of no quantity": {[]int{3, 4}, "can't be read", func(w *storefrontStore, p *fixture.Corrupter) {
			changeStored(p, w.FirstDemo.Org, storefront.Products, ledger.Source{Kind: ledger.Product, ID: w.products[0].ID}, func(p *storefront.Product) { p.Quantity = "0" })
		}},
		"a product that is off and was never switched off": {[]int{3}, "events lead to", func(w *storefrontStore, p *fixture.Corrupter) {
			changeStored(p, w.FirstDemo.Org, storefront.Products, ledger.Source{Kind: ledger.Product, ID: w.products[1].ID}, func(p *storefront.Product) { p.Active = false })
		}},
		"an image of another size":   {[]int{3}, "is no png of 4 by 2 pixels", corruptImage(func(m *storefront.Image) { m.Width = 4 })},
		"an image of another format": {[]int{3}, "is no jpg", corruptImage(func(m *storefront.Image) { m.Format = storefront.JPEG })},
		"an image that is no image":  {[]int{3}, "is no png", corruptImage(func(m *storefront.Image) { m.Content = []byte("<script>") })},
		"a link with an image that does not exist": {[]int{3}, "which does not exist", corruptLink(func(_ *storefrontStore, l *storefront.Link) {
			l.Image.Name = strings.Repeat("0", 32) + ".png"
		})},
		"a product with an image of another format": {[]int{3}, "which does not exist", func(w *storefrontStore, p *fixture.Corrupter) {
			changeStored(p, w.FirstDemo.Org, storefront.Products, ledger.Source{Kind: ledger.Product, ID: w.products[0].ID}, func(p *storefront.Product) {
				p.Image.Name = strings.Replace(w.image.Name(), "png", "jpg", 1)
			})
		}},
		"a link without the claim on its address": {[]int{4}, "has no claim on its address", func(w *storefrontStore, p *fixture.Corrupter) {
			p.Group.Delete(addressClaim(ledger.Link, w.link.ID))
		}},
		"a product without the claim on its address": {[]int{4}, "has no claim on its address", func(w *storefrontStore, p *fixture.Corrupter) {
			p.Group.Delete(addressClaim(ledger.Product, w.products[1].ID))
		}},
		"a form of another format": {[]int{3}, "has as form for a thumbnail no jpg of 160 by 80 pixels", corruptForm(func(_ *testing.T, _ *storefront.Image, f *storefront.SizedImage) { f.Format = storefront.JPEG })},
		"a form of another size":   {[]int{3}, "has as form for a thumbnail no png of 160 by 79 pixels", corruptForm(func(_ *testing.T, _ *storefront.Image, f *storefront.SizedImage) { f.Height = 79 })},
		"a form of another shape": {[]int{3}, "of 300 by 150 pixels has another ratio than its form for a thumbnail, of 80 by 80", corruptForm(func(t *testing.T, _ *storefront.Image, f *storefront.SizedImage) {
			f.Width, f.Content = 80, noisePNG(t, 80, 80)
		})},
		"a form that is no picture": {[]int{3}, "has as form for a thumbnail no png", corruptForm(func(_ *testing.T, _ *storefront.Image, f *storefront.SizedImage) { f.Content = f.Content[1:] })},
		"a form that is missing":    {[]int{3}, "has no form for a thumbnail", corruptForm(func(_ *testing.T, m *storefront.Image, _ *storefront.SizedImage) { m.Sizes = nil })},
		"a form that is too long": {[]int{3, 4}, "can't be read", corruptForm(func(_ *testing.T, _ *storefront.Image, f *storefront.SizedImage) {
			f.Content = append(f.Content, make([]byte, 32<<10)...)
		})},
		"an image whose address leads to another organization": {[]int{4}, "has no claim on its address", func(w *storefrontStore, p *fixture.Corrupter) {
			p.Group.Set(addressClaim(ledger.Image, w.image.ID), w.SecondDemo.Org[:])
		}},
		"a claim on the address of nothing": {[]int{4}, "which does not have it", func(w *storefrontStore, p *fixture.Corrupter) {
			p.Group.Set(addressClaim(ledger.Link, fixture.NewID()), w.FirstDemo.Org[:])
		}},
		"a payment that was not counted": {[]int{2}, "its transactions make it 2", func(w *storefrontStore, p *fixture.Corrupter) {
			w.setCounter(p, ledger.LinkPaymentsKey(w.link.ID), 1)
		}},
		"a charge that was counted twice": {[]int{2}, "its transactions make it 1", func(w *storefrontStore, p *fixture.Corrupter) {
			w.setCounter(p, ledger.LinkChargesKey(w.link.ID), 2)
		}},
		"another amount than was charged": {[]int{2}, "its transactions make it 1250", func(w *storefrontStore, p *fixture.Corrupter) {
			w.setCounter(p, ledger.LinkAmountKey(w.link.ID), 1251)
		}},
		"a counter that is missing": {[]int{2}, "there is no counter", func(w *storefrontStore, p *fixture.Corrupter) {
			p.Group.Delete(store.KeyCounter(nil, w.FirstDemo.Org, ledger.LinkAmountKey(w.link.ID), ""))
		}},
		"a payment of a link that does not exist":           {[]int{2, 3}, "which its partner does not have", corruptTransaction(func(r *payment.Record) { r.LinkID = fixture.NewID() })},
		"a payment that forgot its link":                    {[]int{2}, "its transactions make it", corruptTransaction(func(r *payment.Record) { r.LinkID = ledger.ID{} })},
		"a payment by a method that its link did not offer": {[]int{3}, "which its link did not offer", corruptTransaction(func(r *payment.Record) { r.Methods = r.Methods[:1] })},
		"a link that is listed twice": {[]int{4}, "listed twice", func(w *storefrontStore, p *fixture.Corrupter) {
			list := storefront.AllLinks.Of(w.FirstDemo.Partner, money.Test)
			p.Group.Set(store.KeyListPage(nil, w.FirstDemo.Org, list, 1), store.EncodeListed(nil, store.ListRow{Booked: 1, IsCreation: true, ID: w.link.ID}))
		}},
		"a link in the list of the other environment": {[]int{4}, "where it does not belong", func(w *storefrontStore, p *fixture.Corrupter) {
			addListRow(p, w.Store, w.FirstDemo.Partner, storefront.AllLinks, w.link.ID, 1)
		}},
		"a list that shows a missing product": {[]int{4}, "does not exist", func(w *storefrontStore, p *fixture.Corrupter) {
			addListRow(p, w.Store, w.FirstDemo.Partner, storefront.AllProducts, fixture.NewID(), 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStorefrontStore(t)
			if c.corrupt != nil {
				w.Corrupt(t, func(p *fixture.Corrupter) { c.corrupt(w, p) })
			}
			report := w.Check(t, check.Inputs{})
			if fixture.WantBroken(t, report, c.brokenRules...); c.wantText == "" {
				return
			}
			for _, rule := range report.Rules {
				for _, detail := range rule.Details {
					if strings.Contains(detail, c.wantText) {
						return
					}
				}
			}
			t.Errorf("no detail says %q: %+v", c.wantText, report.Rules)
		})
	}
}

// Responses about links and products are compared with the store. Members that follow from other records are not compared.
func TestResponsesAboutTheStorefrontAreCompared(t *testing.T) {
	w := newStorefrontStore(t)
	org := w.FirstDemo.Org
	line := func(method, path string, status int, record string) string {
		return fmt.Sprintf(`{"method":%q,"path":"/api/v1/%s","organization_id":%q,"status":%d,"response":{"data":{%s}}}`, method, path, org, status, record)
	}
	linkText := string(storefront.Links.AppendFields(nil, w.link, schema.Style{}))
	productText := string(storefront.Products.AppendFields(nil, w.products[0], schema.Style{}))
	imageText := string(storefront.Images.AppendFields(nil, w.image, schema.Style{}))
	soldText := string(storefront.Links.AppendFields(nil, w.sold, schema.Style{}))
	linkPath, productPath := "links/"+w.link.ID.String(), "products/"+w.products[0].ID.String()
	for name, c := range map[string]struct {
		line    string
		isSound bool
	}{
		"a product's creation":                {line("POST", "products", 201, productText), true},
		"a product's creation, another text":  {line("POST", "products", 201, strings.Replace(productText, `"text":"text"`, `"text":"other"`, 1)), false},
		"a product that is lost":              {line("POST", "products", 201, strings.Replace(productText, w.products[0].ID.String(), fixture.NewID().String(), 1)), false},
		"a link's change":                     {line("PATCH", linkPath, 200, linkText), true},
		"a link's change, another partner":    {line("PATCH", linkPath, 200, strings.Replace(linkText, `"partner_id":`, `"partner_id":9`, 1)), false},
		"a link's change, other payments":     {line("PATCH", linkPath, 200, strings.Replace(linkText, `"count":0`, `"count":9`, 1)), true},
		"a link's change, without products":   {line("PATCH", linkPath, 200, strings.Replace(linkText, `"products":[`, `"products":[],"old":[`, 1)), true},
		"a link's creation":                   {line("POST", "links", 201, soldText), true},
		"a link's creation, another host":     {line("POST", "links", 201, strings.ReplaceAll(soldText, publicBase, "https://other.example")), true},
		"a link's creation, no products":      {line("POST", "links", 201, strings.Replace(soldText, `"products":[`, `"products":[],"old":[`, 1)), false},
		"a link's creation, another product":  {line("POST", "links", 201, strings.ReplaceAll(soldText, w.products[0].ID.String(), w.products[1].ID.String())), false},
		"a link's creation, no image":         {line("POST", "links", 201, strings.Replace(soldText, `"image":"`, `"image":null,"old":"`, 1)), false},
		"a link's creation, another address":  {line("POST", "links", 201, strings.Replace(soldText, `/pay/l/`, `/pay/p/`, 1)), false},
		"a link's change that is lost":        {line("PATCH", "links/"+w.sold.ID.String(), 200, strings.Replace(soldText, `"name":null`, `"name":"new"`, 1)), false},
		"a link's deletion that is lost":      {line("DELETE", "links/"+w.sold.ID.String(), 204, ""), false},
		"a product's deletion":                {line("DELETE", "products/"+w.deleted.ID.String(), 204, ""), true},
		"a product's deletion that is lost":   {line("DELETE", productPath, 204, ""), false},
		"an upload":                           {line("POST", "images", 201, imageText), true},
		"an upload of another size":           {line("POST", "images", 201, strings.Replace(imageText, `"width":3`, `"width":4`, 1)), false},
		"an upload that is lost":              {line("POST", "images", 201, strings.Replace(imageText, w.image.Name()[:31], strings.Repeat("0", 31), 1)), false},
		"the deletion of an unknown product":  {line("DELETE", "products/"+fixture.NewID().String(), 204, ""), false},
		"the reading of a product by address": {line("GET", productPath, 200, productText), true},
	} {
		t.Run(name, func(t *testing.T) {
			var brokenRules []int
			if !c.isSound {
				brokenRules = []int{1}
			}
			fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, c.line)}), brokenRules...)
		})
	}
}
