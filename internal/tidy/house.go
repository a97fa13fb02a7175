package tidy

import "slices"

// Module is the path that the house's own imports begin with.
const Module = "mizan"

// room is a set of packages and what of the house they may import. In a pattern
// "*" stands for one segment and a last "..." for any number, none included. A
// package may always import what lies in its own folder.
type room struct {
	packages string
	may      []string
}

// Groups of rooms that several others may import.
var (
	common   = []string{"internal/assert", "internal/clock", "internal/durable", "internal/fair", "internal/jsonwalk", "internal/mapfault", "internal/packed", "internal/secret", "internal/steps", "internal/wiping"}
	words    = []string{"ledger/..."}
	books    = slices.Concat(common, words, []string{"posting"})
	cellar   = slices.Concat(common, words, []string{"posting/store"})
	runtime  = slices.Concat(books, []string{"actors"})
	doors    = slices.Concat(books, []string{"actors/..."})
	checks   = slices.Concat(doors, []string{"posting/store"})
	families = slices.Concat(doors, []string{"api/auth", "api/web/..."})
	loads    = slices.Concat(checks, []string{"api/...", "snapshots/..."})
)

// house is the direction of imports, from the cellar up. The first room that
// matches a package is its room.
var house = []room{
	{"internal/assert", nil},
	{"internal/clock", []string{"internal/assert"}},
	{"internal/durable", nil},
	{"internal/export", []string{"ledger", "ledger/money"}},
	{"internal/fair", nil},
	{"internal/jsonwalk", []string{"internal/steps"}},
	{"internal/mapfault", nil},
	{"internal/packed", []string{"internal/assert"}},
	{"internal/secret", []string{"internal/assert", "internal/durable"}},
	{"internal/steps", nil},
	{"internal/tidy", nil},
	{"internal/wiping", nil},
	{"internal/testkit", []string{"internal/assert"}},

	{"ledger/money", []string{"internal/assert"}},
	{"ledger/fsm", []string{"internal/assert"}},
	{"ledger", []string{"ledger/money", "ledger/fsm", "internal/assert"}},
	{"ledger/directory", []string{"ledger", "ledger/money", "ledger/fsm", "internal/assert"}},
	{"ledger/*/...", []string{"ledger", "ledger/money", "ledger/fsm", "ledger/directory", "internal/assert"}},

	{"posting/store/...", slices.Concat(common, words)},
	{"posting", cellar},

	{"actors", books},
	{"actors/provider", runtime},
	{"actors/provider/*/...", slices.Concat(runtime, []string{"actors/provider"})},
	{"actors/*/...", runtime},

	{"snapshots/...", checks},
	{"api/auth", doors},
	{"api/connlimit", doors},
	{"api/shed", doors},
	{"api/web/worktest", []string{"internal/steps"}},
	{"api/web/...", slices.Concat(doors, []string{"api/auth", "api/connlimit", "api/web/..."})},
	{"api/checkout/page", doors},
	{"api/ledger", slices.Concat(families, []string{"internal/export"})},
	{"api/*", families},
	{"api", slices.Concat(doors, []string{"api/...", "internal/export"})},

	{"docs/*", nil}, // what outsiders copy: none of the house's code
	{"bench/...", loads},
	{"cmd/mizan/admin", nil}, // a client: it knows the server by HTTP only
	{"cmd/*/...", slices.Concat(loads, []string{"bench/..."})},
}

// keepers are the modules that only some packages may import, in tests too.
var keepers = []struct{ module, packages string }{
	{"github.com/gofiber", "api/..."},
	{"github.com/asynkron/protoactor-go", "actors"},
	{"github.com/dgraph-io/badger", "posting/store/..."},
	{"github.com/tink-crypto/tink-go", "internal/secret"},
	{"github.com/parquet-go/parquet-go", "internal/export"},
	{"github.com/xuri/excelize", "internal/export"},
	{"rsc.io/qr", "api/checkout/page"},
}

// pureModules are all that ledger/** may import beside the standard library and
// the house's own.
var pureModules = []string{"github.com/holiman/uint256", "github.com/google/uuid"}

// impureImports are packages of the standard library that reach outside.
var impureImports = []string{
	"os", "os/...", "log", "log/syslog", "net", "net/http/...", "math/rand", "math/rand/v2", "crypto/rand",
	"io/ioutil", "syscall", "unsafe", "runtime/...", "testing/...",
}

// impureNames are functions that read a clock or randomness, or write a log.
// slog itself is allowed: a record redacts itself by being a slog.LogValuer.
var impureNames = map[string][]string{
	"log/slog": {
		"Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext",
		"Log", "LogAttrs", "Default", "New", "NewLogLogger", "NewTextHandler", "NewJSONHandler", "SetDefault", "With",
	},
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
	"github.com/google/uuid": {
		"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7", "EnableRandPool",
	},
}

// topLevel are the names that the root may have; what .gitignore names may lie
// there too.
var topLevel = []string{
	"ledger", "actors", "posting", "api", "snapshots", "cmd", "bench", "internal", "docs", "tools",
	"go.mod", "go.sum", "Makefile", "README.md", ".ci", ".git", ".gitignore",
}

// Sizes above which a file or a function asks for a look, and the hard bound of
// a main.go.
const (
	longFile     = 500
	longFunction = 70
	longMain     = 40
)
