package installer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/numalet/numalet/internal/agent/nri"
	"github.com/numalet/numalet/pkg/containerdconf"
)

// TestNamesAgree checks that numalet-containerd and the agent use the same name for the NRI plugin.
// numalet-containerd makes containerd require the plugin with this name, and the agent registers
// itself under this name.
func TestNamesAgree(t *testing.T) {
	if containerdconf.Plugin != nri.Name {
		t.Errorf("containerd requires %s, and the agent is %s", containerdconf.Plugin, nri.Name)
	}
}

func pod(name string, static bool, label, annotation string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: name, Labels: map[string]string{"k8s-app": label}, Annotations: map[string]string{},
	}, Spec: corev1.PodSpec{NodeName: "n"}}
	if static {
		p.Annotations[corev1.MirrorPodAnnotationKey] = "x"
	}
	if annotation != "" {
		p.Annotations[containerdconf.Annotation] = annotation
	}
	return p
}

func TestTolerated(t *testing.T) {
	first, err := labels.Parse("k8s-app in (kube-proxy,cilium)")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"a worker":        {[]*corev1.Pod{pod("web", false, "", ""), pod("proxy", false, "kube-proxy", "true")}, ""},
		"a control plane": {[]*corev1.Pod{pod("etcd-n", true, "", ""), pod("apiserver-n", true, "", "true"), pod("proxy", false, "kube-proxy", "")}, "required it: kube-system/etcd-n, kube-system/proxy; give them the annotation tolerate-missing"},
		"a wrong value":   {[]*corev1.Pod{pod("etcd-n", true, "", "yes")}, "kube-system/etcd-n;"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			for _, p := range tc.pods {
				if err := client.Tracker().Add(p); err != nil {
					t.Fatal(err)
				}
			}
			err := (&cluster{client, "n", first}).tolerated(t.Context())
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestEachOutcomeIsReportedOnce checks a keeper, which calls one function regularly. It must call
// the function again both after a failure and after a success. It must report the outcome of a call
// only if this outcome differs from that of the call before.
func TestEachOutcomeIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		outcomes := []error{errors.New("a\nb"), errors.New("a\nb"), errors.New("c"), nil, nil, errors.New("c")}
		var reports []string
		var at []time.Duration
		began := time.Now()
		k := &keeper{done: "done", log: logr.Discard(), report: func(kind, message string) { reports = append(reports, kind+" "+message) }}
		k.do = func(context.Context) error {
			at = append(at, time.Since(began))
			if len(outcomes) == 0 {
				stop()
				return ctx.Err()
			}
			err := outcomes[0]
			outcomes = outcomes[1:]
			return err
		}
		k.setState(errors.New("not done yet"))
		if err := k.run(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Warning a; b", "Warning c", "Normal done", "Warning c"}, reports); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		s := time.Second
		if diff := cmp.Diff([]time.Duration{0, 15 * s, 30 * s, 45 * s, 345 * s, 645 * s, 660 * s}, at); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if err := k.Ready(); err == nil || err.Error() != "c" {
			t.Errorf("ready: %v", err)
		}
	})
}
