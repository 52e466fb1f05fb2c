/**
 * Does the chart say what the kustomizations say? Renders both, and compares the objects; what only the chart has is checked against the
 * published schemas. `node build/test/by-hand/chart.js`; needs kubectl, and what render-chart.go needs. Exits with 0 when all went well.
 */
import { deepStrictEqual, strictEqual } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Job } from 'kubernetes-models/batch/v1';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1';
import { parse, parseAllDocuments } from 'yaml';

// biome-ignore lint/suspicious/noExplicitAny: manifests are looked into freely
type Manifest = any;

const CHART = 'docs/kubernetes/chart';
const GO = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };

function output(program: string, args: readonly string[], input = ''): Manifest[] {
  const { status, stdout, stderr } = spawnSync(program, args, {
    ...{ encoding: 'utf8', input, env: { ...process.env, ...GO } },
  });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest)
    .filter((manifest) => manifest !== null);
}

function render(change: (values: Manifest) => void): Manifest[] {
  const values = parse(readFileSync(`${CHART}/values.yaml`, 'utf8'));
  change(values);
  const { name, version, appVersion } = parse(readFileSync(`${CHART}/Chart.yaml`, 'utf8'));
  const release = { Name: 'zoneplane', Namespace: 'zoneplane', Service: 'Helm' };
  const input = { Values: values, Release: release, Chart: { Name: name, Version: version, AppVersion: appVersion } };
  return output('go', ['run', 'test/by-hand/render-chart.go', CHART], JSON.stringify(input));
}

const byName = (manifests: readonly Manifest[]): Map<string, Manifest> =>
  new Map(manifests.map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]));

/** Environments are sets. */
function inOrder(manifest: Manifest): Manifest {
  const [container] = manifest.spec?.template?.spec?.containers ?? [];
  container?.env.sort((a: Manifest, b: Manifest) => (a.name < b.name ? -1 : 1));
  return manifest;
}

let faults = 0;
function requireSame(what: string, ours: readonly Manifest[], theirs: readonly Manifest[]): void {
  const [rendered, expected] = [byName(ours), byName(theirs)];
  strictEqual([...rendered.keys()].sort().join(', '), [...expected.keys()].sort().join(', '), what);
  for (const [name, manifest] of rendered) {
    if (isDeepStrictEqual(inOrder(manifest), inOrder(expected.get(name)))) continue;
    faults++;
    console.error(`${what}, ${name}:\n${JSON.stringify(manifest)}\n${JSON.stringify(expected.get(name))}`);
  }
  console.log(`${what}: ${rendered.size} objects`);
}

const kustomized = (name: string): Manifest[] => output('kubectl', ['kustomize', `docs/kubernetes/${name}`]);
const monitored = parseAllDocuments(readFileSync('docs/kubernetes/monitoring/service-monitor.yaml', 'utf8')).map(
  (document) => document.toJS() as Manifest,
);

requireSame(
  'one server',
  render(() => {}),
  kustomized('single'),
);
const cluster = render((values) => {
  values.cluster.nodes = 2;
  values.monitoring.enabled = true;
});
requireSame('a cluster with metrics', cluster, [...kustomized('cluster'), ...monitored]);

const odd = render((values) => {
  values.secret = '2026';
  values.settings = { ZONEPLANE_BUCKET_OBJECT_LIMIT: 5_000_000_000, ZONEPLANE_EDGE: true, ZONEPLANE_ADMIN_HOST: '::' };
});
const { env } = byName(odd).get('StatefulSet zoneplane').spec.template.spec.containers[0];
const set = new Map(env.map(({ name, value, valueFrom }: Manifest) => [name, value ?? valueFrom.secretKeyRef.name]));
const names = ['ZONEPLANE_BUCKET_OBJECT_LIMIT', 'ZONEPLANE_EDGE', 'ZONEPLANE_ADMIN_HOST', 'ZONEPLANE_ADMIN_KEY'];
deepStrictEqual(
  names.map((name) => set.get(name)),
  ['5000000000', 'true', '::', '2026'],
  'values are texts',
);

const open = render((values) => {
  values.settings = {
    ZONEPLANE_TLS_NAMES: 'ns1.example.org',
    ZONEPLANE_DOT_PORT: 853,
    ZONEPLANE_EDGE_HTTPS_PORT: '443',
  };
  values.secretSettings = { ZONEPLANE_COOKIE_SECRET: 'cookie-secret' };
});
const [server, dns, policy] = ['StatefulSet zoneplane', 'Service zoneplane-dns', 'NetworkPolicy zoneplane'].map(
  (name) => byName(open).get(name).spec,
);
const [{ env: variables, ports }] = server.template.spec.containers;
deepStrictEqual(
  [ports.slice(3), dns.ports.slice(2), policy.ingress[0].ports.slice(2)],
  [
    [
      { name: 'dot', containerPort: 853, protocol: 'TCP' },
      { name: 'edge-https', containerPort: 443, protocol: 'TCP' },
    ],
    [
      { name: 'dot', port: 853, protocol: 'TCP', targetPort: 'dot' },
      { name: 'edge-https', port: 443, protocol: 'TCP', targetPort: 'edge-https' },
    ],
    [
      { port: 'dot', protocol: 'TCP' },
      { port: 'edge-https', protocol: 'TCP' },
    ],
  ],
);
const cookie = {
  name: 'ZONEPLANE_COOKIE_SECRET',
  valueFrom: { secretKeyRef: { name: 'zoneplane', key: 'cookie-secret' } },
};
deepStrictEqual(
  variables.find(({ name }: Manifest) => name === cookie.name),
  cookie,
);

const more = byName(
  render((values) => {
    values.cluster = { nodes: 3, begin: true };
    values.ingress = { host: 'dns.example.org', className: 'nginx', tlsSecret: 'dns-tls', namespace: 'ingress-nginx' };
    values.settings = { ZONEPLANE_LOG_LEVEL: 'debug' };
  }),
);
new Ingress(more.get('Ingress zoneplane') as never).validate();
const begin = more.get('Job zoneplane-begin');
new Job(begin as never).validate();
const { annotations: _, ...metadata } = begin.metadata;
const [expected] = parseAllDocuments(readFileSync('docs/kubernetes/cluster/begin.yaml', 'utf8')).map(
  (document) => document.toJS() as Manifest,
);
const [container] = begin.spec.template.spec.containers;
container.env = container.env.filter(({ name }: Manifest) => name !== 'ZONEPLANE_LOG_LEVEL');
expected.metadata.namespace = 'zoneplane';
requireSame('the job that begins a cluster', [{ ...begin, metadata }], [expected]);
process.exitCode = faults > 0 ? 1 : 0;
