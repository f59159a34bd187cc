// Package cluster reads what a cluster runs and says, as manifests. It knows which types a run needs,
// in which order, and what stays unknown without one. It knows nothing of probes, and reads no
// Secret, and of ConfigMaps only those that meshes are configured by.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/kubectl"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A Wish says what a run needs of a cluster.
type Wish struct {
	// FactsOnly is set if the manifests come from elsewhere, so that no workload is read.
	FactsOnly bool
	// NoPods is set if what running pods show does not count.
	NoPods bool
	// Namespace is the only one whose objects are read; "" for all.
	Namespace string
	// RootNamespace is Istio's, whose policies count everywhere.
	RootNamespace string
	// Custom are kinds that make pods, besides those that are known.
	Custom []surroundings.GroupKind
}

// A Reading is what was read.
type Reading struct {
	Context string // kubectl's; "" in a pod without a kubeconfig
	Streams []*manifest.Stream
	Beside  []*manifest.Stream // objects that only say something about others: control planes elsewhere
	Refused []Refused
	// OpenShift is set if the cluster is one.
	OpenShift bool
	// AllPeers is set if all PeerAuthentications were read, so that without one mTLS is PERMISSIVE.
	AllPeers bool

	types map[surroundings.GroupKind]kubectl.Type // of the wanted kinds, those that the cluster has
}

// A Refused is a type that could not be read.
type Refused struct {
	Type    string // as RBAC names it
	Pods    bool   // its objects make pods
	Unknown string // what is unknown without it, as a clause; "" if pods are
	Why     string // in the words of the API server
}

// parallel is how many programs run at once: each waits for the network most of the time.
const parallel = 4

// Read reads a cluster. An error means that nothing is known: a type that cannot be read is none.
func Read(ctx context.Context, k *kubectl.Kubectl, w Wish) (*Reading, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &reader{ctx: ctx, cancel: cancel, kubectl: k, Wish: w}
	r.listed = make(map[surroundings.GroupKind]bool)
	r.types = make(map[surroundings.GroupKind]kubectl.Type)
	r.untold = make(map[string]bool)
	return &r.Reading, r.read()
}

// A reader is a reading that goes on.
type reader struct {
	Reading
	Wish
	ctx     context.Context
	cancel  context.CancelCauseFunc
	kubectl *kubectl.Kubectl
	listed  map[surroundings.GroupKind]bool // the kinds of which all objects were read
	untold  map[string]bool                 // the groups that did not tell their types
}

func (r *reader) read() error {
	var err error
	if r.Context, err = r.kubectl.CurrentContext(r.ctx); err != nil {
		return err
	}
	wanted := r.wanted()
	if err := r.discover(wanted); err != nil {
		return err
	}
	for _, phase := range phases {
		var jobs []job
		for _, n := range wanted {
			if n.phase == phase {
				jobs = append(jobs, r.jobs(n)...)
			}
		}
		if err := r.list(jobs); err != nil {
			return err
		}
	}
	r.AllPeers = r.listed[peerAuthentication] && r.Namespace == ""
	for _, s := range slices.Concat(r.Streams, r.Beside) {
		s.All = r.hasAll
	}
	return nil
}

// hasAll reports whether all objects of a kind were read, of all namespaces. All of a kind that the cluster does not
// have are none.
func (r *reader) hasAll(group, kind string) bool {
	k := surroundings.GroupKind{Group: group, Kind: kind}
	t, served := r.types[k]
	switch {
	case !served:
		return !r.untold[group]
	case r.Namespace != "" && t.Namespaced:
		return false
	}
	return r.listed[k] && kind != configMap.Kind // those are asked for by name
}

// discover finds the types of the wanted kinds that the cluster has.
func (r *reader) discover(wanted []need) error {
	groups, err := r.kubectl.Groups(r.ctx)
	if err != nil {
		return err
	}
	_, r.OpenShift = groups["route.openshift.io"]
	var names []string
	for _, n := range wanted {
		if _, served := groups[n.Group]; served && !slices.Contains(names, n.Group) {
			names = append(names, n.Group)
		}
	}
	found := make([]map[string]kubectl.Type, len(names))
	refused := make([]error, len(names))
	err = r.inParallel(len(names), func(i int) (err error) {
		found[i], refused[i], err = r.typesOf(names[i], groups[names[i]], wanted)
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range wanted {
		i := slices.Index(names, n.Group)
		if i < 0 {
			continue
		}
		if t, has := found[i][n.Kind]; has {
			r.types[n.GroupKind] = t
		} else if refused[i] != nil {
			r.untold[n.Group] = true
			r.refuse(n, strings.TrimSuffix(n.Kind+"."+n.Group, "."), refused[i])
		}
	}
	return nil
}

// typesOf returns the wanted types of a group by kind: each in the preferred version, or in the first
// that has it. refused is why the group does not tell.
func (r *reader) typesOf(
	group string, versions []string, wanted []need,
) (types map[string]kubectl.Type, refused, err error) {
	types = make(map[string]kubectl.Type)
	isMissing := func(n need) bool {
		_, has := types[n.Kind]
		return n.Group == group && !has
	}
	for _, version := range versions {
		all, err := r.kubectl.Types(r.ctx, group, version)
		if err != nil {
			if kubectl.IsOfType(err) {
				return types, err, nil
			}
			return nil, nil, err
		}
		for _, t := range all {
			if _, has := types[t.Kind]; !has {
				types[t.Kind] = t
			}
		}
		if !slices.ContainsFunc(wanted, isMissing) {
			break
		}
	}
	return types, nil, nil
}

// A job is one list to read.
type job struct {
	need
	kubectl.Type
	kubectl.Query
	keep  func(kubectl.Item) bool
	pages [][]byte
	err   error
}

// jobs returns the lists of a kind, none if the cluster does not have it.
func (r *reader) jobs(n need) (all []job) {
	t, served := r.types[n.GroupKind]
	if !served {
		return nil
	}
	for _, q := range n.queries(r) {
		all = append(all, job{need: n, Type: t, Query: q, keep: r.keep(n)})
	}
	return all
}

// list reads lists at once, and adds their objects in order.
func (r *reader) list(jobs []job) error {
	err := r.inParallel(len(jobs), func(i int) error {
		j := &jobs[i]
		j.pages, j.err = r.kubectl.List(r.ctx, j.Type, j.Query, j.keep)
		if kubectl.IsOfType(j.err) {
			return nil
		}
		return j.err
	})
	if err != nil {
		return err
	}
	for i := range jobs {
		if err := r.add(&jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// add adds the objects of a list.
func (r *reader) add(j *job) error {
	switch {
	case kubectl.Is(j.err, "NotFound", "MethodNotAllowed"): // it was there a moment ago, or a namespace has none
	case j.err != nil:
		r.refuse(j.need, j.Type.String(), j.err)
	default:
		r.listed[j.GroupKind] = r.listed[j.GroupKind] || !j.beside
	}
	for _, p := range j.pages {
		s, err := manifest.ReadCluster(p)
		if err != nil {
			return fmt.Errorf("%s of the cluster: %w", j.Type, err)
		}
		if j.beside {
			r.Beside = append(r.Beside, s)
		} else {
			r.Streams = append(r.Streams, s)
		}
	}
	return nil
}

func (r *reader) refuse(n need, name string, err error) {
	refused := Refused{Type: name, Pods: n.makesPods, Unknown: n.unknown, Why: err.Error()}
	if e, ok := errors.AsType[*kubectl.Error](err); ok {
		refused.Why = e.Text
	}
	isThere := func(o Refused) bool { return o.Type == name }
	if !slices.ContainsFunc(r.Refused, isThere) {
		r.Refused = append(r.Refused, refused)
	}
	delete(r.listed, n.GroupKind)
}

// inParallel calls do for each index, some at once, and returns an error, which ends the run.
func (r *reader) inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			if errs[i] = do(i); errs[i] != nil {
				r.cancel(errs[i])
			}
			<-slots
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}
