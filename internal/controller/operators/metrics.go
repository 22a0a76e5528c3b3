package operators

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Metrics returns controller-runtime's metrics of the operators, of their work queues and of
// their requests to the API server. It leaves out the metrics of the Go runtime and the
// process, because another part of the controller serves these.
func Metrics() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := metrics.Registry.Gather()
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
			return strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_")
		}), err
	})
}
