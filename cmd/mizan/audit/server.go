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

// exitRefused is how the auditor's commands end when what they were shown is not
// believed. No other failure has this code.
const exitRefused = 4

// auditServer is a server as an auditor asks it. Nothing that it says is believed
// without a proof.
type auditServer struct{ ledger *client.Ledger }

// openAudit resolves the flags for a command of this name.
func openAudit(f *client.LedgerFlags, name string, s *cli.Streams) (*auditServer, error) {
	l, err := f.Open(name, s)
	if err != nil {
		return nil, err
	}
	return &auditServer{ledger: l}, nil
}

// ask reads the data of an answer.
func (a *auditServer) ask(path string, query url.Values, data any) error {
	body, err := a.ledger.Get(path, query)
	if err != nil {
		return err
	}
	whole := struct {
		Data any `json:"data"`
	}{data}
	if err := json.Unmarshal(body, &whole); err != nil {
		return a.ledger.Failed("%s: the answer is not the server's", path)
	}
	return nil
}

// key is the verifier key that the server says is its own.
func (a *auditServer) key() (string, error) {
	var said struct {
		Key string `json:"key"`
	}
	return said.Key, a.ask("/ledger/key", nil, &said)
}

// head is the signed note.
func (a *auditServer) head() ([]byte, error) {
	var said struct {
		Signature []byte `json:"signature"`
	}
	err := a.ask("/ledger/head", nil, &said)
	return said.Signature, err
}

// inclusion is an event's canonical bytes, and its path in the tree of so many
// events.
func (a *auditServer) inclusion(seq uint64, size int64) ([]byte, tlog.RecordProof, error) {
	var said struct {
		Leaf  []byte      `json:"leaf"`
		Proof []tlog.Hash `json:"proof"`
	}
	err := a.ask("/ledger/proofs/inclusion", url.Values{
		"seq": {strconv.FormatUint(seq, 10)}, "size": {strconv.FormatInt(size, 10)},
	}, &said)
	return said.Leaf, said.Proof, err
}

// consistency implements evidence.Extension.
func (a *auditServer) consistency(from, to int64) (tlog.TreeProof, error) {
	var said struct {
		Proof []tlog.Hash `json:"proof"`
	}
	err := a.ask("/ledger/proofs/consistency", url.Values{
		"from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)},
	}, &said)
	return said.Proof, err
}

// keyOr is the key that was given, else the one that the server says is its own.
func (a *auditServer) keyOr(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	return a.key()
}

// unbelieved ends a command that does not believe what it was shown.
func unbelieved(name string, err error) *cli.Fault {
	return &cli.Fault{Code: exitRefused, Lines: []string{"mizan: " + name + ": refused: " + cli.OneLine(err.Error())}}
}

// ownHead is the server's head, with its signature checked, of the organization
// that was asked about.
func (a *auditServer) ownHead(key string) (*evidence.Head, error) {
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
	asked, err := a.ledger.Organization()
	if err != nil {
		return nil, err
	}
	if !sameID(head.Organization, asked) {
		return nil, &evidence.Refusal{Why: "the head is of organization " + head.Organization.String() + ", not of " + asked}
	}
	return head, nil
}
