/** A path between two servers on 127.0.0.1, for UDP and TCP, that can be cut like a cable: nothing passes then, and nobody is told. */
import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './free-ports.js';

export interface Link {
  /** Where it takes connections and datagrams. */
  readonly port: number;
  /** Until {@link Link.mend}, datagrams are lost and connections stand still. */
  cut(): void;
  /** Connections that stood still go on; what waits in them arrives. */
  mend(): void;
  close(): void;
}

/** Milliseconds without an answer after which a sender of datagrams is forgotten. */
const FORGOTTEN_MS = 30_000;

export async function startLink(target: number): Promise<Link> {
  const port = await freePort();
  const state = { isCut: false };
  const closeStreams = await startStreams(port, target, state);
  const closeDatagrams = await startDatagrams(port, target, state);
  return {
    port,
    cut() {
      state.isCut = true;
      for (const socket of closeStreams.sockets) socket.pause();
    },
    mend() {
      state.isCut = false;
      for (const socket of closeStreams.sockets) socket.resume();
    },
    close() {
      closeStreams.close();
      closeDatagrams();
    },
  };
}

interface State {
  isCut: boolean;
}

async function startStreams(port: number, target: number, state: State) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('data', (octets) => void to.write(octets));
      from.on('end', () => to.end());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (state.isCut) from.pause();
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { sockets, close };
}

/** Each sender has a socket of its own towards the target, so that answers find their way back. */
async function startDatagrams(port: number, target: number, state: State): Promise<() => void> {
  const ways = new Map<number, Datagrams>();
  const front = createSocket('udp4');
  const forget = (from: number): void => {
    ways.get(from)?.close();
    ways.delete(from);
  };
  front.on('message', (octets, { port: from }) => {
    if (state.isCut) return;
    let way = ways.get(from);
    if (!way) {
      way = createSocket('udp4');
      way.on('error', () => {});
      way.on('message', (answer) => {
        if (!state.isCut) front.send(answer, from, '127.0.0.1');
      });
      ways.set(from, way);
      setTimeout(() => forget(from), FORGOTTEN_MS).unref();
    }
    way.send(octets, target, '127.0.0.1');
  });
  front.bind(port, '127.0.0.1');
  await once(front, 'listening');
  return () => {
    front.close();
    for (const from of [...ways.keys()]) forget(from);
  };
}
