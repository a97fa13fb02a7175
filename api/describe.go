package api

import (
	"io"
	"log/slog"
	"time"

	"mizan/api/admin"
	"mizan/api/checkout"
	"mizan/api/contracts"
	"mizan/api/description"
	ledgerapi "mizan/api/ledger"
	"mizan/api/payments"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/clock"
	"mizan/internal/secret"
)

// Describe returns the description of the API (an OpenAPI document) of a server that has every route. It starts no server. The
// services in the Config here do nothing, because only the routes' handlers call services. The API's clients are generated from
// the description.
func Describe(version string) *description.Document {
	s := New(Config{
		Version:         version,
		Log:             slog.New(slog.DiscardHandler),
		Clock:           clock.Real{},
		Payments:        struct{ payments.Transactions }{},
		Directory:       struct{ Directory }{},
		Journal:         struct{ web.Journal }{},
		Advance:         func(time.Time) error { return nil },
		UsageReader:     struct{ admin.UsageReader }{},
		Pages:           payerpage.Pages{Tokens: new(secret.PageTokens)},
		Payers:          struct{ checkout.Payers }{},
		Challenges:      struct{ checkout.Challenges }{},
		ProviderUpdates: struct{ payments.Updates }{},
		Deliveries:      struct{ admin.Deliveries }{},
		Periods:         struct{ ledgerapi.Periods }{},
		Backup:          func(*admin.BackupBase) (io.ReadCloser, error) { return nil, nil },
		Contracts:       struct{ contracts.Service }{},
		Subscriptions:   struct{ payments.Subscriptions }{},
		Storefront:      struct{ Storefront }{},
		Turnover:        struct{ payments.Turnover }{},
	})
	defer s.stop()
	return s.reference.Document()
}
