/** Counts the open connections of each client, and closes all of them when the edge stops. */
import type { Socket } from 'node:net';

export interface Connections {
  /** False if the client has reached its limit; the socket is then destroyed. */
  add(socket: Socket): boolean;
  count(): number;
  /** Connections refused since the start. */
  refused(): number;
  destroyAll(): void;
}

export function createConnections(mostOfOne: number): Connections {
  const open = new Set<Socket>();
  const byClient = new Map<string, number>();
  let refused = 0;
  return {
    add(socket) {
      const client = networkOf(clientAddress(socket));
      const number = (byClient.get(client) ?? 0) + 1;
      if (number > mostOfOne) {
        refused += 1;
        socket.destroy();
        return false;
      }
      byClient.set(client, number);
      open.add(socket);
      socket.once('close', () => {
        open.delete(socket);
        const left = byClient.get(client)! - 1;
        if (left === 0) byClient.delete(client);
        else byClient.set(client, left);
      });
      return true;
    },
    count: () => open.size,
    refused: () => refused,
    destroyAll() {
      for (const socket of open) socket.destroy();
    },
  };
}

/** Counts IPv4 clients of a dual-stack socket under their IPv4 addresses. */
export function clientAddress({ remoteAddress = '' }: { readonly remoteAddress?: string | undefined }): string {
  return remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress;
}

/** A single customer usually has a whole /64. */
function networkOf(address: string): string {
  return address.includes(':') ? address.split(':').slice(0, 4).join(':') : address;
}
