/**
 * What the processes of an installation listen on, in files of the data directory: each process writes its own, all read them, so
 * that nothing a tenant names leads back to one of them, wherever and on which port it was bound. The admin process of a cluster
 * adds what the other nodes tell.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { isLoopback, isUnspecified, parsePeerAddress, printIP } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import { allowedNetworks } from '../../config/allowed-networks.js';
import type { Settings } from '../../config/schema.js';
import { createEgress, type Egress } from '../../egress/egress.js';
import { createOwnListeners, type Listener } from '../../egress/own-listeners.js';
import type { ServingSettings } from '../../serving/zone.js';
import { isAlive } from './data-directory.js';
import type { Role } from './ipc.js';

const DIRECTORY = 'listeners';
const FILE = /^([a-z]+)-(\d+)\.json$/;

interface Written {
  /** The machine, because processes of several may share the directory. */
  readonly machine: string;
  readonly listeners: readonly Listener[];
}

/** Names the machine until it starts anew. */
export function machineName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}

/** Writes what this process listens on. Returns what to call when it listens no more. */
export function tellListeners(
  dataDir: string,
  role: Role | 'nodes',
  listeners: readonly Listener[],
  log: Logger,
): () => void {
  const directory = join(dataDir, DIRECTORY);
  const file = join(directory, `${role}-${process.pid}.json`);
  const written: Written = { machine: machineName(), listeners };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    removeEnded(directory, written.machine);
    writeFileSync(`${file}.new`, JSON.stringify(written), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    log.warn(
      { role, reason: messageOf(error) },
      'the other processes cannot know what this one listens on, so connections to origins may lead to it',
    );
  }
  return () => rmSync(file, { force: true });
}

/** A process that was killed has left its file. */
function removeEnded(directory: string, machine: string): void {
  for (const name of readdirSync(directory)) {
    const pid = Number(FILE.exec(name)?.[2]);
    const file = join(directory, name);
    if (pid > 0 && !isAlive(pid) && readWritten(file)?.machine === machine) rmSync(file, { force: true });
  }
}

function readWritten(file: string): Written | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Written;
  } catch {
    // It was removed meanwhile.
    return undefined;
  }
}

/** What the processes of a data directory listen on; `all`: and other nodes. */
function readListeners(dataDir: string, which: 'own' | 'all'): Listener[] {
  const directory = join(dataDir, DIRECTORY);
  let names: readonly string[];
  try {
    names = readdirSync(directory);
  } catch {
    return [];
  }
  const wanted = names.filter((name) => FILE.test(name) && (which === 'all' || !name.startsWith('nodes-')));
  return wanted.flatMap((name) => readWritten(join(directory, name))?.listeners ?? []);
}

/** How many processes of a role listen on this machine. */
export function countListening(dataDir: string, role: Role): number {
  const directory = join(dataDir, DIRECTORY);
  try {
    const machine = machineName();
    return readdirSync(directory).filter((name) => {
      const [, ofRole, pid] = FILE.exec(name) ?? [];
      return ofRole === role && isAlive(Number(pid)) && readWritten(join(directory, name))?.machine === machine;
    }).length;
  } catch {
    // None has ever listened.
    return 0;
  }
}

/** What this node tells the others: its listeners, at addresses and not at «all addresses». */
export function tellableListeners(dataDir: string): Listener[] {
  const own = readListeners(dataDir, 'own').filter(({ place }) => place !== 'elsewhere');
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  return own.flatMap((listener) => {
    const host = parsePeerAddress(listener.host);
    const hosts = host && isUnspecified(host) ? addresses.slice(0, MOST_ADDRESSES) : [listener.host];
    return hosts.map((each) => ({ ...listener, host: each.replace(/%.*$/, '') }));
  });
}

const MOST_ADDRESSES = 32;

/** The listeners of another node, as they count here. Its loopback addresses are ours only on the same machine. */
export function listenersOfNode(machine: string, listeners: readonly Listener[]): Listener[] {
  if (machine === machineName()) return [...listeners];
  return listeners
    .filter(({ host }) => {
      const address = parsePeerAddress(host);
      return address !== undefined && !isLoopback(address);
    })
    .map((listener) => ({ ...listener, place: 'elsewhere' }));
}

const HTTP_PORTS = [80, 443];
const DNS_PORTS = [53, 853];

/**
 * What may be connected to from here. `serving`: addresses under which others reach the edge and the name servers; perhaps not
 * those of a network interface.
 */
export function createInstallationEgress(
  settings: Settings,
  serving: Pick<ServingSettings, 'edgeAddresses' | 'nameServerAddresses'>,
  clock: Clock,
): Egress {
  const elsewhere = (addresses: readonly Uint8Array[], ports: readonly number[]): Listener[] =>
    addresses.flatMap((address) =>
      ports.map((port) => ({ host: printIP(address), port, place: 'elsewhere' as const })),
    );
  const read = (): Listener[] => {
    const known = readListeners(settings.dataDir, 'all');
    const ports = known.filter(({ place }) => place === 'here').map(({ port }) => port);
    // Without an edge here, something else has its addresses. Of loopback, it has what it was bound to.
    const edge = settings.edge === 'off' ? [] : serving.edgeAddresses.filter((address) => !isLoopback(address));
    return [
      ...known,
      ...elsewhere(edge, [...HTTP_PORTS, ...ports]),
      ...elsewhere(serving.nameServerAddresses, [...DNS_PORTS, ...ports]),
    ];
  };
  return createEgress({ allowed: allowedNetworks(settings), own: createOwnListeners(clock, read) });
}
