{{/* The image of all programs. */}}
{{- define "numalet.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The paths of the kubelet's files: those of the preset, or the ones that replace them in the values. */}}
{{- define "numalet.kubelet" -}}
{{- $presets := dict
  "kubeadm" (dict "rootDir" "/var/lib/kubelet" "config" "/var/lib/kubelet/config.yaml" "configDir" "")
  "k3s" (dict "rootDir" "/var/lib/kubelet" "config" "" "configDir" "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d")
  "eks" (dict "rootDir" "/var/lib/kubelet" "config" "/etc/kubernetes/kubelet/config.json" "configDir" "/etc/kubernetes/kubelet/config.json.d")
  "bottlerocket" (dict "rootDir" "/var/lib/kubelet" "config" "/etc/kubernetes/kubelet/config" "configDir" "")
-}}
{{- $files := get $presets .Values.kubelet.preset -}}
{{- range $key := list "rootDir" "config" "configDir" -}}
{{- with get $.Values.kubelet $key -}}{{- $_ := set $files $key . -}}{{- end -}}
{{- end -}}
{{ toYaml $files }}
{{- end -}}

{{/* The pools, with the defaults of settings that a pool does not have. All pools tolerate the startup taint, because only a running agent removes it. The template fails if names or node selectors do not distinguish the pools. */}}
{{/* The node selector of each pool includes the operating system. The key isolation is true if the pool has the setting isolation with a value that the agent reads as true. */}}
{{- define "numalet.pools" -}}
{{- $names := dict -}}
{{- $pools := list -}}
{{- range $pool := .Values.pools -}}
{{- $name := get $pool "name" | default "" -}}
{{- if and (gt (len $.Values.pools) 1) (or (eq $name "") (empty (get $pool "nodeSelector"))) -}}
{{- fail "of several pools, each needs a name and a nodeSelector: a node in two pools would have two agents" -}}
{{- end -}}
{{- if regexMatch "^(containerd|controller|nvml)(-|$)" $name -}}
{{- fail (printf "no pool may have the name %q: numalet-%s is, or may become, the name of another object of the chart" $name $name) -}}
{{- end -}}
{{- $selector := dict "kubernetes.io/os" "linux" -}}
{{- range $key, $value := get $pool "nodeSelector" | default dict }}{{ $_ := set $selector $key $value }}{{ end -}}
{{- range $other := $.Values.pools -}}
{{- $inside := ne (get $other "name" | default "") $name -}}
{{- range $key, $value := get $other "nodeSelector" | default dict -}}
{{- if or (not (hasKey $selector $key)) (ne $value (get $selector $key)) }}{{ $inside = false }}{{ end -}}
{{- end -}}
{{- if and $inside (get $other "nodeSelector") -}}
{{- fail (printf "each node of pool %q is also in pool %q: a node in two pools would have two agents" $name (get $other "name")) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $names $name -}}{{- fail (printf "two pools have the name %q" $name) -}}{{- end -}}
{{- $_ := set $names $name true -}}
{{- $all := dict "operator" "Exists" -}}
{{- $tolerations := ternary (get $pool "tolerations" | default list) (list $all) (hasKey $pool "tolerations") -}}
{{- if not (has $all $tolerations) -}}
{{- $tolerations = append $tolerations (dict "key" "numalet.dev/agent-not-ready" "operator" "Exists") -}}
{{- end -}}
{{- $gpu := and $.Values.gpu.enabled (ne (toString (get $pool "gpu")) "false") -}}
{{- $pools = append $pools (dict
  "name" $name "suffix" (ternary "" (printf "-%s" $name) (eq $name "")) "gpu" $gpu
  "nodeSelector" $selector
  "tolerations" $tolerations
  "isolation" (has (get (get $pool "settings" | default dict) "isolation" | toString | lower) (list "true" "t" "1"))
  "maxUnavailable" (get $pool "maxUnavailable" | default 1)
  "settings" (get $pool "settings" | default dict)) -}}
{{- end -}}
{{ toYaml $pools }}
{{- end -}}

{{/* The labels that select the pods of a pool's DaemonSet. The argument is a dict with the keys program and pool. */}}
{{- define "numalet.poolLabels" -}}
app.kubernetes.io/name: {{ .program }}
{{- with .pool.name }}
numalet.dev/pool: {{ quote . }}
{{- end }}
{{- end -}}

{{/* On EKS, keeps the pods off the nodes of Fargate, which run no DaemonSets. Such a node has a taint, which the pods tolerate by default. */}}
{{- define "numalet.affinity" -}}
{{- if has .Values.kubelet.preset (list "eks" "bottlerocket") }}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: eks.amazonaws.com/compute-type, operator: NotIn, values: [fargate]}
{{- end }}
{{- end -}}
