// Command mutate makes small changes to the code, one at a time, and runs the
// tests that could notice. A change that no test notices (a mutant that stays
// alive) is behaviour that no test demands: add the test, or say in
// equivalent.txt why the changed program behaves the same.
//
// `make mutate` takes a sample; MUTATEFLAGS='-n 20 -files transformer -seed 7'
// chooses how many, of which files, and the same ones again.
//
// The exit code is 0 if every mutant was killed, 1 if some stayed alive, and 2
// if something went wrong.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, knownEquivalents))
}

// limits bound one run of the tests: a mutant may loop for ever and take ever more memory.
type limits struct {
	time   time.Duration
	memory int64 // bytes of address space of each process
}

func run(args []string, stdout, stderr io.Writer, equivalents string) int {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		dir   = flags.String("C", ".", "the root of the module")
		n     = flags.Int("n", 60, "how many mutants to try; 0 tries all")
		seed  = flags.Uint64("seed", 0, "choose the mutants that this seed chose before; 0 takes a new one")
		files = flags.String("files", "cmd,internal,transformer", "files, folders or patterns, separated by commas")
		p     = flags.Int("p", 2, "how many mutants to try at a time")
		list  = flags.Bool("list", false, "print the mutants and run nothing")
		limit = limits{memory: 8 << 30}
	)
	flags.DurationVar(&limit.time, "timeout", 5*time.Minute, "a package whose tests take longer has killed the mutant")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if *seed == 0 {
		*seed = uint64(time.Now().Unix())
	}
	alive, err := mutate(request{
		dir: *dir, n: *n, seed: *seed, files: strings.Split(*files, ","), parallel: max(*p, 1), list: *list,
		limits: limit, equivalents: equivalents,
	}, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return 2
	}
	if alive > 0 {
		return 1
	}
	return 0
}

// A request has what the flags say.
type request struct {
	dir         string
	n           int
	seed        uint64
	files       []string
	parallel    int
	list        bool
	limits      limits
	equivalents string
}

// mutate tries the mutants and returns how many stayed alive.
func mutate(r request, stdout io.Writer) (int, error) {
	equivalent, err := parseEquivalents(r.equivalents)
	if err != nil {
		return 0, err
	}
	m, err := loadModule(r.dir)
	if err != nil {
		return 0, err
	}
	all, packageOf, err := m.mutants(r.files)
	if err != nil {
		return 0, err
	}
	if r.list {
		for _, x := range all {
			fmt.Fprintf(stdout, "%d: %s\n", x.line, x.id())
		}
		return 0, nil
	}
	candidates, err := without(all, equivalent, packageOf)
	if err != nil {
		return 0, err
	}
	if err := m.unchanged(packageOf, r.limits); err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(r.seed, 0))
	rng.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	if r.n <= 0 {
		r.n = len(candidates)
	}
	fmt.Fprintf(stdout, "%d mutants, %d known to be equivalent; trying %d, seed %d\n",
		len(all), len(all)-len(candidates), min(r.n, len(candidates)), r.seed)
	t := trial{module: m, packageOf: packageOf, limits: r.limits, left: r.n, queue: candidates, out: stdout}
	err = t.run(r.parallel)
	fmt.Fprintf(stdout, "%d killed, %d alive\n", t.count[killed], t.count[alive])
	return t.count[alive], err
}

// mutants returns the mutants of the files that match one of the patterns,
// and the package of each file.
func (m *module) mutants(patterns []string) ([]mutant, map[string]string, error) {
	var all []mutant
	packageOf := map[string]string{}
	for _, f := range m.files {
		if !slices.ContainsFunc(patterns, func(p string) bool { return matches(f.name, p) }) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(f.name)))
		if err != nil {
			return nil, nil, err
		}
		more, err := mutants(f.name, source)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, more...)
		packageOf[f.name] = f.packageName
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("no file matches -files %s", strings.Join(patterns, ","))
	}
	return all, packageOf, nil
}

// without returns the mutants that are not known to be equivalent. A known one
// that is no mutant of its file any more is an error: its reason may be wrong now.
func without(all []mutant, equivalent, packageOf map[string]string) ([]mutant, error) {
	var rest []mutant
	found := map[string]bool{}
	for _, x := range all {
		if equivalent[x.id()] == "" {
			rest = append(rest, x)
		} else {
			found[x.id()] = true
		}
	}
	for id := range equivalent {
		if file, _, _ := strings.Cut(id, " "); packageOf[file] != "" && !found[id] {
			return nil, fmt.Errorf("equivalent.txt: no such mutant any more: %s", id)
		}
	}
	return rest, nil
}

// matches reports whether a pattern is the file, a folder above it, or a glob
// of it.
func matches(file, pattern string) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	glob, err := filepath.Match(pattern, file)
	return pattern == "." || file == pattern || strings.HasPrefix(file, pattern+"/") || err == nil && glob
}

// A trial tries mutants of a queue until enough have a verdict.
type trial struct {
	module    *module
	packageOf map[string]string
	limits    limits

	mu    sync.Mutex
	queue []mutant
	left  int // without a verdict; mutants that do not compile do not count
	count map[verdict]int
	err   error
	out   io.Writer
}

func (t *trial) run(parallel int) error {
	t.count = map[verdict]int{}
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(t.work)
	}
	wg.Wait()
	return t.err
}

func (t *trial) work() {
	for {
		x, ok := t.next()
		if !ok {
			return
		}
		v, err := t.module.try(x, t.packageOf[x.file], t.limits)
		t.note(x, v, err)
	}
}

// next takes a mutant from the queue and counts on its verdict.
func (t *trial) next() (mutant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 || t.left == 0 || t.err != nil {
		return mutant{}, false
	}
	x := t.queue[0]
	t.queue = t.queue[1:]
	t.left--
	return x, true
}

func (t *trial) note(x mutant, v verdict, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[v]++
	switch {
	case err != nil:
		t.err = err
	case v == unusable:
		t.left++
	default:
		name := strings.TrimPrefix(x.id(), x.file+" ")
		fmt.Fprintf(t.out, "%-6s %s:%d: %s\n", v, x.file, x.line, name)
	}
}
