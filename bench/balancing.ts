/** Load balancers beside their answers: when a new one is visible, and what probing many origins takes. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from '../src/dns/codes.js';
import { parseName } from '../src/dns/name.js';
import { makeQuery } from '../test/support/message.js';
import { median } from './median.js';
import { run } from './peers.js';
import { cpuSecondsOf } from './processes.js';
import { PROGRAM, type Running } from './program.js';
import { ZONE } from './workload.js';
import type { Figures } from './writes.js';

const CREATED = 1000;

/** Milliseconds from the answer of the API to the first one of DNS. */
export async function measureVisible({ api, zonePath }: Running, port: number): Promise<Figures> {
  const { result } = (await api.call('GET', zonePath)) as { result: { account: { id: string } } };
  // Of its own: no more load balancers than these may use one.
  const body = { name: 'visible', origins: [{ name: 'o', address: '198.51.100.99' }] };
  const made = await api.call('POST', `/accounts/${result.account.id}/load_balancers/pools`, body);
  const { id: pool } = made.result as { id: string };
  const socket = createSocket('udp4');
  const took: number[] = [];
  for (let i = 0; i < CREATED; i++) {
    const name = `visible${i}.${ZONE}`;
    const query = makeQuery(parseName(`${name}.`), Type.a);
    await api.call('POST', `${zonePath}/load_balancers`, { name, default_pools: [pool], fallback_pool: pool });
    const begin = performance.now();
    for (let answers = 0; answers === 0; ) {
      const answered = once(socket, 'message');
      socket.send(query, port, '127.0.0.1');
      const [message] = (await answered) as [Buffer];
      answers = message.readUInt16BE(6);
    }
    took.push(performance.now() - begin);
  }
  socket.close();
  took.sort((a, b) => a - b);
  return {
    [`ms, ${CREATED} new load balancers visible, median`]: median(took),
    [`ms, ${CREATED} new load balancers visible, p99`]: took[Math.floor(CREATED * 0.99)]!,
  };
}

const ACCOUNTS = 10;
const POOLS = 5;
const ORIGINS = 200;
const SECONDS = 60;

/** Share of a processor that the process needs which probes 10,000 origins (HTTP) each minute. */
export async function measureProbing(
  { api, server }: Running,
  env: Readonly<Record<string, string>>,
): Promise<Figures> {
  let connections = 0;
  let most = 0;
  const servers: Server[] = [];
  for (let i = 0; i < ORIGINS; i++) {
    const origin = createServer((_request, response) => {
      connections++;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(origin, 'listening');
    servers.push(origin);
  }
  const origins = servers.map((origin, i) => ({
    ...{ name: `o${i}`, address: '127.0.0.1', port: (origin.address() as AddressInfo).port },
  }));
  for (let account = 0; account < ACCOUNTS; account++) {
    const name = `probed${account}`;
    run(process.execPath, [PROGRAM, 'account', 'create', name], env);
    const [{ id }] = (await api.call('GET', `/accounts?name=${name}`)).result as [{ id: string }];
    const base = `/accounts/${id}/load_balancers`;
    for (let i = 0; i < POOLS; i++) {
      // Without a port of its own, that of each origin counts.
      const monitor = { type: 'http', interval: 60 };
      const { id: of } = (await api.call('POST', `${base}/monitors`, monitor)).result as { id: string };
      await api.call('POST', `${base}/pools`, { name: `p${i}`, origins, monitor: of });
    }
  }
  const prober = proberOf(server.process.pid!);
  await pause(SECONDS * 1000);
  const before = cpuSecondsOf(prober);
  connections = 0;
  for (let second = 0; second < SECONDS; second++) {
    const from = connections;
    await pause(1000);
    most = Math.max(most, connections - from);
  }
  const used = cpuSecondsOf(prober) - before;
  for (const origin of servers) origin.close();
  return {
    '% of a processor, 10 000 origins each 60 s': (used / SECONDS) * 100,
    'probes in that minute': connections,
    'most probes in one second': most,
  };
}

/** The process that probes, among the descendants of another one. */
function proberOf(supervisor: number): number {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const line = readFileSync(`/proc/${entry}/cmdline`, 'latin1');
      if (line.includes('probing/process.js') && isBelow(Number(entry), supervisor)) return Number(entry);
    } catch {
      // It has ended meanwhile.
    }
  }
  throw new Error('nothing probes');
}

function isBelow(pid: number, ancestor: number): boolean {
  for (let at = pid; at > 1; ) {
    if (at === ancestor) return true;
    at = Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${at}/status`, 'latin1'))?.[1] ?? 0);
  }
  return false;
}
