module github.com/slipway-k8s/slipway/docs/recording

go 1.26.0

require (
	github.com/creack/pty v1.1.24
	github.com/google/go-cmp v0.7.0
	github.com/hinshun/vt10x v0.0.0-20220301184237-5011da428d02
)

require k8s.io/utils v0.0.0-20260626114624-be93311217bd
