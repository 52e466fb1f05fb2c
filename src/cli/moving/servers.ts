/** Steps of other servers: peers, their links to zones, and networks that may transfer. */
import { UserError } from '../../base/errors.js';
import { createAcl, listAcls } from '../../control/secondary/acls.js';
import { addServer } from '../../control/secondary/add-secondary.js';
import { getOutgoing } from '../../control/secondary/outgoing.js';
import { createPeer, listPeers } from '../../control/secondary/peers.js';
import { findZoneByName, listZones } from '../../control/zones/zones.js';
import type { Note, ZoneStatement } from '../../foreign/configuration.js';
import type { Place } from '../../foreign/place.js';
import { type WantedPeer, wantedTransfers } from '../../foreign/secondaries.js';
import { collectPages } from '../control.js';
import { isPeer, type WantedPeerInput } from '../secondary/secondary-zone.js';
import { keyIdOf } from './keys.js';
import { refusalOf, type Standing, type Step, type Target } from './step.js';

export interface WantedServer extends Pick<WantedPeer, 'address' | 'port' | 'key'> {
  readonly tlsName?: string | undefined;
}

/** The identifier of the peer, which is made when it is not there yet. */
export async function findOrAddServer(target: Target, wanted: WantedServer): Promise<string> {
  const { context, account } = target;
  const known = await listPeers(context, account);
  const input = await inputFor(target, wanted, (name) => known.some((peer) => peer.name === name));
  return (known.find((peer) => isPeer(peer, input)) ?? (await createPeer(context, account, input))).id;
}

async function inputFor(
  target: Target,
  { address, port, key, tlsName }: WantedServer,
  isTaken: (name: string) => boolean,
): Promise<WantedPeerInput> {
  const tsig_id = key === undefined ? null : await keyIdOf(target, key);
  const place = port === 53 || address === undefined ? address : `${address}#${port}`;
  const plain = place ?? key ?? '';
  const name = isTaken(plain) && key !== undefined ? `${plain} ${key}` : plain;
  return { name, ip: address ?? null, port, tsig_id, ixfr_enable: true, tls_name: tlsName ?? null };
}

interface Linked {
  readonly peer: WantedPeer;
  /** Names. */
  readonly zones: string[];
}

export interface ServerPlan {
  readonly steps: readonly Step[];
  readonly notes: readonly Note[];
}

/** One step for each server that serves some of these zones. */
export async function serverSteps(target: Target, zones: readonly ZoneStatement[]): Promise<ServerPlan> {
  const linked = new Map<string, Linked>();
  const notes: Note[] = [];
  const open: { readonly zone: string; readonly networks: readonly { text: string; place: Place }[] }[] = [];
  for (const zone of zones.filter(({ role }) => role !== 'catalog')) {
    const wanted = wantedTransfers(zone);
    notes.push(...wanted.notes);
    const isUnsigned = wanted.peers.every(({ key }) => key === undefined);
    if (isUnsigned && wanted.peers.length + wanted.networks.length > 0)
      open.push({ zone: zone.name, networks: wanted.networks });
    for (const peer of wanted.peers) {
      const identity = JSON.stringify([peer.address, peer.port, peer.key]);
      const known = linked.get(identity) ?? { peer, zones: [] };
      known.zones.push(zone.name);
      linked.set(identity, known);
    }
  }
  const steps: Step[] = [];
  for (const each of linked.values()) steps.push(await linkStep(target, each));
  const networks = await networkSteps(target, open, zones);
  return { steps: [...steps, ...networks.steps], notes: [...notes, ...networks.notes] };
}

async function linkStep(target: Target, { peer, zones }: Linked): Promise<Step> {
  const { address, port, key, place } = peer;
  const subject = address === undefined ? `whoever has the key ${key}` : `${address}${port === 53 ? '' : `#${port}`}`;
  const signed = key === undefined || address === undefined ? '' : `, signed with ${key}`;
  const detail = `transfers ${zones.length === 1 ? zones[0] : `${zones.length} zones`}${signed}`;
  const open: Standing = { is: 'open', run: () => link(target, peer, zones) };
  const isLinked = (await unlinked(target, peer, zones)).length === 0;
  return { kind: 'secondary', place, subject, detail, standing: isLinked ? { is: 'already' } : open };
}

/** Identifiers of the zones that are here and not linked to the peer; the text of a zone that is not here is its name. */
async function unlinked(target: Target, peer: WantedPeer, zones: readonly string[]): Promise<string[]> {
  const { context, account } = target;
  const id = await existingPeer(target, peer);
  const left: string[] = [];
  for (const name of zones) {
    const zone = await findZoneByName(context, name);
    if (!zone || zone.account.id !== account) left.push(name);
    else if (id === undefined || !(await peersOf(target, zone.id)).includes(id)) left.push(zone.id);
  }
  return left;
}

async function existingPeer(target: Target, peer: WantedPeer): Promise<string | undefined> {
  try {
    const input = await inputFor(target, peer, () => false);
    return (await listPeers(target.context, target.account)).find((known) => isPeer(known, input))?.id;
  } catch (error) {
    // The key is not here yet.
    refusalOf(error);
    return undefined;
  }
}

async function peersOf({ context }: Target, zoneId: string): Promise<readonly string[]> {
  try {
    const { peers, enabled } = await getOutgoing(context, zoneId);
    return enabled ? peers : [];
  } catch (error) {
    // It has no transfers yet.
    refusalOf(error);
    return [];
  }
}

/** Links those zones that are here; the step of a zone has said why it was refused. */
async function link(target: Target, peer: WantedPeer, zones: readonly string[]): Promise<void> {
  const { context, services, account } = target;
  const left = await unlinked(target, peer, zones);
  const ids = left.filter((id) => !zones.includes(id));
  if (ids.length > 0)
    await addServer(context, services, account, ids, { peer_id: await findOrAddServer(target, peer) });
  const missing = left.filter((name) => zones.includes(name));
  if (missing.length === 0) return;
  throw new UserError(
    `${missing.length} of its zones are not here, such as ${missing[0]}`,
    'Run the command again when they are.',
  );
}

/**
 * A network may transfer all zones of the account that have transfers without a key, so it becomes one only when all of these are
 * zones of the configuration that allow it.
 */
async function networkSteps(
  target: Target,
  open: readonly {
    readonly zone: string;
    readonly networks: readonly { readonly text: string; readonly place: Place }[];
  }[],
  zones: readonly ZoneStatement[],
): Promise<ServerPlan> {
  const { context, account } = target;
  const wanted = new Map(open.flatMap(({ networks }) => networks).map((network) => [network.text, network]));
  if (wanted.size === 0) return { steps: [], notes: [] };
  const known = await listAcls(context, account);
  const listed = await collectPages((page) => listZones(context, { page, perPage: 1000 }));
  const named = new Set(zones.map(({ name }) => name));
  const isAlone = listed.every((zone) => zone.account.id !== account || named.has(zone.asciiName));
  const steps: Step[] = [];
  const notes: Note[] = [];
  for (const { text, place } of wanted.values()) {
    const isShared = isAlone && open.every(({ networks }) => networks.some((network) => network.text === text));
    if (!isShared) {
      notes.push({
        kind: 'none',
        place,
        text: `${text}: a network holds for all zones of an account, and not all of them allow it`,
      });
      continue;
    }
    const run = async (): Promise<void> => void (await createAcl(context, account, { name: text, ip_range: text }));
    const standing: Standing = known.some((acl) => acl.ip_range === text) ? { is: 'already' } : { is: 'open', run };
    steps.push({ kind: 'network', place, subject: text, detail: 'transfers without a key', standing });
  }
  return { steps, notes };
}
