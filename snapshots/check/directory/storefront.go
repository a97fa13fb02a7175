package directory

import (
	"bytes"
	"image"
	_ "image/jpeg" // decoders for the formats of stored images
	_ "image/png"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/storefront"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rules 3 and 4 of the checker (states of records, claims, lists), this file checks payment links, products and images.
// Each link and each product is in the list of its partner. The address of each link, product and image has a claim: a row that
// makes the address unique and names the record's organization. The products of a link belong to the link's partner. The image
// of a link or a product exists. Each image and each of its smaller copies has the format and the size that the image's record
// says. A smaller copy shows the whole image.

// Link holds the facts about a payment link that other rules use.
type Link struct {
	Partner int64
	Asset   money.Asset
}

// linkProducts are the products that a link names.
type linkProducts struct {
	org     ledger.ID
	link    ledger.ID
	partner int64
	ids     []ledger.ID
}

// namedImage is the image that a link or a product names.
type namedImage struct {
	org    ledger.ID
	name   string
	source ledger.Source // the link or the product that names the image
}

func (c *Check) checkLink(r *scan.Record, l *storefront.Link) {
	first, further := storefront.LinkLists.Of(l)
	r.Organization.Histories.ExpectLists(r.History, first, further...)
	c.Facts.Links[scan.RecordKey{Org: r.Organization.ID, ID: l.ID}] = Link{l.Partner, l.Asset()}
	products := linkProducts{org: r.Organization.ID, link: l.ID, partner: l.Partner}
	seen := make(map[ledger.ID]bool)
	for _, p := range l.Products {
		if seen[p.ID] {
			c.Fault(r, "has product %v twice", p.ID)
		}
		seen[p.ID] = true
		products.ids = append(products.ids, p.ID)
	}
	if products.ids != nil {
		c.linksWithProducts = append(c.linksWithProducts, products)
	}
	c.noteImage(r, l.Image)
	c.noteAddressOf(r)
}

func (c *Check) checkProduct(r *scan.Record, p *storefront.Product) {
	first, further := storefront.ProductLists.Of(p)
	r.Organization.Histories.ExpectLists(r.History, first, further...)
	c.productOwners[scan.RecordKey{Org: r.Organization.ID, ID: p.ID}] = p.Partner
	c.noteImage(r, p.Image)
	c.noteAddressOf(r)
}

// noteImage records that a link or a product names an image, which must exist.
func (c *Check) noteImage(r *scan.Record, p storefront.Picture) {
	if p.Name != "" {
		c.namedImages = append(c.namedImages, namedImage{r.Organization.ID, p.Name, r.Source})
	}
}

func (c *Check) checkImage(r *scan.Record, m *storefront.Image) {
	if !isPicture(m.Content, m.Format, m.Width, m.Height) {
		c.Fault(r, "is no %s of %d by %d pixels", m.Format, m.Width, m.Height)
	}
	for _, b := range storefront.SmallerSizes {
		if f := m.SizedFor(b.Purpose); len(f.Content) > b.Bytes {
			c.Fault(r, "has no form for a %s, although its content has %d bytes", f.Purpose, len(f.Content))
		}
	}
	for i := range m.Sizes {
		f := &m.Sizes[i]
		switch {
		case !isPicture(f.Content, f.Format, f.Width, f.Height):
			c.Fault(r, "has as form for a %s no %s of %d by %d pixels", f.Purpose, f.Format, f.Width, f.Height)
		case !haveSameRatio(f, m):
			c.Fault(r, "of %d by %d pixels has another ratio than its form for a %s, of %d by %d", m.Width, m.Height, f.Purpose, f.Width, f.Height)
		}
	}
	c.imageNames[m.Name()] = true
	c.noteAddressOf(r)
}

// isPicture tells whether content is a picture in this format with this width and height.
func isPicture(content []byte, format storefront.Format, width, height int64) bool {
	config, name, err := image.DecodeConfig(bytes.NewReader(content))
	if name == "jpeg" {
		name = string(storefront.JPEG)
	}
	return err == nil && name == string(format) && int64(config.Width) == width && int64(config.Height) == height
}

// haveSameRatio tells whether f, a smaller copy of the image m, has the same ratio of width to height as m. Rounding may have
// changed the sides of f by two pixels.
func haveSameRatio(f *storefront.SizedImage, m *storefront.Image) bool {
	const rounding = 2
	skew := f.Width*m.Height - f.Height*m.Width
	return max(skew, -skew) <= rounding*max(m.Width, m.Height)
}

// noteAddressOf records that there must be a claim on the record's address.
func (c *Check) noteAddressOf(r *scan.Record) {
	c.Facts.Addresses[storefront.AddressKey(r.Source)] = r.Organization.ID
}

// CheckStorefront checks that the products and images that an organization's links and products name exist. It is
// called after all records of the organization have been read.
func (c *Check) CheckStorefront(o *scan.Organization) {
	for _, products := range c.linksWithProducts {
		for _, id := range products.ids {
			if owner, exists := c.productOwners[scan.RecordKey{Org: products.org, ID: id}]; !exists || owner != products.partner {
				c.Report.Breach(findings.RuleStates, "organization %v: link %v has product %v, which its partner does not have", o.ID, products.link, id)
			}
		}
	}
	for _, named := range c.namedImages {
		if !c.imageNames[named.name] {
			c.Report.Breach(findings.RuleStates, "organization %v: %s %v has image %s, which does not exist", o.ID, scan.KindName(named.source.Kind), named.source.ID, named.name)
		}
	}
	c.linksWithProducts, c.namedImages = nil, nil
	clear(c.imageNames)
}

// CheckAddresses compares the platform's claims on public addresses with the records of all organizations.
func (c *Check) CheckAddresses() {
	for key, org := range c.Facts.Addresses {
		if owner, claimed := c.Facts.ClaimedAddresses[key]; !claimed || owner != org {
			c.Report.Breach(findings.RuleClaims, "organization %v: the record %s has no claim on its address", org, key)
		}
		delete(c.Facts.ClaimedAddresses, key)
	}
	for key, org := range c.Facts.ClaimedAddresses {
		c.Report.Breach(findings.RuleClaims, "a claim on the address of the record %s names organization %v, which does not have it", key, org)
	}
}
