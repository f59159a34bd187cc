// Package installed has no code: its tests compare what check concludes from the objects of Istio's charts alone
// with what the API server and Istio's own injector make of the pods.
package installed
