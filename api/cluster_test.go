package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/api"
)

const cluster = "/api/v1/cluster"

// GET /cluster tells which nodes answer, who leads each shard, and how far the replicas are.
func TestClusterShowsNodesAndShards(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster.down["n3"] = true
	a := f.admin().get(cluster).want(200, "")
	for path, want := range map[string]string{
		"data.nodes.0.name": "n1", "data.nodes.0.state": "ok", "data.nodes.0.base_url": "https://n1.example",
		"data.nodes.2.name": "n3", "data.nodes.2.state": "unreachable", "data.nodes.2.base_url": "null",
		"data.nodes.0.version": "v0.0.0-test", "data.nodes.2.version": "null", "data.moves": "[]", "data.schema": "7", "data.keyring": strings.Repeat("5a", 16),
		"data.shards.1.shard": "1", "data.shards.1.leader": "n2", "data.shards.1.organizations": "1",
		"data.shards.1.replicas.0.node": "n1", "data.shards.1.replicas.0.applied": "118", "data.shards.1.replicas.0.lag": "2",
		"data.shards.1.replicas.1.lag": "0", "data.shards.2.leader": "null",
	} {
		if got := a.at(path); got != want {
			t.Errorf("%s is %q, want %q in %s", path, got, want, a.body)
		}
	}
	f.admin().get(cluster + "?shard=1").wantFieldsRefused("shard")
}

// Only the administration token may use the routes about the cluster.
func TestClusterNeedsTheAdministrationToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for status, callers := range map[int][]caller{401: {f.anyone(), f.partner()}, 403: {f.auditor()}} {
		for _, c := range callers {
			c.get(cluster).want(status, "")
			c.post(cluster+"/transfer", `{"shard":1,"node":"n1"}`).want(status, "")
			c.post(cluster+"/move", `{"organization":"`+f.seed.First.Org.String()+`","shard":2}`).want(status, "")
			c.post(cluster+"/nodes", `{"name":"n4","address":"n4:1"}`).want(status, "")
			c.do("DELETE", cluster+"/nodes/n2", "").want(status, "")
		}
	}
}

// A transfer, and adding and removing a node, are carried out by the leaders of the shards. Wrong fields are refused by their names.
func TestClusterIsChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.admin()
	admin.post(cluster+"/transfer", `{"shard":1,"node":"n3"}`).want(200, "")
	admin.post(cluster+"/transfer", `{"shard":0,"node":"n2"}`).want(200, "")
	if got := f.cluster.leaders; got[0] != "n2" || got[1] != "n3" {
		t.Errorf("the leaders are %v", got)
	}
	admin.post(cluster+"/nodes", `{"name":"n4","address":"10.0.0.4:8444","voter":true}`).want(200, "")
	if f.cluster.members["n4"] != "10.0.0.4:8444" {
		t.Errorf("the members are %v", f.cluster.members)
	}
	for body, field := range map[string]string{
		`{"node":"n2"}`: "shard", `{"shard":"1","node":"n2"}`: "shard", `{"shard":3,"node":"n2"}`: "shard", `{"shard":-1,"node":"n2"}`: "shard", `{"shard":1.5,"node":"n2"}`: "shard",
		`{"shard":1}`: "node", `{"shard":1,"node":"n9"}`: "node", `{"shard":1,"node":7}`: "node", `{"shard":1,"node":"n2","why":"x"}`: "why",
	} {
		admin.post(cluster+"/transfer", body).wantFieldsRefused(field)
	}
	for body, field := range map[string]string{
		`{"address":"h:1"}`: "name", `{"name":"N4","address":"h:1"}`: "name", `{"name":"n4"}`: "address", `{"name":"n4","address":"h"}`: "address",
		`{"name":"n4","address":":1"}`: "address", `{"name":"n4","address":"h:1","voter":"yes"}`: "voter", `{"name":"n4","address":"h:1","x":1}`: "x",
	} {
		admin.post(cluster+"/nodes", body).wantFieldsRefused(field)
	}
	admin.post(cluster+"/transfer", `[]`).want(422, "")
	admin.post(cluster+"/transfer", `{"shard":1`).want(400, "")
	admin.do("DELETE", cluster+"/nodes/n9", "").want(404, "")
}

// The leader of the organization's shard begins to move it, whichever node is asked, and every node shows the move. Refusals of the
// leader reach the caller with their status, and wrong fields are refused by their names.
func TestClusterMovesOrganizations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin, org := f.admin(), f.seed.First.Org.String()
	move := func(org, shard string) *response {
		return admin.post(cluster+"/move", `{"organization":"`+org+`","shard":`+shard+`}`)
	}
	for _, leader := range []string{"n2", "n1"} { // n1 is the node that is asked
		f.cluster.leaders[1], f.cluster.moves = leader, nil
		if a := move(org, "1").want(409, ""); !strings.Contains(a.body, "in shard 1 already") {
			t.Errorf("%s leads: %s", leader, a.body)
		}
		move(uuid.NewString(), "2").want(404, "")
		for range 2 { // repeating the request does no harm
			a := move(org, "2").want(202, "")
			for path, want := range map[string]string{"data.organization": org, "data.from": "1", "data.to": "2", "data.state": "copying"} {
				if got := a.at(path); got != want {
					t.Errorf("%s leads: %s is %q, want %q in %s", leader, path, got, want, a.body)
				}
			}
		}
		shown := admin.get(cluster).want(200, "")
		for path, want := range map[string]string{"data.moves.0.organization": org, "data.moves.0.to": "2", "data.moves.0.error": "null", "data.moves.1": "(absent)"} {
			if got := shown.at(path); got != want {
				t.Errorf("%s leads: %s is %q, want %q in %s", leader, path, got, want, shown.body)
			}
		}
	}
	for body, field := range map[string]string{
		`{"shard":2}`: "organization", `{"organization":"x","shard":2}`: "organization", `{"organization":7,"shard":2}`: "organization",
		`{"organization":"` + org + `"}`: "shard", `{"organization":"` + org + `","shard":0}`: "shard", `{"organization":"` + org + `","shard":3}`: "shard",
		`{"organization":"` + org + `","shard":"2"}`: "shard", `{"organization":"` + org + `","shard":1.5}`: "shard", `{"organization":"` + org + `","shard":2,"x":1}`: "x",
	} {
		admin.post(cluster+"/move", body).wantFieldsRefused(field)
	}
}

// If a shard has no leader, or its leader does not carry out a change, the response is 503.
func TestClusterChangesFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster.down["n3"] = true
	f.admin().post(cluster+"/transfer", `{"shard":2,"node":"n1"}`).want(503, "")
	f.cluster.leaders[2] = ""
	f.admin().post(cluster+"/transfer", `{"shard":2,"node":"n1"}`).want(503, "")
	f.cluster.failure = errors.New("the node is too slow")
	f.admin().post(cluster+"/transfer", `{"shard":1,"node":"n1"}`).want(503, "") // n2 refuses
	f.admin().post(cluster+"/transfer", `{"shard":0,"node":"n2"}`).want(503, "") // this node refuses
}

// Nobody can take the majority from a shard: nodes that do not answer, and a new one, must be fewer than half of those that decide.
func TestClusterKeepsItsMajority(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.admin()
	f.cluster.down["n3"], f.cluster.leaders[2] = true, "n2"
	want := func(a *response, names string) {
		t.Helper()
		if a.want(409, ""); !strings.Contains(a.body, "do not answer: "+names+".") {
			t.Error(a.body)
		}
	}
	want(admin.post(cluster+"/nodes", `{"name":"n4","address":"10.0.0.4:8444","voter":true}`), "n3, n4")
	want(admin.do("DELETE", cluster+"/nodes/n2", ""), "n3")
	if len(f.cluster.members) > 0 {
		t.Errorf("the members are %v", f.cluster.members)
	}
	admin.post(cluster+"/nodes", `{"name":"n4","address":"10.0.0.4:8444"}`).want(200, "") // without a vote
	if f.cluster.members["n4"] == "" {
		t.Error("n4 was not added")
	}
	admin.do("DELETE", cluster+"/nodes/n3", "").want(200, "")
}

// A server that is no node of a cluster has no such routes.
func TestOneServerHasNoCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *api.Config) { c.Front = nil })
	f.admin().get(cluster).want(404, "")
	f.admin().post(cluster+"/transfer", `{"shard":1,"node":"n1"}`).want(404, "")
}
