package peer

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"
)

// Hello is what both sides of a connection say about their nodes before anything else. A connection is used only if both belong
// to the same cluster and store the same forms of rows.
type Hello struct {
	Version string // version of the program, which may differ: nodes are upgraded one after the other
	Schema  int    // number of the forms in which rows are stored
	Shards  int    // number of the cluster's shards
	Keyring string // identifies the keyring that all nodes share
}

// maxHello is the maximum length of a Hello as JSON, in bytes.
const maxHello = 4 << 10

// DisagreementError says why two nodes do not work together.
type DisagreementError struct {
	Node   string // name of the other node
	Reason string
}

// Error implements error.
func (e *DisagreementError) Error() string { return "node " + e.Node + ": " + e.Reason }

// disagreement says why a node with this Hello does not work together with another one. If it does, the text is empty.
func (h *Hello) disagreement(other *Hello) string {
	switch {
	case h.Schema != other.Schema:
		return fmt.Sprintf("it has release %s with schema %d, and this node has release %s with schema %d; nodes of a cluster need releases with the same schema", other.Version, other.Schema, h.Version, h.Schema)
	case h.Shards != other.Shards:
		return fmt.Sprintf("it was started with --cluster-shards %d, and this node with --cluster-shards %d", other.Shards-1, h.Shards-1)
	case h.Keyring != other.Keyring:
		return "it has another keyring than this node; all nodes of a cluster share one"
	}
	return ""
}

// exchangeHello sends this node's Hello, receives the other node's, and compares them. Both sides do the same.
func (l *Link) exchangeHello(ctx context.Context, conn net.Conn, node string) error {
	deadline := time.Now().Add(handshakeTime)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	content, err := json.Marshal(&l.hello)
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(content))), content...)); err != nil {
		return err
	}
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint16(head[:])
	if length > maxHello {
		return fmt.Errorf("it says %d bytes about itself", length)
	}
	content = make([]byte, length)
	if _, err := io.ReadFull(conn, content); err != nil {
		return err
	}
	var other Hello
	if err := json.Unmarshal(content, &other); err != nil {
		return err
	}
	if reason := l.hello.disagreement(&other); reason != "" {
		l.refusals.Note(node, reason)
		return &DisagreementError{node, reason}
	}
	return conn.SetDeadline(time.Time{})
}
