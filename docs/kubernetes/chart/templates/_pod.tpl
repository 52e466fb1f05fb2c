{{- define "zoneplane.labels" -}}
app.kubernetes.io/name: {{ .Release.Name }}
{{- end }}

{{- /* Shared by the server, by each node of a cluster, and by the job that begins a cluster. */ -}}
{{- define "zoneplane.security" -}}
runAsNonRoot: true
runAsUser: 5353
runAsGroup: 5353
fsGroup: 5353
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "zoneplane.container" -}}
name: zoneplane
image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  # The program's file has this capability, and does not start where it is out of reach.
  capabilities:
    drop: [ALL]
    add: [NET_BIND_SERVICE]
volumeMounts:
  - name: data
    mountPath: /data
{{- end }}

{{- define "zoneplane.environment" -}}
- name: ZONEPLANE_NAMESERVERS
  value: {{ join "," .Values.nameservers | quote }}
{{- if .Values.cluster.nodes }}
- name: ZONEPLANE_CLUSTER
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secret | quote }}
      key: cluster
{{- end }}
- name: ZONEPLANE_ADMIN_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secret | quote }}
      key: admin-key
- name: ZONEPLANE_MASTER_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secret | quote }}
      key: master-key
{{- range $name, $key := .Values.secretSettings }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $.Values.secret | quote }}
      key: {{ $key | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  {{- /* toString would print a million as 1e+06. */}}
  value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
{{- end }}
{{- end }}

{{- /* Ports that settings add, each printed by a form with its name and its number. */ -}}
{{- define "zoneplane.ports" -}}
{{- $names := dict "dot" "DOT" "doh" "DOH" "edge-http" "EDGE_HTTP" "edge-https" "EDGE_HTTPS" }}
{{- range $name, $setting := $names }}
{{- with index $.settings (printf "ZONEPLANE_%s_PORT" $setting) }}
{{ printf $.form $name . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "zoneplane.pod" -}}
metadata:
  labels:
    {{- include "zoneplane.labels" . | nindent 4 }}
spec:
  serviceAccountName: {{ .Release.Name }}
  {{- if .Values.cluster.nodes }}
  # DNS goes on when a machine fails.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "zoneplane.labels" . | nindent 10 }}
  {{- end }}
  # The variables that Kubernetes adds for Services have the names of settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: 30
  securityContext:
    {{- include "zoneplane.security" . | nindent 4 }}
    # Port 53 without a privilege.
    sysctls:
      - name: net.ipv4.ip_unprivileged_port_start
        value: "53"
  containers:
    - {{- include "zoneplane.container" . | nindent 6 }}
      env:
        {{- if .Values.cluster.nodes }}
        - name: ZONEPLANE_NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- end }}
        {{- include "zoneplane.environment" . | nindent 8 }}
      ports:
        - { name: dns-udp, containerPort: 53, protocol: UDP }
        - { name: dns-tcp, containerPort: 53, protocol: TCP }
        - { name: admin, containerPort: 8053, protocol: TCP }
        {{- include "zoneplane.ports" (dict "settings" .Values.settings "form" "- { name: %s, containerPort: %v, protocol: TCP }") | nindent 8 }}
      startupProbe:
        httpGet: { path: /readyz, port: admin }
        periodSeconds: 2
        failureThreshold: 300
      readinessProbe:
        httpGet: { path: "/readyz?for=dns", port: admin }
        periodSeconds: 5
        timeoutSeconds: 5
      livenessProbe:
        httpGet: { path: /livez, port: admin }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      resources: {{ toJson .Values.resources }}
  {{- if .Values.cluster.nodes }}
  volumes:
    - name: data
      emptyDir: {}
  {{- end }}
{{- end }}
