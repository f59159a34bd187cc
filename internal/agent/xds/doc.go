// Package xds tells istiod whether a virtual machine is healthy, as Istio's
// agent does through Envoy: on a stream of Envoy's aggregated discovery
// service (ADS), which stays open and is opened again whenever it breaks.
//
// The messages are encoded by hand, over internal/wire: the libraries for them
// would double the program and its memory (docs/guides/vm.md). They judge the
// messages in the tests. The package knows nothing of how the app is probed, files or TLS.
package xds
