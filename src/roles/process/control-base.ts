/** The control plane's context, made from settings, for the admin process and for commands. */

import { getServers } from 'node:dns';
import { networkInterfaces } from 'node:os';
import type { Clock } from '../../base/clock.js';
import { isRoutable, parseIP } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { allowedNetworks } from '../../config/allowed-networks.js';
import { parseHostPort } from '../../config/host-names.js';
import type { LoadedSettings } from '../../config/load.js';
import type { Settings } from '../../config/schema.js';
import { createSecretAccessKeys } from '../../control/access/secret-access-keys.js';
import { createZoneKeys } from '../../control/dnssec/zone-keys.js';
import { type BalancingLimits, type ContextBase, DEFAULT_LIMITS } from '../../control/kernel/context.js';
import type { SecretAccessKeys } from '../../control/kernel/secret-access-keys.js';
import type { ZoneKeys } from '../../control/kernel/zone-keys.js';
import { PARTICIPANTS } from '../../control/participants.js';
import { lastServingSettings } from '../../control/zones/serving-settings.js';
import { createLookUps, type LookUps } from '../../resolver/look-ups.js';
import type { Upstream, UpstreamOptions, UpstreamServer } from '../../resolver/upstream.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { clusterOf } from '../../store/meta.js';
import { ONLINE_KEYS, SECRET_ACCESS_KEYS, type SealedColumn, ZONE_KEYS } from '../../store/sealed-columns.js';
import { fileKeys, type MasterKeys, settingKeys } from '../../vault/master-key.js';
import { findRightKeys } from '../../vault/unlock.js';
import { createVault, deriveKeys, type Vault } from '../../vault/vault.js';
import { dataFile } from './data-directory.js';
import { mayPing } from './icmp-capability.js';
import { createInstallationEgress } from './listening.js';

/** The configured resolvers, or the system's when none are configured. */
export function upstreamServers(settings: Settings): readonly UpstreamServer[] {
  return settings.resolverUpstreams ?? getServers().flatMap((server) => parseHostPort(server) ?? []);
}

/** The settings that affect answers: in a cluster, those that all nodes have agreed upon, as soon as there are some. */
export function servingSettings(settings: Settings, store: Store): ServingSettings {
  return (clusterOf(store) === undefined ? undefined : lastServingSettings(store)) ?? ownServingSettings(settings);
}

/** Those of this machine alone. */
export function ownServingSettings(settings: Settings): ServingSettings {
  return {
    nameServers: settings.nameservers,
    nameServerAddresses: nameServerAddresses(settings),
    edgeAddresses: edgeAddresses(settings),
  };
}

/** The configured addresses, otherwise the DNS server's own addresses that others can reach. */
function nameServerAddresses({ nameserverAddresses, dnsHost }: Settings): Uint8Array[] {
  if (nameserverAddresses !== undefined) return nameserverAddresses.map((text) => parseIP(text)!);
  return dnsHost.map((text) => parseIP(text)!).filter(isRoutable);
}

/** Those of the settings, or else what others can reach of this machine, or else itself alone. */
function edgeAddresses({ edgeAddresses: named }: Settings): readonly Uint8Array[] {
  if (named !== undefined) return named.map((text) => parseIP(text)!);
  const reachable = machineAddresses();
  return reachable.length > 0 ? reachable : LOOPBACK;
}

const LOOPBACK = ['127.0.0.1', '::1'].map((text) => parseIP(text)!);

/** Public addresses of this machine, those of the first interface first. */
export function machineAddresses(): readonly Uint8Array[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.flatMap(({ address }) => parseIP(address.replace(/%.*$/, '')) ?? []).filter(isRoutable);
}

/** What is asked outside beside the resolver. */
export function lookUpsOf(settings: Settings, store: Store, clock: Clock): LookUps {
  const servers = upstreamServers(settings);
  const serving = servingSettings(settings, store);
  const own = { store, settings: serving };
  const egress = createInstallationEgress(settings, serving, clock);
  const upstream = lateUpstream({ servers, clock });
  return createLookUps({ upstream, clock, egress, own, isOffline: servers.length === 0 });
}

/** Loaded with the first query: hardly any command asks one. */
function lateUpstream(options: UpstreamOptions): Upstream {
  let upstream: Promise<Upstream> | undefined;
  const load = async (): Promise<Upstream> => (await import('../../resolver/upstream.js')).createUpstream(options);
  return { query: async (name, type) => (await (upstream ??= load())).query(name, type) };
}

/** The parts of a use case's context that are the same for every request. `zoneKeys`: private keys of signed zones. */
export function createControlBase(
  settings: Settings,
  store: Store,
  clock: Clock,
  log: Logger,
  zoneKeys?: ZoneKeys,
  lookUps = lookUpsOf(settings, store, clock),
): ContextBase {
  const serving = servingSettings(settings, store);
  const egress = createInstallationEgress(settings, serving, clock);
  return {
    store,
    clock,
    random: systemRandom,
    log,
    egress,
    settings: {
      ...serving,
      // A record for `localhost` may also contain loopback addresses, so only configured addresses are reserved.
      ownAddresses: settings.edgeAddresses === undefined ? [] : serving.edgeAddresses,
      activation: settings.zoneActivation,
      hostNames: settings.tlsNames ?? [],
      privateSuffixes: settings.privateSuffixes,
      limits: {
        ...DEFAULT_LIMITS,
        origins: allowedNetworks(settings),
        balancing: balancingLimits(settings),
        ...(settings.recordsPerZone > 0 && { recordsPerZone: settings.recordsPerZone }),
      },
    },
    participants: PARTICIPANTS,
    findDelegation: lookUps.findDelegation,
    findParentDs: lookUps.findParentDs,
    askOutside: lookUps.askOutside,
    ...(zoneKeys && { zoneKeys }),
  };
}

/** Keys of signed zones for a command; the master key is read when the first one is needed. */
export function zoneKeysOfCommand(loaded: Pick<LoadedSettings, 'settings' | 'origins'>, store: Store): ZoneKeys {
  return createZoneKeys(() => vaultOfCommand(loaded, store, [ZONE_KEYS, ONLINE_KEYS]));
}

/** Secrets of S3 clients for a command; likewise. */
export function secretAccessKeysOfCommand(
  loaded: Pick<LoadedSettings, 'settings' | 'origins'>,
  store: Store,
): SecretAccessKeys {
  return createSecretAccessKeys(store, () => vaultOfCommand(loaded, store, [SECRET_ACCESS_KEYS]));
}

/** What a command seals and opens in these columns; the master key is read at once. Throws a UserError when it is missing. */
export function vaultOfCommand(
  loaded: Pick<LoadedSettings, 'settings' | 'origins'>,
  store: Store,
  columns: readonly SealedColumn[],
): Vault {
  const place = masterKeysOf(loaded);
  // Says what to do when it is missing, or another one; a vault only says that it cannot open a value.
  findRightKeys(store, place, columns);
  const purposes = columns.map(({ purpose }) => purpose);
  return createVault({ store, random: systemRandom, keys: () => deriveKeys(place, ['check', ...purposes]) });
}

/** The source of the master key: the settings, or a file in the data directory. */
export function masterKeysOf({ settings, origins }: Pick<LoadedSettings, 'settings' | 'origins'>): MasterKeys {
  const { masterKey, dataDir } = settings;
  return masterKey === undefined
    ? fileKeys(dataFile(dataDir, 'masterKey'))
    : settingKeys(masterKey, origins.masterKey.place);
}

export function balancingLimits(settings: Pick<Settings, 'lbMinInterval' | 'lbMaxOrigins'>): BalancingLimits {
  return { minimumInterval: settings.lbMinInterval, originsPerPool: settings.lbMaxOrigins, mayPing: mayPing() };
}
