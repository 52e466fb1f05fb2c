/** Origins that die: when no answer of any node has them any more, counted from the death and from the stored transition. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from '../src/dns/codes.js';
import { parseName } from '../src/dns/name.js';
import { makeQuery } from '../test/support/message.js';
import type { ApiClient, Running } from './program.js';
import { ZONE } from './workload.js';
import type { Figures } from './writes.js';

/** What programs need whose origins are on this machine. */
export const PROBING = { ZONEPLANE_LB_MIN_INTERVAL: '1', ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8' } as const;

const DEATHS = 10;
/** Seconds: the shortest that the bar's formula has. */
const MONITOR = { type: 'http', interval: 1, timeout: 1, retries: 0, consecutive_down: 1 };
const NAME = `deaths.${ZONE}`;

/** `nodes`: of one installation, each with the port of its DNS. A cluster is measured by giving the nodes of one. */
export async function measureDeaths(nodes: readonly { readonly running: Running; readonly port: number }[]) {
  const [{ running }] = nodes as [(typeof nodes)[0]];
  const steady = await startOrigin('127.0.0.31', 0);
  const { port } = steady.address() as AddressInfo;
  await balance(running, port);
  const [fromDeath, fromTransition]: [number[], number[]] = [[], []];
  for (let death = 0; death < DEATHS; death++) {
    const dying = await startOrigin('127.0.0.32', port);
    await Promise.all(nodes.map((node) => answersOf(node.port, 2)));
    // Anywhere within the interval of its probes.
    await pause((death * 1000) / DEATHS);
    const diedAt = Date.now();
    dying.close().closeAllConnections();
    const goneAt = await Promise.all(nodes.map((node) => answersOf(node.port, 1)));
    const storedAt = await transitionAfter(running.api, diedAt);
    fromDeath.push(Math.max(...goneAt) - diedAt);
    fromTransition.push(Math.max(...goneAt) - storedAt);
  }
  steady.close().closeAllConnections();
  const formula = (MONITOR.interval + MONITOR.timeout + 1) * 1000;
  const where = nodes.length === 1 ? '' : ` on ${nodes.length} nodes`;
  return {
    [`ms, ${DEATHS} dead origins gone from answers${where}, from their death (bar ${formula}), most`]: Math.max(
      ...fromDeath,
    ),
    [`ms, the same${where}, from the stored transition, most`]: Math.max(...fromTransition),
  } satisfies Figures;
}

async function startOrigin(address: string, port: number): Promise<Server> {
  const server = createServer((_request, response) => response.end());
  await once(server.listen(port, address), 'listening');
  return server;
}

async function balance({ api, zonePath }: Running, port: number): Promise<void> {
  const { result } = (await api.call('GET', zonePath)) as { result: { account: { id: string } } };
  const base = `/accounts/${result.account.id}/load_balancers`;
  const idOf = async (path: string, body: object) => ((await api.call('POST', path, body)).result as { id: string }).id;
  const monitor = await idOf(`${base}/monitors`, MONITOR);
  const origins = [31, 32].map((last) => ({ name: `o${last}`, address: `127.0.0.${last}`, port }));
  const pool = await idOf(`${base}/pools`, { name: 'deaths', origins, monitor });
  await idOf(`${zonePath}/load_balancers`, { name: NAME, default_pools: [pool], fallback_pool: pool, answer: 'all' });
}

/** When the name first has so many addresses. */
async function answersOf(port: number, count: number): Promise<number> {
  const socket = createSocket('udp4');
  const query = makeQuery(parseName(`${NAME}.`), Type.a);
  try {
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      if ((await ask(socket, port, query)) === count) return Date.now();
    }
    throw new Error(`${NAME} never had ${count} addresses`);
  } finally {
    socket.close();
  }
}

async function ask(socket: Socket, port: number, query: Buffer): Promise<number> {
  const answered = once(socket, 'message');
  socket.send(query, port, '127.0.0.1');
  const [message] = (await answered) as [Buffer];
  return message.readUInt16BE(6);
}

/** The time of the first stored transition of the pool from a moment on. */
async function transitionAfter(api: ApiClient, fromMs: number): Promise<number> {
  const since = new Date(fromMs).toISOString();
  const { result } = await api.call('GET', `/user/load_balancing_analytics/events?pool_name=deaths&since=${since}`);
  const times = (result as { timestamp: string }[]).map(({ timestamp }) => Date.parse(timestamp));
  return Math.min(...times);
}
