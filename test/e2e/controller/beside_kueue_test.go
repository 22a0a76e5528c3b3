//go:build e2e

package controller

import (
	"fmt"
	"testing"

	"github.com/numalet/numalet/test/hollowcluster"
)

// TestBesideKueueEvicts runs Kueue with the controller on one API server. Kueue deletes the pods of
// a Job to make room for a Job with a higher priority. It also deletes the pods of a Job if Numalet
// has not placed them within the time limit of Kueue's setting waitForPodsReady. Both Jobs with
// deleted pods start again later.
func TestBesideKueueEvicts(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8})
	w.controllers("job-controller,garbage-collector-controller")
	w.besideProgram("kueue", "9443", "kueue.x-k8s.io", "waitForPodsReady: {timeout: 30s, requeuingStrategy: {backoffBaseSeconds: 1}}")
	w.retry("the queue is created", func() error { return w.kubectlApply(wholeNodeQueue) })

	w.apply(kueueJob("low", "", 2, 5))
	w.await("the Job with low priority runs", func() bool { return len(w.run("job-name=low")) == 2 })
	w.apply(kueueJob("high", "kueue.x-k8s.io/priority-class: high", 1, 7))
	w.await("Kueue has made room for the Job with high priority", func() bool { return w.placedOf("job-name=high") == 1 })
	if n := len(w.podsOf("job-name=low")); n != 0 {
		t.Errorf("the Job with low priority has %d pods, although the other Job needs their CPUs", n)
	}
	w.end("job-name=high")
	w.await("the Job with low priority runs again", func() bool { return len(w.run("job-name=low")) == 2 })

	// The pods of the running Job leave 5 CPUs free, but no more than 3 of them on one NUMA node.
	w.apply(kueueJob("late", "", 1, 5))
	w.await("Kueue admits a Job that fits its quota", func() bool { return len(w.podsOf("job-name=late")) == 1 })
	w.await("Kueue gives up waiting for its pod", func() bool { return len(w.podsOf("job-name=late")) == 0 })
	w.end("job-name=low")
	w.await("Kueue admits the Job again, and its pod is placed", func() bool { return w.placedOf("job-name=late") == 1 })
}

// wholeNodeQueue is a LocalQueue for all of the 15 CPUs of the node. Workloads can preempt other
// workloads with a lower priority.
const wholeNodeQueue = `
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, value: 1000}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors: [{name: any, resources: [{name: cpu, nominalQuota: 15}, {name: memory, nominalQuota: 8Gi}]}]
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {namespace: default, name: team}, spec: {clusterQueue: team}}
`

// kueueJob returns a Job in the queue, with pods that have the given number of exclusive CPUs. The
// grace period of the pods is 0, because no kubelet would end them.
func kueueJob(name, label string, pods, cpus int) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {namespace: default, name: %s, labels: {kueue.x-k8s.io/queue-name: team, %s}}
spec:
  parallelism: %[3]d
  completions: %[3]d
  template:
    metadata: {annotations: {numalet.dev/cpu-policy: single}}
    spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: main, image: localhost/busybox, resources: {limits: {cpu: %[4]d, memory: 64Mi}}}]}
`, name, label, pods, cpus)
}
