package jobs

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/jobplan"
)

// think finds out what comes next.
func (t *task) think() error {
	was, err := progressOf(t.job)
	if err != nil {
		return err
	}
	job := asked(&t.job.Spec)
	if t.spec, err = template(t.job); err != nil {
		job.Flaw = err.Error()
	} else {
		job.InPlace = t.spec.RestartPolicy == corev1.RestartPolicyOnFailure
	}
	var pods []jobplan.Pod
	for _, index := range slices.Sorted(maps.Keys(t.pods)) {
		pods = append(pods, podOf(index, t.pods[index]))
		t.list(t.pods[index])
	}
	t.plan = jobplan.Next(job, was, pods, t.now())
	return nil
}

// template returns the spec of a job's pods.
func template(job *v1alpha1.Job) (*corev1.PodSpec, error) {
	spec, err := job.Spec.Template.PodSpec()
	if err != nil {
		return nil, err
	}
	if spec.RestartPolicy == corev1.RestartPolicyAlways {
		return nil, fmt.Errorf("read spec.template.spec: restartPolicy is Always, but the pods of a job end; say Never or OnFailure")
	}
	return spec, nil
}

func asked(spec *v1alpha1.JobSpec) jobplan.Job {
	job := jobplan.Job{
		Replicas: int(spec.Replicas), MinAvailable: int(spec.MinAvailable), Suspend: spec.Suspend,
		BackoffLimit: int(*spec.BackoffLimit),
	}
	if limit := spec.ActiveDeadlineSeconds; limit != nil {
		job.Deadline = time.Duration(*limit) * time.Second
	}
	if limit := spec.TTLSecondsAfterFinished; limit != nil {
		ttl := time.Duration(*limit) * time.Second
		job.TTL = &ttl
	}
	return job
}
