package tidy

import "slices"

// Module is the path of this Go module. The import paths of its packages begin with Module.
const Module = "mizan"

// nestedModules are the folders of Go modules inside this module to which the rules apply too. The path of a nested module is
// Module followed by the folder. The Makefile has the same list.
var nestedModules = []string{"api/sdk/go", "docs/examples/shop"}

// layer says which packages of this module may be imported by the packages that match a pattern. In a pattern, "*" stands for
// one part of a path, and "..." at the end stands for any number of parts, including none. A package may always import the
// packages below its own folder.
type layer struct {
	packages  string
	mayImport []string
}

// Lists of packages that several layers may import. A list whose name begins with upto goes from the lowest packages up to the
// package in the name. commandImports lists what the commands may import.
var (
	commonPackages      = []string{"internal/assert", "internal/clock", "internal/disk", "internal/durable", "internal/fair", "internal/filelock", "internal/jsonwalk", "internal/mapfault", "internal/msgpackcheck", "internal/picture", "internal/progress", "internal/secret", "internal/source", "internal/steps", "internal/tracing", "internal/wiping"}
	ledgerPackages      = []string{"ledger/..."}
	uptoPosting         = slices.Concat(commonPackages, ledgerPackages, []string{"posting", "posting/balances"})
	uptoStore           = slices.Concat(commonPackages, ledgerPackages, []string{"posting/store"})
	uptoRuntime         = slices.Concat(uptoPosting, []string{"actors"})
	uptoActors          = slices.Concat(uptoPosting, []string{"actors/..."})
	uptoRuntimeAndStore = slices.Concat(uptoRuntime, []string{"posting/store"}) // for testkit, which opens a store directly
	uptoActorsAndStore  = slices.Concat(uptoActors, []string{"posting/store"})
	checkerRuleImports  = slices.Concat(uptoActorsAndStore, []string{"snapshots/check/findings", "snapshots/check/scan"})
	routeFamilyImports  = slices.Concat(uptoActors, []string{"api/auth", "api/web/..."})
	uptoAPI             = slices.Concat(uptoActorsAndStore, []string{"api/...", "snapshots/..."})
	commandImports      = slices.Concat(uptoAPI, []string{"cmd/mizan/cli", "cmd/mizan/config", "cmd/mizan/client"})
)

// layers is the table of layers, which defines the direction of imports. Most lower layers come before higher layers. A package
// belongs to the first layer whose pattern matches the package.
var layers = []layer{
	{"internal/assert", nil},
	{"internal/clock", []string{"internal/assert"}},
	{"internal/disk", []string{"internal/durable"}},
	{"internal/durable", nil},
	{"internal/fair", nil},
	{"internal/filelock", nil},
	{"internal/jsonwalk", []string{"internal/steps"}},
	{"internal/mapfault", nil},
	{"internal/msgpackcheck", []string{"internal/assert"}},
	{"internal/picture", []string{"internal/assert"}},
	{"internal/picture/picturetest", nil},
	{"internal/progress", nil},
	{"internal/peer", []string{"internal/assert", "internal/durable"}},
	{"internal/secret", []string{"internal/assert", "internal/durable", "internal/filelock"}},
	{"internal/source", nil},
	{"internal/steps", nil},
	{"internal/stripestub", []string{"internal/clock"}},
	{"internal/tidy", nil},
	{"internal/testseed", nil},
	{"internal/tracing", nil},
	{"internal/tracing/otlp", []string{"internal/tracing"}},
	{"internal/tracing/otlptest", nil},
	{"internal/wiping", nil},
	{"internal/testkit", uptoRuntimeAndStore},

	{"ledger/money", []string{"internal/assert"}},
	{"ledger/fsm", []string{"internal/assert"}},
	{"ledger", []string{"ledger/money", "ledger/fsm", "internal/assert"}},
	{"ledger/schema", []string{"ledger", "ledger/money", "internal/assert", "internal/jsonwalk"}},
	{"ledger/columns", []string{"ledger", "ledger/schema", "ledger/money"}},
	{"ledger/jsonform", []string{"ledger", "ledger/schema", "ledger/money", "ledger/payment", "ledger/contract", "ledger/subscription", "internal/jsonwalk"}},
	{"ledger/directory", []string{"ledger", "ledger/schema", "ledger/columns", "ledger/money", "ledger/fsm", "internal/assert"}},
	{"ledger/payment/admission", []string{"ledger", "ledger/money", "ledger/fsm", "ledger/directory", "ledger/payment", "internal/assert"}},
	{"ledger/payment/codec", []string{"ledger", "ledger/money", "ledger/payment", "internal/assert", "internal/msgpackcheck"}},
	{"ledger/storefront", []string{"ledger", "ledger/schema", "ledger/columns", "ledger/money", "ledger/directory", "ledger/payment", "internal/assert"}},
	{"ledger/search", []string{"ledger", "ledger/money", "ledger/payment", "internal/assert", "internal/jsonwalk"}},
	{"ledger/turnover", []string{"ledger", "ledger/money", "ledger/payment", "internal/assert"}},
	{"ledger/*/...", []string{"ledger", "ledger/schema", "ledger/columns", "ledger/money", "ledger/fsm", "ledger/directory", "internal/assert"}},

	{"posting/store/damage", nil},
	{"posting/store/recent", []string{"internal/assert"}},
	{"posting/store/values", []string{"internal/assert", "internal/disk", "posting/store/damage"}},
	{"posting/store/badgerfile", []string{"internal/durable", "posting/store/damage"}},
	{"posting/log", []string{"internal/assert", "internal/disk", "posting/store/damage"}},
	{"posting/log/raft", []string{"internal/assert", "internal/durable", "internal/peer", "posting/log"}},
	{"posting/store", slices.Concat(commonPackages, ledgerPackages, []string{"posting/log"})},
	{"posting", uptoStore},
	{"posting/cluster", slices.Concat(uptoStore, []string{"internal/peer", "posting", "posting/log", "posting/log/raft", "posting/shard"})},
	{"posting/shard", slices.Concat(uptoStore, []string{"posting", "posting/log", "posting/log/raft"})},
	{"posting/move/movetest", []string{"ledger", "posting", "posting/move"}},
	{"posting/move", slices.Concat(uptoStore, []string{"posting", "posting/balances"})},
	{"posting/balances", slices.Concat(uptoStore, []string{"posting", "posting/store/damage"})},

	{"actors", uptoPosting},
	{"actors/provider", uptoRuntime},
	{"actors/provider/simulator/remote", slices.Concat(uptoRuntime, []string{"actors/provider/simulator"})}, // both sides of the simulator's connection
	{"actors/provider/*/...", slices.Concat(uptoRuntime, []string{"actors/provider"})},
	{"actors/search", slices.Concat(uptoRuntime, []string{"actors/follower"})},
	{"actors/turnover", slices.Concat(uptoRuntime, []string{"actors/follower"})},
	{"actors/reconciliation/camt053", slices.Concat(uptoRuntime, []string{"actors/reconciliation/csvfile"})}, // both read exact decimals
	{"actors/*/...", uptoRuntime},

	{"internal/providersuite/simulated", slices.Concat(uptoActorsAndStore, []string{"internal/providersuite"})},
	{"internal/providersuite", slices.Concat(uptoActorsAndStore, []string{"internal/testkit", "snapshots/check", "snapshots/check/findings"})},

	{"snapshots/check/findings", nil},
	{"snapshots/check/scan", slices.Concat(uptoActorsAndStore, []string{"snapshots/check/findings"})},
	{"snapshots/check/answers", slices.Concat(checkerRuleImports, []string{"snapshots/check/directory", "snapshots/check/contracts", "snapshots/check/transactions"})},
	{"snapshots/check/directory", checkerRuleImports},
	{"snapshots/check/contracts", checkerRuleImports},
	{"snapshots/check/calls", checkerRuleImports},
	{"snapshots/check/canaries", checkerRuleImports},
	{"snapshots/check/*", slices.Concat(checkerRuleImports, []string{"snapshots/check/directory"})},
	{"snapshots/check", slices.Concat(checkerRuleImports, []string{"snapshots/check/..."})},
	{"snapshots/backup", slices.Concat(uptoActorsAndStore, []string{"snapshots/check", "snapshots/check/findings", "snapshots/check/calls"})},
	{"snapshots/fixture", slices.Concat(uptoActorsAndStore, []string{"snapshots/check", "snapshots/check/findings"})},
	{"api/auth", uptoActors},
	{"api/connlimit", uptoActors},
	{"api/shed", uptoActors},
	{"api/web/worktest", []string{"internal/steps"}},
	{"api/web/design", nil},
	{"api/web/locale/...", []string{"ledger/money", "internal/assert"}},
	{"api/web/...", slices.Concat(uptoActors, []string{"api/auth", "api/connlimit", "api/web/..."})},
	{"api/checkout/texts", []string{"api/web/locale", "internal/assert"}},
	{"api/checkout/page", slices.Concat(uptoActors, []string{"api/checkout/texts", "api/web/design", "api/web/locale"})},
	{"api/console/texts", []string{"api/web/locale", "internal/assert"}},
	{"api/console/view", slices.Concat(uptoActors, []string{"api/console/texts", "api/web/design", "api/web/locale"})},
	{"api/console/visit", slices.Concat(routeFamilyImports, []string{"api/console/texts", "api/console/view"})},
	{"api/console/apispec", []string{"api/description/spec", "internal/assert"}},
	{"api/console/labels", []string{"api/console/texts"}},
	{"api/console/form", []string{"api/console/apispec", "api/console/labels", "api/web", "api/web/locale", "ledger/money", "internal/assert"}},
	{"api/console/resource", slices.Concat(routeFamilyImports, []string{"api/console/apispec", "api/console/form", "api/console/labels", "api/console/view", "api/console/visit"})},
	{"api/console/partner", slices.Concat(routeFamilyImports, []string{"api/console/..."})},
	{"api/console/contracts", slices.Concat(routeFamilyImports, []string{"api/console/..."})},
	{"api/console/admin", slices.Concat(routeFamilyImports, []string{"api/console/..."})},
	{"api/console/reconciliation", slices.Concat(routeFamilyImports, []string{"api/console/..."})},
	{"api/console/proof", nil},
	{"api/console/auditor", slices.Concat(routeFamilyImports, []string{"api/console/labels", "api/console/texts", "api/console/view", "api/console/visit", "api/console/proof", "api/ledger/export"})},
	{"api/console/consoletest", []string{"api/description/operations", "api/description/spec", "internal/testkit"}},
	{"api/console/*", slices.Concat(routeFamilyImports, []string{"api/console/texts", "api/console/view", "api/console/visit"})},
	{"api/console", slices.Concat(routeFamilyImports, []string{"api/console/...", "api/description/operations"})},
	{"api/ledger/export", []string{"ledger", "ledger/money"}},
	{"api/ledger", slices.Concat(routeFamilyImports, []string{"api/ledger/export"})},
	{"api/description/spec", []string{"ledger", "ledger/schema"}},
	{"api/description/descriptiontest", []string{"api/description"}},
	{"api/description/operations", slices.Concat(routeFamilyImports, []string{"api/description/spec", "api/ledger/export"})},
	{"api/description", slices.Concat(routeFamilyImports, []string{"api/description/spec"})},
	{"api/reference", slices.Concat(routeFamilyImports, []string{"api/description/..."})},
	{"api/sdk/go", nil}, // merchants import this module, but not the service
	{"api/sdk/generate/model", []string{"api/description", "api/description/spec", "internal/assert"}},
	{"api/sdk/generate/*", []string{"api/sdk/generate/model", "api/description", "api/description/spec", "ledger/money", "internal/assert"}},
	{"api/sdk/generate", uptoAPI},
	{"api/*", routeFamilyImports},
	{"api", slices.Concat(uptoActors, []string{"api/...", "internal/peer"})},

	{"docs/examples/*", []string{"api/sdk/go"}},
	{"docs/*", nil}, // people copy these examples, so they import no package of this module
	{"bench/server", uptoAPI},
	{"bench/clicks", nil},
	{"bench/cluster", slices.Concat(uptoAPI, []string{"bench/generator", "bench/server"})},
	{"bench/orders", slices.Concat(uptoAPI, []string{"bench/server"})},
	{"bench/faults/trial", []string{"bench/faults", "bench/orders", "bench/server", "internal/testkit"}},
	{"bench/simulation", slices.Concat(uptoAPI, []string{"bench/lifecycles", "posting/cluster", "posting/log", "posting/log/raft", "posting/store/badgerfile"})},
	{"bench/...", uptoAPI},
	{"cmd/mizan/client", []string{"ledger/money", "internal/progress"}},                                                // uses the server only through HTTP, and formats amounts with the decimals of ledger/money
	{"cmd/mizan/client/admin", []string{"cmd/mizan/client", "ledger/directory", "ledger/storefront", "ledger/schema"}}, // flags and tables of these commands are made from the columns of the records
	{"cmd/mizan/client/contracts", []string{"cmd/mizan/client", "ledger/contract", "ledger/money", "ledger/schema"}},   // URL paths and amounts depend on the contract's product
	{"cmd/mizan/client/ledger", []string{"cmd/mizan/client", "ledger/money"}},                                          // to add up amounts
	{"cmd/mizan/client/developer", []string{"cmd/mizan/client", "ledger/money"}},                                       // on the command line, amounts are in major units
	{"cmd/mizan/client/*", []string{"cmd/mizan/client"}},
	{"cmd/mizan/cli", slices.Concat(commonPackages, []string{"posting/store", "cmd/mizan/client"})},
	{"cmd/mizan/config", slices.Concat(uptoActors, []string{"api/accesslog", "cmd/mizan/cli", "internal/peer"})},
	{"cmd/mizan/serving", slices.Concat(uptoAPI, []string{"cmd/mizan/cli", "cmd/mizan/config", "internal/peer", "internal/tracing/otlp", "posting/cluster", "posting/log/raft"})},
	{"cmd/mizan/clustering", []string{"cmd/mizan/cli", "cmd/mizan/client", "cmd/mizan/config", "cmd/mizan/maintenance", "internal/durable", "internal/filelock", "internal/peer", "internal/secret"}},
	{"cmd/mizan/serving/certificates", slices.Concat(commonPackages, []string{"cmd/mizan/cli"})},
	{"cmd/mizan/serving/metrics", slices.Concat(uptoAPI, []string{"posting/cluster"})},
	{"cmd/mizan/serving/moves", slices.Concat(uptoAPI, []string{"posting/move"})},
	{"cmd/mizan/audit/evidence", slices.Concat(commonPackages, ledgerPackages)},
	{"cmd/mizan/audit", commandImports},
	{"cmd/mizan/simulator", slices.Concat(uptoActors, []string{"cmd/mizan/cli", "cmd/mizan/config"})},
	{"cmd/mizan/maintenance", slices.Concat(commandImports, []string{"cmd/mizan/serving", "posting/cluster", "posting/log"})},
	{"cmd/*/...", slices.Concat(uptoAPI, []string{"bench/..."})},
}

// allowedImporters lists modules that only certain packages and their tests may import. Patterns of packages are separated by spaces.
var allowedImporters = []struct{ module, packages string }{
	{"github.com/gofiber", "api/..."},
	{"github.com/asynkron/protoactor-go", "actors"},
	{"github.com/dgraph-io/badger", "posting/store/..."},
	{"github.com/hashicorp/raft", "posting/... bench/simulation"},
	{"github.com/hashicorp/raft-wal", "posting/log/raft bench/simulation"},
	{"github.com/hashicorp/go-hclog", "posting/log/raft"},
	{"github.com/tink-crypto/tink-go", "internal/secret"},
	{"github.com/parquet-go/parquet-go", "api/ledger/export"},
	{"github.com/xuri/excelize", "api/ledger/export"},
	{"github.com/stripe/stripe-go", "actors/provider/stripe/... internal/stripestub"},
	{"rsc.io/qr", "api/checkout/page"},
	{"golang.org/x/text", "api/web/locale"},
	{"github.com/getkin/kin-openapi", "api/description/descriptiontest"},
	{"github.com/yuin/goldmark", "api/reference"},
	{"github.com/gen2brain/jpegn", "internal/picture/..."},
	{"github.com/chromedp", "cmd/mizan/browser"},
	{"github.com/hanwen/go-fuse", "bench/faults/power/disk"},
	{"go.opentelemetry.io", "internal/tracing/..."},
	{"github.com/prometheus/client_golang", "cmd/mizan/serving/metrics"},
	{"github.com/pelletier/go-toml", "cmd/mizan/config"},
	{"github.com/coreos/go-systemd", "cmd/mizan/serving"},
	{"golang.org/x/crypto/acme", "cmd/mizan/serving/..."},
}

// pureModules are the only modules outside this one that package ledger and the packages below it may import.
var pureModules = []string{"github.com/holiman/uint256", "github.com/google/uuid"}

// codecs is the pattern of the packages below ledger that encode and decode stored records. These packages may also import the
// modules in codecModules.
const codecs = "ledger/*/codec"

var codecModules = []string{"github.com/vmihailenco/msgpack/v5"}

// impureImports are packages of the standard library that do I/O or have other side effects.
var impureImports = []string{
	"os", "os/...", "log", "log/syslog", "net", "net/http/...", "math/rand", "math/rand/v2", "crypto/rand",
	"io/ioutil", "syscall", "unsafe", "runtime/...", "testing/...",
}

// impureNames lists, for each package, the functions that read a clock or randomness, or write a log. The other functions of
// these packages are allowed. For example, records implement slog.LogValuer to hide their secrets.
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

// topLevel lists the files and folders that the repository's root may have. Files that .gitignore names are also allowed.
var topLevel = []string{
	"ledger", "actors", "posting", "api", "snapshots", "cmd", "bench", "internal", "docs", "tools",
	"go.mod", "go.sum", "Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci", ".git", ".gitattributes", ".gitignore",
}

// maxPackageFiles is the maximum number of files in a package, not counting tests.
const maxPackageFiles = 25

// Numbers of lines above which a file or a function is reported, and the maximum number of lines of a main.go.
const (
	longFileLines     = 500
	longFunctionLines = 70
	maxMainLines      = 40
)
