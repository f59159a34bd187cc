// Command sdknoop is a function on the kpt SDK that changes nothing. It costs
// what any function on that SDK costs before its own work begins.
package main

import (
	"os"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

func main() {
	noop := fn.ResourceListProcessorFunc(func(*fn.ResourceList) (bool, error) { return true, nil })
	if err := fn.AsMain(noop); err != nil {
		os.Exit(1)
	}
}
