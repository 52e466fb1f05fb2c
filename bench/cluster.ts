/**
 * Several nodes with a real PostgreSQL: creations a second, the time from one node's API to another node's DNS, distance, and
 * joining. The same creation as statements on tables in PostgreSQL is a model of what a service without a local copy does: as
 * many statements, in one transaction that locks its zone.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { named, spreadOf } from './latency.js';
import { measureDeaths, PROBING } from './origin-deaths.js';
import { run } from './peers.js';
import { stop } from './processes.js';
import { dataDirectoryOf, environmentOf, PROGRAM, type Running, serve } from './program.js';
import { writeZone, ZONE } from './workload.js';
import { createAtOnce, type Figures, propagationOf } from './writes.js';

export interface ClusterOptions {
  readonly directory: string;
  readonly port: number;
  /** Records of the zone with which a node joins. */
  readonly names: number;
  readonly sections: readonly string[];
}

export const CLUSTER_SECTIONS = ['creations', 'propagation', 'steering', 'distance', 'joining'] as const;

const VERSIONS = '/usr/lib/postgresql';
const CREATIONS = 3000;
const WRITERS = 50;
/** One way, of 80 ms for a round trip. */
const DELAY_MS = 40;

export async function measureCluster({ directory, port, names, sections }: ClusterOptions): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'cluster-'));
  const postgres = await startPostgres(own, port);
  const figures: Record<string, number> = {};
  try {
    const zoneFile = join(own, 'zone');
    await writeZone(zoneFile, sections.includes('joining') ? names : 100);
    const a = await beginCluster(own, zoneFile, port + 10, postgres.url);
    const b = await joinCluster(own, 'b', port + 20, postgres.url);
    try {
      if (sections.includes('propagation')) {
        const waits = await propagationOf({ ...a, zonePath: b.zonePath }, port + 20, 'far', 500);
        const { p50, p99 } = spreadOf(waits);
        figures['API of a to DNS of b, p50 ms'] = p50;
        figures['API of a to DNS of b, p99 ms'] = p99;
      }
      if (sections.includes('steering')) {
        const nodes = [
          { running: a, port: port + 10 },
          { running: b, port: port + 20 },
        ];
        Object.assign(figures, await measureDeaths(nodes));
      }
      if (sections.includes('creations')) Object.assign(figures, await compareCreations([a, b], postgres.url));
    } finally {
      await end(b);
      if (!sections.includes('joining')) await end(a);
    }
    if (sections.includes('distance')) Object.assign(figures, await measureDistance(own, port, postgres));
    if (sections.includes('joining')) {
      Object.assign(figures, await measureJoining(own, port + 30, postgres.url));
      await end(a);
    }
    return figures;
  } finally {
    await postgres.stop();
  }
}

async function end({ api, server }: Running): Promise<void> {
  api.close();
  await stop(server);
}

const settingsOf = (node: string, url: string) => ({
  ZONEPLANE_CLUSTER: url,
  ZONEPLANE_NODE_NAME: node,
  ZONEPLANE_EDGE: 'off',
  ...PROBING,
});

async function beginCluster(own: string, zoneFile: string, port: number, url: string): Promise<Running> {
  const directory = join(own, 'a');
  mkdirSync(join(directory, 'no-zones'), { recursive: true });
  const alone = environmentOf(directory, port, {});
  run(process.execPath, [PROGRAM, 'zone', 'import', '--init', '--replace', zoneFile, '--origin', ZONE], alone);
  const env = environmentOf(directory, port, settingsOf('a', url));
  run(process.execPath, [PROGRAM, 'cluster', 'init'], env);
  return serve(env, port);
}

async function joinCluster(own: string, node: string, port: number, url: string): Promise<Running> {
  const directory = join(own, node);
  mkdirSync(join(directory, 'no-zones'), { recursive: true });
  mkdirSync(dataDirectoryOf(directory), { recursive: true, mode: 0o700 });
  copyFileSync(join(dataDirectoryOf(join(own, 'a')), 'master.key'), join(dataDirectoryOf(directory), 'master.key'));
  return serve(environmentOf(directory, port, settingsOf(node, url)), port);
}

/** Half of the writers on each node; then the model, with as many connections. */
async function compareCreations(nodes: readonly Running[], url: string): Promise<Figures> {
  await Promise.all(nodes.map((node, index) => createAtOnce(node, WRITERS / 2, 200, `warm${index}`)));
  const began = performance.now();
  await Promise.all(nodes.map((node, index) => createAtOnce(node, WRITERS / 2, CREATIONS / 2, `n${index}`)));
  const ours = CREATIONS / ((performance.now() - began) / 1000);
  const model = await createInTables(url);
  return {
    [`creations/s, ${WRITERS} writers on two nodes`]: ours,
    [`creations/s, ${WRITERS} writers on tables in PostgreSQL`]: model,
    ratio: ours / model,
  };
}

const TABLES = `
CREATE TABLE zones (id int PRIMARY KEY, serial bigint, records int); INSERT INTO zones VALUES (1, 1, 0);
CREATE TABLE records (id bigserial PRIMARY KEY, zone int, owner text, type int, content text, ttl int);
CREATE INDEX ON records (zone, owner, type);
CREATE TABLE changes (seq bigserial PRIMARY KEY, zone int, serial bigint, body text);
CREATE TABLE journal (seq bigserial PRIMARY KEY, zone int, body text);
CREATE TABLE audit (seq bigserial PRIMARY KEY, at timestamptz DEFAULT now(), body text);`;

/** The statements of one creation: 12 that read, 7 that write, as the use case has them. */
const STATEMENTS = [
  'SELECT * FROM zones WHERE id = 1 FOR UPDATE',
  ...Array.from(
    { length: 11 },
    (_, index) => `SELECT * FROM records WHERE zone = 1 AND owner = $1 AND type <> ${index}`,
  ),
  "INSERT INTO records (zone, owner, type, content, ttl) VALUES (1, $1, 1, '192.0.2.1', 60)",
  'UPDATE zones SET serial = serial + 1 WHERE id = 1',
  'UPDATE zones SET records = records + 1 WHERE id = 1',
  'INSERT INTO changes (zone, serial, body) VALUES (1, 1, $1)',
  'INSERT INTO journal (zone, body) VALUES (1, $1)',
  'INSERT INTO audit (body) VALUES ($1)',
  "INSERT INTO audit (body) VALUES ('key ' || $1)",
];

async function createInTables(url: string): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: WRITERS });
  const count = CREATIONS / 10;
  try {
    await pool.query(TABLES);
    let next = 0;
    const began = performance.now();
    const write = async (): Promise<void> => {
      const client = await pool.connect();
      for (let index = next++; index < count; index = next++) {
        await client.query('BEGIN');
        for (const text of STATEMENTS) await client.query(text, text.includes('$1') ? [`n${index}`] : []);
        await client.query('COMMIT');
      }
      client.release();
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
    return count / ((performance.now() - began) / 1000);
  } finally {
    await pool.end();
  }
}

/** A node whose way to PostgreSQL takes 80 ms there and back. */
async function measureDistance(own: string, port: number, postgres: Postgres): Promise<Figures> {
  const far = await startDelay(port + 1, port);
  const node = await joinCluster(own, 'far', port + 40, postgres.url.replace(`:${port}/`, `:${port + 1}/`));
  try {
    const times: number[] = [];
    for (let index = 0; index < 40; index++) {
      const began = performance.now();
      await createAtOnce(node, 1, 1, `d${index}`);
      times.push(performance.now() - began);
    }
    const zoneTimes: number[] = [];
    for (let index = 0; index < 20; index++) {
      const began = performance.now();
      await node.api.call('POST', '/zones', { name: `far${index}.test` });
      zoneTimes.push(performance.now() - began);
    }
    const posts = Array.from({ length: 3500 }, (_, index) => ({
      type: 'A',
      name: `batch${index}`,
      content: '192.0.2.7',
      ttl: 60,
    }));
    const began = performance.now();
    await node.api.call('POST', `${node.zonePath}/dns_records/batch`, { posts });
    const batchMs = performance.now() - began;
    const requests = await measureRequests(node);
    return {
      ...named(
        'one creation at 80 ms',
        times.sort((x, y) => x - y),
      ),
      'a new zone at 80 ms, p50 ms': spreadOf(zoneTimes).p50,
      'a batch of 3500 at 80 ms, ms': batchMs,
      ...requests,
    };
  } finally {
    await end(node);
    far.close();
  }
}

/** Requests that write in other ways than a record; each makes what it needs. */
async function measureRequests({ api }: Running): Promise<Figures> {
  const [account] = (await api.call('GET', '/accounts')).result as { id: string }[];
  const idOf = async (path: string, body: object) => ((await api.call('POST', path, body)).result as { id: string }).id;
  const own = `/accounts/${account!.id}`;
  const secondary = `${own}/secondary_dns`;
  const zone = `/zones/${await idOf('/zones', { name: 'requests.test' })}`;
  const copied = `/zones/${await idOf('/zones', { name: 'copied.test', type: 'secondary' })}`;
  const peers = [await idOf(`${secondary}/peers`, { name: 'far', ip: '192.0.2.53' })];
  await api.call('POST', `${zone}/secondary_dns/outgoing`, { name: 'requests.test', peers });
  await api.call('POST', `${copied}/secondary_dns/incoming`, { name: 'copied.test', peers });
  await api.call('POST', `${own}/r2/buckets`, { name: 'far-away' });
  const objects = `${own}/r2/buckets/far-away/objects`;
  const requests: readonly (readonly [string, string, string, (index: number) => object | undefined])[] = [
    ['custom hostname', 'POST', `${zone}/custom_hostnames`, (index) => ({ hostname: `far${index}.example.com` })],
    ['purge', 'POST', `${zone}/purge_cache`, () => ({ purge_everything: true })],
    ['force_notify', 'POST', `${zone}/secondary_dns/outgoing/force_notify`, () => ({})],
    ['force_axfr', 'POST', `${copied}/secondary_dns/force_axfr`, () => ({})],
    [
      'DNS settings of an account',
      'PATCH',
      `${own}/dns_settings`,
      (index) => ({ zone_defaults: { ns_ttl: 3600 + index } }),
    ],
    ['PUT of a small object', 'PUT', `${objects}/key`, (index) => ({ index })],
    ['DELETE of an object', 'DELETE', `${objects}/key`, () => undefined],
  ];
  const figures: Record<string, number> = {};
  for (const [what, method, path, body] of requests) {
    const times: number[] = [];
    for (let index = 0; index < 10; index++) {
      if (method === 'DELETE') await api.call('PUT', path, {});
      const began = performance.now();
      await api.call(method, path, body(index));
      times.push(performance.now() - began);
    }
    figures[`${what} at 80 ms, p50 ms`] = spreadOf(times.sort((x, y) => x - y)).p50;
  }
  return figures;
}

async function measureJoining(own: string, port: number, url: string): Promise<Figures> {
  const env = environmentOf(join(own, 'a'), port, settingsOf('a', url));
  const began = performance.now();
  run(process.execPath, [PROGRAM, 'cluster', 'snapshot'], env);
  const snapshotMs = performance.now() - began;
  const joined = performance.now();
  const node = await joinCluster(own, 'c', port, url);
  const joinMs = performance.now() - joined;
  await end(node);
  return {
    'a snapshot, s': snapshotMs / 1000,
    'a node joins: DNS after, s': node.server.startMs / 1000,
    'and its API after, s': joinMs / 1000,
  };
}

interface Postgres {
  readonly url: string;
  stop(): Promise<void>;
}

/** Debian's, with its usual durability, on a port of its own. */
async function startPostgres(own: string, port: number): Promise<Postgres> {
  const [newest] = readdirSync(VERSIONS).sort((x, y) => Number(y) - Number(x));
  const programs = join(VERSIONS, newest!, 'bin');
  const data = join(own, 'postgres');
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
  const command = (program: string, ...args: string[]) =>
    [...as, join(programs, program), ...args] as [string, ...string[]];
  if (isRoot) {
    mkdirSync(data, { mode: 0o700 });
    execFileSync('chown', ['postgres:postgres', data]);
    execFileSync('chmod', ['o+x', own, join(own, '..')]);
  }
  const [init, ...initArgs] = command(
    'initdb',
    '-D',
    data,
    '-U',
    'zoneplane',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
  );
  execFileSync(init, initArgs, { stdio: 'pipe', cwd: '/' });
  const [postgres, ...args] = command(
    'postgres',
    '-D',
    data,
    '-p',
    String(port),
    '-k',
    data,
    '-c',
    'listen_addresses=127.0.0.1',
  );
  const child: ChildProcess = spawn(postgres, args, { stdio: 'ignore', cwd: '/' });
  const url = `postgresql://zoneplane@127.0.0.1:${port}/postgres`;
  for (let look = 0; ; look++) {
    const client = new pg.Client(url);
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      break;
    } catch (error) {
      if (look > 200) throw error;
      await sleep(50);
    }
  }
  return {
    url,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await ended;
    },
  };
}

/** Forwards a port; every octet arrives later, in both directions. */
function startDelay(port: number, target: number): Promise<Server> {
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as [Socket, Socket][]) {
      from.setNoDelay(true);
      from.on('error', () => to.destroy());
      from.on('data', (octets) => void setTimeout(() => to.writable && to.write(octets), DELAY_MS));
      from.on('close', () => setTimeout(() => to.destroy(), DELAY_MS));
    }
  });
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}
