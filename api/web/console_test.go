package web

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// oneVisitor is a directory with one session of the console, of role auditor.
type oneVisitor struct {
	auth.Directory
	org    ledger.ID
	status directory.OrgStatus
}

// ConsoleSession implements auth.Directory.
func (d oneVisitor) ConsoleSession(org ledger.ID, token []byte, _ ledger.Micros) (*directory.Session, bool) {
	return &directory.Session{Org: org, Roles: directory.Roles{directory.Auditor}, Console: true}, org == d.org && string(token) == "mzs_good"
}

// Organization implements auth.Directory.
func (d oneVisitor) Organization(id ledger.ID) (*directory.Organization, bool) {
	return &directory.Organization{ID: id, Status: d.status}, id == d.org
}

// A page admits only persons with its roles, whatever its handler does.
func TestVisitorsAreAdmittedByTheirRoles(t *testing.T) {
	org := uuid.MustParse("3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d01")
	for name, c := range map[string]struct {
		cookie string
		roles  []directory.Role
		status directory.OrgStatus
		want   ledger.Code
	}{
		"its role":               {org.String() + ".mzs_good", []directory.Role{directory.Admin, directory.Auditor}, directory.Active, ""},
		"another role":           {org.String() + ".mzs_good", []directory.Role{directory.Admin}, directory.Active, ledger.Forbidden},
		"no role":                {org.String() + ".mzs_good", nil, directory.Active, ledger.Forbidden},
		"organization not ready": {org.String() + ".mzs_good", directory.AllRoles, directory.Maintenance, ledger.Unauthorized},
		"another token":          {org.String() + ".mzs_bad", directory.AllRoles, directory.Active, ledger.Unauthorized},
		"another organization":   {uuid.NewString() + ".mzs_good", directory.AllRoles, directory.Active, ledger.Unauthorized},
		"no organization":        {"mzs_good", directory.AllRoles, directory.Active, ledger.Unauthorized},
		"no cookie":              {"", directory.AllRoles, directory.Active, ledger.Unauthorized},
	} {
		ctx := new(fasthttp.RequestCtx)
		ctx.Request.Header.SetCookie(SessionCookie, c.cookie)
		req := &Request{RequestCtx: ctx, Route: &Route{Access: Access{Callers: Visitor, Roles: c.roles}}}
		a := Authorizer{Authenticator: auth.Authenticator{Directory: oneVisitor{org: org, status: c.status}, Clock: clock.NewManual(time.Unix(0, 0))}}
		err := a.Admit(req)
		if c.want == "" && (err != nil || req.Principal.Session == nil || req.Principal.Org != org) || c.want != "" && !ledger.IsRefusal(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
