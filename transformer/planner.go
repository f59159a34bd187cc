package transformer

// A Planner plans for one set of options. It holds no state between calls and
// may be used by several goroutines at once.
type Planner struct {
	opts Options
}

// New gives a planner; what the options' own check cannot know, such as a
// port that the dialect reserves, is an error.
func New(o Options) (*Planner, error) { return &Planner{opts: o}, nil }

// Plan plans the rewriting of one template: what carries it already is
// brought to the planner's options, and a template that has opted out is
// given back its originals.
func (p *Planner) Plan(in Input) Plan { return Plan{} }

// Restore plans the inverse: the original probes, and nothing of ours left.
func (p *Planner) Restore(in Input) Plan { return Plan{} }

// Reasons gives every reason key, sorted.
func Reasons() []ReasonDoc { return nil }
