/** The control plane's context, made of settings: for the admin process and for commands. */
import { getServers } from 'node:dns';
import type { Clock } from '../base/clock.js';
import { isRoutable, parseIP } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import { systemRandom } from '../base/random.js';
import type { LoadedSettings } from '../config/load.js';
import { parseHostPort, type Settings } from '../config/schema.js';
import { type ContextBase, DEFAULT_LIMITS } from '../control/write/context.js';
import { createDelegationFinder } from '../resolver/delegation.js';
import { createUpstream, type UpstreamServer } from '../resolver/upstream.js';
import type { ServingSettings } from '../serving/zone.js';
import type { Store } from '../store/driver.js';
import { fileKeys, type MasterKeys, settingKeys } from '../vault/master-key.js';
import { dataFile } from './data-directory.js';

/** Resolvers of the settings, or those of the system when they name none. */
export function upstreamServers(settings: Settings): readonly UpstreamServer[] {
  return settings.resolverUpstreams ?? getServers().flatMap((server) => parseHostPort(server) ?? []);
}

/** What of the settings shows in answers. */
export function servingSettings(settings: Settings): ServingSettings {
  return {
    nameServers: settings.nameservers,
    nameServerAddresses: nameServerAddresses(settings),
    edgeAddresses: settings.edgeAddresses.map((text) => parseIP(text)!),
  };
}

/** Those of the settings, or else what the DNS server listens on, where that is an address others can reach. */
function nameServerAddresses({ nameserverAddresses, dnsHost }: Settings): Uint8Array[] {
  if (nameserverAddresses !== undefined) return nameserverAddresses.map((text) => parseIP(text)!);
  return dnsHost.map((text) => parseIP(text)!).filter(isRoutable);
}

/** Everything of a use case's context that does not change from request to request. */
export function createControlBase(settings: Settings, store: Store, clock: Clock, log: Logger): ContextBase {
  const serving = servingSettings(settings);
  const upstream = createUpstream({ servers: upstreamServers(settings), clock });
  return {
    store,
    clock,
    random: systemRandom,
    log,
    settings: {
      ...serving,
      ownAddresses: serving.edgeAddresses,
      activation: settings.zoneActivation,
      limits: {
        ...DEFAULT_LIMITS,
        ...(settings.recordsPerZone > 0 && { recordsPerZone: settings.recordsPerZone }),
      },
    },
    findDelegation: createDelegationFinder({ upstream, clock }),
    askOutside: (name, type) => upstream.query(name, type),
  };
}

/** Where the master key is: in the settings, or else in a file of the data directory. */
export function masterKeysOf({ settings, origins }: Pick<LoadedSettings, 'settings' | 'origins'>): MasterKeys {
  const { masterKey, dataDir } = settings;
  return masterKey === undefined
    ? fileKeys(dataFile(dataDir, 'masterKey'))
    : settingKeys(masterKey, origins.masterKey.place);
}
