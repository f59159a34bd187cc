package manifest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A CustomTemplate says where the pod template of a kind is that this
// package does not know, in any version of the group.
type CustomTemplate struct {
	Group string
	Kind  string
	Path  field.Path // plain keys; the empty path says that the object is itself like a Pod
}

// A TemplateRef says where a pod template is: at Path the object has a
// mapping with metadata and spec, as a Pod has.
type TemplateRef struct {
	Path    field.Path
	JobLike bool // made by a Job, a CronJob, a ScaledJob or a JobSet
}

type groupKind struct{ group, kind string }

// A place is where a known kind has pod templates; the key `*` stands for all
// items of a list.
type place struct {
	paths   []field.Path
	jobLike bool
}

// templatesAt gives a place of dotted paths.
func templatesAt(jobLike bool, paths ...string) place {
	p := place{jobLike: jobLike}
	for _, path := range paths {
		p.paths = append(p.paths, splitPath(path))
	}
	return p
}

var (
	itself       = templatesAt(false, "")
	specTemplate = templatesAt(false, "spec.template")
)

// knownKinds holds the pod templates of kinds that are known by group and
// kind, whatever the version.
var knownKinds = map[groupKind]place{
	{"", "Pod"}:                                     itself,
	{"", "PodTemplate"}:                             templatesAt(false, "template"),
	{"", "ReplicationController"}:                   specTemplate,
	{"apps", "Deployment"}:                          specTemplate,
	{"apps", "ReplicaSet"}:                          specTemplate,
	{"apps", "StatefulSet"}:                         specTemplate,
	{"apps", "DaemonSet"}:                           specTemplate,
	{"extensions", "Deployment"}:                    specTemplate,
	{"extensions", "ReplicaSet"}:                    specTemplate,
	{"extensions", "DaemonSet"}:                     specTemplate,
	{"batch", "Job"}:                                templatesAt(true, "spec.template"),
	{"batch", "CronJob"}:                            templatesAt(true, "spec.jobTemplate.spec.template"),
	{"apps.openshift.io", "DeploymentConfig"}:       specTemplate,
	{"argoproj.io", "Rollout"}:                      specTemplate,
	{"serving.knative.dev", "Service"}:              specTemplate,
	{"serving.knative.dev", "Configuration"}:        specTemplate,
	{"serving.knative.dev", "Revision"}:             itself,
	{"keda.sh", "ScaledJob"}:                        templatesAt(true, "spec.jobTargetRef.template"),
	{"apps.kruise.io", "CloneSet"}:                  specTemplate,
	{"apps.kruise.io", "StatefulSet"}:               specTemplate,
	{"apps.kruise.io", "DaemonSet"}:                 specTemplate,
	{"kubeflow.org", "Notebook"}:                    specTemplate,
	{"jobset.x-k8s.io", "JobSet"}:                   templatesAt(true, "spec.replicatedJobs.*.template.spec.template"),
	{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"}: templatesAt(false, "spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"),
}

// builtinGroups are the API server's own: their other kinds hold no pod
// templates.
var builtinGroups = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "extensions": true,
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true,
	"flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true, "scheduling.k8s.io": true,
	"storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// MayHoldPodTemplate tells, without parsing, whether PodTemplates or
// FindPodTemplate could find something. Known says that the kind is one
// whose pod templates are known (or among custom).
func (o *Object) MayHoldPodTemplate(custom []CustomTemplate) (may, known bool) {
	group := o.Group()
	if _, ok := knownKinds[groupKind{group, o.kind}]; ok {
		return true, true
	}
	for i := range custom {
		if custom[i].Group == group && custom[i].Kind == o.kind {
			return true, true
		}
	}
	if builtinGroups[group] && o.apiVersion != "" {
		return false, false
	}
	return bytes.Contains(o.source(), []byte("containers")), false
}

// PodTemplates gives the places of the object's pod templates, as far as the
// object has them; none for a kind that is neither known nor in custom.
func (o *Object) PodTemplates(custom []CustomTemplate) ([]TemplateRef, error) {
	group := o.Group()
	known, ok := knownKinds[groupKind{group, o.kind}]
	var refs []TemplateRef
	add := func(path field.Path, jobLike bool) error {
		found, err := o.hasMapping(path)
		if found && !slices.ContainsFunc(refs, func(r TemplateRef) bool { return slices.Equal(r.Path, path) }) {
			refs = append(refs, TemplateRef{Path: path, JobLike: jobLike})
		}
		return err
	}
	if ok {
		for _, p := range known.paths {
			each := slices.Index(p, field.Step{Key: "*"})
			if each < 0 {
				if err := add(p, known.jobLike); err != nil {
					return nil, err
				}
				continue
			}
			list, after := p[:each], p[each+1:]
			n, err := o.length(list)
			if err != nil {
				return nil, err
			}
			for i := range n {
				if err := add(list.Index(i).Join(after), known.jobLike); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, c := range custom {
		if c.Group == group && c.Kind == o.kind {
			if err := add(c.Path, false); err != nil {
				return nil, err
			}
		}
	}
	return refs, nil
}

func splitPath(p string) field.Path {
	if p == "" {
		return field.Path{}
	}
	return field.NewPath(strings.Split(p, ".")...)
}

// hasMapping tells whether the object has a mapping at the path; a value of
// another type there is an error.
func (o *Object) hasMapping(path field.Path) (bool, error) {
	t, err := o.load()
	if err != nil {
		return false, err
	}
	d := decoder{t: t}
	n, err := d.find(path)
	if err != nil || n == 0 || t.isNull(n) {
		return false, o.locate(t, err)
	}
	if t.nodes[n].kind != mapping {
		return false, o.locate(t, under(d.wrong(n, kindNames[mapping]), path...))
	}
	return true, nil
}

// length gives the number of items of a list, 0 where it is missing.
func (o *Object) length(path field.Path) (int, error) {
	t, err := o.load()
	if err != nil {
		return 0, err
	}
	d := decoder{t: t}
	n, err := d.find(path)
	if err != nil || n == 0 || t.isNull(n) {
		return 0, o.locate(t, err)
	}
	if t.nodes[n].kind != sequence {
		return 0, o.locate(t, under(d.wrong(n, kindNames[sequence]), path...))
	}
	return t.length(n), nil
}

// FindPodTemplate searches an object of an unknown kind for something that
// looks like a pod template: a mapping with a list of containers of which one
// has a probe or a hook over the network. The path is that of the mapping whose spec that is,
// fit for a CustomTemplate unless it crosses a list; where the mapping is no
// spec, its own.
func (o *Object) FindPodTemplate() (path field.Path, found bool) {
	t, err := o.load()
	if err != nil {
		return nil, false
	}
	path, found = t.findPodSpec(1, nil)
	if n := len(path); n > 0 && path[n-1].Key == "spec" {
		path = path[:n-1]
	}
	return path, found
}

func (t *tree) findPodSpec(n int32, path field.Path) (field.Path, bool) {
	if t.nodes[n].kind == mapping {
		if c := t.get(n, "containers"); c != 0 && t.hasHandlers(c) {
			return path, true
		}
	}
	i := 0
	for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
		if t.nodes[c].child == 0 {
			i++
			continue
		}
		st := indexStep(i)
		if t.nodes[n].kind == mapping {
			st = keyStep(string(t.keyBytes(c)))
		}
		if p, found := t.findPodSpec(c, append(path[:len(path):len(path)], st)); found {
			return p, true
		}
		i++
	}
	return nil, false
}

// within is get where n may be missing or no mapping; null counts as missing.
func (t *tree) within(n int32, key string) int32 {
	if n == 0 || t.nodes[n].kind != mapping {
		return 0
	}
	if c := t.get(n, key); c != 0 && !t.isNull(c) {
		return c
	}
	return 0
}

// hasHandlers tells whether an item of a list of containers has a probe or a
// hook that goes over the network.
func (t *tree) hasHandlers(n int32) bool {
	if t.nodes[n].kind != sequence {
		return false
	}
	for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
		if t.nodes[c].kind != mapping {
			continue
		}
		hooks := t.get(c, "lifecycle")
		for _, h := range []int32{
			t.get(c, "livenessProbe"), t.get(c, "readinessProbe"), t.get(c, "startupProbe"),
			t.within(hooks, "postStart"), t.within(hooks, "preStop"),
		} {
			if t.within(h, "httpGet") != 0 || t.within(h, "tcpSocket") != 0 || t.within(h, "grpc") != 0 {
				return true
			}
		}
	}
	return false
}
