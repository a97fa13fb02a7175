package web

var (
	HeaderRetryAfter   = []byte("Retry-After")
	HeaderRequestID    = []byte("X-Request-Id")
	HeaderLocation     = []byte("Location")
	HeaderNoSniff      = []byte("X-Content-Type-Options")
	HeaderCache        = []byte("Cache-Control")
	ValueNoSniff       = []byte("nosniff")
	ValueNoStore       = []byte("no-store")
	ValueJSON          = []byte("application/json")
	headerReplay       = []byte("X-Idempotent-Replay")
	HeaderMismatch     = []byte("X-Idempotent-Mismatch")
	headerIdempotency  = []byte("Idempotency-Key")
	HeaderAPIKey       = []byte("X-Api-Key")
	HeaderOrganization = []byte("X-Organization-Id")
	HeaderTLSOnly      = []byte("Strict-Transport-Security")
	ValueTLSOnly       = []byte("max-age=31536000") // a year

	ValueTLSOnlyBriefly = []byte("max-age=3600")
	headerForwarded     = []byte("X-Forwarded-For")
	headerForwardedBy   = []byte("X-Forwarded-Proto")
	valueTrue           = []byte("true")
)
