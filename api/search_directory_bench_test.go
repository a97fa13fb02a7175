package api_test

import (
	"fmt"
	"sync"
	"testing"

	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// BenchmarkSearchInLargeDirectory searches for a text that no record has, among 30,000 terminals and 10,000 keys.
func BenchmarkSearchInLargeDirectory(b *testing.B) {
	f := newFixture(b)
	org := f.seed.First.Org
	var partners []int64
	for i := range 40 { // a partner may have 1,000 terminals
		p, err := f.directory.CreatePartner(b.Context(), org, directory.Partner{Name: fmt.Sprint("Shop ", i), Login: fmt.Sprint("shop-", i), Active: true}, []byte("nine-Lions-paint"))
		must(b, err)
		partners = append(partners, p.Number)
	}
	var writers sync.WaitGroup
	for w := range 64 {
		writers.Go(func() {
			for i := w; i < 30_000; i += 64 {
				if _, err := f.directory.CreateTerminal(b.Context(), org, directory.Terminal{Name: fmt.Sprint("Cards ", i), Provider: "simulator", Type: directory.PaymentTerminal, Partner: partners[i%40], Env: money.Test, Active: true}); err != nil {
					b.Error(err)
					return
				}
				if i%3 == 0 {
					if _, err := f.directory.CreateAPIKey(b.Context(), org, directory.APIKey{Name: fmt.Sprint("Key ", i), Partner: partners[i%40]}); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	must(b, f.follower.Follow())
	for b.Loop() {
		f.admin().get("/api/v1/search?q=nothing+has+it").want(200, "")
	}
}
