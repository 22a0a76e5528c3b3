package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// load is a kind of pods to bind.
type load struct {
	name    string
	pod     func(name, scheduler string) *corev1.Pod
	waiting int // number of pods that wait meanwhile and cannot be placed
}

// loads returns all loads, or where pods wait, one without and one with these.
func loads(waiting int) []load {
	all := allLoads()
	if waiting > 0 {
		return []load{all[0], busy(all[0], waiting)}
	}
	return all
}

func allLoads() []load {
	return []load{
		{name: "plain", pod: func(name, scheduler string) *corev1.Pod {
			return hollowcluster.Pod(namespace, name, scheduler, "100m", 0)
		}},
		{name: "gpu", pod: func(name, scheduler string) *corev1.Pod {
			return hollowcluster.Pod(namespace, name, scheduler, "100m", 1)
		}},
		{name: "single", pod: func(name, scheduler string) *corev1.Pod {
			pod := hollowcluster.Pod(namespace, name, scheduler, "2", 0)
			pod.Annotations[v1alpha1.AnnotationCPUPolicy] = v1alpha1.PolicySingle
			return pod
		}},
	}
}

// compare runs all rounds and prints the results.
func compare(ctx context.Context, o options) (err error) {
	only, err := regexp.Compile(o.Only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	for _, program := range []*string{&o.Rig, &o.Controller} {
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	began := time.Now()
	f, err := newField(ctx, o)
	if err != nil {
		return err
	}
	if !o.Keep {
		defer f.plane.Down()
	}
	var results []result
	for _, l := range loads(o.Waiting) {
		for _, c := range contenders() {
			if name := c.name + " " + l.name; c.skip(l, o.Waiting) || !only.MatchString(name) {
				continue
			}
			r, err := f.round(ctx, c, l)
			if err != nil {
				return fmt.Errorf("%s, %s pods: %w", c.name, l.name, err)
			}
			results = append(results, r)
		}
	}
	fmt.Printf("\n%s\n%d nodes, %d pods; %s altogether\n\n%s", machine(), o.Nodes, o.Pods, time.Since(began).Round(time.Second), table(results))
	return check(os.Stdout, o.Bounds, results)
}
