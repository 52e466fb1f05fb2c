/**
 * UDP through node:dgram, for systems without batched system calls.
 *
 * Where sockets can share a port (SO_REUSEPORT with load balancing: Linux, FreeBSD …), worker threads serve as with
 * batched calls; elsewhere the starting thread serves alone.
 *
 * On a wildcard address the system chooses the source address of an answer, which may differ from the queried address
 * on a machine with several. A log line then asks the operator to name the addresses.
 */
import type { Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { type Answer, Transport } from '../answer/transport.js';
import { clientNetwork } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import { Count, type CountBlock, countBlock } from './counters.js';
import { whenAnswered } from './deferred.js';
import { answerPortable, closePortableSocket, openPortableSocket, type PortableService } from './portable-socket.js';
import { FRAMES_ELSEWHERE } from './turns/answer-turns.js';
import { createDeferredMemory, DeferredPlaces, randomSeed } from './turns/deferred-places.js';
import type { UdpServer } from './udp-batched.js';
import { UdpWorkers, type UdpWorkersOptions } from './udp-workers.js';

export interface UdpPortableOptions extends Omit<UdpWorkersOptions, 'script' | 'openSockets'> {
  /** Literal addresses. */
  readonly addresses: readonly string[];
  /** 0: chosen by the system, the same for all addresses. */
  readonly port: number;
  /** Bind beside the process that serves the port now. */
  readonly takeOver?: boolean | undefined;
  /** The engine of this thread, used when it serves alone; it counts in block 0 and handles its own errors. */
  readonly answer: Answer;
}

/**
 * Binds the addresses; resolves when they are served. Rejects with a ListenError, or with the error of a starting
 * worker.
 */
export async function startUdpPortable(options: UdpPortableOptions): Promise<UdpServer> {
  const { addresses, log } = options;
  for (const host of addresses) warnOfManyAddresses(host, log);
  if (await canSharePorts()) return startWorkers(options);
  log.info({}, 'this system does not let UDP sockets share a port: one thread answers over UDP');
  return startUdpAlone(options);
}

/** Serves in this thread. */
export async function startUdpAlone(options: UdpPortableOptions): Promise<UdpServer> {
  const { addresses, answer, counters, turns, clock, log } = options;
  const counts: CountBlock = countBlock(counters.memory, 0);
  const { sockets, port } = await openAll(addresses, options.port);
  const onError = (error: Error): void => log.warn({ error: error.message }, 'UDP socket error');
  const places = new DeferredPlaces(createDeferredMemory(randomSeed()));
  let isClosed = false;
  for (const socket of sockets) {
    const onDeferred: PortableService['onDeferred'] = (request, { address, port }) => {
      const client = clientNetwork(address);
      const place = places.enter(client);
      if (place === undefined) {
        counts[Count.silent]! += 1;
        return;
      }
      turns.take({ client, group: options.groupOfDeferred?.(request) }, FRAMES_ELSEWHERE, () => {
        places.leave(place);
        whenAnswered(options.answerDeferred?.(request, Transport.udp, address, port), (answer) => {
          if (answer && !isClosed) socket.send(answer, port, address, () => {});
        });
      });
    };
    answerPortable(socket, { answer, counts, clock, onDeferred, onError });
  }
  return { port, countQueueDrops: () => undefined, close };

  function close(): Promise<void> {
    isClosed = true;
    return closeAll(sockets);
  }
}

async function startWorkers(options: UdpPortableOptions): Promise<UdpServer> {
  const { addresses } = options;
  const port = options.takeOver ? options.port : await reservePort(addresses, options.port);
  const places = { addresses, port };
  const workers = new UdpWorkers({
    ...options,
    script: new URL('./udp-portable-worker.js', import.meta.url),
    openSockets: () => ({ places, countDrops: () => undefined, close: () => {} }),
  });
  await workers.start();
  return { port, countQueueDrops: () => undefined, close: () => workers.stop() };
}

/**
 * Sockets that share a port can be bound next to those of another process; only one that does not share shows that the
 * port is free.
 */
async function reservePort(addresses: readonly string[], wanted: number): Promise<number> {
  const { sockets, port } = await openAll(addresses, wanted);
  await closeAll(sockets);
  return port;
}

/** Binds one socket for each address, all on the port of the first. */
async function openAll(addresses: readonly string[], wanted: number): Promise<{ sockets: Socket[]; port: number }> {
  const sockets: Socket[] = [];
  let port = wanted;
  try {
    for (const host of addresses) {
      const socket = await openPortableSocket({ host, port, shared: false });
      sockets.push(socket);
      port = socket.address().port;
    }
    return { sockets, port };
  } catch (error) {
    await closeAll(sockets);
    throw error;
  }
}

async function closeAll(sockets: readonly Socket[]): Promise<void> {
  await Promise.all(sockets.map(closePortableSocket));
}

/** Whether this system distributes datagrams over sockets on one port; a trial bind shows it. */
async function canSharePorts(): Promise<boolean> {
  try {
    await closePortableSocket(await openPortableSocket({ host: '127.0.0.1', port: 0, shared: true }));
    return true;
  } catch {
    return false;
  }
}

function warnOfManyAddresses(host: string, log: Logger): void {
  if (host !== '0.0.0.0' && host !== '::') return;
  const family = host === '::' ? 'IPv6' : 'IPv4';
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const addresses = own
    .filter((entry) => entry.family === family && !entry.internal && !entry.scopeid)
    .map((entry) => entry.address);
  if (addresses.length < 2) return;
  log.warn(
    { host, addresses },
    'answers may have another source address than the queried one; name the addresses to listen on',
  );
}
