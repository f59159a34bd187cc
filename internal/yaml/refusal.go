package yaml

// A Refusal is why a text is not accepted, or not edited, and where.
type Refusal struct {
	At    int    // the offset
	Open  int    // that of the bracket which is open there; -1 if none is
	Why   string // "" if the text is accepted
	cause error  // such as [ErrNotText]; nil if Why is all
}

func (r *Refusal) Error() string { return r.Why }

// Unwrap returns the error without the place.
func (r *Refusal) Unwrap() error { return r.cause }

// From returns the error of a text in which the refused one starts at an offset.
func (r Refusal) From(start int) error {
	r.At += start
	if r.Open >= 0 {
		r.Open += start
	}
	return &r
}

func refusalAt(at int, why string) Refusal { return Refusal{At: at, Open: -1, Why: why} }

func errorAt(at int, err error) error {
	return &Refusal{At: at, Open: -1, Why: err.Error(), cause: err}
}
