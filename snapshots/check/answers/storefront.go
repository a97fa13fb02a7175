package answers

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/storefront"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about payment links, products and images. A
// response shows complete URLs, which begin with the address of the service, and shows the products of a link with all their
// columns. The store has only names and ids. So only the path of a URL and the id of a product are compared.

// addressColumns are the columns in which responses show URLs of the service.
var addressColumns = []string{"url", "qr_url", "image"}

// productsColumn is the column of a link in which responses show its products.
const productsColumn = "products"

func isOfStorefront(kind ledger.Kind) bool {
	return kind == ledger.Link || kind == ledger.Product || kind == ledger.Image
}

// storefrontValue returns the part of a column's value that is compared: the path of a URL, or the ids of products. For these
// columns isComparable is true, although their values depend on more than the record (schema.Column.Contextual).
func storefrontValue(kind ledger.Kind, column string, value []byte) (comparable []byte, isComparable bool) {
	if !isOfStorefront(kind) {
		return value, false
	}
	switch {
	case slices.Contains(addressColumns, column):
		var text string
		if json.Unmarshal(value, &text) != nil {
			return value, true
		}
		if u, err := url.Parse(text); err == nil {
			text = u.Path
		}
		return []byte(text), true
	case column == productsColumn:
		var products []struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(value, &products) != nil {
			return value, true
		}
		var ids []string
		for _, p := range products {
			ids = append(ids, p.ID)
		}
		return []byte(strings.Join(ids, " ")), true
	}
	return value, false
}

// storedProducts returns the products of a stored link, with the members that storefrontValue reads.
func storedProducts(l *storefront.Link) []byte {
	products := []map[string]string{}
	for _, p := range l.Products {
		products = append(products, map[string]string{"id": p.ID.String()})
	}
	return encodeJSON(products)
}

// imageID returns the id of the image at a URL. If the URL is not that of an image, the id is empty.
func imageID(address string) string {
	id, _, ok := storefront.ParseName(path.Base(address))
	if !ok {
		return ""
	}
	return id.String()
}
