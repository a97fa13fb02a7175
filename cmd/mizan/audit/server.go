package audit

import (
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/cmd/mizan/audit/evidence"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
)

// exitRefused is the exit code of the auditor's commands when a server's response or a file is not
// proven. No other failure has this code.
const exitRefused = 4

// auditServer sends an auditor's requests to a server.
type auditServer struct{ ledger *client.Ledger }

// openAudit prepares requests to the server that the flags name. Errors contain the name of the command.
func openAudit(f *client.LedgerFlags, name string, s *cli.Streams) (*auditServer, error) {
	l, err := f.Open(name, s)
	if err != nil {
		return nil, err
	}
	return &auditServer{ledger: l}, nil
}

// get sends a GET request and decodes the member "data" of the response.
func (a *auditServer) get(path string, query url.Values, data any) error {
	body, err := a.ledger.Get(path, query)
	if err != nil {
		return err
	}
	response := struct {
		Data any `json:"data"`
	}{data}
	if err := json.Unmarshal(body, &response); err != nil {
		return a.ledger.Failed("%s: the answer is not the server's", path)
	}
	return nil
}

// key asks the server for the public key that verifies the server's signatures.
func (a *auditServer) key() (string, error) {
	var data struct {
		Key string `json:"key"`
	}
	return data.Key, a.get("/ledger/key", nil, &data)
}

// head returns the server's signed head. A head is a note with the number of events and the root hash of the tree over these
// events.
func (a *auditServer) head() ([]byte, error) {
	var data struct {
		Signature []byte `json:"signature"`
	}
	err := a.get("/ledger/head", nil, &data)
	return data.Signature, err
}

// inclusionProof returns an event's canonical bytes, and the proof that the event is in the tree over the first events of the
// journal. size is the number of events in that tree.
func (a *auditServer) inclusionProof(seq uint64, size int64) ([]byte, tlog.RecordProof, error) {
	var data struct {
		Leaf  []byte      `json:"leaf"`
		Proof []tlog.Hash `json:"proof"`
	}
	err := a.get("/ledger/proofs/inclusion", url.Values{
		"seq": {strconv.FormatUint(seq, 10)}, "size": {strconv.FormatInt(size, 10)},
	}, &data)
	return data.Leaf, data.Proof, err
}

// consistencyProof implements evidence.ExtensionProver.
func (a *auditServer) consistencyProof(from, to int64) (tlog.TreeProof, error) {
	var data struct {
		Proof []tlog.Hash `json:"proof"`
	}
	err := a.get("/ledger/proofs/consistency", url.Values{
		"from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)},
	}, &data)
	return data.Proof, err
}

// keyOrServersKey returns keyFlag. If keyFlag is empty, it asks the server for the key.
func (a *auditServer) keyOrServersKey(keyFlag string) (string, error) {
	if keyFlag != "" {
		return keyFlag, nil
	}
	return a.key()
}

// refusedEvidence returns the fault for a response or file that is not proven.
func refusedEvidence(name string, err error) *cli.Fault {
	return &cli.Fault{Code: exitRefused, Lines: []string{"mizan: " + name + ": refused: " + cli.OneLine(err.Error())}}
}

// verifiedHead requests the head of the organization that the flags name, and checks the signature of the head.
func (a *auditServer) verifiedHead(key string) (*evidence.Head, error) {
	verifier, err := evidence.ParseKey(key)
	if err != nil {
		return nil, err
	}
	signed, err := a.head()
	if err != nil {
		return nil, err
	}
	head, err := evidence.OpenHead(signed, verifier)
	if err != nil {
		return nil, err
	}
	requested, err := a.ledger.Organization()
	if err != nil {
		return nil, err
	}
	if !sameID(head.Organization, requested) {
		return nil, &evidence.Refusal{Reason: "the head is of organization " + head.Organization.String() + ", not of " + requested}
	}
	return head, nil
}
