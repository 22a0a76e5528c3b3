// Package nvmlserver is numalet-nvml as a whole: it watches the GPUs through
// NVML, keeps their CDI specification, and tells the node's other programs.
package nvmlserver
