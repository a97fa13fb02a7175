package api_test

import (
	"fmt"
	"testing"

	"mizan/ledger/directory"
)

// BenchmarkSearch searches for a text that no record has, the most expensive case, among 100 partners and 500 payments.
func BenchmarkSearch(b *testing.B) {
	f := newFixture(b)
	for i := range 100 {
		_, err := f.directory.CreatePartner(b.Context(), f.seed.First.Org, directory.Partner{Name: "Shop", Login: fmt.Sprint("shop-", i), Active: true}, []byte("nine-Lions-paint"))
		must(b, err)
	}
	for i := range 500 {
		f.partner().post("/api/v1/transactions", paymentBody(fmt.Sprintf(`"txid":"order-%d","amount":"1000","currency":"USD"`, i))).want(201, "")
	}
	for b.Loop() {
		f.admin().get("/api/v1/search?q=nothing+has+it").want(200, "")
	}
}
