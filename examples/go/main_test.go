package main

import "testing"

func TestTheDeploymentIsRewritten(t *testing.T) {
	d, err := build("ledger", "example/ledger:v1")
	if err != nil {
		t.Fatal(err)
	}
	spec := d.Spec.Template.Spec
	if len(spec.InitContainers) != 1 || spec.InitContainers[0].Name != "probe-proxy" || spec.InitContainers[0].Image != "example/probe-proxy:v1" {
		t.Errorf("the init containers are %+v", spec.InitContainers)
	}
	probe := spec.Containers[0].ReadinessProbe
	if probe.HTTPGet.Path != "/app-health/app/readyz" || probe.HTTPGet.Port.IntVal != 15020 || probe.PeriodSeconds != 5 {
		t.Errorf("the probe is %+v", probe)
	}
	for _, e := range spec.InitContainers[0].Env {
		if e.Name == "ISTIO_KUBE_APP_PROBERS" && e.Value == `{"/app-health/app/readyz":{"httpGet":{"path":"/ready","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}}` {
			return
		}
	}
	t.Errorf("the original is not in %+v", spec.InitContainers[0].Env)
}
