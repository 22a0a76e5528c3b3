// Package nvmlserver is the program numalet-nvml: it monitors the GPUs with NVML,
// writes their CDI specification, and serves the inventory to the agent and the
// device plugin.
package nvmlserver
