/** What a DNS process observes about questions and answers: counters, samples for the admin process, dnstap, the query log. */
import { createObservation, type Observation } from '../../answer/observation.js';
import { toHex } from '../../base/bytes.js';
import { parseIP } from '../../base/ip.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Settings } from '../../config/schema.js';
import { createActivityMetrics } from '../../observe/metrics.js';
import type { FindPool } from '../../observe/pool-counts.js';
import type { ReaderSettings } from '../../observe/reader.js';
import { type ActivityReport, printReport } from '../../observe/report.js';
import { type Observing, startObserving } from '../../observe/start.js';
import { findPoolName } from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import { DNS_PORT } from '../process/dns-port.js';
import type { RoleContext } from '../process/role.js';

const SAMPLES_ONLY_OCTETS = 256 * 1024;
/** With dnstap, a ring holds what comes while the reader looks elsewhere. */
const TAP_OCTETS = 8 * 1024 * 1024;

/** The memory for this many threads; undefined when nothing is observed. */
export function observationOf(settings: Settings, threads: number): Observation | undefined {
  const { dnsStatistics, dnstap, queryLog } = settings;
  if (dnsStatistics === 'off' && dnstap === undefined && queryLog === undefined) return undefined;
  return createObservation(threads, dnstap === undefined ? SAMPLES_ONLY_OCTETS : TAP_OCTETS);
}

export interface ObservationService extends Observing {
  metrics(): MetricSample[];
}

/**
 * Rejects with a UserError when a file cannot be written. `store` tells the names of pools; `tell` takes a line for the admin process.
 */
export async function startObservation(
  { settings, version, clock, log, onReload }: RoleContext,
  observation: Observation,
  store: Store,
  tell: (line: string) => void,
): Promise<ObservationService> {
  const metrics = createActivityMetrics(poolsOf(store));
  const isTold = settings.dnsStatistics === 'on';
  const observing = await startObserving(
    readerSettings(settings, version, observation),
    clock,
    log,
    (report, losses) => {
      metrics.add(report, losses);
      if (isTold && isWorthTelling(report)) tell(printReport(report));
    },
  );
  onReload(() => observing.reopen());
  return { ...observing, metrics: () => metrics.samples() };
}

function poolsOf(store: Store): FindPool {
  return (number) => {
    const found = findPoolName(store, number);
    return found && { id: toHex(found.id), name: found.name };
  };
}

function isWorthTelling({ total, samples, tallies }: ActivityReport): boolean {
  return total[0]! > 0 || samples.length > 0 || tallies !== undefined;
}

function readerSettings(settings: Settings, version: string, observation: Observation): ReaderSettings {
  const { dnsHost, dnsIdentity, dnstap, queryLog, queryLogSample, queryLogClients, dotPort, dohPort } = settings;
  const port = settings.dnsPort ?? DNS_PORT;
  return {
    observation,
    statistics: settings.dnsStatistics === 'on',
    dnstap,
    queryLog: queryLog === undefined ? undefined : { path: queryLog, every: queryLogSample },
    clients: queryLogClients,
    tapServer: {
      identity: dnsIdentity,
      version: `zoneplane ${version}`,
      addresses: onlyAddresses(dnsHost),
      ports: [port, port, dotPort ?? 0, dohPort ?? 0],
    },
  };
}

/** The address of each family that has exactly one: every query came to it. */
function onlyAddresses(hosts: readonly string[]): Uint8Array[] {
  const addresses = hosts.flatMap((host) => parseIP(host) ?? []);
  return [4, 16].flatMap((length) => {
    const [only, ...others] = addresses.filter((address) => address.length === length);
    return only && others.length === 0 && only.some((octet) => octet !== 0) ? [only] : [];
  });
}
