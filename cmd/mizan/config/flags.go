package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"mizan/actors/notifier/operators"
	"mizan/api/accesslog"
	"mizan/cmd/mizan/cli"
)

// Bounds of configured values.
const (
	maxDuration   = 24 * time.Hour
	minRetention  = 24 * time.Hour // longer than 7 h, the time from a delivery's first attempt to its last retry
	maxRetention  = 10 * 365 * 24 * time.Hour
	maxRateLimit  = 1_000_000
	minAdminToken = 32
	MaxAdminToken = 512
)

// Flags contains the configuration keys of `mizan serve`. The struct tag `standard` holds a key's default. kong's own tag for
// defaults is not used, because then a default could not be distinguished from a value that the user gave.
type Flags struct {
	Config               Setting `name:"config" env:"MIZAN_CONFIG" placeholder:"FILE" help:"File with any of these keys: TOML if its name ends in .toml, else JSON."`
	Data                 Setting `name:"data" env:"MIZAN_DATA" standard:"./data" placeholder:"DIR" help:"Data directory."`
	Listen               Setting `name:"listen" env:"MIZAN_LISTEN" standard:"127.0.0.1:8443" placeholder:"ADDR" help:"Address to serve on; port 0 picks a free one."`
	TLS                  Setting `name:"tls" env:"MIZAN_TLS" placeholder:"auto|files|acme|off" help:"Where the certificate comes from; the default is auto with --sandbox, else files."`
	TLSCert              Setting `name:"tls-cert" env:"MIZAN_TLS_CERT" placeholder:"FILE" help:"Certificate chain, PEM, for --tls files."`
	TLSKey               Setting `name:"tls-key" env:"MIZAN_TLS_KEY" placeholder:"FILE" help:"Private key of --tls-cert, PEM."`
	ACMEDomains          Setting `name:"acme-domains" env:"MIZAN_ACME_DOMAINS" placeholder:"NAME,..." help:"Domains for which --tls acme obtains certificates."`
	ACMEEmail            Setting `name:"acme-email" env:"MIZAN_ACME_EMAIL" placeholder:"ADDRESS" help:"Address to which the certificate authority may write."`
	ACMEDirectory        Setting `name:"acme-directory" env:"MIZAN_ACME_DIRECTORY" standard:"https://acme-v02.api.letsencrypt.org/directory" placeholder:"URL" help:"The certificate authority."`
	BaseURL              Setting `name:"base-url" env:"MIZAN_BASE_URL" placeholder:"URL" help:"URL at which clients reach the server, without a path."`
	Sandbox              toggle  `name:"sandbox" env:"MIZAN_SANDBOX" help:"Run a sandbox: with simulated providers and two organizations that are ready to use."`
	Clock                Setting `name:"clock" env:"MIZAN_CLOCK" standard:"real" placeholder:"real|manual" help:"With manual, time moves only through PUT /api/v1/sandbox/clock."`
	SimulatorURL         Setting `name:"simulator-url" env:"MIZAN_SIMULATOR_URL" placeholder:"URL" help:"Address of a mizan simulator on this machine, which several servers can use; without it, the sandbox simulates the providers itself."`
	SEPADir              Setting `name:"sepa-dir" env:"MIZAN_SEPA_DIR" placeholder:"DIR" help:"Directory of the files for and from the banks of SEPA terminals, on shared storage in a cluster; without it, these terminals cannot pay out."`
	Keyring              Setting `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"Keyring: the keys that seal card numbers and sign ledger heads. Required, except with --sandbox, which makes the keyring in the data directory."`
	AdminTokenFile       Setting `name:"admin-token-file" env:"MIZAN_ADMIN_TOKEN_FILE" placeholder:"FILE" help:"File with an admin token that is accepted besides the tokens in force; without this flag, the first start creates a token and prints it once."`
	TrustedProxies       Setting `name:"trusted-proxies" env:"MIZAN_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"Proxies whose X-Forwarded headers are trusted."`
	MinFree              Setting `name:"min-free" env:"MIZAN_MIN_FREE" standard:"512MiB" placeholder:"BYTES" help:"Free disk space below which commands are refused."`
	RateLimit            Setting `name:"rate-limit" env:"MIZAN_RATE_LIMIT" standard:"0" placeholder:"N" help:"Requests a second for each key; 0: no limit."`
	CreateWait           Setting `name:"create-wait" env:"MIZAN_CREATE_WAIT" standard:"10s" placeholder:"DURATION" help:"How long a request that creates a transaction waits for the provider's first outcome."`
	ProviderTimeout      Setting `name:"provider-timeout" env:"MIZAN_PROVIDER_TIMEOUT" standard:"10s" placeholder:"DURATION" help:"How long a provider may take to answer; after that the outcome of the call is unknown."`
	DeliveryRetention    Setting `name:"delivery-retention" env:"MIZAN_DELIVERY_RETENTION" standard:"720h" placeholder:"DURATION" help:"How long deliveries of notifications are kept."`
	ActionTTL            Setting `name:"action-ttl" env:"MIZAN_ACTION_TTL" standard:"30m" placeholder:"DURATION" help:"How long a payer may take to act, for example to authenticate."`
	TelegramURL          Setting `name:"telegram-url" env:"MIZAN_TELEGRAM_URL" standard:"https://api.telegram.org" placeholder:"URL" help:"Address of Telegram's Bot API."`
	TelegramTokenFile    Setting `name:"telegram-token-file" env:"MIZAN_TELEGRAM_TOKEN_FILE" placeholder:"FILE" help:"Token of the bot that sends messages to operators; without it, no messages are sent by Telegram."`
	SMTPAddress          Setting `name:"smtp-address" env:"MIZAN_SMTP_ADDRESS" placeholder:"HOST:PORT" help:"Server that sends e-mail to operators and receipts to payers; without it, none is sent."`
	SMTPFrom             Setting `name:"smtp-from" env:"MIZAN_SMTP_FROM" placeholder:"ADDRESS" help:"Sender of e-mail to operators and payers."`
	SMTPUser             Setting `name:"smtp-user" env:"MIZAN_SMTP_USER" placeholder:"NAME" help:"User name at the SMTP server."`
	SMTPPassFile         Setting `name:"smtp-pass-file" env:"MIZAN_SMTP_PASS_FILE" placeholder:"FILE" help:"Password of --smtp-user."`
	SMTPTLS              Setting `name:"smtp-tls" env:"MIZAN_SMTP_TLS" standard:"starttls" placeholder:"starttls|tls|off" help:"How the connection to the SMTP server is encrypted."`
	AllowPrivateWebhooks toggle  `name:"allow-private-webhooks" env:"MIZAN_ALLOW_PRIVATE_WEBHOOKS" help:"Let notifications go to private addresses; on with --sandbox."`
	Check                toggle  `name:"check" env:"MIZAN_CHECK" help:"Verify the whole store before serving."`
	BackupDir            Setting `name:"backup-dir" env:"MIZAN_BACKUP_DIR" placeholder:"DIR" help:"Directory into which the server takes backups of itself."`
	BackupEvery          Setting `name:"backup-every" env:"MIZAN_BACKUP_EVERY" standard:"1h" placeholder:"DURATION" help:"Interval of the backups in --backup-dir."`
	BackupKeep           Setting `name:"backup-keep" env:"MIZAN_BACKUP_KEEP" standard:"48" placeholder:"N" help:"How many of the backups in --backup-dir are kept, besides the earlier backups that they build on."`
	BackupRate           Setting `name:"backup-rate" env:"MIZAN_BACKUP_RATE" standard:"16MiB" placeholder:"BYTES" help:"Greatest number of bytes a second of any backup; 0: no limit."`
	LogLevel             Setting `name:"log-level" env:"MIZAN_LOG_LEVEL" standard:"info" placeholder:"LEVEL" help:"Least severe level that is logged: debug, info, warn or error."`
	LogFormat            Setting `name:"log-format" env:"MIZAN_LOG_FORMAT" standard:"text" placeholder:"text|json" help:"Format of the log on stderr."`
	AccessLog            Setting `name:"access-log" env:"MIZAN_ACCESS_LOG" placeholder:"all|errors|off" help:"Which requests are logged on stderr; the default is all with --sandbox, else errors (the requests that are answered with an error)."`
	MetricsListen        Setting `name:"metrics-listen" env:"MIZAN_METRICS_LISTEN" placeholder:"ADDR" help:"Address of the Prometheus endpoint /metrics, plain HTTP."`
	ClusterNode          Setting `name:"cluster-node" env:"MIZAN_CLUSTER_NODE" placeholder:"NAME" help:"Name of this node. Makes the server a node of a cluster, and needs the other cluster flags too."`
	ClusterListen        Setting `name:"cluster-listen" env:"MIZAN_CLUSTER_LISTEN" placeholder:"ADDR" help:"Address on which this node listens for the other nodes."`
	ClusterPeers         Setting `name:"cluster-peers" env:"MIZAN_CLUSTER_PEERS" placeholder:"NAME=ADDR,..." help:"All nodes of the cluster, with the addresses on which the others reach them."`
	ClusterShards        Setting `name:"cluster-shards" env:"MIZAN_CLUSTER_SHARDS" placeholder:"N" help:"Number of shards of organizations. It is fixed when the cluster is formed."`
	ClusterTLS           Setting `name:"cluster-tls" env:"MIZAN_CLUSTER_TLS" placeholder:"DIR" help:"Directory with the certificates of mizan cluster certificates."`
	Pprof                toggle  `name:"pprof" env:"MIZAN_PPROF" help:"Serve Go's profiles below /debug/pprof/ on the --metrics-listen address."`
}

// Config is the checked configuration of the server.
type Config struct {
	Dir               string // the data directory
	Listen            string
	TLS               string // auto, files, acme or off
	CertFile          string
	KeyFile           string
	ACME              ACME
	BaseURL           string // empty: derived from the listen address
	Sandbox           bool
	SimulatorURL      string // empty: the server simulates the providers itself
	SEPADir           string // directory of the SEPA terminals' files; empty: there are none
	ManualClock       bool   // the server's clock moves only when a client asks for it
	Keyring           string
	AdminToken        string // content of the token file; if empty, the server creates a token
	Proxies           []netip.Prefix
	MinFree           uint64
	RateLimit         int
	CreateWait        time.Duration
	ProviderWait      time.Duration
	ActionTTL         time.Duration
	DeliveryRetention time.Duration     // how long deliveries of notifications are kept
	PrivateHooks      bool              // notifications may be sent to private IP addresses
	Operators         operators.Options // without clock and log, which the server adds
	Check             bool
	Backups           Schedule
	Level             slog.Level // the least severe level that is logged
	LogFormat         string
	AccessLog         accesslog.Mode
	MetricsAddress    string
	Cluster           Cluster
	Profiles          bool // the metrics listener also serves Go's profiles
}

// Read reads and checks every key. The error has one line for each bad key.
func (c *Flags) Read() (*Config, error) {
	r := c.readLayers()
	cfg := r.readConfig()
	if len(r.faults) > 0 {
		return nil, cli.BadConfiguration(r.faults...)
	}
	return cfg, nil
}

// readLayers determines each key's value. A flag has precedence over the environment, the environment over the configuration
// file, and the file over the default. Each call reads the file again.
func (c *Flags) readLayers() *reader {
	r := newReader()
	keys := Keys(c)
	for _, k := range keys {
		if k.origin != "" {
			*k.Setting = Setting{}
		}
	}
	if c.Config.IsSet && c.Config.Raw == "" {
		r.fileUnreadable = true // the loop below reports the empty path
	} else if c.Config.IsSet {
		r.applyFile(keys, c.Config.Raw)
	}
	r.addKeys(keys)
	return r
}

// applyFile applies the configuration file to the keys that neither a flag nor the environment has set.
func (r *reader) applyFile(keys []Key, path string) {
	entries, err := readConfigFile(path)
	if err != nil {
		r.reportBad("config", "%v", err)
		r.fileUnreadable = true
		return
	}
	seen := make(map[string]bool)
	for _, entry := range entries {
		place := fmt.Sprintf("%s line %d", path, entry.line)
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == entry.key && k.Name != "config" })
		switch {
		case seen[entry.key]:
			r.reportBad(entry.key, "given twice in %s", place)
		case i < 0:
			r.reportBad(entry.key, "unknown key in %s", place)
		case !entry.isText:
			r.reportBad(entry.key, "has to be a string, a number, a boolean or a list of strings in %s", place)
		case !keys[i].IsSet:
			keys[i].Raw, keys[i].IsSet, keys[i].origin = entry.text, true, place
		}
		seen[entry.key] = true
	}
}

// readConfig reads and checks every key. Errors are reported in the order in which the help text lists the keys.
func (r *reader) readConfig() *Config {
	sandbox := r.flag("sandbox", false)
	defaultTLS := "files"
	if sandbox {
		defaultTLS = "auto"
	}
	cfg := &Config{
		Sandbox:           sandbox,
		Dir:               r.text("data"),
		Listen:            r.address("listen"),
		TLS:               r.oneOf("tls", defaultTLS, "auto", "files", "acme", "off"),
		CertFile:          r.text("tls-cert"),
		KeyFile:           r.text("tls-key"),
		ACME:              r.acme(),
		BaseURL:           r.origin("base-url"),
		ManualClock:       r.oneOf("clock", "", "real", "manual") == "manual",
		SimulatorURL:      r.simulatorURL("simulator-url"),
		SEPADir:           r.sepaDir("sepa-dir"),
		Keyring:           r.readableFile("keyring"),
		AdminToken:        r.token("admin-token-file"),
		Proxies:           r.networks("trusted-proxies"),
		MinFree:           r.bytes("min-free"),
		RateLimit:         r.count("rate-limit", maxRateLimit),
		CreateWait:        r.duration("create-wait"),
		ProviderWait:      r.duration("provider-timeout"),
		ActionTTL:         r.duration("action-ttl"),
		DeliveryRetention: r.durationBetween("delivery-retention", "720h", minRetention, maxRetention),
		PrivateHooks:      r.flag("allow-private-webhooks", sandbox),
		Operators:         r.operators(sandbox),
		Check:             r.flag("check", false),
		Backups:           r.backupSchedule(),
		Level:             r.level(),
		LogFormat:         r.oneOf("log-format", "", "text", "json"),
		AccessLog:         r.accessLog(sandbox),
		MetricsAddress:    r.address("metrics-listen"),
		Cluster:           r.cluster(),
		Profiles:          r.flag("pprof", false),
	}
	if !r.fileUnreadable && !r.reported["sandbox"] { // if the file or the key sandbox can't be read, some values are unknown
		r.checkCombinations(cfg)
	}
	return cfg
}

// level returns the least severe level that is logged.
func (r *reader) level() slog.Level {
	return levels[r.oneOf("log-level", "", "debug", "info", "warn", "error")]
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// accessLog returns the setting that determines which requests are logged.
func (r *reader) accessLog(sandbox bool) accesslog.Mode {
	standard := accesslog.Errors
	if sandbox {
		standard = accesslog.All
	}
	mode, err := accesslog.ParseMode(r.oneOf("access-log", standard.String(), accesslog.All.String(), accesslog.Errors.String(), accesslog.Off.String()))
	if err != nil {
		return standard // oneOf has already reported the bad value
	}
	return mode
}

// checkCombinations checks that the values of different keys are compatible.
func (r *reader) checkCombinations(cfg *Config) {
	r.checkTLS(cfg)
	if strings.HasPrefix(cfg.BaseURL, "http://") && (cfg.TLS != "off" || !cfg.Sandbox) && !r.reported["tls"] {
		r.reportBad("base-url", "has to be https, except for a sandbox with --tls off")
	}
	if cfg.ManualClock && !cfg.Sandbox {
		r.reportBad("clock", "manual needs --sandbox")
	}
	if r.settings["simulator-url"].IsSet && !cfg.Sandbox {
		r.reportBad("simulator-url", "needs --sandbox")
	}
	if cfg.SimulatorURL != "" && cfg.ManualClock {
		r.reportBad("simulator-url", "does not go with --clock manual, because mizan simulator has the real clock")
	}
	if cfg.Keyring == "" && !cfg.Sandbox && !r.settings["keyring"].IsSet {
		r.reportBad("keyring", "is required without --sandbox")
	}
	if cfg.Cluster.Node != "" {
		r.checkCluster(cfg)
	}
	if cfg.Profiles && cfg.MetricsAddress == "" && !r.settings["metrics-listen"].IsSet {
		r.reportBad("pprof", "only goes with --metrics-listen")
	}
	if cfg.MetricsAddress != "" && cfg.MetricsAddress == cfg.Listen && !strings.HasSuffix(cfg.Listen, ":0") {
		r.reportBad("metrics-listen", "is the --listen address")
	}
}
