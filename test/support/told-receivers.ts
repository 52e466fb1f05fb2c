/** Receivers of webhooks that remember what they were told, and can keep a sender waiting. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

interface Told {
  /** Path at which it arrived. */
  readonly at: string;
  readonly id: string;
  readonly name: string;
}

export interface ToldReceivers {
  /** URL of the receiver at a path. */
  readonly urlOf: (path: string) => string;
  /** Messages of a path in the order of their first arrival. */
  readonly distinct: (path: string) => readonly string[];
  /** All messages, repetitions included. */
  readonly told: readonly Told[];
  /** From now on, this path answers only after `release`. */
  hold(path: string): void;
  release(): void;
}

export async function startToldReceivers(t: Test): Promise<ToldReceivers> {
  const told: Told[] = [];
  const held: ServerResponse[] = [];
  let heldPath: string | undefined;
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { data } = JSON.parse(Buffer.concat(pieces).toString());
    told.push({ at: request.url!, id: String(request.headers['webhook-id']), name: data.subject.name });
    if (request.url === heldPath) held.push(response);
    else response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close().closeAllConnections());
  return {
    urlOf: (path) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    distinct: (path) => [...new Map(told.filter(({ at }) => at === path).map(({ id, name }) => [id, name])).values()],
    told,
    hold(path) {
      heldPath = path;
    },
    release() {
      heldPath = undefined;
      for (const response of held.splice(0)) response.end();
    },
  };
}
