// Package moves runs the moves of organizations from and to one shard, for as long as the node leads the shard. The package
// posting/move copies the rows; this package connects it with the shard's directory, its notifications, and the other shards.
//
// While the package settles where an organization is (from the fence until the last actor knows), Locate says that it is being
// moved, and requests wait.
//
// Callers: cmd/mizan/serving.
package moves
