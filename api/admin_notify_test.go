package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// notifiableRecords are the two kinds of records with a notification address. Each has the path and the
// body that create a record, the body that changes it, and the name of the address's field.
var notifiableRecords = []struct{ name, createPath, createBody, changeBody, field string }{
	{"partner", "/api/v1/partners", `{"name":"n","login":"%[2]s","pass":"nine-Lions-paint","notify_url":%[1]s}`, `{"notify_url":%s}`, "notify_url"},
	{"terminal", "/api/v1/terminal", `{"name":"%[2]s","partner_id":1,"provider":"simulator","type":"merchant","merchant_params":{"notify_url":%[1]s}}`,
		`{"merchant_params":{"notify_url":%s}}`, "merchant_params.notify_url"},
}

// wantAddressAccepted creates one record of each kind with the address, and changes another one to have the address. It checks
// that all requests are accepted, or that all are refused. paths has, for each kind, the URL path of the record to change.
func (f *fixture) wantAddressAccepted(address string, accepted bool, paths map[string]string) {
	f.t.Helper()
	for _, record := range notifiableRecords {
		before := f.events()
		created := f.admin().post(record.createPath, fmt.Sprintf(record.createBody, address, fmt.Sprint("login-", before)))
		changed := f.admin().patch(paths[record.name], fmt.Sprintf(record.changeBody, address))
		if accepted {
			created.want(201, "")
			changed.want(200, "")
			if path := "data." + record.field; created.at(path) != strings.Trim(address, `"`) || changed.at(path) != strings.Trim(address, `"`) {
				f.t.Errorf("%s is shown as %s and %s", address, created.at(path), changed.at(path))
			}
			continue
		}
		created.wantFieldsRefused(record.field)
		changed.wantFieldsRefused(record.field)
		if f.events() != before {
			f.t.Errorf("%s: something was stored", address)
		}
	}
}

func TestNotificationAddressIsCheckedWhenItIsSet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paths := f.patchablePaths()
	for _, allowPrivate := range []bool{false, true} {
		f.directory.AllowPrivateAddresses(allowPrivate)
		for _, address := range []string{
			`"x"`, `"ftp://shop.example/"`, `"https:///x"`, `"https://shop.example:99999/"`, `"https://u:p@shop.example/"`, `"https://u@shop.example/"`, `"https://shop.example/#top"`, `"https://shop.example/a b"`,
			`"https://shop.example/\u0000"`, `"https://shop.example/\r\nx: y"`, `"https://shöp.example/"`, `"https://shop.example:70000/"`, `"https://shop.example/` + strings.Repeat("a", 2048) + `"`, `5`, `["https://shop.example/"]`,
			`"http://127.1/"`, `"http://2130706433/"`, `"http://0x7f.1/"`, `"http://0177.0.0.1/"`, `"http://[fe80::1%25eth0]/"`,
		} {
			f.wantAddressAccepted(address, false, paths)
		}
		for _, address := range []string{`"https://shop.example/hook?a=b"`, `"http://shop.example:8080/hook"`, `"https://8.8.8.8/"`, `"https://[2606:4700::1111]:8443/"`} {
			f.wantAddressAccepted(address, true, paths)
		}
		for _, host := range []string{
			"127.0.0.1:9", "localhost", "a.localhost.", "[::1]", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "[fe80::1]", "[fc00::1]", "100.64.0.1",
			"[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0",
		} {
			f.wantAddressAccepted(`"http://`+host+`/hook"`, allowPrivate, paths)
			f.wantAddressAccepted(`"https://`+host+`/hook"`, allowPrivate, paths)
		}
	}
}

// A stored private address remains valid when private addresses are no longer allowed: a request may send it
// back unchanged, and the record's other fields may change.
func TestStoredPrivateNotificationAddressMayStay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.directory.AllowPrivateAddresses(true)
	paths := f.patchablePaths()
	f.wantAddressAccepted(`"http://10.0.0.1/hook"`, true, paths)
	f.directory.AllowPrivateAddresses(false)
	for _, record := range notifiableRecords {
		read := f.admin().get(paths[record.name]).want(200, "")
		before := f.events()
		f.admin().patch(paths[record.name], read.dataObject()).want(200, read.body)
		if f.events() != before {
			t.Error("what was read and sent back has changed something")
		}
		f.admin().patch(paths[record.name], `{"name":"another"}`).want(200, "")
	}
	f.admin().patch(paths["terminal"], `{"merchant_params":{"notify_url":"http://10.0.0.1/hook","secret":"s"}}`).want(200, "")
	f.admin().patch(paths["terminal"], `{"merchant_params":{"notify_url":"http://10.0.0.2/hook","secret":"s"}}`).wantFieldsRefused("merchant_params.notify_url")
	f.restart()
	if got := f.admin().get(paths["terminal"]).at("data.merchant_params.notify_url"); got != "http://10.0.0.1/hook" {
		t.Errorf("after a restart it is %s", got)
	}
}
