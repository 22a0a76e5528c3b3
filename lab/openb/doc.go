// Package openb reads clusters and workloads in the format of Alibaba's openb
// GPU trace, and writes where pods were placed.
//
// Source: https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023
package openb
