package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// volume is the name of a pod's volume that has the files of the ConfigMap. folder is the mount
	// path of this volume.
	volume = "numalet-job"
	folder = "/etc/numalet"
	// These are the files of the ConfigMap. hostsFile has one host name in each line. openMPIFile
	// and hydraFile also have the number of processes for each host. openMPIFile has the format of
	// Open MPI, and hydraFile that of MPICH and Intel MPI.
	hostsFile, openMPIFile, hydraFile = "hosts", "hostfile", "machinefile"
	// masterPort is the port on which the first pod listens for the other pods. It is the default
	// of PyTorch.
	masterPort = "29500"
)

// rendezvousObjects has the headless Service and the ConfigMap of a job. The Service gives the pods
// DNS names, even before the pods are ready. The ConfigMap has lists of these names.
type rendezvousObjects struct {
	service *corev1.Service
	names   *corev1.ConfigMap
}

// readRendezvous reads the Service and the ConfigMap of a job from the cache. An object that does not
// exist has no resource version in the result.
func (r *reconciler) readRendezvous(ctx context.Context, job client.ObjectKey) (rendezvousObjects, error) {
	named := metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}
	found := rendezvousObjects{&corev1.Service{ObjectMeta: named}, &corev1.ConfigMap{ObjectMeta: named}}
	for _, object := range []client.Object{found.service, found.names} {
		if err := r.client.Get(ctx, job, object); client.IgnoreNotFound(err) != nil {
			return found, fmt.Errorf("read %s %s: %w", kindOf(object), job, err)
		}
	}
	return found, nil
}

// applyRendezvous creates the Service and the ConfigMap of the job, or corrects them.
func (t *task) applyRendezvous(ctx context.Context) error {
	service, names := t.rendezvous.service, t.rendezvous.names
	err := t.apply(ctx, service, func() {
		service.Spec.ClusterIP = corev1.ClusterIPNone
		service.Spec.PublishNotReadyAddresses = true
		service.Spec.Selector = map[string]string{v1alpha1.LabelJob: t.job.Name}
	})
	if err != nil {
		return err
	}
	return t.apply(ctx, names, func() { names.Data = hostLists(t.job) })
}

// apply creates an object with the job's name, or corrects the existing object. The function `set`
// (a parameter) fills in the object, except its namespace, name, labels and owner. The object must
// have been read before the job was read.
//
// The API server refuses the correction if the object has changed since it was read. So a former
// leader that was paused after it had read the job does not replace what the new leader has written
// for a newer version of the job.
func (t *task) apply(ctx context.Context, object client.Object, set func()) error {
	if err := t.createOrPatch(ctx, object, set); err != nil {
		return fmt.Errorf("apply %s %s: %w", kindOf(object), t.job.Name, err)
	}
	t.addObject(object)
	return nil
}

func (t *task) createOrPatch(ctx context.Context, object client.Object, set func()) error {
	before, exists := object.DeepCopyObject().(client.Object), object.GetResourceVersion() != ""
	if exists {
		if err := t.checkOwned(object); err != nil {
			return err
		}
	}
	set()
	if err := t.own(object); err != nil {
		return err
	}
	switch {
	case !exists:
		return t.createObject(ctx, object)
	case equality.Semantic.DeepEqual(before, object):
		return nil
	}
	return t.client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// checkHostLists returns an error if the host lists of a job do not fit into a ConfigMap.
func checkHostLists(job *v1alpha1.Job) error {
	const most = corev1.MaxSecretSize // the API server has the same limit for ConfigMaps
	size := 0
	for _, list := range hostLists(job) {
		size += len(list)
	}
	if size > most {
		return fmt.Errorf("the host lists of %d pods have %d bytes, and a ConfigMap holds at most %d: use fewer replicas, or shorter names for the job and its namespace",
			job.Spec.Replicas, size, most)
	}
	return nil
}

// hostLists returns the contents of the ConfigMap's files, by file name.
func hostLists(job *v1alpha1.Job) map[string]string {
	slots := slotsOf(job)
	var hosts, openMPI, hydra strings.Builder
	for i := range int(job.Spec.Replicas) {
		host := hostOf(job, i)
		fmt.Fprintln(&hosts, host)
		fmt.Fprintf(&openMPI, "%s slots=%d\n", host, slots)
		fmt.Fprintf(&hydra, "%s:%d\n", host, slots)
	}
	return map[string]string{hostsFile: hosts.String(), openMPIFile: openMPI.String(), hydraFile: hydra.String()}
}

// hostOf returns the DNS name of a pod, which is valid in all namespaces of the cluster.
func hostOf(job *v1alpha1.Job, index int) string {
	return fmt.Sprintf("%s.%s.%s.svc", podName(job, index), job.Name, job.Namespace)
}

// slotsOf returns how many processes of an MPI program run in a pod of the job: one for each GPU.
// If the job requests no GPUs, one process runs for each whole CPU, but at least one process runs.
func slotsOf(job *v1alpha1.Job) int {
	slots := int64(job.Spec.GPUs)
	if slots == 0 && job.Spec.CPU != nil {
		slots = v1alpha1.MilliAmount(*job.Spec.CPU) / 1000
	}
	return int(max(slots, 1))
}

// rendezvous returns the environment variables by which the processes of a job find each other.
// They are for PyTorch, torchrun (PET_…), Open MPI 4 and 5, MPICH, and Intel MPI.
// JOB_COMPLETION_INDEX has the same meaning as in the pods of an indexed Job of Kubernetes.
//
// Sources: https://pytorch.org/docs/stable/distributed.html#environment-variable-initialization,
// https://pytorch.org/docs/stable/elastic/run.html
func rendezvous(job *v1alpha1.Job, index int) []corev1.EnvVar {
	rank, size, master := strconv.Itoa(index), strconv.Itoa(int(job.Spec.Replicas)), hostOf(job, 0)
	perNode := strconv.Itoa(int(max(job.Spec.GPUs, 1)))
	return []corev1.EnvVar{
		{Name: "RANK", Value: rank},
		{Name: "WORLD_SIZE", Value: size},
		{Name: "MASTER_ADDR", Value: master},
		{Name: "MASTER_PORT", Value: masterPort},
		{Name: "PET_NNODES", Value: size},
		{Name: "PET_NODE_RANK", Value: rank},
		{Name: "PET_NPROC_PER_NODE", Value: perNode},
		{Name: "PET_MASTER_ADDR", Value: master},
		{Name: "PET_MASTER_PORT", Value: masterPort},
		{Name: "OMPI_MCA_orte_default_hostfile", Value: folder + "/" + openMPIFile},
		{Name: "PRTE_MCA_prte_default_hostfile", Value: folder + "/" + openMPIFile},
		{Name: "HYDRA_HOST_FILE", Value: folder + "/" + hydraFile},
		{Name: "I_MPI_HYDRA_HOST_FILE", Value: folder + "/" + hydraFile},
		{Name: "JOB_COMPLETION_INDEX", Value: rank},
	}
}
