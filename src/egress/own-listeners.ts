/** The listeners of this installation, of all its processes and nodes, to which nothing may lead back. */
import { networkInterfaces } from 'node:os';
import { type Clock, steadyMs } from '../base/clock.js';
import { isLoopback, isUnspecified, parsePeerAddress } from '../base/ip.js';

export interface Listener {
  /** The address at which it listens, or under which others reach it. */
  readonly host: string;
  readonly port: number;
  /**
   * `here`: on this machine. It counts at all addresses of this machine. `dns`: the same, but several name servers of a machine
   * often share a port, so it counts only at its own address. `elsewhere`: at its address, which may be another machine's.
   */
  readonly place: 'here' | 'dns' | 'elsewhere';
}

export interface OwnListeners {
  /** Whether a connection to an address (not in the form of IPv6 if it is IPv4) and port reaches one of them. */
  has(address: Uint8Array, port: number): boolean;
}

/** How long what was read is used, milliseconds. */
const USED_MS = 1000;

interface Known {
  readonly listeners: readonly (Listener & { readonly key: string; readonly isEverywhere: boolean })[];
  readonly addresses: ReadonlySet<string>;
  readonly untilMs: number;
}

/** `read`: what listens now, and addresses beside those of the machine's interfaces under which it is reached. */
export function createOwnListeners(clock: Clock, read: () => readonly Listener[]): OwnListeners {
  let known: Known | undefined;
  const look = (): Known => {
    const nowMs = steadyMs(clock);
    if (known && nowMs < known.untilMs) return known;
    const listeners = read().flatMap((listener) => {
      const host = parsePeerAddress(listener.host);
      return host ? [{ ...listener, key: String(host), isEverywhere: isUnspecified(host) }] : [];
    });
    known = { listeners, addresses: localAddresses(known?.addresses), untilMs: nowMs + USED_MS };
    return known;
  };
  return {
    has(address, port) {
      const { listeners, addresses } = look();
      const key = String(address);
      const isHere = isLoopback(address) || isUnspecified(address) || addresses.has(key);
      return listeners.some((listener) => {
        if (listener.port !== port) return false;
        if (listener.key === key) return true;
        const isAtAll =
          listener.place === 'here' || (listener.place === 'dns' && (listener.isEverywhere || isUnspecified(address)));
        return isHere && isAtAll;
      });
    },
  };
}

/** Those of the machine's interfaces, as texts of their octets. Without a descriptor to read them, what was known counts. */
function localAddresses(before: ReadonlySet<string> | undefined): ReadonlySet<string> {
  try {
    const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    return new Set(all.flatMap(({ address }) => parsePeerAddress(address) ?? []).map(String));
  } catch (error) {
    if (!before) throw error;
    return before;
  }
}
