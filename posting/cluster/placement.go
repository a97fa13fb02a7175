package cluster

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"

	"mizan/ledger"
)

// ShardOf derives the shard in which an organization is created from a hash of its id, so that organizations are spread evenly.
// Shard 0 is the platform's, and is counted in shards.
func ShardOf(org ledger.ID, shards int) int {
	hash := sha256.Sum256(org[:])
	return 1 + int(binary.BigEndian.Uint64(hash[:])%uint64(shards-1))
}

// NewOrganizationID returns a random id for an organization that the shard will have. The platform's shard has none.
func NewOrganizationID(shard, shards int) ledger.ID {
	for {
		if id := uuid.New(); ShardOf(id, shards) == shard || shard == Platform {
			return id
		}
	}
}
