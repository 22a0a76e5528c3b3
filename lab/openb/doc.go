// Package openb reads nodes and pods in the format of Alibaba's openb GPU trace, and writes
// placements.
//
// Source: https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023
package openb
