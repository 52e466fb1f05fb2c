/**
 * The DS records of a zone, as every server of its parent has them (RFC 7583 §3.3). A rollover must not go on while one
 * of them still has the old records, so a server that does not answer counts as unknown, never as absent.
 */
import { Type } from '../dns/codes.js';
import { ownerKeyOf, parentName, parseName } from '../dns/name.js';
import { servedTtl } from '../dns/ttl.js';
import { findZoneFor } from '../serving/name-owner.js';
import { recordsAtOwner } from '../serving/owner.js';
import { type ServingSettings, servingZone } from '../serving/zone.js';
import type { Store } from '../store/driver.js';
import { openParentServer, type ParentOptions, parentQueryName, parentServerNames } from './parent.js';
import { contentOf } from './types.js';

/** What one server of the parent has. */
export interface ParentServerDs {
  /** Host name of the server. */
  readonly server: string;
  /**
   * Contents of DS records, such as `60485 13 2 d4b7d520e7bb5f0f…`, sorted; empty when there are none. Undefined when
   * the server did not answer.
   */
  readonly ds: readonly string[] | undefined;
  /** Seconds; of the DS records, or how long their absence may be cached. Undefined when the answer does not say. */
  readonly ttl: number | undefined;
}

/** The largest number of the parent's servers that are asked; the root and large zones have 13. */
const MOST_SERVERS = 16;

export interface ParentDsOptions extends ParentOptions {
  /** Its active zones are looked at first: a parent that is served here is not asked over the network. */
  readonly own: { readonly store: Store; readonly settings: ServingSettings };
  /** No resolver is configured, so nobody else is asked. */
  readonly isOffline?: boolean;
}

/**
 * What each server of the parent has; empty when there is no parent that could be asked. Undefined when its servers
 * could not be found out. `account`: store number of the account of the zone, whose own zones above it count before they are
 * proven.
 */
export type FindParentDs = (name: string, account: number) => Promise<readonly ParentServerDs[] | undefined>;

export function createParentDsFinder(options: ParentDsOptions): FindParentDs {
  const { store, settings } = options.own;
  return async (text, account) => {
    const name = parentQueryName(text);
    const own = store.snapshot(() => ownParentDs(store, settings, name, account));
    if (own) return [own];
    if (options.isOffline) return [];
    const servers = await parentServerNames(options, name);
    return servers && Promise.all(servers.slice(0, MOST_SERVERS).map((server) => askServer(options, server, name)));
  };
}

/** The same of a parent zone that is served here; undefined when there is none. */
function ownParentDs(
  store: Store,
  settings: ServingSettings,
  name: string,
  account: number,
): ParentServerDs | undefined {
  const apex = parseName(`${name}.`);
  const parent = findZoneFor(store, parentName(apex), account);
  if (!parent) return undefined;
  const key = ownerKeyOf(apex, parent.apex);
  const found = recordsAtOwner(store, servingZone(store, parent, settings), key).filter(({ type }) => type === Type.ds);
  const contents = found.map(({ rdata }) => contentOf('DS', rdata)).sort();
  return { server: `${parent.name} (served here)`, ds: contents, ttl: found[0] && servedTtl(found[0].ttl) };
}

async function askServer(options: ParentOptions, server: string, name: string): Promise<ParentServerDs> {
  const { upstream } = await openParentServer(options, server);
  const { status, records, negativeTtl } = await upstream.query(name, 'DS');
  const found = records.filter(({ type }) => type === 'DS');
  if (status === 'ok') return { server, ds: found.map(({ content }) => content).sort(), ttl: found[0]!.ttl };
  const isAbsent = status === 'nodata' || status === 'nxdomain';
  return { server, ds: isAbsent ? [] : undefined, ttl: isAbsent ? negativeTtl : undefined };
}
