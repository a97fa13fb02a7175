package operations

import (
	"mizan/api/description/spec"
	"mizan/ledger"
)

// clusterOperations returns the operations for the nodes of a cluster.
func clusterOperations() []spec.Operation {
	const path = v1 + "/cluster"
	const move = `{"organization":"$exampleOrganization","shard":2}`
	number := func(text string) spec.Member { return spec.Required("shard", spec.Integer(0), text) }
	changed := spec.Data(spec.Object(spec.Required("shards", spec.Integer(2), "number of shards that were changed: all, the platform's included")))
	noLeader := spec.Refusal{Code: ledger.Unavailable, When: "the platform's shard, which knows the administration tokens, has no leader"}
	unchanged := spec.Refusal{Code: ledger.Unavailable, When: "a shard has no leader, or its leader does not carry out the change in time"}
	return []spec.Operation{{
		ID: "getCluster", Method: "GET", Path: path, Tag: tagCluster, Summary: "Read the nodes of the cluster and the leaders of the shards", PlatformWide: true, OnlyOnNode: true,
		Answers: ok(spec.Data(clusterSchema())), Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "the query has a parameter"}, noLeader},
		Examples: []spec.Example{{Setup: []spec.Request{{As: "admin", Method: "POST", Path: path + "/move", Body: move}}}},
	}, {
		ID: "transferShard", Method: "POST", Path: path + "/transfer", Tag: tagCluster, Summary: "Hand the lead of a shard to another node", PlatformWide: true, OnlyOnNode: true,
		Body:    spec.JSON(spec.Object(number("number of the shard; 0 is the platform's"), spec.Required("node", spec.Text(), "name of the node that is to lead the shard"))),
		Answers: ok(spec.Data(spec.Object(number("number of the shard"), spec.Required("leader", spec.Text(), "name of the node that leads the shard now")))),
		Refusals: []spec.Refusal{
			{Code: ledger.Invalid, When: "there is no such shard or node, or the body has another field"}, noLeader,
			{Code: ledger.Unavailable, When: "the node has not taken over in time, for example because it does not run or lacks too much of the shard"},
		},
		Examples: []spec.Example{{Body: `{"shard":1,"node":"n3"}`}},
	}, {
		ID: "moveOrganization", Method: "POST", Path: path + "/move", Tag: tagCluster, Summary: "Move an organization to another shard", PlatformWide: true, OnlyOnNode: true,
		Body: spec.JSON(spec.Object(spec.Required("organization", spec.UUID(), "the organization"), spec.Required("shard", spec.Integer(1), "number of the shard that is to have it"))),
		Answers: []spec.Answer{{Status: 202, Text: "The move has begun, or is under way.", Schema: spec.Data(spec.Object(append(movedOrganization(),
			spec.Required("state", spec.Words("copying"), "the rows are being copied"))...))}},
		Refusals: []spec.Refusal{
			{Code: ledger.Invalid, When: "`organization` is no id, `shard` is the platform's or does not exist, or the body has another field"},
			{Code: ledger.NotFound, When: "there is no such organization"},
			{Code: ledger.Conflict, When: "the organization is in the shard already, or is being moved to another one"}, noLeader,
			{Code: ledger.Unavailable, When: "the organization's shard has got no leader in time, or its leader has not answered: whether the move has begun is then unknown"},
		},
		Examples: []spec.Example{{Body: move}},
	}, {
		ID: "addNode", Method: "POST", Path: path + "/nodes", Tag: tagCluster, Summary: "Add a node to all shards", PlatformWide: true, OnlyOnNode: true,
		Body: spec.JSON(spec.Object(
			spec.Required("name", spec.Text(), "name of the node: lower-case letters, digits and hyphens"),
			spec.Required("address", spec.Text(), "`HOST:PORT` at which the other nodes reach the node"),
			spec.Optional("voter", spec.Nullable(spec.Bool()), "false: the node gets what the others have, but its confirmations do not count; true: they count"),
		)),
		Answers: ok(changed), Refusals: []spec.Refusal{{Code: ledger.Invalid, When: "the name or the address is malformed, or the body has another field"},
			{Code: ledger.Conflict, When: "`voter` is true, and so many nodes do not answer that the shards would have no majority"}, noLeader, unchanged},
		Examples: []spec.Example{{Body: `{"name":"n4","address":"10.0.0.4:8444","voter":false}`}},
	}, {
		ID: "removeNode", Method: "DELETE", Path: path + "/nodes/{name}", Tag: tagCluster, Summary: "Remove a node from all shards", PlatformWide: true, OnlyOnNode: true,
		Parameters: []spec.Parameter{spec.InPath("name", spec.Text(), "The name of the node.")},
		Answers:    ok(changed), Refusals: []spec.Refusal{{Code: ledger.NotFound, When: "the cluster has no such node"},
			{Code: ledger.Conflict, When: "so many of the other nodes do not answer that the shards would have no majority"}, noLeader, unchanged},
		Examples: []spec.Example{{Path: map[string]string{"name": "n3"}}},
	}}
}

// clusterSchema returns the schema for the response to GET /cluster.
func clusterSchema() *spec.Schema {
	return spec.Object(
		spec.Required("nodes", spec.List(spec.Object(
			spec.Required("name", spec.Text(), "name of the node"),
			spec.Required("base_url", spec.Nullable(spec.Text()), "the node's own address; null if the node does not answer"),
			spec.Required("state", spec.Words("ok", "starting", "stopping", "cut_off", "low_space", "unreachable"), "`ok` if the node accepts commands; `cut_off` if it leads no shard and has heard from no leader for 5 s; `unreachable` if it has not answered the node that was asked"),
			spec.Required("version", spec.Nullable(spec.Text()), "version of the program; null if the node does not answer"),
		)), "the nodes, by their names"),
		spec.Required("shards", spec.List(spec.Object(
			spec.Required("shard", spec.Integer(0), "number of the shard; 0 is the platform's, which has no organizations"),
			spec.Required("leader", spec.Nullable(spec.Text()), "name of the node that serves the shard; null if none does"),
			spec.Required("replicas", spec.List(spec.Object(
				spec.Required("node", spec.Text(), "name of the node"),
				spec.Required("applied", spec.Integer(0), "number of the last group of changes in the node's copy"),
				spec.Required("lag", spec.Integer(0), "number of groups that the leader has and this node has not"),
			)), "the copies of the nodes that answer"),
			spec.Required("organizations", spec.Integer(0), "number of the shard's organizations; 0 if no node serves the shard"),
		)), "the shards, by their numbers"),
		spec.Required("moves", spec.List(spec.Object(append(movedOrganization(),
			spec.Required("state", spec.Words("copying", "moved", "failed"), "`copying` while the move is under way; `moved` if the other shard has the organization; `failed` if it has stayed"),
			spec.Required("rows", spec.Integer(0), "number of rows that were copied"),
			spec.Required("bytes", spec.Integer(0), "size of these rows, in bytes"),
			spec.Required("started_at", spec.Instant(), "when the move began"),
			spec.Required("pause_ms", spec.Integer(0), "how long no shard accepted changes of the organization, in milliseconds; 0 while the move is under way, or if an earlier leader has made it"),
			spec.Required("error", spec.Nullable(spec.Text()), "why the organization has stayed; null if it has not"),
		)...)), "moves of organizations that are under way, and the last ones that have ended; moves that have failed are forgotten when their shard gets another leader"),
		spec.Required("schema", spec.Integer(1), "number of the forms in which rows are stored; the same on all nodes"),
		spec.Required("keyring", spec.Text(), "fingerprint of the keyring that all nodes share, in hexadecimal digits"),
	)
}

// movedOrganization returns the members that say which organization is moved, and where.
func movedOrganization() []spec.Member {
	return []spec.Member{
		spec.Required("organization", spec.UUID(), "the organization"),
		spec.Required("from", spec.Integer(1), "number of the shard that it leaves"),
		spec.Required("to", spec.Integer(1), "number of the shard that is to have it"),
	}
}
