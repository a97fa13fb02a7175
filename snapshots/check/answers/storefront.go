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

// Rule 1, payment links, products and images. A response shows addresses under the service's own address, which may
// change, and whole products of a link. The store has names and ids.

// addressColumns are the columns with addresses of the service.
var addressColumns = []string{"url", "qr_url", "image"}

// productsColumn is a link's column with its products.
const productsColumn = "products"

func isOfStorefront(kind ledger.Kind) bool {
	return kind == ledger.Link || kind == ledger.Product || kind == ledger.Image
}

// storefrontValue returns the value of a column in the form in which responses and the store are compared: of an address its
// path, of products their ids. isComparable is true for these columns, although they are contextual.
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

// storedProducts returns the products of a stored link as far as storefrontValue reads them.
func storedProducts(l *storefront.Link) []byte {
	products := []map[string]string{}
	for _, p := range l.Products {
		products = append(products, map[string]string{"id": p.ID.String()})
	}
	return encodeJSON(products)
}

// imageID returns the id of the image at an address; empty if it is none.
func imageID(address string) string {
	id, _, ok := storefront.ParseName(path.Base(address))
	if !ok {
		return ""
	}
	return id.String()
}
