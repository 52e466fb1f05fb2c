/** An installation with monitors and pools of account 1, and origins that are told how to answer. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { createProber, type Prober, type ProberOptions, type Transition } from '../../src/monitoring/prober.js';
import { NoProbe } from '../../src/monitoring/probes/dial.js';
import { createTlsContexts } from '../../src/monitoring/probes/tls-contexts.js';
import { recordTransitions } from '../../src/monitoring/record.js';
import { insertMonitor, monitorsOfAccount, updateMonitor } from '../../src/store/balancing/monitors.js';
import { insertPool, poolsOfAccount, updatePool } from '../../src/store/balancing/pools.js';
import { openStoreFile } from '../../src/store/driver.js';
import { install } from '../api/installation.js';
import { egressTo } from '../support/egress.js';
import { seededRandom } from '../support/seeded-random.js';
import { until } from '../support/until.js';

export interface TestOrigin {
  readonly port: number;
  status: number;
  asked: number;
}

export async function startOrigin(t: Test): Promise<TestOrigin> {
  const origin = { port: 0, status: 200, asked: 0 };
  const server = createServer((_request, response) => {
    origin.asked++;
    response.writeHead(origin.status).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  origin.port = (server.address() as AddressInfo).port;
  return origin;
}

const ACCOUNT = 1;

export async function startMonitoringWorld(t: Test) {
  const installation = await install(t);
  const { base, store, clock } = installation;
  const random = seededRandom(5);
  const id = (): Uint8Array => random.bytes(16);
  const reader = openStoreFile(store.path, { readonly: true });
  t.teardown(() => reader.close());
  const seqOf = <Row extends { id: Uint8Array; seq: number }>(rows: readonly Row[], id: Uint8Array): number =>
    rows.find((row) => Buffer.compare(row.id, id) === 0)!.seq;

  const valuesOf = (members: Record<string, unknown>) => ({
    settings: JSON.stringify(members),
    interval: (members['interval'] as number | undefined) ?? 60,
  });
  const poolValues = (name: string, monitor: number | null, members: Record<string, unknown>) => {
    const origins = members['origins'] as { readonly enabled?: boolean }[];
    return {
      ...{ name, name_key: name, monitor, monitor_group: null },
      settings: JSON.stringify({ name, ...(monitor !== null && { monitor: 'x' }), ...members }),
      targets: origins.filter(({ enabled }) => enabled !== false).length,
    };
  };

  return {
    ...installation,
    reader,
    async monitor(members: Record<string, unknown>): Promise<number> {
      const own = id();
      await store.write(() => insertMonitor(store, own, ACCOUNT, valuesOf(members), clock.nowUs()));
      return seqOf(monitorsOfAccount(store, ACCOUNT), own);
    },
    editMonitor: (seq: number, members: Record<string, unknown>) =>
      store.write(() => updateMonitor(store, seq, valuesOf(members), clock.nowUs())),
    async pool(name: string, monitor: number | null, members: Record<string, unknown>): Promise<number> {
      const own = id();
      await store.write(() => insertPool(store, own, ACCOUNT, poolValues(name, monitor, members), clock.nowUs()));
      return seqOf(poolsOfAccount(store, ACCOUNT), own);
    },
    editPool: (seq: number, name: string, monitor: number | null, members: Record<string, unknown>) =>
      store.write(() => updatePool(store, seq, poolValues(name, monitor, members), clock.nowUs())),
    /** A prober whose transitions are stored. */
    startProber(
      seed = 11,
      more: Partial<ProberOptions> = {},
    ): Prober & { readonly told: Transition[]; idle(): Promise<void> } {
      const told: Transition[] = [];
      let writing: Promise<unknown> = Promise.resolve();
      const prober = createProber({
        ...{ clock, store: reader, random: seededRandom(seed), node: { region: '', node: '' } },
        egress: egressTo(clock, ['127.0.0.0/8']),
        resolver: { resolve: async () => ({ status: 'nxdomain', records: [] }) as never },
        pinger: { ping: () => Promise.reject(new NoProbe('nobody is pinged')) },
        tls: createTlsContexts(() => ({ pem: [], generation: 0 })),
        tell(transitions) {
          told.push(...transitions);
          writing = recordTransitions(base, { node: { region: '', node: '' }, living: undefined }, transitions);
        },
        onFault: (error) => t.fail(String(error)),
        ...more,
      });
      t.teardown(() => prober.close());
      return Object.assign(prober, { told, idle: async () => void (await writing) });
    },
    /** Lets time pass until every one of these has been asked once more. */
    async pass(ms: number, ...asked: TestOrigin[]): Promise<void> {
      const before = asked.map((origin) => origin.asked);
      clock.advance(ms);
      await until(() => asked.every((origin, i) => origin.asked > before[i]!), 'origins to be asked');
      // The response is on its way, and what follows from it is gathered.
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setTimeout(resolve, 5));
      clock.advance(25);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
