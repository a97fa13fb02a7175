// Package peer connects the nodes of a cluster. Every connection is encrypted, and each side proves with a certificate of the
// cluster's own authority which node it is (mutual TLS 1.3). One listener accepts connections for several protocols, for example
// for Raft and for forwarded requests. The protocol is agreed in the TLS handshake (ALPN, RFC 7301).
//
// Invariants:
//  1. A connection is handed over only after both sides have proved which nodes they are. A program without a certificate of the
//     authority cannot send a byte to a protocol.
//  2. Dial connects to the node with the requested name, or fails. An address that now belongs to another node is refused.
//  3. A handshake takes at most handshakeTime, and at most maxHandshakes are under way. Further connections are closed.
//  4. After Close returns, no goroutine of this package is left, and Accept of every protocol returns net.ErrClosed.
//  5. Before a connection is handed over, both sides say which release, schema, keyring and number of shards they have. If they
//     do not fit together, both sides close the connection, and both log why.
//
// Callers: posting/log/raft, posting/cluster, cmd/mizan/serving, cmd/mizan/clustering.
//
// Rejected: names of nodes in the common name of certificates were considered. They were not chosen because Go verifies only
// names in the extension for alternative names.
package peer
