{{/* Files of config/ are written for the namespace slipway-system. */}}
{{- define "slipway.file" -}}
{{ .root.Files.Get .path | replace "slipway-system" .root.Release.Namespace | trim }}
{{- end }}

{{/* The API group of LifecycleEvents. EvictionRequests are the API server's own, unless there
is a CRD of them: then they are of evictionRequests.enabled. */}}
{{- define "slipway.group" -}}
{{- if ne .Values.api.group "auto" }}{{ .Values.api.group }}
{{- else if and (.Capabilities.APIVersions.Has "lifecycle.k8s.io/v1alpha1/EvictionRequest") (not (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "evictionrequests.lifecycle.k8s.io")) }}slm.slipway.dev
{{- else }}lifecycle.k8s.io
{{- end }}
{{- end }}

{{/* Whether the server has MutatingAdmissionPolicies: "true" or nothing. */}}
{{- define "slipway.mutates" -}}
{{- if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{- define "slipway.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{/* Labels of the pods of a component, by which they are selected. */}}
{{- define "slipway.selector" -}}
app.kubernetes.io/name: slipway
app.kubernetes.io/component: {{ . }}
{{- end }}

{{/* A container that may do nothing to its node. */}}
{{- define "slipway.harmless" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The flags of a process that has the drain driver in it. */}}
{{- define "slipway.drain" -}}
{{- with .Values.drain -}}
{{- if not .builtIn -}}
- --builtin-drivers=
{{- else -}}
- --driver-name={{ .driverName }}
- --sla={{ .sla }}
- --eviction-timeout={{ .evictionTimeout }}
- --grace-period={{ .gracePeriod }}
{{- end }}
{{- end }}
{{- end }}

{{- define "slipway.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: health}
  periodSeconds: 20
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 10
{{- end }}

{{- define "slipway.ports" -}}
ports:
  - {name: health, containerPort: 8081, protocol: TCP}
  {{- if .Values.metrics.enabled }}
  - {name: metrics, containerPort: 8080, protocol: TCP}
  {{- end }}
{{- end }}
