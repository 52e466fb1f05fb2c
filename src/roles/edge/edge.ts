/**
 * The edge process: reads the store, opens the keys of certificates, and answers for proxied names. It never writes.
 */

import { REGIONS } from '../../balancing/region-codes.js';
import { regionOf } from '../../balancing/regions.js';
import { createLifecycle, type Lifecycle } from '../../base/lifecycle.js';
import { watchLongTurns } from '../../base/long-turns.js';
import { systemRandom } from '../../base/random.js';
import type { Whereabouts } from '../../edge/balance/balancing.js';
import { type Edge, startEdge } from '../../edge/edge.js';
import { EdgeListenError } from '../../edge/listen/listeners.js';
import { createPlaceFinder, type PlaceSource } from '../../location/finder.js';
import { createPlace } from '../../location/place.js';
import { createResolver } from '../../resolver/resolve.js';
import { createUpstream } from '../../resolver/upstream.js';
import { openStore } from '../../store/driver.js';
import { requireSchema } from '../../store/migrate.js';
import { createVault, deriveKeys } from '../../vault/vault.js';
import { type Acknowledger, type EdgeProgress, startEdgeAcknowledger } from '../process/acknowledgement.js';
import { machineAddresses, masterKeysOf, servingSettings, upstreamServers } from '../process/control-base.js';
import type { EdgeReport, EdgeStatus } from '../process/ipc.js';
import { STATUS_PERIOD_MS } from '../process/limits.js';
import { createInstallationEgress, tellListeners } from '../process/listening.js';
import { readPlaces, watchPlaces } from '../process/places.js';
import type { RoleContext, RunningRole } from '../process/role.js';
import { explainStoreFailure } from '../process/store-failure.js';
import { readBundle } from '../services/certificates.js';
import { openBodies } from '../services/object-bodies.js';
import { startStatusReports } from '../services/status-reports.js';
import { acknowledgedWhenAsked } from './acknowledged.js';
import { mapEdgeMemory } from './memory.js';
import { explainListening } from './ports.js';
import { createSessionExchange, type SessionMessages } from './session-exchange.js';

export interface EdgeRoleOptions extends RoleContext, Partial<SessionMessages> {
  readonly onStatus?: (status: EdgeStatus) => void;
}

/**
 * Starts the edge process; resolves when every listener is bound. The ports are in the settings. Rejects with a
 * UserError otherwise.
 */
export async function startEdgeRole(options: EdgeRoleOptions): Promise<RunningRole<EdgeReport>> {
  const { settings, clock, log, onStatus } = options;
  const lifecycle = createLifecycle(clock, log);
  try {
    let acknowledger: Acknowledger<EdgeProgress> | undefined;
    const edge = await start(options, lifecycle, (progress) => acknowledger?.tell(progress));
    acknowledger = startEdgeAcknowledger(settings.dataDir, edge.progress, clock, edge.wake);
    lifecycle.own('acknowledgements', acknowledger, (part) => part.close());
    if (settings.edgeAddresses === undefined && machineAddresses().length === 0) {
      log.warn(
        'proxied names answer 127.0.0.1 and ::1, which only this machine can reach: set publicly reachable addresses with --edge-addresses',
      );
    }
    if (onStatus) {
      const turns = lifecycle.own('turn watch', watchLongTurns('edge', clock), (part) => part.stop());
      const samples = () => [...turns.samples(), ...edge.samples()];
      const cancel = startStatusReports(clock, () => ({ samples: samples() }), onStatus);
      lifecycle.own('status reports', cancel, (end) => end());
    }
    const { edgeHttpPort: httpPort, edgeHttpsPort: httpsPort } = settings;
    const listeners = edge.addresses.flatMap((host) =>
      [httpPort!, httpsPort!].map((port) => ({ host, port, place: 'here' as const })),
    );
    lifecycle.own('list of listeners', tellListeners(settings.dataDir, 'edge', listeners, log), (end) => end());
    return {
      report: { hosts: edge.addresses, httpPort: httpPort!, httpsPort: httpsPort! },
      async drain(limitMs) {
        const drained = await edge.drain(limitMs);
        return (await lifecycle.stop(limitMs)) && drained;
      },
    };
  } catch (error) {
    await lifecycle.stop(STATUS_PERIOD_MS);
    throw error instanceof EdgeListenError ? explainListening(error) : explainStoreFailure(error);
  }
}

async function start(
  options: EdgeRoleOptions,
  lifecycle: Lifecycle,
  onRead: (progress: EdgeProgress) => void,
): Promise<Edge> {
  const { settings, clock, log } = options;
  const store = lifecycle.own('store', openStore(settings.dataDir, { readonly: true }), (part) => part.close());
  requireSchema(store);
  const masterKeys = masterKeysOf(options);
  const serving = servingSettings(settings, store);
  const upstream = createUpstream({ servers: upstreamServers(settings), clock });
  const { blobs } = await openBodies(settings, log);
  const whereabouts = followWhereabouts(options, lifecycle);
  const { member } = options;
  lifecycle.own('bodies of objects', blobs, (part) => part.close());
  return startEdge({
    blobs,
    whereabouts,
    store,
    // The only secrets are the keys of certificates.
    vault: createVault({ store, random: systemRandom, keys: () => deriveKeys(masterKeys, ['tls']) }),
    resolver: createResolver({ store, upstream, clock, random: systemRandom, serving }),
    serving,
    places: {
      hosts: settings.edgeHost,
      httpPort: settings.edgeHttpPort!,
      httpsPort: settings.edgeHttpsPort!,
      reusePort: member !== undefined,
    },
    shared: member && (await mapEdgeMemory(member)),
    sessions: member && createSessionExchange(options),
    egress: createInstallationEgress(settings, serving, clock),
    readCaBundle: () => readBundle(settings.caBundle),
    bodyLimit: settings.edgeBodyLimit,
    cacheOctets: settings.edgeCacheSize,
    logEvery: settings.edgeAccessLog,
    originConnectionsOfClient: settings.edgeClientConnections,
    keepsUnderscores: settings.edgeUnderscores === 'keep',
    details: settings.edgeErrorDetails === 'show',
    turn: options.turn,
    acknowledged: acknowledgedWhenAsked((err) => log.error({ err }, 'slow readers cannot be measured')),
    onRead,
    clock,
    random: systemRandom,
    log,
  });
}

/** Where this machine is, and where addresses are, as the files of the settings say it. */
function followWhereabouts({ settings, clock, log }: EdgeRoleOptions, lifecycle: Lifecycle): Whereabouts {
  const finderOf = (places: PlaceSource | undefined) =>
    places && createPlaceFinder(places, { regions: REGIONS, regionOf });
  const place = createPlace();
  let finder = finderOf(readPlaces(settings));
  const use = (places: PlaceSource): void => {
    finder = finderOf(places);
  };
  lifecycle.own('places of addresses', watchPlaces(settings, use, clock, log), (end) => end());
  return {
    ...{ region: settings.region ?? '', location: settings.locationCode ?? '' },
    find: (address) => (finder?.find(address, 0, address.length, place) ? place : undefined),
  };
}
