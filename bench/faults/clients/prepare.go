package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Prepare makes the merchant's terminals in the test environment two-phase: they hold the money until it is captured. If notifyURL is not
// empty, Prepare also sets it as the address for the merchant's notifications.
func Prepare(ctx context.Context, a Access, client *http.Client, adminToken, notifyURL string) error {
	call := func(method, path, body string, into any) error {
		request, err := http.NewRequestWithContext(ctx, method, a.BaseURL+path, bytes.NewReader([]byte(body)))
		if err != nil {
			return err
		}
		request.Header.Set("authorization", "Bearer "+adminToken)
		request.Header.Set("x-organization-id", a.OrganizationID)
		request.Header.Set("content-type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("clients: %s %s answered %d: %s", method, path, response.StatusCode, content)
		}
		if err == nil && into != nil {
			err = json.Unmarshal(content, into)
		}
		return err
	}
	var terminals struct {
		Data []struct{ ID, Env string }
	}
	if err := call(http.MethodGet, fmt.Sprintf("/api/v1/terminals?partner_id=%d&limit=100", a.PartnerID), "", &terminals); err != nil {
		return err
	}
	held := 0
	for _, terminal := range terminals.Data {
		if terminal.Env != "test" {
			continue
		}
		if err := call(http.MethodPatch, "/api/v1/terminal/"+terminal.ID, `{"provider_params":{"two_phase":true}}`, nil); err != nil {
			return err
		}
		held++
	}
	if held == 0 {
		return fmt.Errorf("clients: partner %d has no terminal of env test", a.PartnerID)
	}
	if notifyURL == "" {
		return nil
	}
	return call(http.MethodPatch, fmt.Sprintf("/api/v1/partners/%d", a.PartnerID), fmt.Sprintf(`{"notify_url":%q,"secret":"whsec-faults"}`, notifyURL), nil)
}
