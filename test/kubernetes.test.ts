/**
 * The manifests for Kubernetes: rendered by kubectl, valid by the published schemas of Kubernetes and of the Prometheus Operator, and
 * whole: what they name is there.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { Job } from 'kubernetes-models/batch/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service, ServiceAccount } from 'kubernetes-models/v1';
import t, { type Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { SETTINGS } from '../src/config/schema.js';

// biome-ignore lint/suspicious/noExplicitAny: manifests are looked into freely
type Manifest = any;

const MODELS: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  Deployment,
  StatefulSet,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
  ServiceMonitor,
};
const DIRECTORY = resolve('docs/kubernetes');
/** Debian has no version that knows components. */
const skip = spawnSync('kubectl', ['version', '--client']).status === 0 ? false : 'kubectl is not installed';

const parse = (text: string): Manifest[] => parseAllDocuments(text).map((document) => document.toJS() as Manifest);

function render(directory: string): Manifest[] {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', directory], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return parse(stdout);
}

/** A kustomization that has one of ours with the component for metrics. */
function withMetrics(t: Test, name: string): string {
  const own = mkdtempSync(join(tmpdir(), 'zoneplane-kustomize-'));
  t.teardown(() => rmSync(own, { recursive: true }));
  symlinkSync(DIRECTORY, join(own, 'zoneplane'));
  writeFileSync(
    join(own, 'kustomization.yaml'),
    `resources: [zoneplane/${name}]\ncomponents: [zoneplane/monitoring]\n`,
  );
  return own;
}

function requireValid(t: Test, manifests: readonly Manifest[]): void {
  for (const manifest of manifests) {
    const Model = MODELS[manifest.kind];
    t.ok(Model, `${manifest.kind} is known`);
    t.doesNotThrow(() => new Model!(manifest as never).validate(), `${manifest.kind} ${manifest.metadata.name}`);
  }
}

const specOf = (manifest: Manifest): Manifest => manifest.spec.template.spec;

/** Names of settings, of keys of the secret, of ports and of volumes. */
function requireWhole(t: Test, workload: Manifest): void {
  const { containers, volumes = [] } = specOf(workload);
  const known = new Set(SETTINGS.map(({ environment }) => environment));
  const claimed = (workload.spec.volumeClaimTemplates ?? []).map((claim: Manifest) => claim.metadata.name);
  const there = new Set([...volumes.map((volume: Manifest) => volume.name), ...claimed]);
  for (const { env, volumeMounts, ports = [], startupProbe, readinessProbe, livenessProbe } of containers) {
    for (const { name, valueFrom } of env) {
      t.ok(known.has(name), `${name} is a setting`);
      if (valueFrom?.secretKeyRef) t.ok(['admin-key', 'master-key', 'cluster'].includes(valueFrom.secretKeyRef.key));
    }
    for (const { name } of volumeMounts) t.ok(there.has(name), `the volume ${name}`);
    const named = ports.map((port: Manifest) => port.name);
    for (const probe of [startupProbe, readinessProbe, livenessProbe])
      if (probe) t.ok(named.includes(probe.httpGet.port));
  }
}

/** Ports of Services and rules exist in the pods that they select. */
function requireLinked(t: Test, manifests: readonly Manifest[], workload: Manifest): void {
  const { labels } = workload.spec.template.metadata;
  const ports = specOf(workload).containers[0].ports;
  const named = (name: string, protocol: string): boolean =>
    ports.some((port: Manifest) => port.name === name && port.protocol === protocol);
  t.match(labels, workload.spec.selector.matchLabels);
  for (const { kind, spec } of manifests) {
    if (kind === 'Service') {
      t.match(labels, spec.selector);
      for (const { targetPort, protocol } of spec.ports) t.ok(named(targetPort, protocol), `${targetPort} ${protocol}`);
    }
    if (kind === 'NetworkPolicy') {
      t.match(labels, spec.podSelector.matchLabels);
      for (const rule of spec.ingress) for (const { port, protocol } of rule.ports) t.ok(named(port, protocol));
    }
    if (kind === 'PodDisruptionBudget') t.match(labels, spec.selector.matchLabels);
  }
}

t.test('one server', { skip }, async (t) => {
  const manifests = render(join(DIRECTORY, 'single'));
  requireValid(t, manifests);
  const [server, ...more] = manifests.filter(({ kind }) => kind === 'StatefulSet');
  t.match([server.spec.replicas, more.length], [1, 0]);
  requireWhole(t, server);
  requireLinked(t, manifests, server);
  const dns = manifests.find(({ metadata }) => metadata.name === 'zoneplane-dns');
  t.match(dns.spec, {
    type: 'LoadBalancer',
    ports: [
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
    ],
  });
});

t.test('a cluster, and how it begins', { skip }, async (t) => {
  const manifests = render(join(DIRECTORY, 'cluster'));
  requireValid(t, manifests);
  t.notOk(manifests.some(({ kind }) => kind === 'StatefulSet'));
  const nodes = manifests.find(({ kind }) => kind === 'Deployment');
  t.ok(nodes.spec.replicas >= 2);
  requireWhole(t, nodes);
  requireLinked(t, manifests, nodes);
  const [begin] = parse(readFileSync(join(DIRECTORY, 'cluster', 'begin.yaml'), 'utf8'));
  requireValid(t, [begin]);
  requireWhole(t, begin);
  const settings = (manifest: Manifest): string[] =>
    specOf(manifest)
      .containers[0].env.map(({ name }: Manifest) => name)
      .sort();
  t.strictSame(settings(begin), settings(nodes), 'it begins with the settings of the nodes');
  const [alone] = render(join(DIRECTORY, 'single')).filter(({ kind }) => kind === 'StatefulSet');
  const { env: _, ...container } = specOf(nodes).containers[0];
  const { env: __, ...other } = specOf(alone).containers[0];
  t.strictSame(container, other, 'a node runs as one server does');
});

t.test('metrics for the Prometheus Operator', { skip }, async (t) => {
  for (const name of ['single', 'cluster']) {
    const manifests = render(withMetrics(t, name));
    requireValid(t, manifests);
    const monitor = manifests.find(({ kind }) => kind === 'ServiceMonitor');
    const fitting = manifests.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(monitor.spec.selector.matchLabels).every(([label, value]) => metadata.labels?.[label] === value),
    );
    t.strictSame(
      fitting.map(({ metadata }) => metadata.name),
      ['zoneplane'],
    );
    t.ok(fitting[0].spec.ports.some((port: Manifest) => port.name === monitor.spec.endpoints[0].port));
  }
});

t.test('the chart takes secrets from a secret only', async (t) => {
  const { properties } = JSON.parse(readFileSync(join(DIRECTORY, 'chart', 'values.schema.json'), 'utf8'));
  const plain = properties.settings.propertyNames;
  const secrets = new RegExp(properties.secretSettings.propertyNames.pattern);
  for (const { environment, secret } of SETTINGS) {
    const isPlain = new RegExp(plain.pattern).test(environment) && !new RegExp(plain.not.pattern).test(environment);
    const isOwnValue = /^ZONEPLANE_(?:ADMIN_KEY|MASTER_KEY|CLUSTER|NAMESERVERS|NODE_NAME)$/.test(environment);
    t.strictSame(
      [isPlain, secrets.test(environment)],
      [!secret && !isOwnValue, secret === true && !isOwnValue],
      environment,
    );
  }
});

t.test('a manifest with a fault is not valid', async (t) => {
  t.throws(() => new Service({ spec: { ports: [{ port: 'dns' as never }] } }).validate());
  t.ok(existsSync(join(DIRECTORY, 'cert-manager.yaml')));
});
