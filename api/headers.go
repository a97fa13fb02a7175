package api

var (
	headerRetryAfter  = []byte("Retry-After")
	headerRequestID   = []byte("X-Request-Id")
	headerLocation    = []byte("Location")
	headerNoSniff     = []byte("X-Content-Type-Options")
	headerCache       = []byte("Cache-Control")
	valueNoSniff      = []byte("nosniff")
	valueNoStore      = []byte("no-store")
	valueJSON         = []byte("application/json")
	headerReplay      = []byte("X-Idempotent-Replay")
	headerMismatch    = []byte("X-Idempotent-Mismatch")
	headerIdempotency = []byte("Idempotency-Key")
	headerKey         = []byte("X-Api-Key")
	headerOrg         = []byte("X-Organization-Id")
	headerSecurity    = []byte("Strict-Transport-Security")
	valueSecurity     = []byte("max-age=31536000") // a year

	valueSecurityBrief = []byte("max-age=3600")
	headerForwarded    = []byte("X-Forwarded-For")
	headerForwardedBy  = []byte("X-Forwarded-Proto")
	valueTrue          = []byte("true")
)
