/** The state for `/readyz`: the last report of the DNS process, and whether this process is stopping. */

import type { Purpose } from '../api/health/routes.js';
import { toHex } from '../base/bytes.js';
import { type Clock, steadyMs } from '../base/clock.js';
import type { MetricSample } from '../base/metrics.js';
import type { ReplicaStatus } from '../cluster/replica.js';
import type { Propagation } from '../control/kernel/propagation.js';
import type { Store } from '../store/driver.js';
import { findZone } from '../store/zones/zones.js';
import type { DnsStatus } from './process/ipc.js';
import { STATUS_LOST_MS } from './process/limits.js';

export interface Readiness {
  readonly ready: boolean;
  readonly reason?: string;
  /** Names of zones that queries see in their former state, because their changes cannot be published. */
  readonly heldZones?: readonly string[];
  /** This node uses only its own probes of origins. */
  readonly ownHealth?: true;
}

export interface ReadinessGate {
  /** `dns`: whether queries are answered; `writes`: whether changes are taken; absent: all that is decided here. */
  readonly readiness: (purpose?: Purpose) => Readiness;
  /** Sets the last report of the DNS process; undefined when the process has ended. */
  readonly setDnsStatus: (status: DnsStatus | undefined) => void;
  readonly dnsSamples: () => readonly MetricSample[];
  /** Makes the state "not ready" from now on. */
  readonly close: () => void;
}

export interface ReadinessOptions {
  readonly dnsApart?: boolean;
  readonly onServing?: () => void;
  /** Zones that a DNS process could not publish. */
  readonly heldZones: () => readonly { readonly name: string }[];
  /** Whether this node uses only its own probes of origins. */
  readonly isAlone?: () => boolean;
  /** In a cluster: whether the copy follows the log. */
  readonly copyStatus?: (() => Pick<ReplicaStatus, 'state' | 'reason'>) | undefined;
}

export function createReadiness(
  clock: Clock,
  { dnsApart = false, onServing, heldZones, copyStatus, isAlone }: ReadinessOptions,
): ReadinessGate {
  let status: DnsStatus | undefined;
  let heardMs = 0;
  let serving = false;
  let closed = false;

  function readiness(purpose?: Purpose): Readiness {
    if (closed) return { ready: false, reason: 'stopping' };
    const { state = 'following', reason = 'the copy has stopped' } = copyStatus?.() ?? {};
    if (purpose === 'writes') return state === 'following' ? { ready: true } : { ready: false, reason };
    // What a copy has is answered, however old it is; while PostgreSQL is away, it is so everywhere.
    if (state === 'stopped' && purpose === undefined) return { ready: false, reason };
    if (dnsApart) return published();
    if (!status) return { ready: false, reason: 'the DNS process is not running' };
    if (!status.ready) return { ready: false, reason: 'the DNS process is not ready' };
    if (steadyMs(clock) - heardMs > STATUS_LOST_MS) return { ready: false, reason: 'the DNS process does not report' };
    if (status.failure !== undefined) return { ready: false, reason: 'the DNS process cannot follow the change log' };
    return published();
  }

  /** A single zone must not make the whole service unready. */
  function published(): Readiness {
    const names = heldZones().map(({ name }) => name);
    const own = isAlone?.() ? ({ ownHealth: true } as const) : {};
    return { ready: true, ...own, ...(names.length > 0 && { heldZones: names }) };
  }

  return {
    readiness,
    setDnsStatus(next) {
      status = next;
      heardMs = steadyMs(clock);
      if (serving || !readiness().ready) return;
      serving = true;
      onServing?.();
    },
    dnsSamples: () => status?.samples ?? [],
    close() {
      closed = true;
    },
  };
}

/** The largest number of named zones. */
const MOST_NAMES = 20;

/** Zones that a DNS process could not publish: names without final dots, and identifiers of those that are there. */
export function heldZonesOf(store: Store, propagation: Propagation): { readonly name: string; readonly id?: string }[] {
  const held = propagation.processes().flatMap(({ unpublished }) => unpublished.filter(({ isHeld }) => isHeld));
  const zones = new Set(held.map(({ zone }) => zone));
  return [...zones].slice(0, MOST_NAMES).map((seq) => {
    const zone = findZone(store, seq);
    return zone ? { name: zone.name, id: toHex(zone.id) } : { name: `zone number ${seq}` };
  });
}
