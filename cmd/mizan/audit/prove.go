package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/uuid"

	"mizan/cmd/mizan/audit/evidence"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/internal/durable"
)

// proofMode is the permission mode of a proof file. Other users may read the file.
const proofMode = 0o644

// proveCommand is `mizan audit prove`.
type proveCommand struct {
	client.LedgerFlags
	Seq uint64  `arg:"" help:"The event's sequence number in the organization's journal."`
	Out *string `name:"out" placeholder:"FILE" help:"New file for the proof; without it event-SEQ.proof."`
	Key *string `name:"key" placeholder:"KEY" help:"Public key that verifies the head; default: the key that the server reports."`
}

// Run implements the command. It writes the file only if `audit check` would accept the file with the same key.
func (c *proveCommand) Run(s *cli.Streams) error {
	const name = "audit prove"
	keyFlag, err := keyFromFlag(name, c.Key)
	if err != nil {
		return err
	}
	out := fmt.Sprintf("event-%d.proof", c.Seq)
	if c.Out != nil {
		out = *c.Out
	}
	if out == "" || out == "-" {
		return misused(name, "--out: want a file's name")
	}
	server, err := openAudit(&c.LedgerFlags, name, s)
	if err != nil {
		return err
	}
	p, key, err := c.prove(server, keyFlag)
	var refusal *evidence.Refusal
	if errors.As(err, &refusal) {
		return refusedEvidence(name, err)
	}
	if err != nil {
		return err
	}
	err = durable.Create(out, proofMode, p.Encode())
	if errors.Is(err, fs.ErrExist) {
		return server.ledger.Misused("--out: %s is there already", out)
	}
	if err != nil {
		return server.ledger.Misused("--out: %s can't be written: %v", out, fileSystemCause(err))
	}
	_, err = fmt.Fprintf(s.Err, "mizan: %s: %s proves event %d of organization %s; it is verified with the key %s\n",
		name, out, p.Event.Seq, p.Head.Organization, key)
	return err
}

// prove requests the proof of the event and checks it.
func (c *proveCommand) prove(server *auditServer, keyFlag string) (p *evidence.Proof, key string, err error) {
	if key, err = server.keyOrServersKey(keyFlag); err != nil {
		return nil, "", err
	}
	head, err := server.verifiedHead(key)
	if err != nil {
		return nil, "", err
	}
	leaf, path, err := server.inclusionProof(c.Seq, head.Tree.N)
	if err != nil {
		return nil, "", err
	}
	if p, err = evidence.Prove(leaf, path, head); err != nil {
		return nil, "", err
	}
	if p.Event.Seq != c.Seq {
		return nil, "", &evidence.Refusal{Reason: fmt.Sprintf("the server proves event %d, not %d", p.Event.Seq, c.Seq)}
	}
	return p, key, nil
}

// checkCommand is `mizan audit check`.
type checkCommand struct {
	File string `arg:"" help:"A file that audit prove has written."`
	Key  string `name:"key" required:"" placeholder:"KEY" help:"The key to trust, as audit key prints it; get it from another source than the file."`

	Organization *string `name:"organization" placeholder:"ID" help:"Accept only a proof for this organization; default: for any organization whose head the key has signed."`
	Record       *string `name:"record" placeholder:"FILE" help:"File that audit record has written: also verify that its bytes were stored with the event."`
}

// Run implements the command. It only reads files, and needs no server.
func (c *checkCommand) Run(s *cli.Streams) error {
	const name = "audit check"
	key, err := evidence.ParseKey(c.Key)
	if err != nil {
		return misused(name, "--key: %v", err)
	}
	if c.Organization != nil {
		if _, err := uuid.Parse(*c.Organization); err != nil {
			return misused(name, "--organization: %q is not a UUID", *c.Organization)
		}
	}
	content, err := cli.ReadFile(c.File, evidence.MaxFile)
	if err != nil {
		return misused(name, "%v", err)
	}
	p, err := evidence.Check(content, key)
	if err != nil {
		return refusedEvidence(name, err)
	}
	if c.Organization != nil && !sameID(p.Head.Organization, *c.Organization) {
		return refusedEvidence(name, fmt.Errorf("the file is of organization %s", p.Head.Organization))
	}
	if c.Record != nil {
		record, err := cli.ReadFile(*c.Record, maxRecordFile)
		if err != nil {
			return misused(name, "--record: %v", err)
		}
		if err := p.MatchesRecord(record); err != nil {
			return refusedEvidence(name, err)
		}
	}
	if err := p.Describe(s.Out); err != nil || c.Record == nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "\nProven too: %s is what was stored of the record after the event.\n", *c.Record)
	return err
}

// misused returns the fault for a command that was used wrongly. name is the name of the command.
func misused(name, format string, args ...any) *cli.Fault {
	return &cli.Fault{Code: cli.ExitConfiguration, Lines: []string{"mizan: " + name + ": " + cli.OneLine(fmt.Sprintf(format, args...))}}
}

// keyFromFlag returns the value of the flag --key, or "" if the flag is absent. An empty value is refused, because it may come
// from a script in which the command that prints the key has failed.
func keyFromFlag(name string, key *string) (string, error) {
	if key == nil {
		return "", nil
	}
	if *key == "" {
		return "", misused(name, "--key: is empty")
	}
	if _, err := evidence.ParseKey(*key); err != nil {
		return "", misused(name, "--key: %v", err)
	}
	return *key, nil
}

// fileSystemCause returns the cause of a file system error without the file's name. The name may be the name of a temporary
// file, which the user does not know.
func fileSystemCause(err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return pathErr.Err
	case errors.As(err, &linkErr):
		return linkErr.Err
	}
	return err
}
