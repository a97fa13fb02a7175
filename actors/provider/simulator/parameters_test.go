package simulator

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

func TestForcedOutcomeHasThreeValues(t *testing.T) {
	for params, fail := range map[string]string{
		`{"fail":"rejected"}`: FailRejected, `{"fail":"failed"}`: FailFailed, `{"fail":"timeout"}`: FailTimeout,
		`{"fail":""}`: "", `{"fail":null}`: "", `{}`: "", `{"fail":"maybe"}`: "refused", `{"fail":1}`: "refused",
	} {
		terminal, _, err := directory.NewTerminal(directory.Terminal{
			ID: uuid.New(), Partner: 3, Name: "T", Provider: directory.Simulator, Type: directory.PaymentTerminal, Env: money.Prod, ProviderParams: []byte(params),
		}, false)
		var refusal *ledger.Refusal
		switch {
		case fail == "refused":
			if !errors.As(err, &refusal) || refusal.Field != "provider_params.fail" {
				t.Errorf("%s: %v", params, err)
			}
		case err != nil:
			t.Errorf("%s: %v", params, err)
		case terminal.Parameters.(*Params).Fail != fail:
			t.Errorf("%s forces %q", params, terminal.Parameters.(*Params).Fail)
		}
	}
}
