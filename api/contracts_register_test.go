package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// registerPage is a page of an issue's register: of its subscriptions or of its holders.
type registerPage struct {
	Data []struct {
		Number       int
		Investor     string `json:"investor_id"`
		Certificates int
		Date         string
	}
	Cursor struct {
		Field string  `json:"cursor_field"`
		Value *string `json:"cursor_value"`
	}
}

// readRegister reads a page of the register. path is appended to the contract's URL path.
func (contract *contractFixture) readRegister(path string) (p registerPage) {
	contract.fixture.t.Helper()
	must(contract.fixture.t, json.Unmarshal([]byte(contract.get(contract.path+path).want(200, "").body), &p))
	return p
}

// An issue's detail shows the first subscriptions and how many there are. All subscriptions are read in
// pages, and so are the holders with their certificates.
func TestRegisterOfAnIssueIsPaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues", "total_value", `"30000"`, "underlying_asset_value", `"30000"`, "certificate_value", `"10"`,
		"subscription_start", `"2020-01-01"`, "subscription_end", `"2099-12-31"`)
	contract.mustAct("offering")
	if p := contract.readRegister("/subscriptions"); len(p.Data) != 0 || p.Cursor.Field != "number" || p.Cursor.Value != nil {
		t.Errorf("nobody has subscribed: %+v", p)
	}
	var investors []string
	for i := range 203 {
		investorID := uuid.NewString()
		if i >= 200 {
			investorID = investors[i-200] // the last three subscriptions are by investors who have subscribed before
		}
		investors = append(investors, investorID)
		contract.mustAct("subscribe", "investor_id", fmt.Sprintf("%q", investorID), "certificates", fmt.Sprint(i%7+1))
	}
	var contractData struct {
		Data struct {
			Subscriptions []struct {
				Investor string `json:"investor_id"`
			}
			Total    int `json:"subscriptions_total"`
			Holders  int `json:"holders_total"`
			Progress json.RawMessage
		}
	}
	must(t, json.Unmarshal([]byte(contract.get(contract.path).want(200, "").body), &contractData))
	if data := contractData.Data; len(data.Subscriptions) != 200 || data.Total != 203 || data.Holders != 200 || string(data.Progress) != "null" {
		t.Errorf("%d of %d subscriptions of %d holders are shown, progress %s", len(data.Subscriptions), data.Total, data.Holders, data.Progress)
	}
	if p := contract.readRegister("/subscriptions?cursor=200"); len(p.Data) != 3 || p.Data[0].Number != 201 || p.Data[0].Investor != investors[200] || p.Cursor.Value != nil {
		t.Errorf("behind those of the detail: %+v", p)
	}
	var listed []string
	for cursor := ""; ; {
		p := contract.readRegister("/subscriptions?limit=60" + cursor)
		for _, row := range p.Data {
			listed = append(listed, row.Investor)
			if row.Number != len(listed) || row.Certificates != (len(listed)-1)%7+1 || row.Date == "" {
				t.Fatalf("subscription %d is %+v", len(listed), row)
			}
		}
		if p.Cursor.Value == nil {
			break
		}
		cursor = "&cursor=" + *p.Cursor.Value
	}
	if !slices.Equal(listed, investors) {
		t.Error("the pages show other subscriptions")
	}
	if p := contract.readRegister("/holders"); len(p.Data) != 50 || p.Cursor.Value == nil || *p.Cursor.Value != "50" || p.Data[49].Investor != investors[49] {
		t.Errorf("%+v", p)
	}
	if p := contract.readRegister("/holders?limit=1000"); len(p.Data) != 200 || p.Data[1].Certificates != 2+(201%7+1) || p.Data[1].Investor != investors[1] {
		t.Errorf("%+v", p)
	}
	if p := contract.readRegister("/holders?investor_id=" + investors[2]); len(p.Data) != 1 || p.Data[0].Number != 3 {
		t.Errorf("%+v", p)
	}
	if p := contract.readRegister("/holders?investor_id=" + uuid.NewString()); len(p.Data) != 0 {
		t.Errorf("%+v", p)
	}
	f.wantList("certificate-issues", "?investor_id="+investors[7], contract)
	f.wantList("certificate-issues", "?investor_id="+uuid.NewString())
	for path, field := range map[string]string{
		"/holders?investor_id=5": "investor_id", "/holders?limit=1001": "limit", "/subscriptions?limit=0": "limit", "/subscriptions?cursor=x": "cursor",
		"/subscriptions?investor_id=" + customerID: "investor_id", "/holders?offset=1": "offset",
	} {
		contract.get(contract.path + path).wantFaults(field)
	}
	if p := contract.readRegister("/subscriptions?cursor=18446744073709551615"); len(p.Data) != 0 {
		t.Errorf("%+v", p)
	}
	other := f.createSecular("leases")
	other.get(other.path+"/holders").want(405, "") // a lease has no register: below its path, "holders" could only be the name of an action, which is a POST
	contract.get(secularPath+"certificate-issues/"+customerID+"/holders").want(404, "")
}
