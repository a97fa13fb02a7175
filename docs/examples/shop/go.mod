module shop

go 1.25

require mizan/api/sdk/go v0.0.0

replace mizan/api/sdk/go => ../../../api/sdk/go
