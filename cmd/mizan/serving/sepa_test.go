package serving_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/actors/provider/sepa"
	"mizan/internal/testkit"
)

// A payout goes from the request into a file for the bank, survives a kill, and is charged when the bank's file has come. The
// account is in no file of the server.
func TestPayoutBySEPACreditTransfer(t *testing.T) {
	const iban, v1 = "FR1420041010050500013M02606", "/api/v1"
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, sepa.RootFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--clock", "manual", "--sepa-dir", root}
	s := testkit.Start(t, testkit.Options{Flags: flags})
	send := func(want int, method, path string, body any, client *testkit.Client) map[string]any {
		t.Helper()
		a, err := client.Do(method, v1+path, body)
		testkit.WantStatus(t, a, err, want)
		var object map[string]any
		if err := json.Unmarshal(a.Body, &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	terminal := send(201, "POST", "/terminal", map[string]any{
		"partner_id": s.Sandbox.PartnerID, "name": "bank", "provider": "sepa", "type": "payout", "env": "prod",
		"provider_params": map[string]any{"debtor_name": "Mizan Payments GmbH", "debtor_iban": "DE89370400440532013000", "currencies": []string{"EUR"}, "methods": []string{"sepa"}, "priority": -100},
	}, s.Admin())["data"].(map[string]any)["id"].(string)
	payout := func(iban, holder string) map[string]any {
		return map[string]any{"params": map[string]any{
			"type": "payout", "amount": "1234", "currency": "EUR", "env": "prod", "returnUrl": "https://shop.example/ok", "failUrl": "https://shop.example/no",
			"money_storage": map[string]string{"type": "sepa", "iban": iban, "account_holder": holder},
		}}
	}
	for field, body := range map[string]map[string]any{"money_storage.iban": payout("FR1520041010050500013M02606", "Jane Doe"), "money_storage.account_holder": payout(iban, "Jürgen")} {
		a, err := s.Partner().Post(v1+"/transactions", body)
		testkit.WantStatus(t, a, err, 422)
		if !strings.Contains(string(a.Body), field) {
			t.Errorf("the refusal does not name %s: %s", field, a.Body)
		}
	}
	tx := send(201, "POST", "/transactions", payout(iban, "Jane Doe"), s.Partner())
	id := tx["id"].(string)
	if tx["status"] != "charging" {
		t.Fatalf("the payout is %v", tx)
	}
	endToEnd := strings.ReplaceAll(id, "-", "")
	out := filepath.Join(root, terminal, "out", endToEnd+".xml")
	if content, err := os.ReadFile(out); err != nil || !strings.Contains(string(content), "<IBAN>"+iban+"</IBAN>") || !strings.Contains(string(content), `<InstdAmt Ccy="EUR">12.34</InstdAmt>`) {
		t.Fatalf("the file for the bank: %v\n%s", err, content)
	}
	if err := os.Remove(out); err != nil { // as the transport does
		t.Fatal(err)
	}
	s.Kill()
	s.Restart(flags...)
	booked := `<Document><BkToCstmrDbtCdtNtfctn><Ntfctn><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct><Ntry><Amt Ccy="EUR">12.34</Amt><CdtDbtInd>DBIT</CdtDbtInd>` +
		`<Sts><Cd>BOOK</Cd></Sts><NtryDtls><TxDtls><Refs><EndToEndId>` + endToEnd + `</EndToEndId></Refs></TxDtls></NtryDtls></Ntry></Ntfctn></BkToCstmrDbtCdtNtfctn></Document>`
	if err := os.WriteFile(filepath.Join(root, terminal, "in", "1.xml"), []byte(booked), 0o600); err != nil {
		t.Fatal(err)
	}
	send(200, "PUT", "/sandbox/clock", map[string]int{"advance_seconds": 3600}, s.Admin())
	if tx := send(200, "GET", "/transactions/"+id, nil, s.Partner()); tx["status"] != "charged" {
		t.Errorf("the payout is %v\n%s", tx, s.Stderr())
	}
	if files, err := os.ReadDir(filepath.Dir(out)); err != nil || len(files) != 0 {
		t.Errorf("the payout was handed over again: %v %v", files, err)
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("stopped with %d", code)
	}
	canaries := testkit.WriteFile(t, "canaries", iban+"\n")
	if r := testkit.Run(t, nil, "audit", "verify", "--data", s.Dir, "--canaries", canaries); r.Exit != 0 || strings.Contains(s.Stderr(), iban) {
		t.Errorf("verify: %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
}
