// Package installed has no code: its tests compare what check concludes from the objects of Istio's charts alone
// with what the API server and Istio's own injector make of the pods.
//
// The injector of the newest Istio runs in the tests. What those of older releases did is recorded in testdata, a file for
// each, with the objects of its charts as far as they state facts (Istio's, Apache-2.0). `make older-istio` builds them, at
// the commits that build/older-istio.sh lists, asks them again, also beside all objects of the charts, and writes the
// files. To build the oldest one takes five minutes of CPU, so CI compares with the record.
package installed
