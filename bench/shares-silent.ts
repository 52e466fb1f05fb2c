/** Greedy neighbours that make the server wait for them, or for peers of theirs that never answer or never end. */
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atOnce } from './at-once.js';
import { answers } from './processes.js';
import type { GreedyWork, Neighbour } from './shares-greedy.js';

/** Ports of peers of this machine. */
export interface SilentPeers {
  /** Receives datagrams, and answers none. */
  readonly datagrams: number;
  /** Takes connections and octets, and says nothing. */
  readonly silent: number;
  /** Answers each HTTP request with a body that does not end. */
  readonly endless: number;
  close(): void;
}

export async function startSilentPeers(): Promise<SilentPeers> {
  const socket = createSocket('udp4');
  socket.on('message', () => {}).bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const silent = createServer((one) => one.resume().on('error', () => {})).listen(0, '127.0.0.1');
  const endless = createServer((one) => {
    one
      .on('error', () => {})
      .once('data', () => {
        one.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n');
        const more = (): void => void (one.destroyed || (one.write('.'.repeat(65_536)) && setImmediate(more)));
        one.on('drain', more);
        more();
      });
  }).listen(0, '0.0.0.0');
  await Promise.all([silent, endless].map((server) => server.listening || once(server, 'listening')));
  const portOf = (server: typeof silent): number => (server.address() as AddressInfo).port;
  return {
    datagrams: socket.address().port,
    silent: portOf(silent),
    endless: portOf(endless),
    close() {
      socket.close();
      for (const server of [silent, endless]) server.close();
    },
  };
}

export const SILENT: Readonly<Record<string, GreedyWork>> = {
  'heads of an octet a second': { run: (neighbour) => trickle(neighbour, 'GET /client/v4/zones HTTP/1.1\r\n', 100) },
  'bodies of an octet a second': { run: sendBodies },
  'page rules': { prepare: preparePageRules, run: changePageRules },
  'catalog of 10 000 members': { prepare: consumeCatalog, run: () => sleep(500) },
  'hostnames that nobody proves': { run: addHostname },
  'secondaries that do not answer': { prepare: prepareSecondaries, run: createRecord },
  'webhooks without an end': { prepare: prepareWebhooks, run: createRecord },
  'monitors without an end': { prepare: prepareMonitors, run: previewMonitor },
  'a provider that stalls': { prepare: prepareProvider, run: goToProvider },
  'mail that stalls': { run: askForMail },
};

function createRecord({ api, records }: Neighbour, count: number): Promise<unknown> {
  return api.call('POST', records, { type: 'A', name: `s${count}`, content: '192.0.2.7' });
}

const TRICKLE_MS = 3000;

/** Connections of one client that send `head` and then an octet each second. */
async function trickle({ port, address: localAddress }: Neighbour, head: string, count: number): Promise<void> {
  const place = { port, host: '127.0.0.1', localAddress };
  const held = Array.from({ length: count }, () =>
    connect(place)
      .on('error', () => {})
      .resume(),
  );
  for (const socket of held) socket.write(head);
  for (let passedMs = 0; passedMs < TRICKLE_MS; passedMs += 1000) {
    await sleep(1000);
    for (const socket of held) if (socket.writable) socket.write('a');
  }
  for (const socket of held) socket.destroy();
}

async function sendBodies(neighbour: Neighbour, count: number): Promise<void> {
  const { secret, records, bucket } = neighbour;
  const [method, path] = count % 2 === 0 ? ['POST', records] : ['PUT', `${bucket}/objects/slow${count % 50}`];
  const fields = `Host: h\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: 90000`;
  await trickle(neighbour, `${method} /client/v4${path} HTTP/1.1\r\n${fields}\r\n\r\n`, 50);
}

const PAGE_RULES = 300;

function pageRule(number: number, apex: string): object {
  const target = { target: 'url', constraint: { operator: 'matches', value: `*.${apex}/p${number}/*` } };
  return { targets: [target], actions: [{ id: 'browser_cache_ttl', value: 3600 }], status: 'active', priority: 1 };
}

/** As many as a zone may have are made in the first one; the other zones get some when they are made. */
async function preparePageRules({ api, zone, number }: Neighbour): Promise<void> {
  const make = (i: number): Promise<unknown> =>
    api.call('POST', `${zone}/pagerules`, pageRule(i, `n${number}.example`));
  await atOnce(8, PAGE_RULES, (i) => make(i).catch(() => {}));
}

async function changePageRules({ api, zone, number, account }: Neighbour, count: number): Promise<void> {
  if (count % 3 === 0) {
    const name = `rules${count}.example`;
    const made = await api.call('POST', '/zones', { name, account: { id: account } });
    const { id } = made.result as { id: string };
    for (let i = 0; i < 3; i++) await api.call('POST', `/zones/${id}/pagerules`, pageRule(i, name));
    return;
  }
  const { result } = await api.call('GET', `${zone}/pagerules`);
  const [first] = result as { id: string }[];
  await api.call('PATCH', `${zone}/pagerules/${first!.id}`, pageRule(count, `n${number}.example`));
}

const MEMBERS = 10_000;

/** Of the first neighbour; the primary of the catalog is NSD, which has none of its members. */
async function consumeCatalog({ api, account, number, port }: Neighbour): Promise<void> {
  if (number > 0) return;
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-catalog-'));
  const nsdPort = port + 5;
  const members = Array.from({ length: MEMBERS }, (_, i) => `m${i}.zones PTR m${i}.members.example.`);
  const head = '@ 60 SOA invalid. invalid. 1 3600 600 86400 60\n@ NS invalid.\nversion TXT "2"\n';
  writeFileSync(join(directory, 'zone'), `$ORIGIN many.catalog.\n$TTL 60\n${head}${members.join('\n')}\n`);
  const server = `server:\n  ip-address: 127.0.0.1@${nsdPort}\n  username: ""\n  chroot: ""\n  zonesdir: "${directory}"\n  pidfile: ""\n`;
  const quiet = `  xfrdfile: "${directory}/xfrd"\n  zonelistfile: "${directory}/list"\nremote-control:\n  control-enable: no\n`;
  const zone = 'zone:\n  name: many.catalog\n  zonefile: zone\n  provide-xfr: 0.0.0.0/0 NOKEY\n';
  writeFileSync(join(directory, 'nsd.conf'), `${server}${quiet}${zone}`);
  const nsd = spawn('/usr/sbin/nsd', ['-d', '-c', join(directory, 'nsd.conf')], { stdio: 'ignore' });
  process.once('exit', () => nsd.kill('SIGKILL'));
  nsd.unref();
  for (let i = 0; i < 100 && !(await answers(nsdPort, 'many.catalog')); i++) await sleep(50);
  const peer = { name: 'nsd', ip: '127.0.0.1', port: nsdPort };
  const made = await api.call('POST', `/accounts/${account}/secondary_dns/peers`, peer);
  const catalog = { name: 'many.catalog', peers: [(made.result as { id: string }).id] };
  await api.call('POST', `/accounts/${account}/secondary_dns/consumed_catalogs`, catalog);
}

function addHostname({ api, zone }: Neighbour, count: number): Promise<unknown> {
  const hostname = `h${count}.customer-${count % 97}.net`;
  return api.call('POST', `${zone}/custom_hostnames`, { hostname, ssl: { method: 'txt', type: 'dv' } });
}

const PEERS = 10;

async function prepareSecondaries({ api, account, zone, number, peers }: Neighbour): Promise<void> {
  const ids: string[] = [];
  for (let i = 0; i < PEERS; i++) {
    const peer = { name: `silent${i}`, ip: '127.0.0.1', port: peers.datagrams };
    const made = await api.call('POST', `/accounts/${account}/secondary_dns/peers`, peer);
    ids.push((made.result as { id: string }).id);
  }
  await api.call('POST', `${zone}/secondary_dns/outgoing`, { name: `n${number}.example`, peers: ids });
  await api.call('POST', `${zone}/secondary_dns/outgoing/enable`);
}

async function prepareWebhooks({ api, account, peers }: Neighbour): Promise<void> {
  const base = `/accounts/${account}/alerting/v3`;
  for (let i = 0; i < 10; i++) {
    const hook = { name: `e${i}`, url: `http://127.0.0.1:${peers.endless}/${i}` };
    const { id } = (await api.call('POST', `${base}/destinations/webhooks`, hook)).result as { id: string };
    const policy = { name: `e${i}`, alert_type: 'zoneplane_record', enabled: true };
    await api.call('POST', `${base}/policies`, { ...policy, mechanisms: { webhooks: [{ id }] } });
  }
}

async function prepareMonitors(neighbour: Neighbour): Promise<void> {
  const { api, account, peers } = neighbour;
  const base = `/accounts/${account}/load_balancers`;
  const monitor = { type: 'http', port: peers.endless, path: '/', expected_codes: '2xx', expected_body: 'never' };
  const { id } = (await api.call('POST', `${base}/monitors`, { ...monitor, interval: 10, timeout: 3 })).result as {
    id: string;
  };
  for (let i = 0; i < 20; i++) {
    const origins = Array.from({ length: 5 }, (_, j) => ({ name: `o${j}`, address: `127.0.0.${j + 1}` }));
    await api.call('POST', `${base}/pools`, { name: `endless${i}`, monitor: id, origins });
  }
  neighbour.monitor = id;
}

async function previewMonitor({ api, account, monitor }: Neighbour, count: number): Promise<void> {
  const base = `/accounts/${account}/load_balancers/monitors/${monitor}`;
  if (count % 2 === 0) await api.call('PATCH', base, { path: `/${count}` });
  else await api.call('GET', `${base}/references`);
}

/** The operator's; everybody may go there. */
async function prepareProvider(neighbour: Neighbour): Promise<void> {
  const { operator, peers, number } = neighbour;
  const issuer = `http://127.0.0.1:${peers.silent}/${number}`;
  const described = { name: `stalls${number}`, issuer, client_id: 'c', client_secret: 'secret-of-the-client' };
  neighbour.provider = ((await operator.call('POST', '/oidc_providers', described)).result as { id: string }).id;
}

async function goToProvider(neighbour: Neighbour): Promise<void> {
  const head = `GET /client/v4/user/sign_in/oidc/${neighbour.provider} HTTP/1.1\r\nHost: h\r\nX: `;
  await trickle(neighbour, `${head}\r\n\r\n`, 30);
}

function askForMail({ api, number }: Neighbour): Promise<unknown> {
  return api.call('POST', '/user/password_reset', { email: `n${number}@example.org` });
}
