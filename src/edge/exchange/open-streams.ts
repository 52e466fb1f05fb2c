/**
 * How many requests over HTTP/2 may be open at once: each takes memory until its response has left, and a client opens a hundred over
 * each of thousands of connections. One client (address, or IPv6 /64) has as many as it may have connections, and an account has a
 * bound for all who ask its hosts.
 */

/** Of one client in this process; its connections count together. */
export interface ClientStreams {
  open: number;
  readonly most: number;
}

export interface OpenStreams {
  /** Counts a connection of a client. */
  join(client: string): ClientStreams;
  /** It has ended. */
  leave(client: string): void;
  /** Counts a stream, beside those of its client, until the returned function is called. */
  enter(account: number): () => void;
  /** Whether an account has no more. */
  isFull(accountOf: () => number): boolean;
  /** A client or an account had no more for it. */
  refuse(): void;
  refused(): number;
}

const MOST_OF_CLIENT = 4096;
const MOST_OF_ACCOUNT = 32_768;
/** A single connection always has all of its streams. */
const MOST_OF_CONNECTION = 100;

/** `processes`: over which a client's connections are spread. Each has its part. */
export function createOpenStreams(
  processes = 1,
  bounds: { readonly client: number; readonly account: number } = { client: MOST_OF_CLIENT, account: MOST_OF_ACCOUNT },
): OpenStreams {
  const most = Math.max(MOST_OF_CONNECTION, Math.floor(bounds.client / processes));
  const mostOfAccount = Math.floor(bounds.account / processes);
  const clients = new Map<string, { streams: ClientStreams; connections: number }>();
  const accounts = new Map<number, number>();
  let open = 0;
  let refused = 0;
  return {
    join(client) {
      let known = clients.get(client);
      if (!known) clients.set(client, (known = { streams: { open: 0, most }, connections: 0 }));
      known.connections++;
      return known.streams;
    },
    leave(client) {
      if (--clients.get(client)!.connections === 0) clients.delete(client);
    },
    enter(account) {
      open++;
      accounts.set(account, (accounts.get(account) ?? 0) + 1);
      return () => {
        open--;
        const left = accounts.get(account)! - 1;
        if (left > 0) accounts.set(account, left);
        else accounts.delete(account);
      };
    },
    // Until so many are open, nobody has to know whose they are.
    isFull: (accountOf) => open >= mostOfAccount && (accounts.get(accountOf()) ?? 0) >= mostOfAccount,
    refuse: () => void refused++,
    refused: () => refused,
  };
}
