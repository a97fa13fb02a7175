package main

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"mizan/actors/notifier/operators"
)

// Bounds of what may be configured.
const (
	maxDuration   = 24 * time.Hour
	minRetention  = 24 * time.Hour // the last retry is 7 h after the first attempt
	maxRetention  = 10 * 365 * 24 * time.Hour
	maxRateLimit  = 1_000_000
	minAdminToken = 32
	maxAdminToken = 512
)

// serveCommand is `mizan serve`. A struct tag `standard` is a key's default; it
// is ours, because kong would not tell a default from a value that was given.
type serveCommand struct {
	Config               setting `name:"config" env:"MIZAN_CONFIG" placeholder:"FILE" help:"JSON file with any of these keys."`
	Data                 setting `name:"data" env:"MIZAN_DATA" standard:"./data" placeholder:"DIR" help:"Data directory."`
	Listen               setting `name:"listen" env:"MIZAN_LISTEN" standard:"127.0.0.1:8443" placeholder:"ADDR" help:"Address to serve on; port 0 picks a free one."`
	TLS                  setting `name:"tls" env:"MIZAN_TLS" placeholder:"auto|files|off" help:"Where the certificate comes from; auto with --sandbox, else files."`
	TLSCert              setting `name:"tls-cert" env:"MIZAN_TLS_CERT" placeholder:"FILE" help:"Certificate chain, PEM, for --tls files."`
	TLSKey               setting `name:"tls-key" env:"MIZAN_TLS_KEY" placeholder:"FILE" help:"Its key, PEM."`
	BaseURL              setting `name:"base-url" env:"MIZAN_BASE_URL" placeholder:"URL" help:"How clients reach the server; no path."`
	Sandbox              toggle  `name:"sandbox" env:"MIZAN_SANDBOX" help:"Simulated providers and two ready organizations."`
	Clock                setting `name:"clock" env:"MIZAN_CLOCK" standard:"real" placeholder:"real|manual" help:"manual: time moves through PUT /api/v1/sandbox/clock only."`
	Keyring              setting `name:"keyring" env:"MIZAN_KEYRING" placeholder:"FILE" help:"Keys that seal card numbers and sign ledger heads; made in the data directory with --sandbox, else required."`
	AdminTokenFile       setting `name:"admin-token-file" env:"MIZAN_ADMIN_TOKEN_FILE" placeholder:"FILE" help:"Admin token to put in force beside those that are; without it the first start makes one and prints it once."`
	TrustedProxies       setting `name:"trusted-proxies" env:"MIZAN_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"Proxies whose X-Forwarded headers count."`
	MinFree              setting `name:"min-free" env:"MIZAN_MIN_FREE" standard:"512MiB" placeholder:"BYTES" help:"Free disk space below which commands are refused."`
	RateLimit            setting `name:"rate-limit" env:"MIZAN_RATE_LIMIT" standard:"0" placeholder:"N" help:"Requests a second for each key; 0: no limit."`
	CreateWait           setting `name:"create-wait" env:"MIZAN_CREATE_WAIT" standard:"10s" placeholder:"DURATION" help:"How long a create waits for the first outcome."`
	ProviderTimeout      setting `name:"provider-timeout" env:"MIZAN_PROVIDER_TIMEOUT" standard:"10s" placeholder:"DURATION" help:"When a provider call counts as unknown."`
	DeliveryRetention    setting `name:"delivery-retention" env:"MIZAN_DELIVERY_RETENTION" standard:"720h" placeholder:"DURATION" help:"How long deliveries of notifications are kept."`
	ActionTTL            setting `name:"action-ttl" env:"MIZAN_ACTION_TTL" standard:"30m" placeholder:"DURATION" help:"How long a payer may take."`
	TelegramURL          setting `name:"telegram-url" env:"MIZAN_TELEGRAM_URL" standard:"https://api.telegram.org" placeholder:"URL" help:"Where Telegram's Bot API is."`
	TelegramTokenFile    setting `name:"telegram-token-file" env:"MIZAN_TELEGRAM_TOKEN_FILE" placeholder:"FILE" help:"Token of the bot that tells operators; without it nothing is told by Telegram."`
	SMTPAddress          setting `name:"smtp-address" env:"MIZAN_SMTP_ADDRESS" placeholder:"HOST:PORT" help:"Server that takes e-mail to operators; without it nothing is told by e-mail."`
	SMTPFrom             setting `name:"smtp-from" env:"MIZAN_SMTP_FROM" placeholder:"ADDRESS" help:"Sender of e-mail to operators."`
	SMTPUser             setting `name:"smtp-user" env:"MIZAN_SMTP_USER" placeholder:"NAME" help:"Whom to sign in to the SMTP server as."`
	SMTPPassFile         setting `name:"smtp-pass-file" env:"MIZAN_SMTP_PASS_FILE" placeholder:"FILE" help:"The user's password."`
	SMTPTLS              setting `name:"smtp-tls" env:"MIZAN_SMTP_TLS" standard:"starttls" placeholder:"starttls|tls|off" help:"How the way to the SMTP server is encrypted."`
	AllowPrivateWebhooks toggle  `name:"allow-private-webhooks" env:"MIZAN_ALLOW_PRIVATE_WEBHOOKS" help:"Let notifications go to private addresses; on with --sandbox."`
	Check                toggle  `name:"check" env:"MIZAN_CHECK" help:"Verify the whole store before serving."`
	BackupDir            setting `name:"backup-dir" env:"MIZAN_BACKUP_DIR" placeholder:"DIR" help:"Directory into which the server takes backups of itself."`
	BackupEvery          setting `name:"backup-every" env:"MIZAN_BACKUP_EVERY" standard:"1h" placeholder:"DURATION" help:"How often it does."`
	BackupKeep           setting `name:"backup-keep" env:"MIZAN_BACKUP_KEEP" standard:"48" placeholder:"N" help:"How many of them are kept, and what those rest on."`
	BackupRate           setting `name:"backup-rate" env:"MIZAN_BACKUP_RATE" standard:"16MiB" placeholder:"BYTES" help:"Bytes a second at which any backup is taken; 0: no bound."`
	LogLevel             setting `name:"log-level" env:"MIZAN_LOG_LEVEL" standard:"info" placeholder:"LEVEL" help:"debug, info, warn or error."`
	LogFormat            setting `name:"log-format" env:"MIZAN_LOG_FORMAT" standard:"text" placeholder:"text|json" help:"Format of the log on stderr."`
	MetricsListen        setting `name:"metrics-listen" env:"MIZAN_METRICS_LISTEN" placeholder:"ADDR" help:"Address of the Prometheus endpoint /metrics, plain HTTP."`
}

// config is the configuration of the server, checked.
type config struct {
	dir            string
	listen         string
	tls            string // auto, files or off
	certFile       string
	keyFile        string
	baseURL        string // empty: from the listen address
	sandbox        bool
	manual         bool // the clock
	keyring        string
	adminToken     string // from the file; empty: make one
	proxies        []netip.Prefix
	minFree        uint64
	rateLimit      int
	createWait     time.Duration
	providerWait   time.Duration
	actionTTL      time.Duration
	retention      time.Duration // of deliveries
	privateHooks   bool
	operators      operators.Options // but for clock and log
	check          bool
	backups        schedule
	level          slog.Level
	logFormat      string
	metricsAddress string
}

// configuration reads every key and checks it; the error has a line for each bad one.
func (c *serveCommand) configuration() (*config, error) {
	r := c.layers()
	cfg := r.values()
	if len(r.bad) > 0 {
		return nil, badConfiguration(r.bad...)
	}
	return cfg, nil
}

// layers puts the layers on each other: flag, environment, file, default. What an
// earlier call took from the file is read from it anew.
func (c *serveCommand) layers() *reader {
	r := &reader{settings: make(map[string]*setting), reported: make(map[string]bool)}
	list := keys(c)
	for _, k := range list {
		if k.origin != "" {
			*k.setting = setting{}
		}
	}
	if c.Config.given && c.Config.raw == "" {
		r.unread = true // said below
	} else if c.Config.given {
		r.file(list, c.Config.raw)
	}
	for _, k := range list {
		if !k.given {
			k.raw = k.standard
		} else if k.raw == "" {
			r.wrong(k.name, "is empty")
		}
		r.settings[k.name] = k.setting
	}
	return r
}

// file lays the configuration file under the flags and the environment.
func (r *reader) file(list []key, path string) {
	values, bad, err := readConfigFile(path)
	if err != nil {
		r.wrong("config", "%v", err)
		r.unread = true
		return
	}
	for _, b := range bad {
		r.wrong(b.key, "%s", b.text)
	}
	for _, k := range list {
		raw, found := values[k.name]
		if !found || k.name == "config" {
			continue
		}
		delete(values, k.name)
		if !k.given {
			k.raw, k.given, k.origin = raw, true, path
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		r.wrong(name, "unknown key in %s", path)
	}
}

// values reads every key, in the order of the help.
func (r *reader) values() *config {
	sandbox := r.flag("sandbox", false)
	mode := "files"
	if sandbox {
		mode = "auto"
	}
	cfg := &config{
		sandbox:        sandbox,
		dir:            r.text("data"),
		listen:         r.address("listen"),
		tls:            r.oneOf("tls", mode, "auto", "files", "off"),
		certFile:       r.text("tls-cert"),
		keyFile:        r.text("tls-key"),
		baseURL:        r.origin("base-url"),
		manual:         r.oneOf("clock", "", "real", "manual") == "manual",
		keyring:        r.readable("keyring"),
		adminToken:     r.token("admin-token-file"),
		proxies:        r.networks("trusted-proxies"),
		minFree:        r.bytes("min-free"),
		rateLimit:      r.count("rate-limit", maxRateLimit),
		createWait:     r.duration("create-wait"),
		providerWait:   r.duration("provider-timeout"),
		actionTTL:      r.duration("action-ttl"),
		retention:      r.within("delivery-retention", "720h", minRetention, maxRetention),
		privateHooks:   r.flag("allow-private-webhooks", sandbox),
		operators:      r.operators(sandbox),
		check:          r.flag("check", false),
		backups:        r.schedule(),
		level:          r.level(),
		logFormat:      r.oneOf("log-format", "", "text", "json"),
		metricsAddress: r.address("metrics-listen"),
	}
	if !r.unread && !r.reported["sandbox"] { // else it isn't known what goes with what
		r.together(cfg)
	}
	return cfg
}

// level is how much is logged.
func (r *reader) level() slog.Level {
	return levels[r.oneOf("log-level", "", "debug", "info", "warn", "error")]
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// together checks keys against each other.
func (r *reader) together(cfg *config) {
	switch cfg.tls {
	case "files":
		if cfg.certFile == "" {
			r.wrong("tls-cert", "is required with --tls files")
		}
		if cfg.keyFile == "" {
			r.wrong("tls-key", "is required with --tls files")
		}
		if cfg.certFile != "" && cfg.keyFile != "" {
			if _, err := loadPair(cfg.certFile, cfg.keyFile); err != nil {
				r.wrong("tls-cert", "%v", err)
			}
		}
	case "off":
		if len(cfg.proxies) == 0 && !r.reported["trusted-proxies"] && cfg.listen != "" && !loopback(cfg.listen) {
			r.wrong("tls", "off needs a loopback --listen address or --trusted-proxies")
		}
		fallthrough
	case "auto":
		if cfg.certFile != "" {
			r.wrong("tls-cert", "only goes with --tls files")
		}
		if cfg.keyFile != "" {
			r.wrong("tls-key", "only goes with --tls files")
		}
	}
	if strings.HasPrefix(cfg.baseURL, "http://") && (cfg.tls != "off" || !cfg.sandbox) && !r.reported["tls"] {
		r.wrong("base-url", "has to be https, but for a sandbox with --tls off")
	}
	if cfg.manual && !cfg.sandbox {
		r.wrong("clock", "manual needs --sandbox")
	}
	if cfg.keyring == "" && !cfg.sandbox && !r.settings["keyring"].given {
		r.wrong("keyring", "is required without --sandbox")
	}
	if cfg.metricsAddress != "" && cfg.metricsAddress == cfg.listen && !strings.HasSuffix(cfg.listen, ":0") {
		r.wrong("metrics-listen", "is the --listen address")
	}
}
