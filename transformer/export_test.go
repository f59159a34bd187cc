package transformer

// NotAside returns notes for a plan in which nothing is asked aside.
func NotAside() *Notes { return &Notes{notAside: true} }
