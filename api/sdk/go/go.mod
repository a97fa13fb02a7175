module mizan/api/sdk/go

go 1.24
