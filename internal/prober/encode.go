package prober

import "encoding/json"

// Encode returns the env value of the probers on one line, sorted by key, in
// the form that Istio's injector writes. Without probers it returns "": then
// no env var is written.
func Encode(probers map[string]*Prober) string {
	if len(probers) == 0 {
		return ""
	}
	b, _ := json.Marshal(probers) // types of strings and numbers alone cannot fail
	return string(b)
}
