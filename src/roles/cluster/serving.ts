/**
 * Serving settings of a cluster: name servers, their addresses, and those of the edge. All nodes serve those of the database,
 * so that they answer alike whatever the settings of a machine say.
 */
import { printIP } from '../../base/ip.js';
import type { LoadedSettings } from '../../config/load.js';
import type { SettingKey } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { lastServingSettings, logServingSettings } from '../../control/zones/serving-settings.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { findMeta } from '../../store/meta.js';
import { ownServingSettings } from '../process/control-base.js';

export interface ServingSetting {
  /** As on the command line, without hyphens before it. */
  readonly name: string;
  readonly ofCluster: readonly string[];
  readonly here: readonly string[];
  /** Whether this machine sets it itself; a default says nothing. */
  readonly isSet: boolean;
}

const KEYS = [
  ['nameservers', 'nameServers'],
  ['nameserverAddresses', 'nameServerAddresses'],
  ['edgeAddresses', 'edgeAddresses'],
] as const satisfies readonly (readonly [SettingKey, keyof ServingSettings])[];

/** The serving settings of the cluster beside those of this machine; undefined before the first start of a node. */
export function compareServing(loaded: Pick<LoadedSettings, 'settings' | 'origins'>, store: Store) {
  const agreed = lastServingSettings(store);
  if (!agreed) return undefined;
  const own = ownServingSettings(loaded.settings);
  return KEYS.map(
    ([key, member]): ServingSetting => ({
      name: key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      ofCluster: print(agreed[member]),
      here: print(own[member]),
      isSet: loaded.origins[key].kind !== 'default',
    }),
  );
}

const print = (values: readonly (string | Uint8Array)[]): string[] =>
  values.map((value) => (typeof value === 'string' ? value : printIP(value)));

/** What this machine sets otherwise than the cluster, as sentences. */
export function servingDifferences(loaded: Pick<LoadedSettings, 'settings' | 'origins'>, store: Store): string[] {
  const settings = compareServing(loaded, store) ?? [];
  return settings.filter(isOther).map(({ name, ofCluster, here }) => {
    const agreed = ofCluster.join(', ') || 'none';
    return `${name} of this node is ${here.join(', ') || 'none'}, but all nodes of the cluster serve ${agreed}`;
  });
}

export const SERVING_REMEDY =
  'Set it as on the other nodes. To change it for all, run `zoneplane cluster settings --apply` here.';

const isOther = ({ isSet, ofCluster, here }: ServingSetting): boolean =>
  isSet && JSON.stringify(ofCluster) !== JSON.stringify(here);

/** Makes what this machine sets the settings of the cluster, and changes the zones of the service accordingly. */
export async function applyServing(
  loaded: Pick<LoadedSettings, 'settings' | 'origins'>,
  base: ContextBase,
): Promise<void> {
  const own = ownServingSettings(loaded.settings);
  const given = KEYS.filter(([key]) => loaded.origins[key].kind !== 'default');
  const changed = Object.fromEntries(given.map(([, member]) => [member, own[member]]));
  await logServingSettings({ ...base, settings: { ...base.settings, ...changed } });
}

/** Calls `onChange` when another command or node has changed them; the returned function is to be called after each commit. */
export function watchServing(store: Store, onChange: () => void): () => void {
  const before = findMeta(store, 'serving_settings');
  let isTold = false;
  return () => {
    const now = findMeta(store, 'serving_settings');
    // An empty text: the change is under way.
    if (isTold || now === before || now === undefined || now === '') return;
    isTold = true;
    onChange();
  };
}
